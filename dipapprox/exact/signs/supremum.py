"""The least upper bound of a function of ε on an interval, exact where it is a rational limit."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.exact.signs.behaviour import Infinity, derivative, limit_at_infinity, limit_at_zero
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exact.signs.nonnegative import Nonnegative, is_nonnegative
from dipapprox.exact.signs.positive import polynomial_of_same_sign
from dipapprox.exact.signs.values import Function, as_ratio, difference, enclose_at, enclose_on
from dipapprox.exact.signs.zero import Zero, refine
from dipapprox.exact.signs.zeros import zeros
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed


@dataclass(frozen=True, slots=True)
class Supremum:
    """A least upper bound.

    Attributes:
        value: Its enclosure; a point if it is known exactly.
        place: Where it is attained or approached: an enclosure of an ε, 0 for the limit at 0, None
            for the limit at infinity. If several places are too close to tell, one of them.
    """

    value: Enclosure
    place: Enclosure | None


def enclose_supremum(
    function: Function, interval: EpsilonInterval, width: Fraction, limits: Limits
) -> Supremum | NotEnclosed:
    """Enclose the supremum of a function without poles on an interval.

    It is the limit at an end, or the value at a zero of the derivative from + to -. Whether an
    exact limit is it is decided exactly, by the sign of limit - function.

    Args:
        function: Continuous on the closure of the interval, 0 and infinity excepted.
        interval: Any.
        width: Largest width of the enclosure, > 0.
        limits: Asked often.

    Returns:
        The supremum, or NotEnclosed if the function is unbounded above near an end, or too large.

    Raises:
        LimitReached: If the boxes, bits, degree or time are used up.
    """
    ends = _ends(function, interval, width, limits)
    if isinstance(ends, NotEnclosed):
        return ends
    exact = [end for end in ends if end.value.width == 0]
    best = max(exact, key=lambda end: end.value.lower, default=None)
    if best is not None and _bounds(best, function, interval, limits):
        return best
    slope, _ = polynomial_of_same_sign(derivative(function), interval, limits)
    if not interval.is_point:
        chart = zeros(slope, interval, limits)
        for place, zero in enumerate(chart.zeros):
            if chart.signs[place] > 0 > chart.signs[place + 1]:
                value = _at_zero(function, zero, width, limits)
                if isinstance(value, NotEnclosed):
                    return value
                ends.append(value)
    # The largest upper end may belong to another place than the largest lower end.
    top = max(ends, key=lambda end: end.value.lower)
    upper = max(end.value.upper for end in ends)
    return Supremum(Enclosure(top.value.lower, upper), top.place)


def _bounds(best: Supremum, function: Function, interval: EpsilonInterval, limits: Limits) -> bool:
    constant = ExponentialPolynomial.constant(best.value.lower)
    return isinstance(is_nonnegative(difference(constant, function), interval, limits), Nonnegative)


def _ends(
    function: Function, interval: EpsilonInterval, width: Fraction, limits: Limits
) -> list[Supremum] | NotEnclosed:
    found: list[Supremum] = []
    if interval.lower:
        at_lower = _at_point(function, interval.lower, width, limits)
        if isinstance(at_lower, NotEnclosed):
            return at_lower
        found.append(at_lower)
    else:
        limit = limit_at_zero(function)
        if limit is Infinity.PLUS:
            return NotEnclosed("the function is unbounded near eps = 0")
        if isinstance(limit, Fraction):
            found.append(Supremum(Enclosure.exact(limit), Enclosure.exact(0)))
    if interval.upper is None:
        limit = limit_at_infinity(function)
        if limit is Infinity.PLUS:
            return NotEnclosed("the function is unbounded for large eps")
        if isinstance(limit, Fraction):
            found.append(Supremum(Enclosure.exact(limit), None))
    elif not interval.is_point:
        at_upper = _at_point(function, interval.upper, width, limits)
        if isinstance(at_upper, NotEnclosed):
            return at_upper
        found.append(at_upper)
    return found


def _at_point(
    function: Function, eps: Fraction, width: Fraction, limits: Limits
) -> Supremum | NotEnclosed:
    bits = 0
    while True:
        value = enclose_at(function, eps, bits, limits)
        if isinstance(value, NotEnclosed):
            return value
        if value.width <= width:
            return Supremum(value, Enclosure.exact(eps))
        bits = 2 * bits + 64


def _at_zero(
    function: Function, zero: Zero, width: Fraction, limits: Limits
) -> Supremum | NotEnclosed:
    """Enclose the value at a zero of the derivative by the range over its shrinking box."""
    nearby = _at_point(function, zero.lower, width, limits)
    if zero.is_exact or isinstance(nearby, NotEnclosed):
        return nearby
    ratio = as_ratio(function)
    while True:
        limits.check()
        value = enclose_on(ratio, zero.lower, zero.upper)
        if value is not None and value.width <= width:
            return Supremum(value, Enclosure(zero.lower, zero.upper))
        zero = refine(zero, (zero.upper - zero.lower) / 2**16, limits)
