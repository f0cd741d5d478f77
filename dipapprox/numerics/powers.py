"""Logarithms and powers of nonnegative numbers, exact ones and arrays of doubles.

Both are monotone, so the ends of an enclosure give the ends of the result.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
from flint import arb

from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import enclosure_of, precision, to_ball, to_enclosure
from dipapprox.arithmetic.rounding import Array

_GUARD_BITS = 16
_DOUBLE_BITS = 80  # more than doubles have: the rounding to doubles is what is seen of the result


def logarithm(x: Fraction, bits: int) -> Enclosure:
    """Enclose ln x, x > 0, to a relative width of about 2**-bits, near 1 too."""
    if x <= 0:
        raise ValueError(f"the logarithm needs a number > 0, got {x}")
    if x == 1:
        return Enclosure.exact(0)
    with precision(bits + _GUARD_BITS):
        near = abs(x - 1) < Fraction(1, 2)
        return enclosure_of(to_ball(x - 1).log1p() if near else to_ball(x).log())


def root_below(square: Fraction, digits: int) -> Fraction:
    """Return t with t <= s < t (1 + 2**-digits) for the root s of a number > 0; s if rational."""
    whole = square.numerator * square.denominator
    root = isqrt(whole)
    if root * root == whole:
        return Fraction(root, square.denominator)
    shift = max(digits + 1 - whole.bit_length() // 2, 0)
    return Fraction(isqrt(whole << 2 * shift), square.denominator << shift)


def power(x: Fraction, exponent: Fraction, bits: int) -> Enclosure | NotEnclosed:
    """Enclose x^exponent for x > 0 (or x = 0 and exponent > 0) to about 2**-bits, relatively."""
    if x == 0 and exponent > 0:
        return Enclosure.exact(0)
    if x <= 0:
        raise ValueError(f"the power needs a number > 0, got {x}")
    with precision(bits + _GUARD_BITS):
        return to_enclosure(_power(to_ball(x), exponent))


def powers(lower: Array, upper: Array, exponent: Fraction) -> tuple[Array, Array]:
    """Bound x^exponent for all 0 <= lower <= x <= upper, as `rounding` has bounds.

    What overflows is infinite above; a negative power of 0 is infinite.
    """
    if exponent > 0:
        return _values(lower, exponent)[0], _values(upper, exponent)[1]
    return _values(upper, exponent)[0], _values(lower, exponent)[1]


def logarithms(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Bound ln x for all 0 <= lower <= x <= upper; that of 0 is -infinity."""
    return _values(lower, None)[0], _values(upper, None)[1]


def _values(x: Array, exponent: Fraction | None) -> tuple[Array, Array]:
    """Bound a function of doubles >= 0: a power, or the logarithm; equal doubles once."""
    distinct, place = np.unique(x, return_inverse=True)
    found = np.empty((2, len(distinct)))
    with precision(_DOUBLE_BITS):
        for k, each in enumerate(distinct.tolist()):
            if each == 0.0:
                below = exponent is None or exponent < 0
                found[:, k] = (-np.inf if exponent is None else np.inf) if below else 0.0
                continue
            if each == 1.0:
                found[:, k] = 0.0 if exponent is None else 1.0
                continue
            ball = arb(each).log() if exponent is None else _power(arb(each), exponent)
            # float() of an end is one of its two neighbours: one step outward is a bound.
            low = np.nextafter(float(ball.lower()), -np.inf)
            high = np.nextafter(float(ball.upper()), np.inf)
            found[:, k] = (low, high) if exponent is None else rounding.floored(low, high)
    shape = x.shape
    return found[0][place].reshape(shape), found[1][place].reshape(shape)


def _power(x: arb, exponent: Fraction) -> arb:
    if exponent.denominator == 1:
        return x ** int(exponent)
    return (x.log() * to_ball(exponent)).exp()
