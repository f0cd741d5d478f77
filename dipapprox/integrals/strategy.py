"""How integrals are ordered: the words in options, without the work behind them."""

from __future__ import annotations

from enum import Enum


class Strategy(Enum):
    """How nested integrals are ordered and pulled apart; the value is the word for it."""

    LEAST_NESTING = "least-nesting"
    PAPER = "paper"
    NONE = "none"
