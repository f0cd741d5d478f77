"""Functions without a zero on an interval; ratios brought to one polynomial of the same sign."""

from __future__ import annotations

from dipapprox.data_classes import dataclass
from dipapprox.exact.signs.chain import chain_sign
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exact.signs.normal_form import normal_form
from dipapprox.exact.signs.values import Function, sign_at
from dipapprox.exact.signs.zeros import Factors, zeros
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits


@dataclass(frozen=True, slots=True)
class Positive:
    """A function is > 0 on the whole interval.

    Attributes:
        factors: Whose signs tell it; None where a simpler argument does.
    """

    factors: Factors | None = None


def positive_on(
    function: ExponentialPolynomial, interval: EpsilonInterval, limits: Limits
) -> Positive | None:
    """Return why `function` > 0 at every ε of `interval`; None if it is not.

    Raises:
        LimitReached: If the boxes, bits, degree or time are used up.
    """
    if not function:
        return None
    if all(c > 0 for _, c in function.terms):
        return Positive()
    if chain_sign(normal_form(function), limits)[0]:
        return Positive()
    if interval.is_point:
        return Positive() if sign_at(function, interval.lower, limits) > 0 else None
    found = zeros(function, interval, limits)
    if found.zeros or found.signs != (1,) or found.zero_at_lower or found.zero_at_upper:
        return None
    return Positive(found.factors)


def polynomial_of_same_sign(
    function: Function, interval: EpsilonInterval, limits: Limits
) -> ExponentialPolynomial:
    """Return g with the sign of `function` wherever that is defined in `interval`.

    Even powers in the denominator and factors > 0 on the interval are left out; what else stands
    in the denominator is multiplied instead of divided.
    """
    if isinstance(function, ExponentialPolynomial):
        return function
    numerator = function.numerator
    for factor, exponent in function.denominator:
        if exponent % 2 and positive_on(factor, interval, limits) is None:
            numerator = numerator * factor
    return numerator
