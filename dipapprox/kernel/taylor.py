"""Functions on [-1, 1] in polynomials whose coefficients are balls.

C holds f if for every t in [-1, 1] there are c_k in the coefficients C_k such that f(t) is the sum
of c_k t^k; they need not be the same for all t. If D holds g, then, computed with balls,

1. C + D holds f + g, C * D holds f * g, and s * C holds s * f for s in a ball: for each t alone.
2. If V contains the sum of c_k t^(k - n) over k >= n for all c_k in C_k and t in [-1, 1], the terms
   of C below n hold f once every x with |x| <= |v|, v in V, is added to C_0, as |t^n| <= 1.
3. Let m_k and r_k be the midpoint and radius of C_k, P the antiderivative of C with P_0 = 0. The
   integral of f from -1 to t is that of the midpoints, give or take that of the sum of r_k |s|^k
   over s in [-1, t], which is the sum of r_k (1 + t |t|^k) / (k + 1): at most the radius of
   P(t) - P(-1) as the difference of two balls, r_k (1 + |t|^(k + 1)) / (k + 1) for each k. So P
   minus the ball P(-1) holds it; likewise P(1) minus P that from t to 1, and P(1) - P(-1) contains
   the whole integral.
4. |e^v - sum of v^k / k! over k < n| <= |v|^n / n! e^|v| for real v (Lagrange).
5. Let a_k(z) h^k be the coefficients of t -> f(z + h t) at t = 0. Then f(c + h t) is the sum of
   a_k(c) h^k t^k over k < n, and a_n(z) h^n t^n for a z between c and c + h t (Lagrange).
"""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, arb_poly

_PLACES, _LEFT, _RIGHT = arb(0, 1), arb(-1), arb(1)


def shortened(held: arb_poly, terms: int) -> arb_poly:
    """Return what holds the same functions with few terms (2)."""
    return held.truncate(terms) + held.right_shift(terms)(_PLACES) * _PLACES


def times(one: arb_poly, other: arb_poly, terms: int) -> arb_poly:
    """Return what holds products (1, 2)."""
    return shortened(one * other, terms)


def running(held: arb_poly, from_left: bool, terms: int) -> arb_poly:
    """Return what holds integrals from -1 to t, or from t to 1 (3)."""
    found = held.integral()
    return shortened(found - found(_LEFT) if from_left else found(_RIGHT) - found, terms)


def whole(held: arb_poly) -> arb:
    """Enclose the integral from -1 to 1 (3)."""
    found = held.integral()
    return found(_RIGHT) - found(_LEFT)


def exponential(rate: arb, terms: int, step: int = 1) -> arb_poly:
    """Return what holds t -> e^(rate * t^step), with the terms of t^0, t^step, ... (4)."""
    coefficients, power = [arb(0)] * terms, arb(1)
    for count, place in enumerate(range(0, terms, step), 1):
        coefficients[place] = power
        power *= rate / count
    coefficients[0] += power * abs(rate).exp() * _PLACES
    return arb_poly(coefficients)


def jet(
    coefficients: Callable[[arb, int], list[arb]], centre: arb, half: arb, terms: int
) -> arb_poly:
    """Return what holds t -> f(c + h t) (5).

    Args:
        coefficients: Of t -> f(z + h t) for z in a ball, as many as are asked for.
        centre, half: c and h.
        terms: n >= 1.
    """
    found = coefficients(centre, terms)
    found[0] += coefficients(centre + half * _PLACES, terms + 1)[terms] * _PLACES
    return arb_poly(found)
