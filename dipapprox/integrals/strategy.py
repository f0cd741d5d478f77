"""How integrals are ordered: the word in options and reports, without the work behind it."""

from __future__ import annotations

from enum import Enum


class Strategy(Enum):
    """How a plan is made from an event; the value is the word in reports."""

    LEAST_NESTING = "least nesting"
    PAPER = "paper"
    NONE = "none"
