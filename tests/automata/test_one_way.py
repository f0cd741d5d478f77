"""Inputs that change in one direction only, or are not read: structures that cost, and others."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from dipapprox.automata.analysis import analyse
from dipapprox.automata.families import cost_of_rounds, gain_of_round, repeated
from dipapprox.automata.structures import holds
from dipapprox.limits import Limits
from tests.automata.random_automata import dearest, random_automaton
from tests.thorough import part


@pytest.mark.parametrize(
    ("changes", "read"), [((0, -1), 1.0), ((0, 1), 1.0), ((0, 1), 0.5), ((1, -1), 0.5)]
)
@pytest.mark.parametrize("block", part(range(3), 3))
def test_every_automaton_has_its_budget_or_a_structure_that_costs(
    block: int, changes: tuple[int, int], read: float
) -> None:
    """Short runs never cost more than the budget; further rounds cost what is claimed."""
    seen = Counter[str]()
    for seed in range(30 * block, 30 * block + 30):
        both = random_automaton(seed, variables=1 + seed % 2, states=4, shown=0.4)
        chance = random.Random(seed)
        states = tuple(
            replace(state, reads=state.reads and chance.random() < read) for state in both.states
        )
        automaton = replace(both, changes=changes, states=states)
        found = analyse(automaton, Limits(), with_words=False)
        if found.upper is not None:
            assert found.is_exact
            assert dearest(automaton, 5) <= found.upper.value
            seen["budget"] += 1
            continue
        assert found.unbounded
        structure = found.structure
        assert structure is not None
        assert holds(automaton, structure)
        run, changed = repeated(automaton, structure, 4)
        for index, change in zip(run, changed, strict=True):
            least, most = automaton.ends(automaton.transitions[index])
            assert least <= change <= most
        gain = gain_of_round(automaton, structure)
        some, more = (cost_of_rounds(automaton, structure, rounds) for rounds in (4, 12))
        assert more - some >= 8 * gain > 0
        seen[structure.code] += 1
    assert seen["budget"] >= 5 and seen["LC"] >= 5 and seen["DC"] >= 1


def test_what_costs_one_way_may_cost_nothing_the_other_way() -> None:
    free = Counter[str]()
    for seed in range(60):
        both = random_automaton(seed, variables=1 + seed % 2, states=4, shown=0.4)
        if analyse(both, Limits(), with_words=False).unbounded:
            for changes in ((0, -1), (0, 1)):
                found = analyse(replace(both, changes=changes), Limits(), with_words=False)
                free["budget" if found.upper is not None else "none"] += 1
    assert free["budget"] >= 2 and free["none"] >= 20
