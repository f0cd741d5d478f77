"""Bad structures and runs: published verdicts, brute force, witnesses by the definition."""

from dataclasses import replace

import pytest

from dipapprox.automata.analysis import analyse
from dipapprox.automata.model import Automaton
from dipapprox.automata.paths import lifted_structure
from dipapprox.automata.runs import Segment, orders, run_of
from dipapprox.automata.structures import DisclosingCycle, Structure, holds, leaking_cycles
from dipapprox.automata.taints import tainted_walk
from dipapprox.automata.unfolding import augment, quotient
from dipapprox.limits import Limits
from tests.automata import examples
from tests.automata.examples import automaton
from tests.automata.random_automata import feasible_runs, leaks, random_automaton, structures_in
from tests.thorough import part


def structure_of(found: Automaton) -> Structure | None:
    """Return the structure that the analysis finds, if any, checked by its definition."""
    structure = analyse(found, Limits(), with_words=False).structure
    assert structure is None or holds(found, structure)
    return structure


@pytest.mark.parametrize("block", part(range(6), 3))
def test_brute_force_on_short_runs_finds_nothing_else(block: int) -> None:
    """Where some run of at most five steps has a structure, one is found."""
    for seed in range(40 * block, 40 * block + 40):
        found = random_automaton(seed, variables=1 + seed % 2, states=3 + seed % 2)
        structure = structure_of(found)
        runs = list(feasible_runs(found, 5))
        if structure is None or structure.code != "LC":
            assert not any(leaks(found, run) for run in runs), seed
        if structure is None:
            assert not any(next(structures_in(found, run), None) for run in runs), seed


@pytest.mark.parametrize("seed", part(range(150), 5))
def test_taints_miss_no_path(seed: int) -> None:
    """No taint: no leaking pair and no violating path. A lifted structure is one."""
    found = random_automaton(seed, variables=2, states=5)
    whole = augment(found, Limits())
    if next(leaking_cycles(whole), None) is not None:
        return
    merged = quotient(whole, Limits())
    walk = tainted_walk(merged, Limits())
    if walk is None:
        seen = (each for run in feasible_runs(found, 5) for each in structures_in(found, run))
        assert all(isinstance(each, DisclosingCycle) for each in seen)
    else:
        lifted = lifted_structure(merged, walk)
        assert lifted is None or holds(found, lifted)


def test_the_definitions_refuse_what_is_changed() -> None:
    pair = structure_of(automaton(examples.TWO_RANGE_1))
    found = automaton(examples.TWO_RANGE_1)
    assert not holds(found, replace(pair, below=pair.above, above=pair.below))
    assert not holds(found, replace(pair, path=pair.path[:-1]))
    assert not holds(found, replace(pair, path=(pair.path[0], pair.path[-1])))
    assert not holds(found, replace(pair, run=pair.run[:-2]))
    assert not holds(found, replace(pair, above=pair.below))
    longer = Segment(pair.above.start - 1, pair.above.end)
    assert not holds(found, replace(pair, above=longer))

    found = automaton(examples.NUM_RANGE_1)
    path = structure_of(found)
    assert not holds(found, replace(path, shown_first=not path.shown_first))
    assert not holds(found, replace(path, path=path.path[:1]))

    found = automaton(examples.DISCLOSING)
    shown = structure_of(found)
    assert isinstance(shown, DisclosingCycle)
    assert not holds(found, replace(shown, position=0))

    found = automaton(examples.LEAKING_CYCLE)
    leak = structure_of(found)
    assert not holds(found, replace(leak, variable=0))
    assert not holds(found, replace(leak, cycle=Segment(leak.cycle.start + 1, leak.cycle.end)))
    assert not holds(found, replace(leak, cycle=Segment(0, 0)))


@pytest.mark.parametrize("seed", part(range(25), 3))
def test_walks_are_the_feasible_runs(seed: int) -> None:
    found = random_automaton(seed)
    whole = augment(found, Limits())
    walks: list[tuple[tuple[int, ...], int]] = [((), 0)]
    for walk, node in walks:
        if len(walk) < 5:
            walks += [((*walk, e), whole.edges[e].target) for e in whole.leaving[node]]
    runs = sorted(run_of(whole, walk) for walk, _ in walks)
    assert runs == sorted(feasible_runs(found, 5))
    for run in runs:
        assert orders(found, run) is not None
