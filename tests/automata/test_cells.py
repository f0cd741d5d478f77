"""Coarser cells: no word loses more than they cost; derived answers; the two kinds of vectors."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from graphlib import TopologicalSorter

import pytest

from dipapprox.automata.analysis import CellBound, analyse
from dipapprox.automata.cells import cells_of
from dipapprox.automata.model import Automaton, members
from dipapprox.automata.optimum import joined_family, search
from dipapprox.automata.runs import Run, dependencies, orders
from dipapprox.automata.shifts import run_cost
from dipapprox.automata.unfolding import augment, quotient
from dipapprox.automata.words import SeenSymbol, word_bound
from dipapprox.limits import Limits
from tests.automata.running_extremes import random_extremes
from tests.thorough import part


def test_no_word_loses_more_than_its_cells_cost() -> None:
    """Random words and inputs; their rates look at all runs, one by one."""
    chance, tried = random.Random(7), 0
    for seed in range(8):
        _, each = random_extremes(seed)
        found = analyse(each, Limits())
        if not isinstance(found.upper, CellBound):
            continue
        tried += 1
        assert found.lower_bound <= found.upper.value
        whole = augment(each, Limits())
        for _ in range(12):
            node, word, first = 0, [], []
            for _ in range(chance.randint(2, 9)):
                if not whole.leaving[node]:
                    break
                edge = chance.choice(whole.leaving[node])
                word.append(SeenSymbol(str(whole.transition(edge).output)))
                reads = each.reads(whole.transition(edge))
                value = Fraction(chance.choice((-9, -6, -3, -1, 0, 1, 3, 6, 9)))
                first.append(value if reads else None)
                node = whole.edges[edge].target
            second = [None if v is None else v + chance.choice((-1, 0, 1)) for v in first]
            bound = word_bound(whole, tuple(first), tuple(second), tuple(word), Limits())
            assert bound is not None and abs(bound.value) <= found.upper.value, seed
    assert tried > 2


def run_in(
    original: Automaton, cells: Automaton, walk: Run, changes: Sequence[int]
) -> tuple[Run, tuple[int, ...]]:
    """Return a run of the original with samples in a cell, and its changes of inputs."""
    sorter = TopologicalSorter[int](dict.fromkeys(range(len(walk)), ()))
    for lesser, larger in dependencies(cells, walk):
        sorter.add(larger, lesser)
    rank = {place: number for number, place in enumerate(sorter.static_order())}
    held: dict[int, int] = {}
    state, run, kept = 0, [], []
    for place, number in enumerate(walk):
        cell = cells.transitions[number]
        drawn = cells.states[cell.source].compared
        if drawn is not None and not drawn.rate:
            continue  # a separator
        (index,) = (
            index
            for index in original.leaving()[state]
            if original.transitions[index].output == cell.output
            and all(held[x] < rank[place] for x in members(original.transitions[index].above))
            and all(held[x] > rank[place] for x in members(original.transitions[index].below))
        )
        step = original.transitions[index]
        run.append(index)
        kept.append(changes[place])
        held.update((x, rank[place]) for x in members(step.assigned))
        state = step.target
    return tuple(run), tuple(kept)


@pytest.mark.parametrize("seed", part(range(0, 40, 2), 4))
def test_joined_vectors_are_no_less_than_the_search(seed: int) -> None:
    """The search is exact for walks; and a walk's samples make a feasible run, no cheaper."""
    _, each = random_extremes(seed)
    cells = cells_of(augment(each, Limits()))
    if cells is None:
        return
    coarse = quotient(augment(cells, Limits()), Limits())
    found = search(coarse.graph, Fraction(20), Limits())
    joined = joined_family(coarse.graph, Fraction(20), Limits())
    if joined is None:
        return
    assert found.family is not None
    assert found.family.value <= joined.value
    walk = tuple(coarse.whole.edges[edge].transition for edge in coarse.lift(found.walk))
    run, changes = run_in(each, cells, walk, found.changes)
    assert orders(each, run) is not None
    assert run_cost(each, run, changes).value >= found.family.value
