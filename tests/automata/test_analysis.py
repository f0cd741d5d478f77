"""What is found about an automaton: published verdicts, oracles of the coupling paper, limits."""

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest

from dipapprox import LimitReached, Limits
from dipapprox.automata.analysis import Analysis, analyse
from dipapprox.automata.determined import (
    is_determined,
    looks_of,
    outputs_determine_runs,
    outputs_distinguish,
)
from dipapprox.automata.model import Automaton
from dipapprox.automata.optimum import ClosedFamily
from dipapprox.automata.runs import Run, RunCost, orders, run_cost
from dipapprox.automata.structures import (
    cost_of_rounds,
    gain_of_round,
    holds,
    repeated,
    rounds_beyond,
)
from dipapprox.automata.unfolding import Unfolding, augment, with_visible_stops
from dipapprox.automata.weights import PathWeight
from dipapprox.automata.words import HalfLine, SeenSymbol, WordBound, WordSearch
from tests.automata import examples
from tests.automata.examples import automaton
from tests.automata.random_automata import dearest, feasible_runs, random_automaton
from tests.cases import cases
from tests.thorough import part


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
        search = WordSearch(augment(found.automaton, Limits()), Limits())
        again = search.bound(bound_.first, bound_.second, bound_.word)
        assert again == bound_
        for one, other in zip(bound_.first, bound_.second, strict=True):
            assert (one is None) == (other is None)
            assert one is None or other is None or abs(one - other) <= 1
    if found.upper is not None:
        assert found.lower_bound <= found.upper.value
    assert (found.reason is None) == (found.is_exact or found.unbounded)
    return found


@cases(
    "text, least",
    (examples.SVT, "5/4"),
    (examples.NUM_SPARSE, "7/4"),
    (examples.NUM_RANGE_2, "5/4"),
    (examples.TWO_RANGE_2, "2"),
    (examples.m_range(1), "1"),
    (examples.m_range(3), "1"),
    (examples.m_range(20), "1"),
    (examples.m_range(80), "1"),
    (examples.sparse_vector(30), "1"),
    (examples.k_min_max(2), "1"),
    (examples.GAP_PV, "101/5"),
)
def test_private_automata_have_their_least_budget(text, least) -> None:
    found = check(analyse(automaton(text), Limits()))
    assert found.well_formed
    assert found.is_exact
    assert found.lower_bound == Fraction(least)


# --- families of runs ---------------------------------------------------------------------------


@cases(
    "text, costs, gain",
    (examples.DISCLOSING, ["1/4", "1/2", "3/4"], "1/4"),
    (examples.NUM_RANGE_1, ["1/4", "1/2", "3/4"], "1/4"),
    (examples.TWO_RANGE_1, ["1/2", "1", "3/2"], "1/4"),
    (examples.LEAKING_CYCLE, ["0", "1/3", "1/3"], "1/6"),
)
def test_costs_grow_with_the_rounds(text, costs, gain) -> None:
    found = analyse(automaton(text), Limits())
    structure = found.structure
    assert structure is not None
    seen = [cost_of_rounds(found.automaton, structure, rounds).value for rounds in (1, 2, 3)]
    assert seen == [Fraction(cost) for cost in costs]
    assert gain_of_round(found.automaton, structure) == Fraction(gain)
    budget = Fraction(10)
    rounds = rounds_beyond(found.automaton, structure, budget, Limits())
    assert rounds_beyond(found.automaton, structure, Fraction(10**6), Limits()) is None
    assert cost_of_rounds(found.automaton, structure, rounds).value > budget
    assert cost_of_rounds(found.automaton, structure, rounds - 1).value <= budget


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
        whole = augment(found, Limits())
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


LATER = """
(q1, 1, 0): x := insample; output oa; goto q2
(q2, 1, 0): if (insample < x) then output ob; goto q3 elseif (insample >= x) then output ob; goto q4
(q3, 1, 0): output oc; goto q5
(q4, 1, 0): output od; goto q5
"""


def test_repeated_parts_may_be_mistaken_for_others() -> None:
    """Whoever goes round once more in front looks like whoever does so behind."""
    text = """
(q1, 1, 0): x := insample; output oa; goto q2
(q2, 1, 0): if (insample < x) then output ob; goto q2 elseif (insample >= x) then output ob; goto q3
(q3, 1, 0): if (insample >= x) then output ob; goto q3 elseif (insample < x) then output oz; goto q4
"""
    found = check(analyse(automaton(text), Limits()))
    assert found.structure.code == "LP"
    assert not found.unbounded
    assert found.reason == "several runs look alike"


# --- words --------------------------------------------------------------------------------------


def test_a_word_of_one_run_has_its_cost_along_the_ray() -> None:
    """SVT: two rounds below, then above; t large enough."""
    svt = augment(automaton(examples.SVT), Limits())
    word = (SeenSymbol("oin"), SeenSymbol("obot"), SeenSymbol("obot"), SeenSymbol("otop"))
    far = tuple(Fraction(value) for value in (-8, -8, 8))
    near = tuple(value + change for value, change in zip(far, (1, 1, -1), strict=True))
    bound = WordSearch(svt, Limits()).bound((None, *far), (None, *near), word)
    swapped = WordSearch(svt, Limits()).bound((None, *near), (None, *far), word)
    assert max(bound.value, swapped.value) <= Fraction(5, 4)
    assert bound.value == -swapped.value


def unfolded(text: str) -> Unfolding:
    return augment(automaton(text), Limits())


