"""Proved tails and cut-offs of families with densities."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import ceil

from flint import arb

from dipapprox.arithmetic.boxes import Box, largest, smallest
from dipapprox.arithmetic.enclosure import Enclosure, Side, compare
from dipapprox.arithmetic.precision import exact_fraction, precision, to_ball, to_enclosure
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.family import BOTH_SIDES, RealFamily


def mass_bound(law: RealFamily, lower: Box, upper: Box, lower_side: int, upper_side: int) -> arb:
    """Bound |cdf(upper) - cdf(lower)| for all points of two boxes."""
    if lower.is_real and upper.is_real:
        # cdf increases, so the difference is largest at one of two opposite choices of the ends.
        forward = law.mass(lower.low, upper.high, lower_side, upper_side)
        backward = law.mass(lower.high, upper.low, lower_side, upper_side)
        return largest(forward, -backward, arb(0))
    # F(u) - F(l) = S(l) - S(u) = 1 - F(l) - S(u)
    below, above = law.cdf_bound(lower, lower_side), law.survival_bound(upper, upper_side)
    return smallest(
        law.cdf_bound(upper, upper_side) + below,
        law.survival_bound(lower, lower_side) + above,
        1 + below + above,
    )


def tail_mass(family: RealFamily, distance: Fraction, side: int, bits: int) -> arb:
    """Enclose the mass that the standard law has beyond so many scales, >= 0, on a side of 0."""
    if distance < 0:
        raise ValueError(f"distance must be >= 0, got {distance}")
    with precision(bits):
        z = to_ball(distance)
        return family.survival(z, side) if side > 0 else family.cdf(-z, side)


@cache
def cutoff(family: RealFamily, side: int, bits: int) -> Fraction:
    """Return a distance, a multiple of 1/8, beyond which a side of 0 has a mass <= 2**-bits.

    It is guessed and then proved by evaluating the tail with balls.
    """
    wanted = Fraction(1, 2**bits)
    with precision(64):
        guess = exact_fraction(family.cutoff_guess(bits, side).mid())
    eighths = ceil(8 * guess)
    while not _is_at_most(tail_mass(family, Fraction(eighths, 8), side, bits + 64), wanted):
        eighths += 1
    return Fraction(eighths, 8)


def cutoff_interval(law: Distribution, bits: int) -> tuple[Fraction, Fraction]:
    """Return where a law keeps all but 2**(1 - bits) of its mass."""
    left, right = (cutoff(law.real, side, bits) * law.scale for side in BOTH_SIDES)
    return law.mean - left, law.mean + right


def _is_at_most(ball: arb, bound: Fraction) -> bool:
    enclosure = to_enclosure(ball)
    return isinstance(enclosure, Enclosure) and compare(enclosure, bound) is Side.BELOW
