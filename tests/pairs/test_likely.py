"""Likely pairs come first, and every pair comes once, whatever the adjacency."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from pair_programs import read

from dipapprox.language.core import Cell, Everyone, Norm, Within
from dipapprox.pairs.adjacency import adjacent_pairs
from dipapprox.pairs.likely import FEW_PAIRS, likely_first, likely_pairs
from dipapprox.pairs.selections import AllPairs, OrderedPairs

PLAIN = read("svt_laplace", N=3)

NUMBERS = st.integers(-4, 4).map(lambda n: Fraction(n, 2))
DOMAINS = st.lists(NUMBERS, min_size=1, max_size=3, unique=True)
ADJACENCIES = st.one_of(
    st.just(Everyone()), st.builds(Within, st.sampled_from(Norm), NUMBERS.map(abs))
)


@given(st.lists(DOMAINS, min_size=1, max_size=4), ADJACENCIES, st.sampled_from([None, 10**6]))
def test_every_pair_comes_once(
    domains: list[list[Fraction]], adjacency: Everyone | Within, total: int | None
) -> None:
    cells = tuple(Cell(f"q[{k}]", "q", k, tuple(each)) for k, each in enumerate(domains, 1))
    program = replace(PLAIN, inputs=cells, adjacency=adjacency)
    expected = list(adjacent_pairs(cells, adjacency))
    found = list(likely_first(program, AllPairs(), total))
    assert len(found) == len(set(found)) == len(expected)
    assert set(found) == set(expected)
    first = list(likely_pairs(cells, adjacency))
    assert found[: len(first)] == first


def test_listed_pairs_and_few_pairs_keep_their_order() -> None:
    pairs = tuple(reversed(list(adjacent_pairs(PLAIN.inputs, PLAIN.adjacency))))
    assert tuple(likely_first(PLAIN, OrderedPairs(pairs), None)) == pairs
    assert tuple(likely_first(PLAIN, AllPairs(), FEW_PAIRS)) == tuple(reversed(pairs))
