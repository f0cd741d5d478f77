"""Weights, costs of runs and least budgets: known figures, linear programmes, coarser cells."""

import random
from collections.abc import Sequence
from fractions import Fraction
from graphlib import TopologicalSorter

import numpy as np
import pytest
from scipy.optimize import linprog

from dipapprox import SourceError
from dipapprox.automata.analysis import analyse
from dipapprox.automata.cells import cells_of
from dipapprox.automata.model import Automaton, OutputSample, automaton_of, check
from dipapprox.automata.optimum import ClosedFamily, OptimumFound, joined_family, search
from dipapprox.automata.runs import Changes, Run, dependencies, orders, run_cost, run_of
from dipapprox.automata.structures import holds
from dipapprox.automata.unfolding import Quotient, Unfolding, augment, quotient, with_visible_stops
from dipapprox.automata.weights import fallback_weight, published_weight, tainted_walk
from dipapprox.automata.words import SeenSymbol, WordSearch, WordStep
from dipapprox.data_classes import replace
from dipapprox.graphs import bits
from dipapprox.language.dipa import AutomatonNoise, parse_dipa
from tests.automata import examples
from tests.automata.examples import automaton
from tests.automata.random_automata import dearest, feasible_runs, random_automaton
from tests.cases import cases, check_answers, evaluated, part


def quotient_of(found: Automaton) -> Quotient:
    return quotient(augment(found))


def budget_of(graph: Unfolding) -> OptimumFound:
    return search(graph, fallback_weight(graph).value)


# --- weights ------------------------------------------------------------------------------------


def weights(text: str) -> str:
    """The published weight on the whole graph, and on the quotient; what falls back there."""
    found = quotient_of(automaton(text))
    published = (published_weight(graph).value for graph in (found.whole, found.graph))
    return ", ".join(map(str, (*published, fallback_weight(found.graph).value)))


def test_weights_are_the_known_ones() -> None:
    check_answers("automata_weights", evaluated(globals() | vars(examples)))


# --- costs of runs ------------------------------------------------------------------------------


def cost_by_linear_programme(found: Automaton, run: Run, changes: Changes) -> float:
    """W(Δ) in floating point: variables s_j, then the absolute values."""
    size = len(run)
    transitions = [found.transitions[index] for index in run]
    rates = [float(found.rate(t)) for t in transitions]
    rows, bounds_of_rows = [], []
    for tail, head in dependencies(found, run):
        row = np.zeros(2 * size)
        row[head], row[tail] = 1, -1
        rows.append(row)
        bounds_of_rows.append(0.0)
    for j, change in enumerate(changes):
        for sign in (1, -1):
            row = np.zeros(2 * size)
            row[j], row[size + j] = sign, -1
            rows.append(row)
            bounds_of_rows.append(float(sign * change))
    shown = [t.output is OutputSample.COMPARED for t in transitions]
    bounds = [(0, 0) if seen else (-2, 2) for seen in shown] + [(0, None)] * size
    result = linprog([0.0] * size + rates, A_ub=rows, b_ub=bounds_of_rows, bounds=bounds)
    fresh = sum(found.fresh_cost(t) * abs(c) for t, c in zip(transitions, changes, strict=True))
    return float(result.fun) + float(fresh)


@pytest.mark.parametrize("seed", part(range(40), 4))
def test_costs_of_runs_are_those_of_the_linear_programme(seed) -> None:
    found = random_automaton(seed, variables=1 + seed % 3, states=5)
    chance = random.Random(seed)
    runs = [run for run in feasible_runs(found, 6) if len(run) >= 4]
    for run in chance.sample(runs, min(3, len(runs))):
        signs = [chance.choice((-1, 1)) for _ in run]
        reads = [found.reads(found.transitions[index]) for index in run]
        changes = tuple(s if r else 0 for s, r in zip(signs, reads, strict=True))
        cost = run_cost(found, run, changes)
        assert float(cost.value) == pytest.approx(cost_by_linear_programme(found, run, changes))
        transitions = [found.transitions[index] for index in run]
        assert all(cost.shift[i] >= cost.shift[j] for i, j in dependencies(found, run))
        paid = sum(
            found.rate(t) * abs(s - c) + found.fresh_cost(t) * abs(c)
            for t, s, c in zip(transitions, cost.shift, changes, strict=True)
        )
        assert paid == cost.value
        assert not any(
            s
            for t, s in zip(transitions, cost.shift, strict=True)
            if t.output is OutputSample.COMPARED
        )


# --- least budgets ------------------------------------------------------------------------------


@cases(
    "block, shown, changes",
    *((block, 0.25, (1, -1)) for block in part(range(6), 3)),
    *((0, 0.5, (0, -1)), (0, 0.5, (0, 1))),
)
def test_searches_agree_with_exhaustion_and_with_the_structures(block, shown, changes) -> None:
    """Finite iff no structure; on the quotient as on the whole; at least what short runs cost.

    Also where inputs change one way only.
    """
    exact = 0
    for seed in range(25 * block, 25 * block + 25):
        found = random_automaton(seed, variables=1 + seed % 2, states=4, shown=shown)
        found = replace(found, changes=changes)
        merged = quotient_of(found)
        result = budget_of(merged.graph)
        assert result.reason is None
        structure = analyse(found, with_words=False).structure
        assert (result.family is None) == (structure is not None), seed
        assert structure is None or holds(found, structure)
        run = run_of(merged.whole, merged.lift(result.walk))
        cost = run_cost(found, run, result.changes).value
        if result.family is None:
            assert cost > fallback_weight(merged.graph).value
            continue
        assert cost == result.family.value
        whole = budget_of(merged.whole)
        assert whole.family.value == cost
        if tainted_walk(merged) is None:
            assert cost <= published_weight(merged.graph).value
        short = dearest(found, 5)
        assert short <= cost
        if len(run) <= 5:
            assert short == cost
            exact += 1
    assert exact >= 5


