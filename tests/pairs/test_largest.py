"""Sums over the cells of many states."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.pairs import largest

TABLES = st.dictionaries(st.integers(0, 9), st.sampled_from([(5, 0), (3, 1), (1, 0)]))


@given(st.lists(TABLES, min_size=1, max_size=5), st.integers(0, 2**32 - 1))
def test_sums_over_like_cells_are_those_over_each(
    outputs: list[dict[int, tuple[int, int]]], seed: int
) -> None:
    """Whatever was summed up for other outputs before."""
    cells = list(range(10))
    codes = np.random.default_rng(seed).integers(0, 2, (10, 7)).astype(np.uint16)
    known: largest._Sums = {}
    for tables in outputs:
        weights = {cell: np.array(table, np.int64) for cell, table in tables.items()}
        found = largest._sums(codes.__getitem__, 7, cells, weights, known)
        expected = [sum(weights[c][codes[c, k]] for c in tables) for k in range(7)]
        assert found.tolist() == expected
