"""Interval arithmetic on enclosures: exact on rational operations, outward on sqrt, log and exp.

Every function returns an interval that contains f(x) for all x in the argument (and all y in the
second). Ends of very many bits are moved outward, and ends beyond 2^65536 raise OverflowError: no
computation grows without bound.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.precision import exponential
from dipapprox.numerics import powers

_MOST_BITS = 4_096  # ends with a longer numerator or denominator are rounded outward
_KEPT_BITS = 2_048
_MOST_EXPONENT = 65_536
_MOST_POWER = 10_000


def multiply(x: Enclosure, y: Enclosure) -> Enclosure:
    corners = [a * b for a in (x.lower, x.upper) for b in (y.lower, y.upper)]
    return _bounded(min(corners), max(corners))


def reciprocal(x: Enclosure) -> Enclosure:
    """Return 1 / x; a ZeroDivisionError if x contains 0."""
    if 0 in x:
        raise ZeroDivisionError("the interval contains 0")
    return _bounded(1 / x.upper, 1 / x.lower)


def power(x: Enclosure, exponent: int) -> Enclosure:
    """Return x ** exponent for 0 <= exponent <= 10000; else a ValueError."""
    if not 0 <= exponent <= _MOST_POWER:
        raise ValueError(f"exponent must be in [0, {_MOST_POWER}], got {exponent}")
    if exponent == 0:
        return Enclosure.exact(1)
    low, high = _power(x.lower, exponent), _power(x.upper, exponent)
    if exponent % 2:
        return Enclosure(low.lower, high.upper)
    least = Fraction(0) if 0 in x else min(low.lower, high.lower)
    return Enclosure(least, max(low.upper, high.upper))


def square_root(x: Enclosure, bits: int) -> Enclosure:
    """Return sqrt(x), x >= 0, else a ValueError; exact where an end is the square of a rational."""
    if x.lower < 0:
        raise ValueError("the interval has a negative number")
    low, high = (powers.root_below(end, bits + 8) if end else end for end in (x.lower, x.upper))
    return Enclosure(low, high if high**2 == x.upper else high * (1 + Fraction(1, 256 << bits)))


def logarithm(x: Enclosure, bits: int) -> Enclosure:
    """Return log(x), x > 0; else a ValueError."""
    if x.lower <= 0:
        raise ValueError("the interval has a number <= 0")
    return Enclosure(powers.logarithm(x.lower, bits).lower, powers.logarithm(x.upper, bits).upper)


def exponentiate(x: Enclosure, bits: int) -> Enclosure:
    """Return exp(x) to about 2**-bits, relatively, at the ends; |x| as in `exponential`."""
    return Enclosure(exponential(x.lower, bits).lower, exponential(x.upper, bits).upper)


def _power(end: Fraction, exponent: int) -> Enclosure:
    """Square and multiply, rounding outward: huge exponents stay affordable."""
    if exponent == 1:
        return Enclosure.exact(end)
    half = _power(end, exponent // 2)
    square = multiply(half, half)
    return multiply(square, Enclosure.exact(end)) if exponent % 2 else square


def _bounded(lower: Fraction, upper: Fraction) -> Enclosure:
    return Enclosure(_round(lower, up=False), _round(upper, up=True))


def _round(value: Fraction, *, up: bool) -> Fraction:
    size = max(value.numerator.bit_length(), value.denominator.bit_length())
    if size <= _MOST_BITS:
        return value
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if exponent > _MOST_EXPONENT:
        raise OverflowError("a number beyond 2^65536")
    # A relative error of 2^-2048, unless the number is too close to 0 for that.
    unit = Fraction(2) ** (max(exponent, -_MOST_EXPONENT) - _KEPT_BITS)
    scaled = value / unit
    return (scaled.__ceil__() if up else scaled.__floor__()) * unit
