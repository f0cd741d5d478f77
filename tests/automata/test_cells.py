"""Coarser cells: no word loses more than they cost; derived answers; the two kinds of vectors."""

import random
from collections.abc import Sequence
from fractions import Fraction
from graphlib import TopologicalSorter

import pytest

from dipapprox.automata.analysis import analyse
from dipapprox.automata.cells import cells_of
from dipapprox.automata.description import automaton_of
from dipapprox.automata.model import Automaton, members
from dipapprox.automata.optimum import ClosedFamily, joined_family, search
from dipapprox.automata.runs import Run, dependencies, orders
from dipapprox.automata.shifts import run_cost
from dipapprox.automata.unfolding import augment, quotient
from dipapprox.automata.words import SeenSymbol, WordSearch
from dipapprox.language.dipa import parse_dipa
from dipapprox.limits import Limits
from tests.thorough import part


def test_no_word_loses_more_than_its_cells_cost() -> None:
    """Random words and inputs; their rates look at all runs, one by one."""
    chance, tried = random.Random(7), 0
    for seed in range(8):
        _, each = random_extremes(seed)
        found = analyse(each, Limits())
        if not isinstance(found.upper, ClosedFamily) or found.upper.cells is None:
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
            bound = WordSearch(whole, Limits()).bound(tuple(first), tuple(second), tuple(word))
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
    assert found.family.value <= joined.value
    walk = tuple(coarse.whole.edges[edge].transition for edge in coarse.lift(found.walk))
    run, changes = run_in(each, cells, walk, found.changes)
    assert orders(each, run) is not None
    assert run_cost(each, run, changes).value >= found.family.value


_RATES = ("1/4", "1/2", "1", "1/3", "2")


def random_text(seed: int) -> str:
    """Return a `.dipa` text: values are stored, kept least or largest, compared, stored anew."""
    chance = random.Random(seed)
    names = ["x", "y", "z"][: chance.randint(1, 3)]
    count = chance.randint(2, 5)
    return "\n".join([*_start(chance, names), *_rest(chance, names, count)])


def random_extremes(seed: int) -> tuple[str, Automaton]:
    """Return a text and its automaton."""
    text = random_text(seed)
    return text, automaton_of(parse_dipa(text))


def _start(chance: random.Random, names: list[str]) -> list[str]:
    if chance.random() < 0.5:
        stored = ", ".join(f"{name} := insample" for name in names)
        return [f"(qs0, {chance.choice(_RATES)}, 0): {stored}; output oi; goto q0"]
    lines = []
    for place, name in enumerate(names):
        kind = "" if chance.random() < 0.6 else ":non-input"
        target = f"qs{place + 1}" if place + 1 < len(names) else "q0"
        rate = chance.choice(_RATES)
        lines.append(f"(qs{place}{kind}, {rate}, 0): {name} := insample; output oi; goto {target}")
    return lines


def _rest(chance: random.Random, names: list[str], count: int) -> list[str]:
    lines = []
    for place in range(count):
        nearby = [place, place + 1, chance.randint(0, count)]
        target, other = (f"q{chance.choice(nearby)}" for _ in range(2))
        x, y = chance.choice(names), chance.choice(names)
        look = f"output o{chance.choice('ab')}; goto {target}"
        kinds = "least", "largest", "range", "unseen", "test", "test", "store", "both"
        match chance.choice(kinds):
            case "least":
                steps = [
                    (f"insample < {x}", f"{x} := insample; {look}"),
                    (f"insample >= {x}", look),
                ]
            case "largest":
                steps = [
                    (f"insample < {x}", look),
                    (f"insample >= {x}", f"{x} := insample; {look}"),
                ]
            case "range" if x != y:
                steps = [
                    (f"insample < {x} && insample < {y}", f"{x} := insample; {look}"),
                    (f"insample >= {x} && insample >= {y}", f"{y} := insample; {look}"),
                    (f"insample >= {x} && insample < {y}", look),
                ]
            case "unseen":
                steps = [(f"insample < {x}", look), (f"insample >= {x}", look)]
            case "store":
                steps = [("", f"{x} := insample; {look}")]
            case "both" if x != y:
                steps = [
                    (f"insample < {x}", f"{x} := insample, {y} := insample; {look}"),
                    (f"insample >= {x}", f"{y} := insample; {look}"),
                ]
            case _:
                steps = [
                    (f"insample < {x}", f"output oc; goto {target}"),
                    (f"insample >= {x}", f"output od; goto {other}"),
                ]
        body = " elseif ".join(f"if ({g}) then {s}" if g else s for g, s in steps)
        body = body.replace("elseif if", "elseif")
        lines.append(f"(q{place}, {chance.choice(_RATES)}, 0): {body}")
    return lines
