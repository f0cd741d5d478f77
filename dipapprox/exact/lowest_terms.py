"""Quotients of exponential polynomials in lowest terms."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

from dipapprox.exact.bivariate import common_steps, exponential_polynomial, polynomials
from dipapprox.exact.values import sign_at
from dipapprox.exponentials import ONE, ExponentialPolynomial, ExponentialRatio
from dipapprox.limits import Limits


def lowest_terms(
    ratio: ExponentialRatio, epsilon: Fraction, limits: Limits
) -> tuple[ExponentialPolynomial, ExponentialPolynomial]:
    """Cancel the common factors of a ratio.

    Args:
        ratio: Its denominator has no zero on some interval.
        epsilon: A point of that interval.
        limits: Asked when a sign is looked for.

    Returns:
        (numerator, denominator), both up to positive functions c ε^n e^{qε}; the denominator is
        positive on the interval, so the numerator has the sign of the ratio.

    Raises:
        LimitReached: If the bits or the time are used up.
    """
    if not ratio.denominator or not ratio.numerator:
        return ratio.numerator, ONE
    factors = (factor**exponent for factor, exponent in ratio.denominator)
    bottom = reduce(ExponentialPolynomial.__mul__, factors, ONE)
    steps = common_steps((ratio.numerator, bottom))
    (above,), (below,) = polynomials((ratio.numerator,), steps), polynomials((bottom,), steps)
    common = above.gcd(below)
    top = exponential_polynomial(above // common, steps)
    bottom = exponential_polynomial(below // common, steps)
    return (top, bottom) if sign_at(bottom, epsilon, limits) > 0 else (-top, -bottom)
