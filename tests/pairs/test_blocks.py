"""Blocks of pairs: every adjacent pair once, whatever the size of the blocks."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.language.core import Adjacency, Cell, Everyone, Norm, Within
from dipapprox.pairs.adjacency import adjacent_pairs
from dipapprox.pairs.walk import InputNumbers, pair_blocks, plan_walk

NUMBERS = st.fractions(-2, 2, max_denominator=3)
DOMAINS = st.lists(NUMBERS, min_size=1, max_size=3, unique=True).map(tuple)
CELLS = st.lists(DOMAINS, min_size=0, max_size=4).map(
    lambda domains: tuple(Cell(f"q[{k}]", "q", k, d) for k, d in enumerate(domains, 1))
)
ADJACENCIES = st.one_of(
    st.just(Everyone()),
    st.builds(Within, st.sampled_from(Norm), st.fractions(0, 3, max_denominator=2)),
)


@given(CELLS, ADJACENCIES, st.integers(1, 40))
def test_every_pair_comes_once(
    cells: tuple[Cell, ...], adjacency: Everyone | Within, size: int
) -> None:
    walk = plan_walk(cells, adjacency)
    assert walk is not None
    numbers = InputNumbers(cells)
    found = []
    for block in pair_blocks(cells, walk, size):
        assert 0 < len(block) <= max(size, max(map(len, walk.steps), default=1))
        assert (block.first < numbers.count).all()
        ends = zip(block.first.tolist(), block.second.tolist(), strict=True)
        found += [(numbers.input(a), numbers.input(b)) for a, b in ends]
    assert len(found) == len(set(found))
    assert set(found) == set(adjacent_pairs(cells, adjacency))


def test_walks_that_are_too_wide_are_refused() -> None:
    wide = Cell("q", "q", None, tuple(map(Fraction, range(200))))
    everyone: Adjacency = Everyone()
    assert plan_walk((wide,), everyone) is None
    assert plan_walk((wide,), Within(Norm.LINF, Fraction(1))) is not None
    tiny = Cell("q", "q", None, (Fraction(0), Fraction(1, 2**50)))
    assert plan_walk((tiny,), Within(Norm.L1, Fraction(2**60))) is not None
    coarse = Cell("q", "q", None, (Fraction(0), Fraction(1, 3**30), Fraction(5)))
    assert plan_walk((coarse,), Within(Norm.L1, Fraction(9))) is None
