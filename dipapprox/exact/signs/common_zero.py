"""Is a zero of one function a zero of another? Exact, by common divisors.

Two exponential polynomials have a common zero where their greatest common divisor has one, and
nowhere else (Lindemann; see `normal_form`).
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.exact.signs.bivariate import common_steps, exponential_polynomial, polynomials
from dipapprox.exact.signs.normal_form import NormalForm
from dipapprox.exact.signs.values import sign_at
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits

_HIGHEST = 16_000
"""Degree in e^{ε/N}: a common divisor takes seconds, without a way to stop."""


def vanishes_too(
    form: NormalForm,
    other: ExponentialPolynomial,
    lower: Fraction,
    upper: Fraction,
    limits: Limits,
) -> bool | None:
    """Return whether a function is 0 where another one is.

    Args:
        form: Without rational zeros > 0; between the ends it has at most one zero, a simple one.
        other: Not the zero function.
        lower: > 0.
        upper: At least `lower`.
        limits: Asked when signs are looked for.

    Returns:
        Whether a zero of `form` in [lower, upper] is one of `other`; None if the degrees are too
        high to tell.

    Raises:
        LimitReached: If the bits or the time are used up.
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
