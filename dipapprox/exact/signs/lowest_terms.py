"""Sums of quotients of exponential polynomials, with numerators that depend on the function only.

Quotients are brought to lowest terms one by one (`lowest_terms`), as polynomials in ε and e^{ε/N}.
A sum Σ m_i t_i / b_i, m_i any functions, has the least common multiple of the b_i as denominator:
a polynomial in ε and z = e^{sε}, s the largest number of which all its rates are multiples. Its
numerator is Σ e^{rε} T_r, T_r of the same kind, r < s; what divides all T_r and the denominator is
cancelled. So nothing is ever as large as the common denominator of s and the rates of the m_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from math import gcd, lcm

from flint import Ordering, fmpz, fmpz_mpoly, fmpz_mpoly_ctx

from dipapprox.errors import LimitReached
from dipapprox.exact.signs.bivariate import common_steps, exponential_polynomial, polynomials
from dipapprox.exact.signs.values import sign_at
from dipapprox.exponentials import ONE, ExponentialPolynomial, ExponentialRatio, exponential_sum
from dipapprox.limits import Limits

Quotient = tuple[ExponentialPolynomial, ExponentialPolynomial]
"""(numerator, denominator)."""

_RING = fmpz_mpoly_ctx.get(("x", "z"), Ordering.lex)
_HIGHEST = 4000
"""Degree in e^{ε/N}; common divisors of polynomials of higher degrees take long."""


def lowest_terms(ratio: ExponentialRatio) -> Quotient:
    """Cancel all common factors of a ratio.

    Raises:
        LimitReached: If the degree is too high for that.
    """
    if not ratio.denominator or not ratio.numerator:
        return ratio.numerator, ONE
    factors = (factor**exponent for factor, exponent in ratio.denominator)
    bottom = reduce(ExponentialPolynomial.__mul__, factors, ONE)
    steps = common_steps((ratio.numerator, bottom))
    above, below = polynomials((ratio.numerator, bottom), steps)
    if max(above.degrees()[1], below.degrees()[1]) > _HIGHEST:
        raise LimitReached(
            f"degree-budget: a quotient of degree beyond {_HIGHEST} in e^(ε/{steps})"
        )
    common = above.gcd(below)
    return (
        exponential_polynomial(above // common, steps),
        exponential_polynomial(below // common, steps),
    )


def numerator_of_sum(
    parts: Sequence[tuple[ExponentialPolynomial, Quotient]], eps: Fraction, limits: Limits
) -> ExponentialPolynomial:
    """Return a polynomial with the sign of Σ multiplier * quotient.

    Args:
        parts: (multiplier, quotient in lowest terms); no denominator has a zero on some interval.
        eps: A point of that interval.
        limits: Asked for every quotient, and when a sign is looked for.

    Raises:
        LimitReached: If the bits or the time are used up.
    """
    bottoms = [bottom for _, (_, bottom) in parts]
    steps = common_steps(bottoms)
    below = polynomials(bottoms, steps)
    multiple = below[0]
    for each in below[1:]:
        limits.check()
        multiple *= each // multiple.gcd(each)
    top = exponential_sum(
        factor * numerator * exponential_polynomial(multiple // each, steps)
        for (factor, (numerator, _)), each in zip(parts, below, strict=True)
    )
    bottom = exponential_polynomial(multiple, steps)
    top, bottom = _cancelled(top, bottom)
    return top if sign_at(bottom, eps, limits) > 0 else -top


def _cancelled(top: ExponentialPolynomial, bottom: ExponentialPolynomial) -> Quotient:
    """Cancel what can be cancelled without finer exponentials than those of `bottom`."""
    least = min(q for (_, q), _ in bottom.terms)
    rates = [q - least for (_, q), _ in bottom.terms]
    scale = lcm(*(q.denominator for q in rates))
    step = Fraction(gcd(*(int(q * scale) for q in rates)), scale) or Fraction(1)
    if not top:
        return top, ONE
    unit = lcm(*(c.denominator for f in (top, bottom) for _, c in f.terms))
    classes: dict[Fraction, dict[tuple[int, ...], int | fmpz]] = {}
    lowest = min(q for (_, q), _ in top.terms)
    for (n, q), c in top.terms:
        rest = (q - lowest) % step
        classes.setdefault(rest, {})[n, int((q - lowest - rest) / step)] = int(c * unit)
    tops = {rest: _RING.from_dict(terms) for rest, terms in classes.items()}
    below = _RING.from_dict(
        {(n, int((q - least) / step)): int(c * unit) for (n, q), c in bottom.terms}
    )
    common = reduce(fmpz_mpoly.gcd, tops.values(), below)
    shifted = (_function(polynomial // common, step, rest) for rest, polynomial in tops.items())
    return exponential_sum(shifted), _function(below // common, step, Fraction(0))


def _function(polynomial: fmpz_mpoly, step: Fraction, rate: Fraction) -> ExponentialPolynomial:
    """Substitute z = e^{step ε} and multiply by e^{rate ε}."""
    return ExponentialPolynomial.of(
        {
            (int(n), int(k) * step + rate): Fraction(int(c))
            for (n, k), c in polynomial.to_dict().items()
        }
    )
