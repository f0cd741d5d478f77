"""What is found about an automaton: published verdicts, oracles, bad structures, limits."""

import json
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product
from math import exp, log

import numpy as np
import pytest
from scipy.integrate import quad

import dipapprox
from dipapprox import Answer, LimitReached, Limits
from dipapprox.automata.analysis import Analysis, analyse
from dipapprox.automata.model import Automaton, automaton_of
from dipapprox.automata.runs import (
    Changes,
    Run,
    RunCost,
    is_determined,
    looks_of,
    orders,
    outputs_determine_runs,
    outputs_distinguish,
    run_cost,
    run_of,
)
from dipapprox.automata.structures import (
    BadStructure,
    cost_of_rounds,
    gain_of_round,
    holds,
    leaking_cycles,
    repeated,
    rounds_beyond,
)
from dipapprox.automata.unfolding import Unfolding, augment, quotient, with_visible_stops
from dipapprox.automata.weights import lifted_structure, tainted_walk
from dipapprox.automata.word_climb import Climb, beyond, loses_again
from dipapprox.automata.words import (
    HalfLine,
    Seen,
    SeenSymbol,
    WordBound,
    WordSearch,
    WordStep,
    ray_of,
    turned,
)
from dipapprox.data_classes import replace
from dipapprox.language.dipa import parse_dipa
from dipapprox.limits import limited
from dipapprox.proof_steps.automata import machines_of
from dipapprox.proofs.endless_proof import Stops
from dipapprox.proofs.prove_automaton import log_ratio as enclosed_log_ratio
from dipapprox.proofs.prove_automaton import prove_automaton
from dipapprox.proofs.replayed import proved
from dipapprox.replays.result import digest
from tests.automata import examples
from tests.automata.examples import CHAIN, automaton, sparse_vector
from tests.automata.random_automata import (
    dearest,
    feasible_runs,
    leaks,
    random_automaton,
    structures_in,
)
from tests.cases import cases, check_answers, evaluated, part, template_of


def check(found: Analysis) -> Analysis:
    """Look at everything that an analysis claims and that has a proof of its own."""
    if found.structure is not None:
        assert holds(found.automaton, found.structure)
    for bound in (found.lower, found.dearest):
        if isinstance(bound, RunCost):
            assert orders(found.automaton, bound.run) is not None
            assert run_cost(found.automaton, bound.run, bound.changes) == bound
    if isinstance(found.lower, WordBound):
        bound_ = found.lower
        search = WordSearch(augment(found.automaton))
        again = search.bound(bound_.word)
        assert again == bound_
        for one, other in ((step.first, step.second) for step in bound_.word):
            assert (one is None) == (other is None)
            assert one is None or other is None or abs(one - other) <= 1
    if found.upper is not None:
        assert found.lower_bound <= found.upper.value
    assert (found.reason is None) == (found.is_exact or found.unbounded)
    return found


# --- runs that look alike -----------------------------------------------------------------------


def looks(found: Automaton, run: Run) -> tuple[object, ...]:
    """What is seen of a run, and where it reads."""
    shown = []
    for index in run:
        output = found.transitions[index].output
        reads = found.reads(found.transitions[index])
        shown.append((output if isinstance(output, str) else None, reads))
    return tuple(shown)


def test_a_run_is_determined_iff_no_other_short_run_looks_like_it() -> None:
    seen = set()
    for seed in range(60):
        found = random_automaton(seed, variables=1, states=3, distinct=seed % 3 == 0)
        whole = augment(found)
        runs = list(feasible_runs(found, 4))
        words = [looks(found, run) for run in runs]
        for run, word in zip(runs, words, strict=True):
            alone = words.count(word) == 1
            assert is_determined(whole, looks_of(whole.automaton), run) == alone
            seen.add(alone)
        if outputs_distinguish(found):
            assert outputs_determine_runs(whole)
            assert len(set(words)) == len(words)
    assert seen == {True, False}


LATER = template_of("analysis-later")


# --- words --------------------------------------------------------------------------------------


def test_a_word_of_one_run_has_its_cost_along_the_ray() -> None:
    """SVT: two rounds below, then above; t large enough."""
    svt = augment(automaton(examples.SVT))
    word = (SeenSymbol("oin"), SeenSymbol("obot"), SeenSymbol("obot"), SeenSymbol("otop"))
    far = tuple(Fraction(value) for value in (-8, -8, 8))
    near = tuple(value + change for value, change in zip(far, (1, 1, -1), strict=True))
    steps = tuple(map(WordStep, (None, *far), (None, *near), word))
    bound = WordSearch(svt).bound(steps)
    swapped = WordSearch(svt).bound(turned(steps))
    assert max(bound.value, swapped.value) <= Fraction(5, 4)
    assert bound.value == -swapped.value


def unfolded(text: str) -> Unfolding:
    return augment(automaton(text))


# --- limits -------------------------------------------------------------------------------------


