"""The least upper bound of a function of ε on an interval, exact where it is a rational limit.

Derivatives of exponential polynomials and ratios, and their limits at 0 and at infinity.

As ε vanishes, a quotient p / q tends to a number, the jump, or grows beyond all bounds; where it
tends to 1, ln(p / q) / ε tends to what (p / q - 1) / ε does, the slope.
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from math import factorial, prod

from dipapprox.arithmetic.enclosure import Enclosure, Missing, NotEnclosed, enclosing, sure
from dipapprox.data_classes import Record
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exact.signs.nonnegative import Nonnegative, is_nonnegative, polynomial_of_same_sign
from dipapprox.exact.signs.values import Function, as_ratio, difference, enclose_at, enclose_on
from dipapprox.exact.signs.zeros import Zero, refine, zeros
from dipapprox.exponentials import (
    Exponent,
    ExponentialPolynomial,
    ExponentialRatio,
    common_denominator,
)
from dipapprox.limits import check_limits


class Infinity(Enum):
    """A limit that is no number."""

    PLUS = "inf"
    MINUS = "-inf"


def derivative(function: Function) -> Function:
    """The derivative with respect to ε.

    For n / Π f_i^(e_i) it is (n' Π f_i - n Σ_i e_i f_i' Π_(j != i) f_j) / Π f_i^(e_i + 1).
    """
    if isinstance(function, ExponentialPolynomial):
        return _derivative(function)
    factors = [factor for factor, _ in function.denominator]
    numerator = prod(factors, start=_derivative(function.numerator))
    for place, (factor, exponent) in enumerate(function.denominator):
        others = factors[:place] + factors[place + 1 :]
        term = prod(others, start=function.numerator * _derivative(factor))
        numerator = numerator - term.scaled(exponent)
    below = {factor: exponent + 1 for factor, exponent in function.denominator}
    return ExponentialRatio.of(numerator, below)


def limit_at_zero(function: Function) -> Fraction | Infinity:
    """The limit for ε -> 0, exact if it is finite."""
    ratio = as_ratio(function)
    if not ratio.numerator:
        return Fraction(0)
    order, value = _leading_at_zero(ratio.numerator)
    for factor, exponent in ratio.denominator:
        below, divisor = _leading_at_zero(factor)
        order, value = order - below * exponent, value / divisor**exponent
    return _limit(-order, value)


def limit_at_infinity(function: Function) -> Fraction | Infinity:
    """The limit for ε -> ∞, exact if it is finite."""
    ratio = as_ratio(function)
    if not ratio.numerator:
        return Fraction(0)
    (power, rate), value = max(ratio.numerator.terms, key=_growth)
    for factor, exponent in ratio.denominator:
        (n, q), c = max(factor.terms, key=_growth)
        power, rate = power - n * exponent, rate - q * exponent
        value /= c**exponent
    return _limit(rate or power, value)


class LimitAtZero(Record):
    """Of p / q the jump, None if it is infinite; if it is 1 the slope of ln(p / q), None else."""

    jump: Fraction | None
    slope: Fraction | None


def near_zero(above: ExponentialPolynomial, below: ExponentialPolynomial) -> LimitAtZero:
    """Return the limits of above / below, a quotient that is >= 0 close to 0, for ε -> 0."""
    jump = limit_at_zero(ExponentialRatio(above, ((below, 1),)))
    if isinstance(jump, Infinity):
        return LimitAtZero(None, None)
    if jump != 1:
        return LimitAtZero(jump, None)
    eps = ExponentialPolynomial.monomial(1, 1)
    slope = limit_at_zero(ExponentialRatio(above - below, ((below, 1), (eps, 1))))
    return LimitAtZero(jump, None if isinstance(slope, Infinity) else slope)


def without_common(
    p: ExponentialRatio, q: ExponentialRatio
) -> tuple[ExponentialPolynomial, ExponentialPolynomial]:
    """Return polynomials whose quotient is p / q."""
    common = common_denominator((p, q))
    return p.over(common), q.over(common)


def _limit(growth: Fraction | int, value: Fraction) -> Fraction | Infinity:
    """The limit of something like value * x^growth, x -> infinity."""
    if growth > 0:
        return Infinity.PLUS if value > 0 else Infinity.MINUS
    return Fraction(0) if growth < 0 else value


def _leading_at_zero(function: ExponentialPolynomial) -> tuple[int, Fraction]:
    """(k, a) with f(ε) = a ε^k + O(ε^(k+1)), a != 0; ends for every f but the zero function."""
    order = 0
    while True:
        value = sum(
            (
                c * q ** (order - n) / factorial(order - n)
                for (n, q), c in function.terms
                if n <= order
            ),
            Fraction(0),
        )
        if value:
            return order, value
        order += 1


def _growth(term: tuple[Exponent, Fraction]) -> tuple[Fraction, int]:
    (n, q), _ = term
    return q, n


def _derivative(function: ExponentialPolynomial) -> ExponentialPolynomial:
    total: dict[Exponent, Fraction] = {}
    for (n, q), c in function.terms:
        total[n, q] = total.get((n, q), Fraction(0)) + c * q
        if n:
            total[n - 1, q] = total.get((n - 1, q), Fraction(0)) + c * n
    return ExponentialPolynomial.of(total)


class Supremum(Record):
    """A least upper bound, a point if it is known exactly, and where it is.

    The place, one of several that are too close to tell, encloses an ε; it is 0 for the limit at 0,
    None for the limit at infinity.
    """

    value: Enclosure
    place: Enclosure | None


@enclosing
def enclose_supremum(function: Function, interval: EpsilonInterval, width: Fraction) -> Supremum:
    """Enclose, to a width, the supremum of a function without poles on an interval.

    It is the limit at an end, or the value at a zero of the derivative from + to -. Whether an
    exact limit is it is decided exactly, by the sign of limit - function.

    Args:
        function: Continuous on the closure of the interval, 0 and infinity excepted.

    Returns:
        NotEnclosed if the function is unbounded above near an end, or too large.
    """
    ends = _ends(function, interval, width)
    exact = [end for end in ends if end.value.width == 0]
    best = max(exact, key=lambda end: end.value.lower, default=None)
    if best is not None and _bounds(best, function, interval):
        return best
    slope = polynomial_of_same_sign(derivative(function), interval)
    if not interval.is_point:
        chart = zeros(slope, interval)
        for place, zero in enumerate(chart.zeros):
            if chart.signs[place] > 0 > chart.signs[place + 1]:
                ends.append(_at_zero(function, zero, width))
    # The largest upper end may belong to another place than the largest lower end.
    top = max(ends, key=lambda end: end.value.lower)
    upper = max(end.value.upper for end in ends)
    return Supremum(Enclosure(top.value.lower, upper), top.place)


def _bounds(best: Supremum, function: Function, interval: EpsilonInterval) -> bool:
    constant = ExponentialPolynomial.constant(best.value.lower)
    return isinstance(is_nonnegative(difference(constant, function), interval), Nonnegative)


def _ends(function: Function, interval: EpsilonInterval, width: Fraction) -> list[Supremum]:
    found: list[Supremum] = []
    for eps, limit_of, place, words in (
        (interval.lower or None, limit_at_zero, Enclosure.exact(0), "near eps = 0"),
        (interval.upper, limit_at_infinity, None, "for large eps"),
    ):
        if eps is not None:
            found.append(_at_point(function, eps, width))
            continue
        limit = limit_of(function)
        if limit is Infinity.PLUS:
            raise Missing(NotEnclosed(f"the function is unbounded {words}"))
        if isinstance(limit, Fraction):
            found.append(Supremum(Enclosure.exact(limit), place))
    return found


def _at_point(function: Function, eps: Fraction, width: Fraction) -> Supremum:
    bits = 0
    while True:
        value = sure(enclose_at(function, eps, bits))
        if value.width <= width:
            return Supremum(value, Enclosure.exact(eps))
        bits = 2 * bits + 64


def _at_zero(function: Function, zero: Zero, width: Fraction) -> Supremum:
    """Enclose the value at a zero of the derivative by the range over its shrinking box."""
    nearby = _at_point(function, zero.lower, width)
    if zero.is_exact:
        return nearby
    ratio = as_ratio(function)
    while True:
        check_limits()
        value = enclose_on(ratio, zero.lower, zero.upper)
        if value is not None and value.width <= width:
            return Supremum(value, Enclosure(zero.lower, zero.upper))
        zero = refine(zero, (zero.upper - zero.lower) / 2**16)
