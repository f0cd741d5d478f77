"""Tail masses of the noise families and proved cut-offs.

References:
    DiPApprox, section 6 (Lemma 1).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import ceil

from flint import arb

from dipapprox.data_classes import dataclass
from dipapprox.distributions import Family
from dipapprox.numerics.densities import STANDARD_LAWS
from dipapprox.numerics.enclosure import Enclosure, Side, compare
from dipapprox.numerics.precision import exact_fraction, precision, to_ball, to_enclosure


@dataclass(frozen=True, slots=True)
class Cutoff:
    """A proved cut-off: the standard law puts at most `tail` above `distance`, and below -it."""

    distance: Fraction
    tail: Fraction


def tail_mass(family: Family, distance: Fraction, side: int, bits: int) -> arb:
    """Enclose the mass that the standard law puts beyond `distance` >= 0 on one side of 0.

    Args:
        family: Which law.
        distance: In scales, exact and >= 0.
        side: +1: above `distance`; -1: below -`distance`.
        bits: Working precision.

    Raises:
        ValueError: If `distance` < 0.
    """
    if distance < 0:
        raise ValueError(f"distance must be >= 0, got {distance}")
    law = STANDARD_LAWS[family]
    with precision(bits):
        z = to_ball(distance)
        return law.survival(z, side) if side > 0 else law.cdf(-z, side)


@cache
def cutoff(family: Family, bits: int) -> Cutoff:
    """Return a distance, a multiple of 1/8, beyond which each tail has mass at most 2**-bits.

    The distance is guessed and then proved by evaluating the tails with balls.
    """
    wanted = Fraction(1, 2**bits)
    with precision(64):
        guess = exact_fraction(STANDARD_LAWS[family].cutoff_guess(bits).mid())
    eighths = ceil(8 * guess)
    while not all(
        _is_at_most(tail_mass(family, Fraction(eighths, 8), side, bits + 64), wanted)
        for side in (-1, 1)
    ):
        eighths += 1
    return Cutoff(Fraction(eighths, 8), wanted)


def _is_at_most(ball: arb, bound: Fraction) -> bool:
    enclosure = to_enclosure(ball)
    return isinstance(enclosure, Enclosure) and compare(enclosure, bound) is Side.BELOW
