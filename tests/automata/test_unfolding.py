"""Augmented automata and quotients: published sizes, feasibility, a naive fixpoint."""

from __future__ import annotations

import pytest

from dipapprox.automata.runs import orders, run_of
from dipapprox.automata.unfolding import augment
from dipapprox.limits import Limits
from tests.automata.random_automata import feasible_runs, random_automaton
from tests.thorough import part


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
