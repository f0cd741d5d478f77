"""Ends of balls as rational numbers, for tests."""

from fractions import Fraction

from flint import arb

from dipapprox.kernel.balls import lower_at, upper_at

PLACES = 2**16
"""Ends of balls are given as multiples of 2^-PLACES: exponents of balls have any size."""


def lower(ball: arb) -> Fraction:
    """A rational number that no member of a ball is below."""
    return Fraction(lower_at(ball, PLACES), 2**PLACES)


def upper(ball: arb) -> Fraction:
    """A rational number that no member of a ball is above."""
    return Fraction(upper_at(ball, PLACES), 2**PLACES)
