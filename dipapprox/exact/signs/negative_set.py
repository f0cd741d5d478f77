"""Where a function is negative: the maximal intervals, their ends isolated."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import dataclass
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exact.signs.nonnegative import polynomial_of_same_sign
from dipapprox.exact.signs.values import Function, sign_at
from dipapprox.exact.signs.zero import Zero, refine
from dipapprox.exact.signs.zeros import zeros
from dipapprox.limits import Limits


@dataclass(frozen=True, slots=True)
class NegativeRange:
    """An interval of ε, open but for ends that are said to be included: those of what was asked.

    Ends that are known exactly are points; None is infinity.
    """

    lower: Enclosure
    upper: Enclosure | None
    lower_included: bool = False
    upper_included: bool = False


def negative_set(
    function: Function, interval: EpsilonInterval, width: Fraction, limits: Limits
) -> tuple[NegativeRange, ...]:
    """Return the maximal intervals inside `interval`, no point, on which `function` < 0, ascending.

    Poles of a ratio end an interval as zeros do; enclosures of the ends are no wider than `width`.
    """
    if interval.is_point:
        raise ValueError("an open interval is asked for inside a point; use sign_at")
    polynomial = polynomial_of_same_sign(function, interval, limits)
    chart = zeros(polynomial, interval, limits)
    found: list[NegativeRange] = []
    for place, sign in enumerate(chart.signs):
        if sign >= 0:
            continue
        lower, upper = Enclosure.exact(interval.lower), None
        lower_included = upper_included = False
        if place:
            lower = _end(chart.zeros[place - 1], width, limits)
        elif interval.lower_included:
            lower_included = sign_at(polynomial, interval.lower, limits) < 0
        if place < len(chart.zeros):
            upper = _end(chart.zeros[place], width, limits)
        elif interval.upper is not None:
            upper = Enclosure.exact(interval.upper)
            upper_included = (
                interval.upper_included and sign_at(polynomial, interval.upper, limits) < 0
            )
        found.append(NegativeRange(lower, upper, lower_included, upper_included))
    return tuple(found)


def _end(zero: Zero, width: Fraction, limits: Limits) -> Enclosure:
    fine = refine(zero, width, limits)
    return Enclosure(fine.lower, fine.upper)