def test_a_search_that_is_cut_short_leaves_both_bounds(monkeypatch) -> None:
    monkeypatch.setattr("dipapprox.automata.optimum.MOST_ENTRIES", 10)
    monkeypatch.setattr("dipapprox.automata.analysis.cells_of", lambda whole: None)
    found = check(analyse(automaton(examples.k_min_max(6))))
    assert found.upper.value == 1
    assert 0 < found.lower_bound < 1
    assert found.reason == "cost vectors of more than 10 entries"


@cases(
    "text", examples.GAP_PV, examples.TWO_RANGE_2, examples.m_range(8), examples.TWO_RANGE_1, LATER
)
def test_wherever_time_runs_out_what_is_said_is_true(text, monkeypatch) -> None:
    """Each look at the clock may be the last one."""
    found = automaton(text)
    whole = analyse(found)
    for last in (*range(1, 40, 3), 60, 120, 500, 2000):
        looks = 0

        def look(_: Limits, last: int = last) -> None:
            nonlocal looks
            looks += 1
            if looks > last:
                raise LimitReached("time limit: 1 s")

        with monkeypatch.context() as patch:
            patch.setattr(Limits, "check", look)
            part = analyse(found)
        check(part)
        assert part.reason in (None, "time limit: 1 s")
        assert part.well_formed in (None, whole.well_formed)
        assert whole.unbounded >= part.unbounded
        if whole.upper is not None:
            assert part.lower_bound <= whole.lower_bound
            assert part.upper is None or part.upper.value >= whole.upper.value


TWO_WAYS = template_of("analysis-two_ways")


# --- inputs that change in one direction only, or are not read ------------------------------------


@cases("changes, read", ((0, -1), 1.0), ((0, 1), 1.0), ((0, 1), 0.5), ((1, -1), 0.5))
@pytest.mark.parametrize("block", part(range(3), 3))
def test_every_automaton_has_its_budget_or_a_structure_that_costs(block, changes, read) -> None:
    """Short runs never cost more than the budget; further rounds cost what is claimed."""
    seen = Counter[str]()
    for seed in range(30 * block, 30 * block + 30):
        both = random_automaton(seed, variables=1 + seed % 2, states=4, shown=0.4)
        chance = random.Random(seed)
        states = tuple(
            replace(state, reads=state.reads and chance.random() < read) for state in both.states
        )
        automaton = replace(both, changes=changes, states=states)
        found = analyse(automaton, with_words=False)
        if found.upper is not None:
            assert found.is_exact
            assert dearest(automaton, 5) <= found.upper.value
            seen["budget"] += 1
            continue
        assert found.unbounded
        structure = found.structure
        assert holds(automaton, structure)
        run, changed = repeated(automaton, structure, 4)
        for index, change in zip(run, changed, strict=True):
            least, most = automaton.ends(automaton.transitions[index])
            assert least <= change <= most
        gain = gain_of_round(automaton, structure)
        some, more = (cost_of_rounds(automaton, structure, rounds).value for rounds in (4, 12))
        assert more - some >= 8 * gain > 0
        seen[structure.code] += 1
    assert seen["budget"] >= 5 and seen["LC"] >= 5 and seen["DC"] >= 1


def test_what_costs_one_way_may_cost_nothing_the_other_way() -> None:
    free = Counter[str]()
    for seed in range(60):
        both = random_automaton(seed, variables=1 + seed % 2, states=4, shown=0.4)
        if analyse(both, with_words=False).unbounded:
            for changes in ((0, -1), (0, 1)):
                found = analyse(replace(both, changes=changes), with_words=False)
                free["budget" if found.upper is not None else "none"] += 1
    assert free["budget"] >= 2 and free["none"] >= 20


# --- Bad structures, words that come again, and what is lost, against integrals -------------------


def structure_of(found: Automaton) -> BadStructure | None:
    """Return the structure that the analysis finds, if any, checked by its definition."""
    structure = analyse(found, with_words=False).structure
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


@pytest.mark.parametrize("seed", [13, 16, 89, *part(range(150), 5)])
def test_taints_miss_no_path(seed) -> None:
    """No taint: no leaking pair and no violating path. A lifted structure, as of the first, is."""
    found = random_automaton(seed, variables=2, states=5)
    whole = augment(found)
    if next(leaking_cycles(whole), None) is not None:
        return
    merged = quotient(whole)
    walk = tainted_walk(merged)
    if walk is None:
        seen = (each for run in feasible_runs(found, 5) for each in structures_in(found, run))
        assert all(each.code == "DC" for each in seen)
    else:
        lifted = lifted_structure(merged, walk)
        assert lifted is None or holds(found, lifted)


@pytest.mark.parametrize("seed", part(range(25), 3))
def test_walks_are_the_feasible_runs(seed) -> None:
    found = random_automaton(seed)
    whole = augment(found)
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
    ray = ray_of(found, run_cost(found, run, changes))
    assert ray is not None and ray.word[0].first is not None
    start = float(ray.word[0].first)
    for eps in (Fraction(1, 2), Fraction(1), Fraction(4)):
        ratio = enclosed_log_ratio(found, run, ray, eps)
        known = log_ratio(found, run, changes, -start, float(eps)) / float(eps)
        assert float(ratio.lower) - 1e-6 <= known <= float(ratio.upper) + 1e-6


