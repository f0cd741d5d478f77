"""Which numbers elimination computes with: doubles, balls."""

from __future__ import annotations

from enum import Enum


class Tier(Enum):
    """Which algebras may be used; the value is the word on the command line."""

    AUTO = "auto"
    FLOAT64 = "float64"
    BALLS = "balls"
