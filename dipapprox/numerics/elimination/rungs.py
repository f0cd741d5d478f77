"""The rungs of the ladder that elimination climbs: grids and algebras, from coarse to fine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import assert_never


@dataclass(frozen=True, slots=True)
class Rung:
    """One attempt: how fine the grid is and which algebra works on it.

    Attributes:
        fineness: See `build_grid`.
        bits: Precision of the balls; 0 for doubles.
        degree: Of the balls' polynomials.
    """

    fineness: int
    bits: int = 0
    degree: int = 0

    def bytes(self, panels: int) -> int:
        """Return about how much memory a function takes."""
        if self.bits:
            return panels * (self.degree + 1) * (64 + self.bits // 8)
        return panels * 232


class Tier(Enum):
    """Which algebras may be used; the value is the word on the command line."""

    AUTO = "auto"
    FLOAT64 = "float64"
    BALLS = "balls"


def double_rungs(bits: int, tier: Tier) -> list[Rung]:
    """The attempts in doubles for a wanted width of 2**-bits.

    A finer grid is tried only if doubles are likely to be good enough; without, they give the size
    of the probability.
    """
    match tier:
        case Tier.BALLS:
            return []
        case Tier.FLOAT64:
            return [Rung(1), Rung(3)]
        case Tier.AUTO:
            return [Rung(1), Rung(3)] if bits <= _DOUBLES else [Rung(1)]
        case _:
            assert_never(tier)


def ball_rungs(bits: int, tier: Tier) -> list[Rung]:
    """The attempts in balls for `bits` correct bits behind the leading one.

    In steps of 64 bits; the first degree is what panels as wide as a scale need.
    """
    if tier is Tier.FLOAT64:
        return []
    return [
        Rung(1, _rounded_up(bits + 40), 5 * bits // 12 + 8),
        Rung(2, _rounded_up(bits + 100), bits // 2 + 20),
        Rung(8, _rounded_up(2 * bits + 160), 3 * bits // 4 + 50),
    ]


_DOUBLES = 48
"""Doubles rarely give enclosures narrower than 2**-48."""


def _rounded_up(bits: int) -> int:
    return -(-bits // 64) * 64
