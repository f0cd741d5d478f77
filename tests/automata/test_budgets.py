"""Weights, costs of runs and least budgets: known figures, linear programmes, exhaustive search."""

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from dipapprox.automata.analysis import analyse
from dipapprox.automata.model import Automaton, LaplaceNoise, OutputSample
from dipapprox.automata.optimum import OptimumFound, search
from dipapprox.automata.runs import Run, dependencies, run_of
from dipapprox.automata.shifts import Changes, run_cost
from dipapprox.automata.stops import with_visible_stops
from dipapprox.automata.structures import holds
from dipapprox.automata.taints import tainted_walk
from dipapprox.automata.unfolding import Quotient, Unfolding, augment, quotient
from dipapprox.automata.validity import check
from dipapprox.automata.weights import fallback_weight, published_weight
from dipapprox.errors import SourceError
from dipapprox.limits import Limits
from tests.automata import examples
from tests.automata.examples import automaton
from tests.automata.random_automata import dearest, feasible_runs, random_automaton
from tests.thorough import part


def quotient_of(found: Automaton) -> Quotient:
    return quotient(augment(found, Limits()), Limits())


def budget_of(graph: Unfolding) -> OptimumFound:
    return search(graph, fallback_weight(graph).value, Limits())


# --- weights ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "on_whole", "on_quotient", "fallback"),
    [
        (examples.SVT, "5/4", "5/4", "5/4"),
        (examples.NUM_SPARSE, "7/4", "7/4", "7/4"),
        (examples.NUM_RANGE_2, "7/4", "5/4", "5/4"),
        (examples.TWO_RANGE_2, "3", "2", "2"),
        (examples.k_min_max(2), "1", "1", "1"),
        (examples.k_min_max(20), "1", "1", "1"),
        (examples.m_range(1), "3/2", "1", "1"),
        (examples.m_range(4), "3", "1", "3"),
        (examples.GAP_PV, "9/10", "9/10", "411/10"),
        (examples.GAP_LP, "9/10", "9/10", "813/10"),
    ],
)
def test_weights_are_the_known_ones(
    text: str, on_whole: str, on_quotient: str, fallback: str
) -> None:
    found = quotient_of(automaton(text))
    assert published_weight(found.whole).value == Fraction(on_whole)
    assert published_weight(found.graph).value == Fraction(on_quotient)
    assert fallback_weight(found.graph).value == Fraction(fallback)


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
def test_costs_of_runs_are_those_of_the_linear_programme(seed: int) -> None:
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


@pytest.mark.parametrize("block", part(range(6), 3))
def test_searches_agree_with_exhaustion_and_with_the_structures(block: int) -> None:
    """Finite iff no structure; on the quotient as on the whole; at least what short runs cost."""
    exact = 0
    for seed in range(25 * block, 25 * block + 25):
        found = random_automaton(seed, variables=1 + seed % 2, states=4)
        merged = quotient_of(found)
        result = budget_of(merged.graph)
        assert result.reason is None
        structure = analyse(found, Limits(), with_words=False).structure
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
        if tainted_walk(merged, Limits()) is None:
            assert cost <= published_weight(merged.graph).value
        short = dearest(found, 5)
        assert short <= cost
        if len(run) <= 5:
            assert short == cost
            exact += 1
    assert exact >= 5


@pytest.mark.parametrize("changes", [(0, -1), (0, 1)])
def test_searches_agree_with_exhaustion_where_inputs_change_one_way(
    changes: tuple[int, int],
) -> None:
    exact = 0
    for seed in range(60):
        found = random_automaton(seed, variables=1 + seed % 2, states=4, shown=0.5)
        found = replace(found, changes=changes)
        merged = quotient_of(found)
        result = budget_of(merged.graph)
        if result.family is None:
            continue
        run = run_of(merged.whole, merged.lift(result.walk))
        assert run_cost(found, run, result.changes).value == result.family.value
        short = dearest(found, 5)
        assert short <= result.family.value
        if len(run) <= 5:
            assert short == result.family.value
            exact += 1
    assert exact >= 5


@pytest.mark.parametrize("factor", [Fraction(3), Fraction(1, 7)])
def test_budgets_scale_with_the_rates(factor: Fraction) -> None:
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


def _scaled(noise: LaplaceNoise | None, factor: Fraction) -> LaplaceNoise | None:
    return None if noise is None else replace(noise, rate=noise.rate * factor)


def test_pins_never_give_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_cases_never_give_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    by_cases = tight = 0
    for seed in part(range(80), 2):
        found = mutant(seed)
        if found is None:
            continue
        graph = quotient(augment(found, Limits()), Limits()).graph
        cap = fallback_weight(graph).value
        free = search(graph, cap, Limits())
        with monkeypatch.context() as patch:
            patch.setattr("dipapprox.automata.optimum.MOST_LIVE", 2)
            patch.setattr("dipapprox.automata.optimum._LEFT_FREE", 0)
            cases = search(graph, cap, Limits()).family
        if cases is not None and cases.cases > 1:
            assert free.family.value <= cases.value
            by_cases += 1
            tight += free.family.value == cases.value
    assert by_cases >= 3 and tight >= 3
