"""Taylor polynomials of standard densities on panels, in balls, with the remainder on the panel.

Gaussian. For g(u) = φ(c + h u), g' = -h (c + h u) g, so (k + 1) g_{k+1} = -h c g_k - h² g_{k-1}.
By Cauchy, |g_k| <= m ρ^-k with m = φ(0) max exp(-Re(c + h u)² / 2) over |u| = ρ, and the
coefficients beyond n add up to at most m ρ^-n / (ρ - 1).

Laplace and one-sided laws, with the mass m on the panel's side of 0: the exponential series, with
remainder m exp(-|c|) h^(n+1) / (n+1)! e^h by Lagrange.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from math import sqrt

from flint import arb

from dipapprox.distributions import Family
from dipapprox.numerics.densities import KINKED, STANDARD_LAWS
from dipapprox.numerics.precision import to_ball

Series = Callable[[Fraction, Fraction, int], tuple[list[arb], arb]]
"""center, half, degree -> the coefficients of density(center + half u), a bound on the rest."""


def gaussian_series(center: Fraction, half: Fraction, degree: int) -> tuple[list[arb], arb]:
    """Taylor coefficients of φ(center + half u) and a bound on the rest for |u| <= 1."""
    c, h = to_ball(center), to_ball(half)
    previous, current = arb(0), STANDARD_LAWS[Family.GAUSSIAN].pdf(c, 0)
    coefficients = [current]
    for k in range(degree):
        previous, current = current, -h * (c * current + h * previous) / (k + 1)
        coefficients.append(current)
    # |g_k| is about h^k / sqrt(k!): the circle of radius sqrt(degree) / h is near the best one.
    best = max(1.25, sqrt(degree) / max(float(half), 1e-6))
    rho = to_ball(Fraction(best).limit_denominator(64))
    reach = abs(c), h * rho
    # Re (c + h ρ e^(iθ))² = c² + 2 c h ρ x + h² ρ² (2 x² - 1), x = cos θ. Over all real x it is
    # least at x = -c / (2 h ρ), with value c² / 2 - h² ρ²; if that is outside [-1, 1], at the end.
    least = reach[0] ** 2 / 2 - reach[1] ** 2
    if reach[0] > 2 * reach[1]:
        least = (reach[0] - reach[1]) ** 2
    largest = (-least / 2).exp() / (2 * arb.pi()).sqrt()
    return coefficients, largest / (rho**degree * (rho - 1))


def exponential_series(
    family: Family, center: Fraction, half: Fraction, degree: int
) -> tuple[list[arb], arb]:
    """The same for a density m exp(-|t|) on a panel on one side of 0."""
    side = -1 if center < 0 else 1
    h = to_ball(-side * half)
    coefficients = [STANDARD_LAWS[family].pdf(to_ball(center), side)]
    for k in range(degree):
        coefficients.append(coefficients[-1] * h / (k + 1))
    remainder = abs(coefficients[-1] * h / (degree + 1)) * abs(h).exp()
    return coefficients, remainder


DENSITY_SERIES: Mapping[Family, Series] = {
    Family.GAUSSIAN: gaussian_series,
    **{family: partial(exponential_series, family) for family in KINKED},
}
"""The series of every continuous family, in standard units; only Gaussian panels may straddle 0."""
