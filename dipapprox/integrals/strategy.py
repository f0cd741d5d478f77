"""How integrals are built: the word in options, which is known without what builds them."""

from enum import Enum


class Strategy(Enum):
    """How nested integrals are ordered and pulled apart; the value is the word in options."""

    LEAST_NESTING = "least-nesting"
    PAPER = "paper"
    NONE = "none"