# --- Words with steps that come again -------------------------------------------------------------


def _alike(seed: int) -> Automaton:
    variables = 1 + seed % 3
    return random_automaton(seed, variables, variables + 1 + seed % 3, shown=0.2, distinct=False)


@pytest.mark.parametrize("seed", part([106, 122, 274, 619, 727, 974, 1081], 3))
def test_words_that_lose_again_and_again_leave_no_budget(seed) -> None:
    automaton = _alike(seed)
    found = analyse(automaton)
    word = found.lower
    assert found.loses_again and isinstance(word, WordBound) and word.again is not None
    graph = augment(automaton)  # not the quotient, where it was found
    start, end = word.again
    part = slice(start, end)
    values = []
    for times in (8, 16, 24):
        steps = (*word.word[:start], *(word.word[part] * times))
        bound = WordSearch(graph).bound(steps)
        values.append(bound.value)
    assert values[0] < values[1] < values[2]
    assert values[2] - values[1] == values[1] - values[0]
    assert beyond(graph, word, Fraction(50)).value > 50


def test_no_part_loses_again_where_there_is_a_budget() -> None:
    tried = 0
    chance = random.Random(1)
    for seed in part(range(80), 3):
        automaton = _alike(seed)
        known = analyse(automaton, with_words=False)
        if known.upper_bound is None or known.quotient is None:
            continue
        graph = known.quotient.graph
        climb = Climb(graph)
        for _ in range(6):
            word, nodes = climb.walk(8)
            if len(nodes) < 2:
                continue
            start = chance.randrange(len(word))
            assert not loses_again(WordSearch(graph), word, start)
            tried += 1
    assert tried > 60


def test_the_kernel_replays_what_comes_again() -> None:
    automaton = _alike(619)
    for budget in (None, Fraction(5)):
        found = prove_automaton(automaton, budget, Stops.HIDDEN)
        assert found.answer is Answer.NOT_DP and found.has_none and found.upper is None
        assert proved(found).unproved is None
    assert "every ε > 0" in found.describe().headline or found.again is not None


HIDDEN_STOP = template_of("analysis-hidden_stop")


def test_what_serves_who_sees_stops_serves_others() -> None:
    automaton = automaton_of(parse_dipa(template_of("analysis-serves")))
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


# --- What is found: expressions, and what is said of each -----------------------------------------

*LINES, LAST_LINE = examples.all_pairs(4).splitlines()
ONCE = "\n".join([*LINES, LAST_LINE.replace("goto qp0", "goto qz")])
"""All pairs of thresholds, compared once: many nodes, none of them on a cycle."""
SEEN = HalfLine(Fraction(4), True)


def found(text: str, states: int | None = None, stops: bool = False) -> str:
    """What an analysis finds, of which all that has a proof of its own is looked at."""
    of = with_visible_stops(automaton(text)) if stops else automaton(text)
    with limited(Limits(states=states) if states else Limits()):
        it = check(analyse(of))
    bounds = it.lower, it.upper
    known = ("well_formed", "is_exact", "unbounded", "determined", "quotient")
    said = [name.replace("_", " ") for name in known if getattr(it, name)]
    said += [f"{it.lower_bound} to {it.upper and it.upper.value}"]
    said += [" to ".join(type(each).__name__ for each in bounds), f"published {it.published}"]
    return ", ".join([*said, *filter(None, (it.structure and it.structure.code, it.reason))])


def costs(text: str) -> str:
    """What one, two and three rounds of a structure cost, and what each gains for ever."""
    it, budget = analyse(automaton(text)), Fraction(10)
    structure = it.structure
    assert structure is not None
    seen = [cost_of_rounds(it.automaton, structure, rounds).value for rounds in (1, 2, 3)]
    rounds = rounds_beyond(it.automaton, structure, budget)
    assert rounds_beyond(it.automaton, structure, Fraction(10**6)) is None
    assert cost_of_rounds(it.automaton, structure, rounds).value > budget
    assert cost_of_rounds(it.automaton, structure, rounds - 1).value <= budget
    return f"{', '.join(map(str, seen))}; {gain_of_round(it.automaton, structure)}"


def still_holds(text: str, change: Callable[[BadStructure], BadStructure]) -> bool:
    of = automaton(text)
    return holds(of, change(structure_of(of)))


def rate(graph: Unfolding, letter: int | None, seen: Seen) -> str:
    """How fast a word of one letter loses, as eps grows."""
    value = None if letter is None else Fraction(letter)
    return str(WordSearch(graph).rate((WordStep(value, value, seen),)))


def test_what_is_found_about_automata() -> None:
    check_answers("automata_found", evaluated(globals()))
