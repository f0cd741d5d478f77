"""Exponential polynomials as integer polynomials in x = ε and y = e^{ε/N}, for common divisors.

Two of them have a common zero where their greatest common divisor has one, and nowhere else
(Lindemann; see `normal_form`): so it is seen exactly whether a zero of one is one of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd, lcm

from flint import Ordering, fmpz, fmpz_mpoly, fmpz_mpoly_ctx

from dipapprox.exact.signs.normal_form import NormalForm
from dipapprox.exact.signs.values import sign_at
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits

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


_HIGHEST = 16_000  # degree in e^{ε/N}: a common divisor takes seconds, without a way to stop


def vanishes_too(
    form: NormalForm, other: ExponentialPolynomial, lower: Fraction, upper: Fraction, limits: Limits
) -> bool | None:
    """Return whether a zero of `form` in [lower, upper], lower > 0, is one of `other`.

    Args:
        form: Without rational zeros > 0; between the ends it has at most one zero, a simple one.
        other: Not the zero function.

    Returns:
        None if the degrees are too high to tell.
    """
    function = form.function()
    steps = common_steps((function, other))
    rates = [[q for (_, q), _ in each.terms] for each in (function, other)]
    if max((max(each) - min(each)) * steps for each in rates) > _HIGHEST:
        return None
    left, right = (polynomials((each,), steps)[0] for each in (function, other))
    common = exponential_polynomial(left.gcd(right), steps)
    # A divisor of the form is not 0 at the ends, and changes its sign at a simple zero.
    return sign_at(common, lower, limits) != sign_at(common, upper, limits)
