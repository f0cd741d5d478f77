"""Bad structures, words that come again, and what is lost, against integrals."""

import json
import random
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from math import exp, log

import numpy as np
import pytest
from scipy.integrate import quad

import dipapprox
from dipapprox import Answer, Limits
from dipapprox.automata.analysis import analyse
from dipapprox.automata.description import automaton_of
from dipapprox.automata.model import Automaton
from dipapprox.automata.paths import lifted_structure, tainted_walk
from dipapprox.automata.runs import Changes, Run, Segment, orders, run_cost, run_of
from dipapprox.automata.structures import BadStructure, holds, leaking_cycles
from dipapprox.automata.unfolding import augment, quotient
from dipapprox.automata.word_climb import Climb, beyond, loses_again
from dipapprox.automata.words import WordBound, WordSearch, ray_of
from dipapprox.language.dipa import parse_dipa
from dipapprox.proof_steps.automata import machines_of
from dipapprox.proofs.endless_proof import Stops
from dipapprox.proofs.prove_automaton import log_ratio as enclosed_log_ratio
from dipapprox.proofs.prove_automaton import prove_automaton
from dipapprox.proofs.replayed import proved
from dipapprox.replays.result import digest
from tests.automata import examples
from tests.automata.examples import CHAIN, automaton, sparse_vector
from tests.automata.random_automata import feasible_runs, leaks, random_automaton, structures_in
from tests.thorough import part


def structure_of(found: Automaton) -> BadStructure | None:
    """Return the structure that the analysis finds, if any, checked by its definition."""
    structure = analyse(found, Limits(), with_words=False).structure
    assert structure is None or holds(found, structure)
    return structure


@pytest.mark.parametrize("block", part(range(6), 3))
def test_brute_force_on_short_runs_finds_nothing_else(block) -> None:
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
def test_taints_miss_no_path(seed) -> None:
    """No taint: no leaking pair and no violating path. A lifted structure is one."""
    found = random_automaton(seed, variables=2, states=5)
    whole = augment(found, Limits())
    if next(leaking_cycles(whole), None) is not None:
        return
    merged = quotient(whole, Limits())
    walk = tainted_walk(merged, Limits())
    if walk is None:
        seen = (each for run in feasible_runs(found, 5) for each in structures_in(found, run))
        assert all(each.code == "DC" for each in seen)
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
    assert not holds(found, replace(path, below=path.above, above=path.below))
    assert not holds(found, replace(path, path=path.path[:1]))

    found = automaton(examples.DISCLOSING)
    shown = structure_of(found)
    assert shown.code == "DC"
    assert not holds(found, replace(shown, path=(0,)))

    found = automaton(examples.LEAKING_CYCLE)
    leak = structure_of(found)
    assert not holds(found, replace(leak, variable=0))
    assert not holds(found, replace(leak, above=Segment(leak.above.start + 1, leak.above.end)))
    assert not holds(found, replace(leak, above=Segment(0, 0)))


@pytest.mark.parametrize("seed", part(range(25), 3))
def test_walks_are_the_feasible_runs(seed) -> None:
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


# --- Theorems A and B, and what is lost at one ε, against integrals over one-threshold runs -------


def above(rate: float, mean: float, place: float) -> float:
    """The probability that a Laplace sample exceeds a place."""
    tail = exp(-rate * abs(place - mean)) / 2
    return tail if place >= mean else 1 - tail


def chance(found: Automaton, run: Run, means: tuple[float, ...], eps: float) -> float:
    """The probability of a run that stores its first sample and then compares with it."""
    rates = [float(found.rate(found.transitions[index])) * eps for index in run]

    def density(x: float) -> float:
        value = rates[0] / 2 * exp(-rates[0] * abs(x - means[0]))
        for index, rate, mean in zip(run[1:], rates[1:], means[1:], strict=True):
            # Below is above of the mirror image: nothing cancels.
            sign = 1 if found.transitions[index].above else -1
            value *= above(rate, sign * mean, sign * x)
        return value

    far = 60 / min(rates)
    breaks = sorted({min(means) - far, *means, max(means) + far})
    return sum(quad(density, a, b, epsabs=0, epsrel=1e-9)[0] for a, b in pairwise(breaks))


def log_ratio(found: Automaton, run: Run, changes: Changes, times: float, eps: float) -> float:
    """The log-ratio of a run on the ray: means -t·Δ and -(t - 1)·Δ."""
    before = tuple(-times * change for change in changes)
    after = tuple((1 - times) * change for change in changes)
    return log(chance(found, run, after, eps) / chance(found, run, before, eps))


def test_the_log_ratio_tends_to_the_cost_along_the_ray() -> None:
    found = automaton(CHAIN)
    run, changes = (0, 1, 2), (1, -1, 1)
    assert run_cost(found, run, changes).value == 3
    seen = [log_ratio(found, run, changes, times, 1.0) for times in (1, 3, 9, 33)]
    assert seen == pytest.approx([2.212, 2.698, 2.893, 2.970], abs=2e-3)


def test_no_log_ratio_passes_the_cost() -> None:
    chance_of = np.random.default_rng(7)
    found = automaton(sparse_vector(2))
    run: Run = (0, 1, 1, 2, 3, 4)
    for _ in range(20):
        base = chance_of.uniform(-6, 6, len(run))
        changes = chance_of.choice((-1, 1), len(run))
        changes[0] = 0
        eps = float(chance_of.choice((0.5, 1, 4)))
        first = chance(found, run, tuple(base), eps)
        second = chance(found, run, tuple(base + changes), eps)
        cost = run_cost(found, run, tuple(int(change) for change in changes)).value
        assert log(second / first) <= float(cost) * eps + 1e-6


