"""Exponential polynomials as integer polynomials in x = ε and y = e^{ε/N}, for common divisors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd, lcm

from flint import Ordering, fmpz, fmpz_mpoly, fmpz_mpoly_ctx

from dipapprox.exponentials import ExponentialPolynomial

_CONTEXT = fmpz_mpoly_ctx.get(("x", "y"), Ordering.lex)


def common_steps(functions: Iterable[ExponentialPolynomial]) -> int:
    """The least N for which all functions are polynomials in ε and e^{±ε/N}."""
    return lcm(*{rate.denominator for function in functions for (_, rate), _ in function.terms})


def polynomials(functions: Sequence[ExponentialPolynomial], steps: int) -> list[fmpz_mpoly]:
    """Multiply functions, not all 0, by one c ε^n e^{qε}, c > 0, so that they are polynomials."""
    terms = [term for function in functions for term in function.terms]
    lowest = min(rate for (_, rate), _ in terms)
    power = min(n for (n, _), _ in terms)
    scale = lcm(*(c.denominator for _, c in terms))
    divisor = gcd(*(int(c * scale) for _, c in terms))
    return [
        _CONTEXT.from_dict(
            {
                (n - power, int((rate - lowest) * steps)): int(c * scale) // divisor
                for (n, rate), c in function.terms
            }
        )
        for function in functions
    ]


def exponential_polynomial(polynomial: fmpz_mpoly, steps: int) -> ExponentialPolynomial:
    """Substitute x = ε and y = e^{ε/steps}."""
    return ExponentialPolynomial.of(
        {
            (int(n), Fraction(int(k), steps)): Fraction(int(c))
            for (n, k), c in polynomial.to_dict().items()
        }
    )


def over_power(function: ExponentialPolynomial, steps: int) -> tuple[fmpz_mpoly, int, int]:
    """Return p, d > 0 and s >= 0 with function = p / (d y^s), where y = e^{ε/steps}."""
    divisor = lcm(*(c.denominator for _, c in function.terms))
    shift = max([int(-rate * steps) for (_, rate), _ in function.terms], default=0)
    shift = max(shift, 0)
    terms: dict[tuple[int, ...], int | fmpz] = {
        (n, int(q * steps) + shift): int(c * divisor) for (n, q), c in function.terms
    }
    return _CONTEXT.from_dict(terms), divisor, shift