@pytest.mark.parametrize("factor", [Fraction(3), Fraction(1, 7)])
def test_budgets_scale_with_the_rates(factor) -> None:
    for seed in range(15):
        found = random_automaton(seed, variables=2, states=4)
        scaled = tuple(
            replace(
                state, compared=_scaled(state.compared, factor), fresh=_scaled(state.fresh, factor)
            )
            for state in found.states
        )
        one = budget_of(quotient_of(found).graph)
        other = budget_of(quotient_of(replace(found, states=scaled)).graph)
        assert (one.family is None) == (other.family is None)
        if one.family is not None and other.family is not None:
            assert other.family.value == factor * one.family.value


def _scaled(noise: AutomatonNoise | None, factor: Fraction) -> AutomatonNoise | None:
    return None if noise is None else replace(noise, rate=noise.rate * factor)


def test_pins_never_give_too_little(monkeypatch) -> None:
    tight = 0
    for seed in range(60):
        graph = quotient_of(random_automaton(seed, variables=2, states=4)).graph
        free = budget_of(graph)
        with monkeypatch.context() as patch:
            patch.setattr("dipapprox.automata.optimum.MOST_LIVE", 0)
            patch.setattr("dipapprox.automata.optimum._LEFT_FREE", seed % 2)
            pinned = budget_of(graph)
        if pinned.family is not None:
            assert free.family.value <= pinned.family.value
            tight += free.family.value == pinned.family.value
    assert tight >= 10


# --- searches by cases ----------------------------------------------------------------------------

RATES = Fraction(1, 4), Fraction(1, 2), Fraction(1)


def mutant(seed: int) -> Automaton | None:
    """Ranges of two or three streams with other noise, guards and targets; None if not valid."""
    chance = random.Random(seed)
    found = automaton(examples.m_range(2 + seed % 2))
    states = [
        replace(s, compared=s.compared and replace(s.compared, rate=chance.choice(RATES)))
        for s in found.states
    ]
    transitions = []
    for each in found.transitions:
        if each.used and chance.random() < 0.15:
            continue
        if each.used and chance.random() < 0.25:
            bit = 1 << chance.choice([x for x in range(8) if each.used >> x & 1])
            each = replace(each, above=each.above ^ bit, below=each.below ^ bit)
        if each.used and chance.random() < 0.1:
            each = replace(each, target=chance.randrange(len(states)))
        transitions.append(each)
    changed = replace(found, states=tuple(states), transitions=tuple(transitions))
    try:
        total = with_visible_stops(changed)
        check(total)
    except SourceError:
        return None
    return total


def test_cases_never_give_too_little(monkeypatch) -> None:
    by_cases = tight = 0
    for seed in part(range(80), 2):
        found = mutant(seed)
        if found is None:
            continue
        graph = quotient(augment(found)).graph
        cap = fallback_weight(graph).value
        free = search(graph, cap)
        with monkeypatch.context() as patch:
            patch.setattr("dipapprox.automata.optimum.MOST_LIVE", 2)
            patch.setattr("dipapprox.automata.optimum._LEFT_FREE", 0)
            cases = search(graph, cap).family
        if cases is not None and cases.cases > 1:
            assert free.family.value <= cases.value
            by_cases += 1
            tight += free.family.value == cases.value
    assert by_cases >= 3 and tight >= 3


# --- Coarser cells --------------------------------------------------------------------------------


def test_no_word_loses_more_than_its_cells_cost() -> None:
    """Random words and inputs; their rates look at all runs, one by one."""
    chance, tried = random.Random(7), 0
    for seed in range(8):
        _, each = random_extremes(seed)
        found = analyse(each)
        if not isinstance(found.upper, ClosedFamily) or found.upper.cells is None:
            continue
        tried += 1
        assert found.lower_bound <= found.upper.value
        whole = augment(each)
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
            bound = WordSearch(whole).bound(tuple(map(WordStep, first, second, word)))
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
            and all(held[x] < rank[place] for x in bits(original.transitions[index].above))
            and all(held[x] > rank[place] for x in bits(original.transitions[index].below))
        )
        step = original.transitions[index]
        run.append(index)
        kept.append(changes[place])
        held.update((x, rank[place]) for x in bits(step.assigned))
        state = step.target
    return tuple(run), tuple(kept)


@pytest.mark.parametrize("seed", part(range(0, 40, 2), 4))
def test_joined_vectors_are_no_less_than_the_search(seed) -> None:
    """The search is exact for walks; and a walk's samples make a feasible run, no cheaper."""
    _, each = random_extremes(seed)
    cells = cells_of(augment(each))
    if cells is None:
        return
    coarse = quotient(augment(cells))
    found = search(coarse.graph, Fraction(20))
    joined = joined_family(coarse.graph, Fraction(20))
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
