"""e^x for exact x: the factor of a privacy budget."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.precision import precision, to_ball, to_enclosure

_LARGEST = 40_000
"""e^x has about 1.44 x bits before the point; more would only fill memory."""

_GUARD_BITS = 8


def exponential(x: Fraction, bits: int) -> Enclosure:
    """Enclose e^x to a relative width of at most 2**-bits; exact for x = 0.

    Args:
        x: Exact, |x| <= 40000.
        bits: Wanted relative precision, >= 1.

    Raises:
        ValueError: If |x| is too large.
    """
    if abs(x) > _LARGEST:
        raise ValueError(f"exponent must be in [-{_LARGEST}, {_LARGEST}], got {x}")
    if x == 0:
        return Enclosure.exact(1)
    # An absolute error of x is a relative error of e^x: the digits before the point are lost.
    whole_bits = (abs(x.numerator) // x.denominator).bit_length()
    with precision(bits + whole_bits + _GUARD_BITS):
        enclosure = to_enclosure(to_ball(x).exp())
    assert not isinstance(enclosure, NotEnclosed), "e^x is finite in this range"
    return Enclosure(max(enclosure.lower, Fraction(0)), enclosure.upper)
