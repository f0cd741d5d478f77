"""Linear forms over independent Gaussian samples: which are independent of one another.

Jointly Gaussian forms are independent if and only if they are uncorrelated. By elimination without
square roots, L D L' of their covariance, forms f_1, …, f_m become

    g_k = f_k - Σ_{j<k} l_kj g_j,   l_kj = Cov(f_k, g_j) / Var(g_j),

which are uncorrelated: a bijection with exact rational coefficients, which depends on the variances
of the samples and on the coefficients of the forms alone (Golub and Van Loan, Matrix Computations,
section 4.1.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from dipapprox.laws.distribution import Distribution
from dipapprox.linear.form import LinearForm

_ZERO = Fraction(0)


def are_uncorrelated(forms: Sequence[LinearForm], laws: Sequence[Distribution]) -> bool:
    """Tell whether all samples of some forms are Gaussian, and no two forms correlated, exactly.

    Args:
        forms: Over samples.
        laws: Of the samples.
    """
    named = {sample for form in forms for sample in form.samples()}
    if not all(laws[sample].family.is_normal for sample in named):
        return False
    variances = {sample: laws[sample].scale ** 2 for sample in named}
    return not any(covariance(f, g, variances) for f, g in combinations(forms, 2))


def orthogonalised(
    forms: Sequence[LinearForm], variances: Mapping[int, Fraction]
) -> list[list[Fraction]]:
    """Return the coefficients of uncorrelated combinations of linearly independent forms.

    Args:
        forms: Over samples and inputs. Those with other noise than Gaussian stay as they are.
        variances: Of the Gaussian samples.

    Returns:
        An invertible matrix, a row for each combination.
    """
    size = len(forms)
    rows = [[Fraction(i == j) for j in range(size)] for i in range(size)]
    found = list(forms)
    gaussian = [all(sample in variances for sample in form.samples()) for form in forms]
    for k in range(size):
        for j in range(k):
            if not (gaussian[k] and gaussian[j]):
                continue
            shared = covariance(forms[k], found[j], variances)
            if shared:
                factor = shared / covariance(found[j], found[j], variances)
                found[k] = found[k] - found[j].scaled(factor)
                rows[k] = [c - factor * d for c, d in zip(rows[k], rows[j], strict=True)]
    return rows


def covariance(left: LinearForm, right: LinearForm, variances: Mapping[int, Fraction]) -> Fraction:
    """Return that of the parts of two forms in samples with known variances."""
    shares = (
        c * right.coefficient(sample) * variances[sample]
        for sample, c in left.terms
        if isinstance(sample, int) and sample in variances
    )
    return sum(shares, _ZERO)
