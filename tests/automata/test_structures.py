"""Bad structures: published verdicts, brute force on short runs, witnesses by the definition."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dipapprox.automata.model import Automaton
from dipapprox.automata.paths import lifted_structure
from dipapprox.automata.runs import Segment
from dipapprox.automata.structures import (
    DisclosingCycle,
    LeakingCycle,
    LeakingPair,
    Structure,
    ViolatingPath,
    disclosing_cycle,
    holds,
    leaking_cycles,
)
from dipapprox.automata.taints import tainted_walk
from dipapprox.automata.unfolding import augment, quotient
from dipapprox.limits import Limits
from tests.automata import examples
from tests.automata.exact_structures import exact_structures
from tests.automata.examples import automaton
from tests.automata.random_automata import feasible_runs, leaks, random_automaton, structures_in
from tests.thorough import part


def structures_of(found: Automaton) -> list[Structure]:
    """Return what the exact tests find, each checked by its definition."""
    whole = augment(found, Limits())
    leak = next(leaking_cycles(whole), None)
    tried = (
        [leak] if leak else [disclosing_cycle(whole), next(exact_structures(whole, Limits()), None)]
    )
    structures = [structure for structure in tried if structure is not None]
    for structure in structures:
        assert holds(found, structure)
    return structures


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (examples.SVT, []),
        (examples.NUM_SPARSE, []),
        (examples.DISCLOSING, ["DC"]),
        (examples.NUM_RANGE_1, ["PV"]),
        (examples.NUM_RANGE_2, []),
        (examples.LEAKING_CYCLE, ["LC"]),
        (examples.LEAKING_CYCLE_OF_THE_PAPER, ["LC"]),
        (examples.TWO_RANGE_1, ["LP"]),
        (examples.TWO_RANGE_2, []),
        (examples.SILENT, ["LC"]),
        (examples.GAP_PV, []),
        (examples.GAP_LP, []),
        (examples.k_min_max(3), []),
        (examples.m_range(2), []),
        (examples.all_pairs(3), ["LP"]),
    ],
)
def test_published_verdicts(text: str, codes: list[str]) -> None:
    assert [structure.code for structure in structures_of(automaton(text))] == codes


@pytest.mark.parametrize("block", part(range(6), 3))
def test_brute_force_on_short_runs_finds_nothing_else(block: int) -> None:
    """What is on some run of at most five steps is found; what is found holds."""
    for seed in range(40 * block, 40 * block + 40):
        found = random_automaton(seed, variables=1 + seed % 2, states=3 + seed % 2)
        codes = {structure.code for structure in structures_of(found)}
        seen = set()
        for run in feasible_runs(found, 5):
            if leaks(found, run):
                seen.add("LC")
            if "LC" not in codes:
                seen.update(structure.code for structure in structures_in(found, run))
        assert seen <= codes | ({"PV"} if "LP" in codes else set()), seed


@pytest.mark.parametrize("seed", part(range(150), 5))
def test_taints_miss_no_path(seed: int) -> None:
    """No taint: no leaking pair and no violating path. A lifted structure is one."""
    found = random_automaton(seed, variables=2, states=5)
    whole = augment(found, Limits())
    if next(leaking_cycles(whole), None) is not None:
        return
    merged = quotient(whole, Limits())
    walk = tainted_walk(merged, Limits())
    exact = next(exact_structures(whole, Limits()), None)
    if walk is None:
        assert exact is None
    else:
        lifted = lifted_structure(merged, walk)
        assert lifted is None or (exact is not None and holds(found, lifted))


def test_the_definitions_refuse_what_is_changed() -> None:
    pair = structures_of(automaton(examples.TWO_RANGE_1))[0]
    found = automaton(examples.TWO_RANGE_1)
    assert isinstance(pair, LeakingPair)
    assert not holds(found, replace(pair, below=pair.above, above=pair.below))
    assert not holds(found, replace(pair, path=pair.path[:-1]))
    assert not holds(found, replace(pair, path=(pair.path[0], pair.path[-1])))
    assert not holds(found, replace(pair, run=pair.run[:-2]))
    assert not holds(found, replace(pair, above=pair.below))
    longer = Segment(pair.above.start - 1, pair.above.end)
    assert not holds(found, replace(pair, above=longer))

    found = automaton(examples.NUM_RANGE_1)
    path = structures_of(found)[0]
    assert isinstance(path, ViolatingPath)
    assert not holds(found, replace(path, shown_first=not path.shown_first))
    assert not holds(found, replace(path, path=path.path[:1]))

    found = automaton(examples.DISCLOSING)
    shown = structures_of(found)[0]
    assert isinstance(shown, DisclosingCycle)
    assert not holds(found, replace(shown, position=0))

    found = automaton(examples.LEAKING_CYCLE)
    leak = structures_of(found)[0]
    assert isinstance(leak, LeakingCycle)
    assert not holds(found, replace(leak, variable=0))
    assert not holds(found, replace(leak, cycle=Segment(leak.cycle.start + 1, leak.cycle.end)))
    assert not holds(found, replace(leak, cycle=Segment(0, 0)))
