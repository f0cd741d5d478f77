"""Two probabilities in closed form: budgets that fail as one is so much likelier than the other.

Let p and q be the probabilities with which two adjacent runs show the same.

Theorem. If p >= e^(b eps) q and q > 0 at some eps > 0, no budget B < b serves, as p > e^(B eps) q
there. If p > 0 = q at some eps, none serves. For eps -> inf let p grow like eps^n e^(r eps), and q
like eps^m e^(s eps): no B < r - s serves. As eps vanishes let p / q tend to more than 1: none
serves, as e^(B eps) -> 1; or p / q - 1 = s eps + o(eps): no B < s does. Closed forms are power
series near eps = 0, but for a power of eps.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial

from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof
from dipapprox.kernel.exponentials import Ratio, Sum, power


def loses(p: Ratio, q: Ratio, budget: Fraction | None, eps: Fraction | None) -> bool:
    """Whether no budget below one serves, None for none at all, at an eps or a limit of it.

    Args:
        p, q: The probabilities, at all eps > 0.
        budget: b.
        eps: 0 for the limit there, None for the one at infinity.
    """
    if eps is not None and eps < 0:
        raise BadProof("eps is below 0")
    if not q.numerator.terms:
        return budget is None and eps is not None and eps > 0 < p.numerator.sign(eps)
    if eps is None:
        return budget is not None and bool(p.numerator.terms) and _rate(p) - _rate(q) >= budget
    if not eps:
        return _is_likelier_near_zero(p, q, budget)
    slack = p + (Ratio(Sum.exponential(budget or Fraction(0))) * q).scaled(Fraction(-1))
    return budget is not None and q.numerator.sign(eps) > 0 <= slack.numerator.sign(eps)


def _rate(ratio: Ratio) -> Fraction:
    """The largest rate of what is not 0: how fast it grows."""
    below = [_top(factor) * exponent for factor, exponent in ratio.denominator]
    return _top(ratio.numerator) - sum(below)


def _top(function: Sum) -> Fraction:
    return max(Fraction(rate) for (rate, _), _ in function.terms)


def _is_likelier_near_zero(p: Ratio, q: Ratio, budget: Fraction | None) -> bool:
    """Whether p / q tends to more than 1 as eps vanishes, or p / q - 1 = s eps + o(eps), s >= B.

    q is not 0; B is None for any number.
    """
    apart = p - q
    if apart.numerator.is_zero():
        return False
    order, factor = _first_term(apart * q.inverse())
    return factor > 0 and (order < 1 or (order == 1 and budget is not None and factor >= budget))


def _first_term(value: Ratio) -> tuple[int, Fraction]:
    """Return k and c: the value, which is not 0, is c eps^k + o(eps^k) as eps vanishes."""
    order, factor = _first_of(value.numerator)
    for own, exponent in value.denominator:
        k, c = _first_of(own)
        order, factor = order - k * exponent, factor / power(c, exponent)
    return order, factor


def _first_of(function: Sum) -> tuple[int, Fraction]:
    """Return the same of a sum that is not 0.

    Up to a power of eps it is a sum of P_q(eps) e^(q eps), which solves a linear differential
    equation of the order N, the sum of all deg P_q + 1. So its first N derivatives do not all
    vanish at 0.
    """
    order, factor = min(n for (_, n), _ in function.terms) - 1, Fraction(0)
    while not factor:
        order += 1
        spend(10 * len(function.terms))
        for (rate, n), c in function.terms:
            if n <= order:
                factor += c * power(Fraction(rate), order - n) / factorial(order - n)
    return order, factor