def test_rates_of_real_outputs() -> None:
    found = unfolded("(q1, 1/3, 5, 2, 1): output insampleprime; goto q2")
    seen = (HalfLine(Fraction(4), True),)
    assert WordSearch(found, Limits()).rate((Fraction(1),), seen) == 2 * (4 - 2)
    assert WordSearch(found, Limits()).rate((Fraction(7),), seen) == 0
    assert WordSearch(found, Limits()).rate((None,), seen) is None
    assert WordSearch(found, Limits()).rate((Fraction(1),), (SeenSymbol("oa"),)) is None
    compared = unfolded("(q1, 1/3, 5): output insample; goto q2")
    assert WordSearch(compared, Limits()).rate((Fraction(1),), seen) == 0
    assert WordSearch(compared, Limits()).rate((Fraction(-4),), seen) == 1


# --- limits -------------------------------------------------------------------------------------


def test_a_structure_may_be_found_in_a_part() -> None:
    found = check(analyse(automaton(examples.all_pairs(5)), Limits(states=1000)))
    assert found.unbounded
    assert found.structure.code == "LP"
    assert found.quotient is None


def test_limits_end_with_the_bounds_known_so_far() -> None:
    """All pairs of thresholds, compared once: many nodes, none of them on a cycle."""
    *lines, last = examples.all_pairs(4).splitlines()
    text = "\n".join([*lines, last.replace("goto qp0", "goto qz")])
    found = check(analyse(automaton(text), Limits(states=300)))
    assert found.well_formed is None
    assert found.upper is None
    assert found.lower_bound > 2
    assert found.reason == "path limit: more than 300 symbolic states"
    whole = check(analyse(automaton(text), Limits()))
    assert whole.is_exact
    assert found.lower_bound <= whole.lower_bound
    alike = automaton(text.replace("output oa", "output ob"))
    blind = check(analyse(alike, Limits(states=300)))
    assert (blind.lower_bound, blind.upper, blind.determined) == (0, None, None)
    assert blind.reason == "path limit: more than 300 symbolic states"


def test_a_search_that_is_cut_short_leaves_both_bounds(monkeypatch) -> None:
    monkeypatch.setattr("dipapprox.automata.optimum.MOST_ENTRIES", 10)
    monkeypatch.setattr("dipapprox.automata.analysis.cells_of", lambda whole: None)
    found = check(analyse(automaton(examples.k_min_max(6)), Limits()))
    assert found.upper.value == 1
    assert 0 < found.lower_bound < 1
    assert found.reason == "cost vectors of more than 10 entries"


def test_wide_automata_have_a_strategy_and_a_constructed_run() -> None:
    found = check(analyse(automaton(examples.m_range(9)), Limits()))
    assert isinstance(found.upper, ClosedFamily)
    assert isinstance(found.lower, RunCost)
    assert found.is_exact
    assert found.published == 1
    tiny = automaton(examples.m_range(9).replace("1/4, 0", f"{2**90}/{4 * 2**90 + 1}, 0"))
    found = check(analyse(tiny, Limits()))
    assert isinstance(found.upper, PathWeight)
    assert isinstance(found.lower, RunCost)
    assert found.is_exact


@cases(
    "text", examples.GAP_PV, examples.TWO_RANGE_2, examples.m_range(8), examples.TWO_RANGE_1, LATER
)
def test_wherever_time_runs_out_what_is_said_is_true(text, monkeypatch) -> None:
    """Each look at the clock may be the last one."""
    found = automaton(text)
    whole = analyse(found, Limits())
    for last in (*range(1, 40, 3), 60, 120, 500, 2000):
        looks = 0

        def look(_: Limits, last: int = last) -> None:
            nonlocal looks
            looks += 1
            if looks > last:
                raise LimitReached("time limit: 1 s")

        with monkeypatch.context() as patch:
            patch.setattr(Limits, "check", look)
            part = analyse(found, Limits())
        check(part)
        assert part.reason in (None, "time limit: 1 s")
        assert part.well_formed in (None, whole.well_formed)
        assert whole.unbounded >= part.unbounded
        if whole.upper is not None:
            assert part.lower_bound <= whole.lower_bound
            assert part.upper is None or part.upper.value >= whole.upper.value


TWO_WAYS = """
(q0, 1, 0): x := insample; output oi; goto q1
(q1, 1, 0): if (insample >= x) then output oa; goto q2
            elseif (insample < x) then output ob; goto q3
(q2, 1, 0): if (insample >= x) then output oa; goto q2
(q3, 1, 0): if (insample < x) then output ob; goto q3
"""


def test_seen_stops_may_cost_more() -> None:
    """The coupling paper's Proposition 4.28: 2 without, 4 with stops that are seen."""
    hidden = automaton(TWO_WAYS)
    seen = with_visible_stops(hidden)
    assert len(seen.transitions) == len(hidden.transitions) + 2
    assert analyse(hidden, Limits()).lower_bound == 2
    found = analyse(seen, Limits())
    assert found.is_exact
    assert found.lower_bound == 4


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
        found = analyse(automaton, Limits(), with_words=False)
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
        if analyse(both, Limits(), with_words=False).unbounded:
            for changes in ((0, -1), (0, 1)):
                found = analyse(replace(both, changes=changes), Limits(), with_words=False)
                free["budget" if found.upper is not None else "none"] += 1
    assert free["budget"] >= 2 and free["none"] >= 20
