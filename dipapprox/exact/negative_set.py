"""Where a function is negative: the maximal open intervals, their ends isolated."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dipapprox.exact.interval import EpsilonInterval
from dipapprox.exact.positive import polynomial_of_same_sign
from dipapprox.exact.values import Function
from dipapprox.exact.zeros import Zero, refine, zeros
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure


@dataclass(frozen=True, slots=True)
class OpenRange:
    """An open interval of ε.

    Attributes:
        lower: Where it begins; a point if that is known exactly.
        upper: Where it ends; None for infinity.
    """

    lower: Enclosure
    upper: Enclosure | None


def negative_set(
    function: Function, interval: EpsilonInterval, width: Fraction, limits: Limits
) -> tuple[OpenRange, ...]:
    """Return the maximal open intervals inside `interval` on which `function` < 0, ascending.

    An end of `interval` at which the function is negative belongs to the set too.

    Args:
        function: A ratio's poles end an interval as zeros do.
        interval: Not a point.
        width: Largest width of the enclosures of the ends, > 0.
        limits: Asked often.

    Raises:
        ValueError: If the interval is a point.
        LimitReached: If the boxes, bits, degree or time are used up.
    """
    if interval.is_point:
        raise ValueError("an open interval is asked for inside a point; use sign_at")
    polynomial, _ = polynomial_of_same_sign(function, interval, limits)
    chart = zeros(polynomial, interval, limits)
    found: list[OpenRange] = []
    for place, sign in enumerate(chart.signs):
        if sign >= 0:
            continue
        lower, upper = Enclosure.exact(interval.lower), None
        if place:
            lower = _end(chart.zeros[place - 1], width, limits)
        if place < len(chart.zeros):
            upper = _end(chart.zeros[place], width, limits)
        elif interval.upper is not None:
            upper = Enclosure.exact(interval.upper)
        found.append(OpenRange(lower, upper))
    return tuple(found)


def _end(zero: Zero, width: Fraction, limits: Limits) -> Enclosure:
    fine = refine(zero, width, limits)
    return Enclosure(fine.lower, fine.upper)
