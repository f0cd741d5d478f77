"""A wanted width in, the levels of refinement to try out: grids and algebras, coarse to fine."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from fractions import Fraction
from typing import assert_never

from dipapprox.data_classes import dataclass
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed


@dataclass(frozen=True, slots=True)
class RefinementLevel:
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


def double_levels(tier: Tier) -> list[RefinementLevel]:
    """The attempts in doubles; the first tells how large a probability is, about."""
    match tier:
        case Tier.BALLS:
            return []
        case Tier.AUTO | Tier.FLOAT64:
            return [
                RefinementLevel(1),
                RefinementLevel(3),
                RefinementLevel(16),
                RefinementLevel(64),
            ]
        case _:
            assert_never(tier)


def doubles_may_do(
    before: Enclosure | NotEnclosed | None, known: Enclosure | NotEnclosed, bits: int
) -> bool:
    """Whether finer panels may bring an enclosure in doubles to the width 2**-bits.

    Their errors are relative, as the balls' are: what matters is the size of the probability, which
    is unknown as long as the lower bound is 0. Where finer panels made a narrow enclosure hardly
    narrower, what is left are errors of rounding, and they only grow with the number of panels.

    Args:
        before: On coarser panels; None if `known` is the first attempt.
        known: After the last attempt.
        bits: GridEvent for.
    """
    if isinstance(known, NotEnclosed):
        return True
    if isinstance(before, Enclosure) and before.width < 8 * known.width < known.upper / 2**_NARROW:
        return False
    return not known.lower or known.upper <= Fraction(2**_DOUBLES, 2**bits)


def ball_levels(bits: int, tier: Tier) -> list[RefinementLevel]:
    """The attempts in balls for `bits` correct bits behind the leading one.

    In steps of 64 bits. Panels as wide as a scale need a degree of about half the bits; more cost
    little, as the algebra drops what is negligible, and high powers need them.
    """
    if tier is Tier.FLOAT64:
        return []
    return [
        RefinementLevel(1, _rounded_up(bits + 40), bits // 2 + 30),
        RefinementLevel(2, _rounded_up(bits + 100), bits // 2 + 20),
        RefinementLevel(4, _rounded_up(bits + 160), bits // 2 + 30),
        RefinementLevel(8, _rounded_up(2 * bits + 160), 3 * bits // 4 + 50),
    ]


def leading_zeros(
    pending: Collection[int], found: Mapping[int, Enclosure | NotEnclosed], bits: int
) -> int:
    """Return k such that all pending probabilities are at most 2**-k, k <= bits."""
    uppers = [each.upper for each in map(found.get, pending) if isinstance(each, Enclosure)]
    if len(uppers) < len(pending) or not uppers:
        return 0
    largest = max(uppers)
    zeros = largest.denominator.bit_length() - largest.numerator.bit_length() - 1
    return min(max(zeros, 0), bits)


def better(
    known: Enclosure | NotEnclosed | None, found: Enclosure | NotEnclosed
) -> Enclosure | NotEnclosed:
    """Put together what two attempts have found."""
    if isinstance(found, NotEnclosed):
        return found if known is None else known
    return found.intersect(known if isinstance(known, Enclosure) else UNIT, "elimination")


_NARROW = 20
"""Widths below 2**-20 times the probability come from panels that are fine enough."""

_DOUBLES = 48
"""Doubles rarely give enclosures that are narrower than 2**-48 times the probability."""


def _rounded_up(bits: int) -> int:
    return -(-bits // 64) * 64
