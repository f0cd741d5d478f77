"""Short forms of integer systems have the same integer solutions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.exact.integers.elimination import Integers
from dipapprox.exact.variables import Bounds, Row
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import DISCRETE_LAPLACE
from dipapprox.limits import Limits

LAW = Distribution(DISCRETE_LAPLACE, Fraction(0), Fraction(1))
tightened = Integers((LAW,) * 3, Fraction(1), Limits()).tightened

ROWS = st.tuples(*[st.integers(-2, 2)] * 3)
DIFFERENCES = st.sampled_from([(1, -1, 0), (-1, 1, 0), (0, 1, -1), (0, -1, 1), (1, 0, -1)])
UNITS = st.sampled_from([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)])
BOUNDS = st.integers(-4, 4)


def solutions(
    system: Sequence[tuple[Row, Fraction | int]] | Bounds, radius: int = 5
) -> set[tuple[int, ...]]:
    box = product(range(-radius, radius + 1), repeat=3)
    return {
        z
        for z in box
        if all(sum(a * x for a, x in zip(row, z, strict=True)) <= b for row, b in system)
    }


@given(st.lists(st.tuples(st.one_of(ROWS, DIFFERENCES, UNITS), BOUNDS), max_size=6))
def test_solutions_stay(system: list[tuple[Row, int]]) -> None:
    found = tightened(system)
    assert solutions(system) == (set() if found is None else solutions(found))


@given(st.lists(st.tuples(st.one_of(DIFFERENCES, UNITS), st.integers(-1, 1)), max_size=7))
def test_differences_keep_nothing_that_is_implied_and_show_contradictions(
    system: list[tuple[Row, int]],
) -> None:
    found = tightened(system)
    # Shortest paths have at most four edges: if there are solutions, there are some near 0.
    assert (found is None) == (not solutions(system, 4))
    for k in range(len(found or ())):
        assert found is not None
        fewer = (*found[:k], *found[k + 1 :])
        assert solutions(fewer, 5) != solutions(found, 5)


def test_rows_are_divided_and_rounded() -> None:
    assert tightened([((2, -4, 0), 5), ((1, -2, 0), 7)]) == (((1, -2, 0), 2),)
    assert tightened([((0, 0, 0), 0)]) == ()
    assert tightened([((0, 0, 0), -1)]) is None
    assert tightened([((2, 2, 0), 1), ((-2, -2, 0), -1)]) is None
