"""A cheap sufficient condition for a constant sign on all ε > 0: descending by derivatives."""

from __future__ import annotations

from dipapprox.exact.signs.normal_form import NormalForm
from dipapprox.limits import Limits


def chain_sign(form: NormalForm, limits: Limits) -> tuple[int, int]:
    """Look at G and repeated derivatives at 0 only.

    Write H_0 = G e^(Jρε), J the largest j, so that all rates are >= 0 and the smallest is 0. From
    H_i, a sum with smallest rate 0, make H_(i+1): the derivative (times the denominator of ρ), and
    if that has no term of rate 0, times e^(-rε) with r its smallest rate.

    If H_i(0) >= 0 and H_(i+1) > 0 on (0, ∞), then H_i > 0 there: H_i' has the sign of H_(i+1).
    A sum all of whose coefficients are > 0 is > 0. So non-negative values H_i(0) up to such a sum
    prove G > 0 on (0, ∞).

    Each step maps a leading term c ε^k, k >= 1, at 0 to a positive multiple of c ε^(k-1). So the
    first H_i(0) that is not 0 has the sign of G on some (0, η).

    Each step lowers the degree of the coefficient of the smallest rate: the chain ends.

    Returns:
        (1 if G > 0 on (0, ∞) is proved else 0, the sign of G on some (0, η)); the second is exact
        whenever the first is 0.
    """
    numerator, denominator = form.rate.numerator, form.rate.denominator
    top = form.groups[-1][0]
    groups = [((top - j) * numerator, list(row)) for j, row in reversed(form.groups)]
    near = 0
    while True:
        limits.check()
        value = sum(row[0] for _, row in groups)
        near = near or (value > 0) - (value < 0)
        if value < 0:
            return 0, near
        if all(c >= 0 for _, row in groups for c in row):
            return 1, 1
        derived: list[tuple[int, list[int]]] = []
        for shift, row in groups:
            new = [shift * c for c in row]
            for n in range(1, len(row)):
                new[n - 1] += denominator * n * row[n]
            if not shift:
                new.pop()
            if new:
                derived.append((shift, new))
        least = derived[0][0]
        groups = [(shift - least, row) for shift, row in derived] if least else derived
