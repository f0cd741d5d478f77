"""Linear forms near probabilities that are only smooth, or only steep: against closed forms."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dipapprox.laws.families import EXPONENTIAL, GAUSSIAN, LAPLACE, REFLECTED_EXPONENTIAL
from dipapprox.laws.family import Family
from dipapprox.numerics.interpolation.smooth import near, points, smoothness_of_means

_LAWS = {
    LAPLACE: stats.laplace,
    GAUSSIAN: stats.norm,
    EXPONENTIAL: stats.expon,
    REFLECTED_EXPONENTIAL: None,
}


def _below(family: Family, x: float) -> float:
    """Pr[Z <= x]."""
    law = _LAWS[family]
    return float(1 - stats.expon.cdf(-x) if law is None else law.cdf(x))


@given(
    st.lists(st.sampled_from(sorted(_LAWS, key=str)), min_size=2, max_size=2),
    st.lists(st.fractions(-2, 2, max_denominator=4), min_size=4, max_size=4),
    st.lists(st.fractions(-3, 3, max_denominator=8), min_size=2, max_size=2),
    st.lists(st.fractions(0, 1, max_denominator=8), min_size=2, max_size=2),
)
def test_forms_are_near_everywhere(
    families: list[Family], matrix: list[Fraction], centre: list[Fraction], halves: list[Fraction]
) -> None:
    """Pr[Z_1 <= a·u, Z_2 <= b·u] on a box of two inputs."""
    rows = [matrix[:2], matrix[2:]]

    def probability(u: tuple[Fraction, ...]) -> float:
        forms = [sum((s * x for s, x in zip(row, u, strict=True)), Fraction(0)) for row in rows]
        return float(np.prod([_below(f, float(x)) for f, x in zip(families, forms, strict=True)]))

    smooth = smoothness_of_means(
        [(f, tuple(map(abs, row))) for f, row in zip(families, rows, strict=True)], 2
    )
    growth = [
        (1 if min(column) >= 0 else -1 if max(column) <= 0 else 0)
        for column in zip(*rows, strict=True)
    ]
    box = [(c - h, c + h) for c, h in zip(centre, halves, strict=True)]
    values = np.array([probability(point) for point in points(smooth, growth, box)])
    model, steep = near(smooth, growth, box, values, values)
    for share in ((0, 0), (1, 1), (0, 1), (1, 0), (Fraction(1, 3), Fraction(4, 5))):
        u = tuple(low + s * (high - low) for s, (low, high) in zip(share, box, strict=True))
        offset = np.array([float(x - c) for x, c in zip(u, centre, strict=True)])
        form = model.value + float(model.gradient @ offset)
        assert abs(form - probability(u)) <= model.spread + 1e-13
        for axis in (0, 1):
            if halves[axis]:
                step = tuple(x - Fraction(axis == k, 10**4) for k, x in enumerate(u))
                slope = (probability(u) - probability(step)) * 10**4
                assert abs(slope) <= float(steep[axis]) + 1e-3
                assert abs(slope - model.gradient[axis]) <= model.steepness[axis] + 1e-3
