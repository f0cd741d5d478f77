"""Pairs up to permutations of cells: every pair is in one orbit, and answers are those of all."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_programs import QUANTILE, read

from dipapprox.language.core import Everyone, Listed, Norm, Program, Within
from dipapprox.limits import Limits
from dipapprox.pairs import orbits as orbits_of_pairs
from dipapprox.pairs.adjacency import adjacent_pairs
from dipapprox.pairs.likely import likely_pairs
from dipapprox.pairs.orbits import PairOrbits, orbits
from dipapprox.pairs.selections import AllPairs, Pair
from dipapprox.pairs.walk import plan_walk
from dipapprox.privacy.decisions.decider import decide
from dipapprox.privacy.decisions.decision import Decision
from dipapprox.privacy.decisions.delta import read_delta
from dipapprox.privacy.decisions.epsilons import read_epsilons
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.options import Options
from dipapprox.semantics.execution import execute
from tests.thorough import examples, part

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

_TURNS = [
    "if q[{i}] = {a} then n <- n + 1 end",
    "if q[{i}] >= {a} then n <- clamp(n + {b}, 0, 3) end",
    "if q[{i}] + z > {a} then n <- clamp(n + 1, 0, 3) end",
    "n <- clamp(n + choose {{ 1 : (1 + q[{i}]) / 5, 0 : (4 - q[{i}]) / 5 }}, 0, 3)",
]


@st.composite
def _nearly_symmetric(draw: st.DrawFn) -> Program:
    """Three rows that are dealt with alike, but for one number, perhaps, in one turn."""
    turns = draw(st.lists(st.sampled_from(_TURNS), min_size=1, max_size=2))
    odd, place = draw(st.booleans()), draw(st.integers(1, 3))
    lines = ["input q[3] in 0..2", "output out in 0..3", "adjacent l0 1"]
    lines += ["z <- Lap(0, 1 / eps)", "n <- 0"]
    for turn in turns:
        a, b = draw(st.integers(1, 2)), draw(st.integers(1, 2))
        for i in range(1, 4):
            other = odd and i == place
            lines.append(turn.format(i=i, a=3 - a if other else a, b=3 - b if other else b))
        lines.append("n <- min(n, 3)")
    noise = draw(st.sampled_from(["n", "clamp(n + (z > 0), 0, 3)", "min(n + (z + n > 1), 3)"]))
    lines.append("out <- n" if noise == "n" else f"out <- n\nif z > {draw(st.integers(0, 1))} then")
    if noise != "n":
        lines.append("out <- max(out - 1, 0)\nend")
    return read("\n".join(lines))


def _decided(program: Program, delta: str) -> Decision:
    question = DecisionQuestion(
        Q(1, 2), read_delta(delta), read_epsilons("0..inf"), violations=True
    )
    return decide(program, question, AllPairs(), Options())


@examples(2)
@given(program=_nearly_symmetric(), delta=st.sampled_from(["0", "1/20"]))
def test_decisions_are_those_of_all_pairs(program: Program, delta: str) -> None:
    by_orbits = _decided(program, delta)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orbits_of_pairs, "symmetry_of", lambda _states: None)
        one_by_one = _decided(program, delta)
    assert by_orbits.answer is one_by_one.answer
    assert by_orbits.pairs == one_by_one.pairs
    assert by_orbits.inequalities == one_by_one.inequalities
    assert by_orbits.distinct == one_by_one.distinct
    assert by_orbits.violated_on == one_by_one.violated_on


def test_listed_adjacency_goes_by_orbits_too() -> None:
    text = QUANTILE.replace("adjacent l0 1", "adjacent l0 1 where x[i] <= x'[i] for i in 1..n")
    program = read(text, n=3)
    assert isinstance(program.adjacency, Listed)
    states = execute(program, True, Limits(), compared=True)
    total = len(program.adjacency.pairs)
    found = list(orbits(states, AllPairs(), total))
    assert sum(number for _, number in found) == total == 3 * 10 * 25
    assert len(found) == 10 * 15
