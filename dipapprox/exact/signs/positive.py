"""Functions without a zero on an interval; ratios brought to one polynomial of the same sign."""

from __future__ import annotations

from dipapprox.exact.signs.chain import chain_sign
from dipapprox.exact.signs.evidence import DerivativeChain, Evidence, NoNegativeTerm, SignAtPoint
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exact.signs.normal_form import normal_form
from dipapprox.exact.signs.values import Function, sign_at
from dipapprox.exact.signs.zeros import zeros
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits

Positives = tuple[tuple[ExponentialPolynomial, Evidence], ...]
"""Functions that are > 0 on an interval, with the reason."""


def positive_on(
    function: ExponentialPolynomial, interval: EpsilonInterval, limits: Limits
) -> Evidence | None:
    """Return why `function` > 0 at every ε of `interval`; None if it is not.

    Raises:
        LimitReached: If the boxes, bits, degree or time are used up.
    """
    if not function:
        return None
    if all(c > 0 for _, c in function.terms):
        return NoNegativeTerm()
    if chain_sign(normal_form(function), limits)[0]:
        return DerivativeChain()
    if interval.is_point:
        positive = sign_at(function, interval.lower, limits) > 0
        return SignAtPoint(interval.lower, 1) if positive else None
    found = zeros(function, interval, limits)
    if found.zeros or found.signs != (1,) or found.zero_at_lower or found.zero_at_upper:
        return None
    return found.factors


def polynomial_of_same_sign(
    function: Function, interval: EpsilonInterval, limits: Limits
) -> tuple[ExponentialPolynomial, Positives]:
    """Return g with the sign of `function` wherever that is defined in `interval`.

    Even powers in the denominator and factors > 0 on the interval are left out; what else stands
    in the denominator is multiplied instead of divided.

    Returns:
        (g, the factors left out because they are > 0).
    """
    if isinstance(function, ExponentialPolynomial):
        return function, ()
    numerator, left_out = function.numerator, []
    for factor, exponent in function.denominator:
        if exponent % 2:
            evidence = positive_on(factor, interval, limits)
            if evidence is None:
                numerator = numerator * factor
            else:
                left_out.append((factor, evidence))
    return numerator, tuple(left_out)
