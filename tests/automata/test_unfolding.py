"""Augmented automata and quotients: published sizes, feasibility, a naive fixpoint."""

from __future__ import annotations

import pytest

from dipapprox.automata.model import Automaton
from dipapprox.automata.runs import orders, run_of
from dipapprox.automata.unfolding import Quotient, augment, quotient
from dipapprox.errors import LimitReached
from dipapprox.limits import Limits
from tests.automata import examples
from tests.automata.examples import automaton
from tests.automata.random_automata import feasible_runs, random_automaton
from tests.thorough import part


def quotient_of(found: Automaton) -> Quotient:
    return quotient(augment(found, Limits()), Limits())


@pytest.mark.parametrize(
    ("text", "nodes", "edges", "classes"),
    [
        (examples.SVT, 3, 3, 3),
        (examples.NUM_SPARSE, 3, 3, 3),
        (examples.NUM_RANGE_2, 6, 6, 4),
        (examples.TWO_RANGE_2, 13, 19, 7),
        *((examples.k_min_max(k), k + 2, 3 * k, k + 2) for k in (2, 3, 7)),
        *((examples.m_range(m), 5 * m + 1, 8 * m, 3 * m + 1) for m in (1, 2, 5, 20)),
        *((examples.all_pairs(k), size, None, None) for k, size in ((2, 5), (3, 60), (4, 1318))),
    ],
)
def test_sizes_are_the_known_ones(
    text: str, nodes: int, edges: int | None, classes: int | None
) -> None:
    found = quotient_of(automaton(text))
    assert len(found.whole.states) == nodes
    assert edges in (None, len(found.whole.edges))
    assert classes in (None, len(found.graph.states))


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


def test_too_many_nodes_are_a_limit() -> None:
    with pytest.raises(LimitReached, match="more than 1000 symbolic states"):
        augment(automaton(examples.all_pairs(4)), Limits(states=1000))
