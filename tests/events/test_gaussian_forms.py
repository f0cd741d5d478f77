"""Orthogonal combinations of Gaussian forms, against covariances that numpy multiplies out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.events.measures import are_uncorrelated, orthogonalised
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN
from dipapprox.linear.form import LinearForm

SMALL = st.integers(-3, 3)


@given(
    st.lists(st.lists(SMALL, min_size=4, max_size=4), min_size=2, max_size=3),
    st.lists(st.integers(1, 5), min_size=4, max_size=4),
)
def test_combinations_are_uncorrelated_and_keep_everything(
    matrix: list[list[int]], deviations: list[int]
) -> None:
    if np.linalg.matrix_rank(np.array(matrix)) < len(matrix):
        return
    laws = [Distribution(GAUSSIAN, Fraction(0), Fraction(d, 2)) for d in deviations]
    forms = [LinearForm.of({k: Fraction(c) for k, c in enumerate(row)}) for row in matrix]
    rows = orthogonalised(forms, {k: law.scale**2 for k, law in enumerate(laws)})
    combined = [
        sum((f.scaled(c) for c, f in zip(row, forms, strict=True)), LinearForm.constant_form(0))
        for row in rows
    ]
    assert are_uncorrelated(combined, laws)
    # Lower triangular with ones: what is published can be read off the combinations.
    assert all(row[k] == 1 and not any(row[k + 1 :]) for k, row in enumerate(rows))
    floats = np.array([[float(f.coefficient(s)) for s in range(4)] for f in combined])
    covariance = floats @ np.diag([float(law.scale) ** 2 for law in laws]) @ floats.T
    assert np.allclose(covariance, np.diag(np.diag(covariance)))
    assert are_uncorrelated(forms, laws) == (
        not np.any(np.triu(np.array(matrix) @ np.diag(deviations) ** 2 @ np.array(matrix).T, 1))
    )
