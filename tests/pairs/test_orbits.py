"""Pairs up to permutations of cells: every pair is in one orbit, and answers are those of all."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import pytest
from pair_programs import QUANTILE, read

from dipapprox.language.core import Everyone, Listed, Norm, Within
from dipapprox.limits import Limits
from dipapprox.pairs.adjacency import adjacent_pairs
from dipapprox.pairs.likely import likely_pairs
from dipapprox.pairs.orbits import PairOrbits, orbits
from dipapprox.pairs.selections import AllPairs, Pair
from dipapprox.pairs.walk import plan_walk
from dipapprox.semantics.execution import execute
from tests.thorough import part

Q = Fraction

_GROUPS = [((0,), (1,), (2,), (3,)), ((0, 1, 2, 3),), ((0, 2), (1,), (3,)), ((1, 3), (0, 2))]

_RULES = [
    Everyone(),
    Within(Norm.LINF, Q(1)),
    Within(Norm.L1, Q(2)),
    Within(Norm.L0, Q(1)),
    Within(Norm.L0, Q(2)),
    Within(Norm.INCREASING, Q(1)),
    Within(Norm.DECREASING, Q(2)),
]


def orbit_of(pair: Pair, groups: tuple[tuple[int, ...], ...]) -> set[Pair]:
    """All pairs that permutations in groups make of one: found by trying them all."""
    found = set()
    for orders in product(*(permutations(group) for group in groups)):
        moved = {cell: to for group, order in zip(groups, orders, strict=True)
                 for cell, to in zip(group, order, strict=True)}  # fmt: skip
        places = [moved[cell] for cell in range(len(pair[0]))]
        found.add((tuple(pair[0][k] for k in places), tuple(pair[1][k] for k in places)))
    return found


@pytest.mark.parametrize("rule", part(_RULES, 3), ids=str)
@pytest.mark.parametrize("groups", part(_GROUPS, 2), ids=str)
def test_every_adjacent_pair_is_in_one_orbit(
    rule: Everyone | Within, groups: tuple[tuple[int, ...], ...]
) -> None:
    first = groups in _GROUPS[::2]
    cells = read("input q[4] in {0, 1, 3}\noutput o in bool\no <- true\n").inputs
    walk = plan_walk(cells, rule)
    assert walk is not None
    likely = list(likely_pairs(cells, rule)) if first else []
    found = list(PairOrbits(cells, groups).adjacent(walk, likely))
    wholes = [orbit_of(pair, groups) for pair, _ in found]
    assert [number for _, number in found] == list(map(len, wholes))
    assert Counter(pair for own in wholes for pair in own) == Counter(adjacent_pairs(cells, rule))
    if first:
        assert found[0][0] == likely[0]


# --- programs -----------------------------------------------------------------------------------


def test_listed_adjacency_goes_by_orbits_too() -> None:
    text = QUANTILE.replace("adjacent l0 1", "adjacent l0 1 where x[i] <= x'[i] for i in 1..n")
    program = read(text, n=3)
    assert isinstance(program.adjacency, Listed)
    states = execute(program, True, Limits(), compared=True)
    total = len(program.adjacency.pairs)
    found = list(orbits(states, AllPairs(), total))
    assert sum(number for _, number in found) == total == 3 * 10 * 25
    assert len(found) == 10 * 15