@pytest.mark.parametrize("eps", [0.25, 1.0, 3.0])
def test_the_bound_is_reached_at_every_eps(eps) -> None:
    """Sizes that differ keep the gradient the same along the ray: the limit is D*(ρ)·ε."""
    found = automaton(CHAIN)
    run, changes = (0, 1, 2), (1, -1, 1)
    best = max(run_cost(found, run, change).value for change in product((-1, 1), repeat=3))
    assert run_cost(found, run, changes).value == best == Fraction(3)
    sizes = np.array((30.0, 33.0, 36.0)) / eps
    before = -sizes * changes
    ratio = log(
        chance(found, run, tuple(before + changes), eps) / chance(found, run, tuple(before), eps)
    )
    assert float(best) * eps * 0.98 <= ratio <= float(best) * eps


def test_a_log_ratio_is_what_integration_finds() -> None:
    found = automaton(CHAIN)
    run, changes = (0, 1, 2), (1, -1, 1)
    ray = ray_of(found, run_cost(found, run, changes), Limits())
    assert ray is not None and ray.first[0] is not None
    for eps in (Fraction(1, 2), Fraction(1), Fraction(4)):
        ratio = enclosed_log_ratio(found, run, ray, eps, Limits())
        known = log_ratio(found, run, changes, -float(ray.first[0]), float(eps)) / float(eps)
        assert float(ratio.lower) - 1e-6 <= known <= float(ratio.upper) + 1e-6


# --- Words with steps that come again -------------------------------------------------------------


def _alike(seed: int) -> Automaton:
    variables = 1 + seed % 3
    return random_automaton(seed, variables, variables + 1 + seed % 3, shown=0.2, distinct=False)


@pytest.mark.parametrize("seed", part([106, 122, 274, 619, 727, 974, 1081], 3))
def test_words_that_lose_again_and_again_leave_no_budget(seed) -> None:
    automaton = _alike(seed)
    found = analyse(automaton, Limits())
    word = found.lower
    assert found.loses_again and isinstance(word, WordBound) and word.again is not None
    graph = augment(automaton, Limits())  # not the quotient, where it was found
    start, end = word.again
    part = slice(start, end)
    values = []
    for times in (8, 16, 24):
        first, second = (
            (*each[:start], *(each[part] * times)) for each in (word.first, word.second)
        )
        seen = (*word.word[:start], *(word.word[part] * times))
        bound = WordSearch(graph, Limits()).bound(first, second, seen)
        values.append(bound.value)
    assert values[0] < values[1] < values[2]
    assert values[2] - values[1] == values[1] - values[0]
    assert beyond(graph, word, Fraction(50), Limits()).value > 50


def test_no_part_loses_again_where_there_is_a_budget() -> None:
    tried = 0
    chance = random.Random(1)
    for seed in part(range(80), 3):
        automaton = _alike(seed)
        known = analyse(automaton, Limits(), with_words=False)
        if known.upper_bound is None or known.quotient is None:
            continue
        graph = known.quotient.graph
        climb = Climb(graph, Limits())
        for _ in range(6):
            word, nodes = climb.walk(8)
            if len(nodes) < 2:
                continue
            start = chance.randrange(len(word))
            first = tuple([each.first for each in word])
            second = tuple([each.second for each in word])
            seen = tuple([each.seen for each in word])
            assert not loses_again(WordSearch(graph, Limits()), first, second, seen, start)
            tried += 1
    assert tried > 60


def test_the_kernel_replays_what_comes_again() -> None:
    automaton = _alike(619)
    for budget in (None, Fraction(5)):
        found = prove_automaton(automaton, budget, Stops.HIDDEN, Limits())
        assert found.answer is Answer.NOT_DP and found.has_none and found.upper is None
        assert proved(found, Limits()).unproved is None
    assert "every ε > 0" in found.describe().headline or found.again is not None


HIDDEN_STOP = """
(q0:non-input, 1, 0): x := insample; output oi; goto q1
(q1:non-input, 1, 0): y := insample; output oi; goto q2
(q2, 1, 0): if (insample < x) then output oa; goto q2
            elseif (insample >= x) then output ob; goto q3
(q3, 1, 0): if (insample >= y) then output oa; goto q3
            elseif (insample < y) then output ob; goto q4
(q4, 1, 0): if (insample < x) then output oc; goto q5
            elseif (insample >= x && insample >= y) then output od; goto q5
"""


def test_what_serves_who_sees_stops_serves_others() -> None:
    automaton = automaton_of(
        parse_dipa("""
(q0, 1, 0): x := insample; output oi; goto q1
(q1, 1, 0): if (insample < x) then output oa; goto q2
(q2, 1, 0): if (insample < x) then output oa; goto q2
""")
    )
    claims = {"verdict": "DP", "at least": None}, {"verdict": "DP", "at least": "1"}
    seen = [
        [each["published"]["ends"] for each in machines_of(automaton, False, claim)]
        for claim in claims
    ]
    assert seen == [[False, False, True], [False, False]]


def test_a_proof_for_who_sees_stops_is_refuted_as_one_for_who_does_not() -> None:
    automaton = automaton_of(parse_dipa(HIDDEN_STOP))
    seen = dipapprox.prove(automaton, stops="visible")
    content = json.loads(dipapprox.certify(automaton, HIDDEN_STOP, seen).to_json())
    assert dipapprox.check(json.dumps(content)).outcome.value == "confirmed"
    assert content["verdict"] == "Not_DP" and content["about"]["stops are seen"]
    forged = set()
    for machine in machines_of(automaton, True, content["claim"]):
        content["about"]["stops are seen"], content["machine"] = False, machine
        content["digest"] = digest({k: v for k, v in content.items() if k != "digest"})
        forged.add(dipapprox.check(json.dumps(content)).outcome.value)
    assert forged == {"refuted"}
