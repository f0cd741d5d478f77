"""Signs and enclosures of exponential polynomials at one rational ε.

The value is Σ c e^r with distinct rational r. It is 0 exactly if the sum is empty (Lindemann and
Weierstrass); otherwise balls of enough bits tell its sign. The largest exponential is divided out
first, so that no intermediate number is large.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.exact.signs.evaluation import START_BITS, more_bits
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.limits import Limits

Function = ExponentialPolynomial | ExponentialRatio


def sign_at(function: Function, eps: Fraction, limits: Limits) -> int:
    """Return the exact sign, -1, 0 or 1, of `function` at `eps` > 0.

    Raises:
        LimitReached: If the bits or the time are used up.
        ZeroDivisionError: If a factor of the denominator is 0 there.
    """
    if isinstance(function, ExponentialRatio):
        sign = sign_at(function.numerator, eps, limits)
        for factor, exponent in function.denominator:
            below = sign_at(factor, eps, limits)
            if not below:
                raise ZeroDivisionError(f"the denominator is 0 at {eps}")
            sign *= below if exponent % 2 else 1
        return sign
    value = function.at(eps)
    if all(c > 0 for _, c in value.terms):
        return 1 if value else 0
    bits = START_BITS
    while True:
        with precision(bits):
            total, _ = _scaled_sum(value)
            if total > 0:
                return 1
            if total < 0:
                return -1
        bits = more_bits(bits, eps, limits)


def compare_at(left: Function, right: Function, eps: Fraction, limits: Limits) -> int:
    """Return the exact sign of left - right at `eps` > 0."""
    return sign_at(difference(left, right), eps, limits)


def enclose_at(
    function: Function, eps: Fraction, bits: int, limits: Limits
) -> Enclosure | NotEnclosed:
    """Enclose the value at `eps` > 0, with relative width at most 2^-bits.

    Values beyond 2^±65536 are the exception: they have a wide enclosure or none.

    Raises:
        LimitReached: If the bits or the time are used up.
        ZeroDivisionError: If a factor of the denominator is 0 there.
    """
    value = as_ratio(function).at(eps)
    exact = value.numerator.as_constant()
    if exact is not None and (not exact or not value.denominator):
        return Enclosure.exact(exact)
    working = max(START_BITS, bits + 32)
    while True:
        with precision(working):
            total = ball_at(value)
            if total.rel_accuracy_bits() >= bits + 2:
                return to_enclosure(total)
        working = more_bits(working, eps, limits)


def ball_at(value: ExponentialRatio) -> arb:
    """Return a ball around a value without powers, at ε' = 1, at the current precision."""
    if not value.numerator:
        return arb(0)
    total, exponent = _scaled_sum(value.numerator)
    for factor, power in value.denominator:
        below, shift = _scaled_sum(factor)
        total, exponent = total / below**power, exponent - shift * power
    return total * to_ball(exponent).exp()


def enclose_on(ratio: ExponentialRatio, lower: Fraction, upper: Fraction) -> Enclosure | None:
    """Enclose the values on [lower, upper], 0 < lower <= upper; None if the range is too wide.

    The bits follow the width of the range: shrinking ranges have shrinking enclosures.
    """
    width = upper - lower
    narrow = width.denominator.bit_length() - width.numerator.bit_length()
    with precision(START_BITS + 2 * max(narrow, 0)):
        x = to_ball(lower).union(to_ball(upper))
        value = _range(ratio.numerator, x)
        for factor, exponent in ratio.denominator:
            value = value / _range(factor, x) ** exponent
        enclosure = to_enclosure(value)
    return None if isinstance(enclosure, NotEnclosed) else enclosure


def _range(function: ExponentialPolynomial, x: arb) -> arb:
    total = arb(0)
    for (n, q), c in function.terms:
        total += to_ball(c) * x**n * (x * to_ball(q)).exp()
    return total


def difference(left: Function, right: Function) -> Function:
    """left - right; a polynomial if both are."""
    if isinstance(left, ExponentialPolynomial) and isinstance(right, ExponentialPolynomial):
        return left - right
    return as_ratio(left) - as_ratio(right)


def as_ratio(function: Function) -> ExponentialRatio:
    """The same function over its denominator, if need be none."""
    return function if isinstance(function, ExponentialRatio) else ExponentialRatio(function)


def _scaled_sum(value: ExponentialPolynomial) -> tuple[arb, Fraction]:
    """Σ c e^r as (ball, exponent): the sum is ball * e^exponent."""
    top = value.terms[-1][0][1]
    total = arb(0)
    for (_, rate), c in value.terms:
        total += to_ball(c) if rate == top else to_ball(c) * to_ball(rate - top).exp()
    return total, top
