"""Functions without a zero on an interval; ratios brought to one polynomial of the same sign."""

from __future__ import annotations

from dipapprox.exact.signs.chain import chain_sign
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exact.signs.normal_form import normal_form
from dipapprox.exact.signs.values import Function
from dipapprox.exact.signs.zeros import zeros
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits


def positive_on(function: ExponentialPolynomial, interval: EpsilonInterval, limits: Limits) -> bool:
    """Whether `function` > 0 at every ε of `interval`.

    Raises:
        LimitReached: If the boxes, bits, degree or time are used up.
    """
    if not function:
        return False
    if all(c > 0 for _, c in function.terms) or chain_sign(normal_form(function), limits)[0]:
        return True
    found = zeros(function, interval, limits)
    return found.signs == (1,) and not (found.zero_at_lower or found.zero_at_upper)


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
        if exponent % 2 and not positive_on(factor, interval, limits):
            numerator = numerator * factor
    return numerator
