"""The search through all pairs: known distributions, blocks against single pairs, limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from pair_programs import CASES, SCRAMBLED, SPARSE_VECTOR_TWICE, read
from scrambled import Scrambled

import dipapprox
from dipapprox import Answer, Claim, Enclosure, LimitReached, Limits, NotEnclosed, Options
from dipapprox.arithmetic import rounding
from dipapprox.errors import BrokenInvariant
from dipapprox.events.symmetry import CellSymmetry
from dipapprox.integrals.strategy import Strategy
from dipapprox.language.core import Input
from dipapprox.limits import limited, silent
from dipapprox.numerics.nested.engine import Nested
from dipapprox.numerics.probability import Bounds, OutputProbabilities
from dipapprox.pairs.adjacency import adjacent_pairs, count_pairs
from dipapprox.pairs.counters import plan_counters
from dipapprox.pairs.divergence import (
    Factor,
    Growth,
    Search,
    certain_outputs,
    difference_over,
    divergence,
    eps_prv_factor,
    likely_outputs,
    precisions,
)
from dipapprox.pairs.hockey_stick import (
    HockeyStickBounds,
    bounds_in_doubles,
    bounds_in_integers,
    enclosure,
    positive_part,
    rounding_factor,
)
from dipapprox.pairs.largest import MOST_EXPANSIONS, largest_delta
from dipapprox.pairs.maxima import CountedPairs, ListedPairs, search_blocks
from dipapprox.pairs.maximum import Maximum, search_together
from dipapprox.pairs.published.divergences import PublishedDivergences, Terms
from dipapprox.pairs.published.together import PublishedPairs
from dipapprox.pairs.selected import SelectedPairs
from dipapprox.pairs.selections import AllPairs, OrderedPairs, Pair, one_by_one
from dipapprox.pairs.walk import plan_walk
from dipapprox.privacy.details import least_factor, witness_over
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verdict import Verdict
from dipapprox.privacy.verifier import verify
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.cases import part, refuses, text_of

ZERO, ONE, TWO = ((Fraction(n),) for n in range(3))
LADDER = precisions(8, 128)


@dataclass
class Fake:
    """Encloses known distributions; more bits are never wider, and never the exact point."""

    laws: Mapping[Input, tuple[Fraction, ...]]
    failing: frozenset[Input] = frozenset()
    asked: list[tuple[Input, int]] = field(default_factory=list)
    name: str = "fake"

    def distributions(
        self, inputs: Sequence[Input], bits: int
    ) -> list[tuple[Enclosure, ...] | NotEnclosed]:
        return [self.distribution(input, bits) for input in inputs]

    def distribution(self, input: Input, bits: int) -> tuple[Enclosure, ...] | NotEnclosed:
        self.asked.append((input, bits))
        if input in self.failing:
            return NotEnclosed("the quadrature did not converge")
        step = Fraction(1, 3 * 2**bits)
        return tuple(
            Enclosure(max(p - step, Fraction(0)), min(p + 2 * step, Fraction(1)))
            if p
            else Enclosure.exact(0)
            for p in self.laws[input]
        )


def law(*weights: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(w, sum(weights)) for w in weights)


def conclude(search: Search, outputs: Any) -> Verdict:
    """What a search that nothing ended becomes, whatever it was about."""

    subject = SimpleNamespace(
        **dict.fromkeys(("pairs", "source", "exact")),
        details=lambda: SimpleNamespace(describe=partial(witness_over, outputs)),
        engine=lambda: "made up",
    )
    setting = Setting(dipapprox.parse(TEXT), AllPairs(), Options())
    known = {"executed_for": None, "open_subject": subject, "Search": search}
    with pytest.MonkeyPatch.context() as patch:
        for name in ("run", "finish"):
            patch.setattr(Search, name, lambda *_: None)
        for name, each in known.items():
            patch.setattr(f"dipapprox.privacy.verifier.{name}", lambda *_, own=each, **__: own)
        return verify(setting, Claim(Fraction(1), search.delta))


def run(
    source: Fake, delta: Fraction, pairs: list[Pair], budget: Fraction = Fraction(1, 2)
) -> tuple[Search, Verdict]:
    search = Search(source, delta, Growth(budget), LADDER)
    search.run(one_by_one(pairs), len(pairs))
    outputs = tuple((Fraction(i),) for i in range(len(source.laws[ZERO])))
    return search, conclude(search, outputs)


def true_delta(source: Fake, pair: Pair, budget: Fraction) -> Enclosure:
    """delta_{u,u'} to 400 bits, from the exact distributions."""
    p, q = ([Enclosure.exact(v) for v in source.laws[input]] for input in pair)
    return divergence(p, q, eps_prv_factor(budget, 400))


WEIGHTS = st.lists(st.integers(0, 20), min_size=3, max_size=3).filter(any)
SOURCES = st.builds(
    lambda a, b, c: Fake({ZERO: law(*a), ONE: law(*b), TWO: law(*c)}), WEIGHTS, WEIGHTS, WEIGHTS
)
ALL = [(u, v) for u in (ZERO, ONE, TWO) for v in (ZERO, ONE, TWO) if u != v]


@given(SOURCES, st.fractions(0, 2, max_denominator=10), st.fractions(0, 1, max_denominator=50))
def test_verdicts_are_never_wrong(source, budget, delta) -> None:
    _, conclusion = run(source, delta, ALL, budget)
    largest = [true_delta(source, pair, budget) for pair in ALL]
    match conclusion.answer:
        case Answer.DP:
            assert max(d.lower for d in largest) <= delta
        case Answer.NOT_DP:
            assert max(d.upper for d in largest) > delta
            assert conclusion.witness.delta_enclosure.lower > delta
        case Answer.UNKNOWN:
            assert any(abs(d.lower - delta) < Fraction(1, 2**120) for d in largest)
            assert "critical" in conclusion.reason


def test_a_failed_last_attempt_keeps_the_witness_of_the_one_before() -> None:
    class Fading(Fake):
        def distribution(self, input: Input, bits: int) -> tuple[Enclosure, ...] | NotEnclosed:
            return NotEnclosed("too fine") if bits > 40 else super().distribution(input, bits)

    source = Fading({ZERO: law(1, 3), ONE: law(3, 1)})
    _, conclusion = run(source, Fraction(1, 2), [(ZERO, ONE), (ONE, ZERO)], budget=Fraction(0))
    assert conclusion.answer is Answer.UNKNOWN
    assert "too fine" in conclusion.reason
    assert [row.output for row in conclusion.witness.rows] == [(Fraction(1),)]


def test_unknown_goes_on_to_a_later_violation() -> None:
    source = Fake({ZERO: law(1, 1), ONE: law(1, 9), TWO: law(1, 1)}, failing=frozenset([TWO]))
    pairs = [(ZERO, TWO), (ZERO, ONE)]
    search, conclusion = run(source, Fraction(1, 10), pairs)
    assert conclusion.answer is Answer.NOT_DP
    assert search.checked == 2
    _, conclusion = run(source, Fraction(9, 10), pairs)
    assert conclusion.answer is Answer.UNKNOWN
    assert conclusion.reason == (
        "no enclosure for input (0) and adjacent (2): the quadrature did not converge"
    )
    assert conclusion.delta_enclosure.upper == 1
    assert conclusion.witness is None


TEXT = "input q in 0..3\nadjacent linf 1\noutput y in real\ny <- Gauss(q, 2 / eps)\n"


@pytest.fixture
def ended_after_one_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a limit be reached at the second precision."""
    at = PublishedPairs.at
    first: list[int] = []

    def ended(self: PublishedPairs, factor: Factor, bits: int) -> Maximum:
        first.append(bits)
        if bits > first[0]:
            raise LimitReached("time limit: 1 s")
        return at(self, factor, bits)

    monkeypatch.setattr(PublishedPairs, "at", ended)


@pytest.mark.usefixtures("ended_after_one_precision")
def test_an_unknown_verdict_keeps_the_enclosure() -> None:
    whole = dipapprox.profile(dipapprox.parse(TEXT), eps=1, eps_prv="1/4")
    middle = (whole.delta_enclosure.lower + whole.delta_enclosure.upper) / 2
    found = dipapprox.verify(dipapprox.parse(TEXT), eps=1, eps_prv="1/4", delta=middle)
    assert found.answer is Answer.UNKNOWN
    assert str(found.reason).startswith("time limit: 1 s; ")
    assert middle in found.delta_enclosure
    assert found.delta_enclosure.width < Fraction(1, 10**6)


CLAMPED = text_of("pairs/search-clamped")


@pytest.fixture
def ended_after_some_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a limit be reached at the fourth divergence."""
    divergence = PublishedDivergences.divergence
    asked: list[int] = []

    def ended(
        self: PublishedDivergences, terms: Terms, factor: Factor, bits: int
    ) -> Enclosure | NotEnclosed:
        asked.append(bits)
        if len(asked) > 3:
            raise LimitReached("time limit: 1 s")
        return divergence(self, terms, factor, bits)

    monkeypatch.setattr(PublishedDivergences, "divergence", ended)


@pytest.mark.usefixtures("ended_after_some_pairs")
def test_what_some_pairs_told_is_kept() -> None:
    options = dipapprox.Options(max_precision=40)
    found = dipapprox.profile(dipapprox.parse(CLAMPED), eps=1, eps_prv=1, options=options)
    assert "time limit: 1 s" in str(found.reason)
    known = found.delta_enclosure  # the upper end is what a budget leaves
    assert Fraction(1, 10) < known.lower < known.upper < Fraction(3, 5)


@pytest.mark.usefixtures("ended_after_some_pairs")
def test_what_some_pairs_told_refutes() -> None:
    found = dipapprox.verify(dipapprox.parse(CLAMPED), eps=1, eps_prv=1, delta="1/10")
    assert found.answer is Answer.NOT_DP


def test_budgets_are_known_whatever_ends_the_search(monkeypatch) -> None:
    def ended(_self: PublishedPairs, _factor: Factor, _bits: int) -> Maximum:
        monkeypatch.setattr(Limits, "check", no_time)
        raise LimitReached("time limit: 1 s")

    def no_time(_self: Limits) -> None:
        raise LimitReached("time limit: 1 s")

    monkeypatch.setattr(PublishedPairs, "at", ended)
    found = dipapprox.profile(dipapprox.parse(CLAMPED), eps=1, delta="1/10")
    assert found.eps_prv_enclosure.upper == 2
    assert "time limit: 1 s" in str(found.reason)


# --- All pairs at once and in blocks, against every pair one by one -------------------------------

EPSILON = Fraction(1, 2)


@dataclass
class Opened:
    """A program with its probabilities, and the truth about all its pairs."""

    states: FinalStates
    probabilities: OutputProbabilities

    def delta(self, pair: Pair, budget: Fraction, bits: int = 60) -> Enclosure:
        first, second = self.probabilities.distributions(pair, bits)
        assert not isinstance(first, NotEnclosed) and not isinstance(second, NotEnclosed)
        return divergence(first, second, eps_prv_factor(budget, bits))

    def pairs(self) -> list[Pair]:
        program = self.states.program
        return list(adjacent_pairs(program.inputs, program.adjacency))

    def search(self, delta: Fraction, budget: Fraction) -> Search:
        return Search(self.probabilities, delta, Growth(budget), precisions(40, 160))

    def selected(self, bits: int = 40) -> SelectedPairs:
        total = len(self.pairs())
        return SelectedPairs(self.states, AllPairs(), total, self.probabilities, bits)


@cache
def opened(name: str) -> Opened:
    states = execute(CASES[name](), True)
    probabilities = OutputProbabilities(states, EPSILON, Nested(Strategy.LEAST_NESTING))
    return Opened(states, probabilities)


@cache
def truth(name: str, budget: Fraction) -> Enclosure:
    """The largest delta, from every pair."""
    of = opened(name)
    deltas = [of.delta(pair, budget) for pair in of.pairs()]
    return Enclosure(max(d.lower for d in deltas), max(d.upper for d in deltas))


@pytest.mark.parametrize("name", part(sorted(SCRAMBLED), 7))
def test_counters_on_arbitrary_numbers(name) -> None:
    program = SCRAMBLED[name]()
    states = execute(program, True)
    source = Scrambled(states, 7)
    factor = eps_prv_factor(Fraction(1, 5), 100)
    inputs = {u: source.distribution(u, 0) for u in product(*(c.domain for c in program.inputs))}
    pairs = list(adjacent_pairs(program.inputs, program.adjacency))
    deltas = {(u, v): divergence(inputs[u], inputs[v], factor) for u, v in pairs}
    true = max(delta.lower for delta in deltas.values())
    walk = plan_walk(program.inputs, program.adjacency)
    assert walk is not None
    plan = plan_counters(CellSymmetry(states), program.inputs, walk, MOST_EXPANSIONS)
    assert plan is not None
    selected = SelectedPairs(states, AllPairs(), len(pairs), source, 40)
    # Doubles or integers, now these, now those.
    bits = 40 if len(name) % 2 else 100
    ask = partial(selected.cells, bits=bits, factor=factor)
    largest = largest_delta(plan, program.inputs, ask, bits)
    assert true in largest.delta
    assert largest.delta.width < Fraction(1, 2**45)
    assert largest.pair is not None
    assert deltas[largest.pair].upper >= largest.delta.lower
    assert deltas[largest.likely].lower >= largest.delta.lower


def by_counters(of: Opened, search: Search) -> None:
    program = of.states.program
    walk = plan_walk(program.inputs, program.adjacency)
    assert walk is not None
    plan = plan_counters(CellSymmetry(of.states), program.inputs, walk, MOST_EXPANSIONS)
    assert plan is not None
    counted = CountedPairs(plan, of.selected())
    assert search_together(search, counted)


def in_blocks(of: Opened, search: Search) -> None:
    search_blocks(search, of.selected(search.ladder[0]), silent)


@pytest.mark.parametrize("strategy", [by_counters, in_blocks])
@pytest.mark.parametrize("name", part(sorted(CASES), 8))
def test_strategies_decide_on_either_side(name, strategy) -> None:
    budget = Fraction(1, 5)
    of, largest = opened(name), truth(name, budget)
    near = Fraction(1, 2**50)
    outputs = of.states.outputs
    search = of.search(min(largest.upper + near, Fraction(1)), budget)
    strategy(of, search)
    conclusion = conclude(search, outputs)
    assert conclusion.answer is Answer.DP
    assert search.checked == len(of.pairs())
    assert conclusion.delta_enclosure.meets(largest)
    assert conclusion.delta_enclosure.width < Fraction(1, 2**34)
    if largest.lower > near:
        search = of.search(largest.lower - near, budget)
        strategy(of, search)
        conclusion = conclude(search, outputs)
        assert conclusion.answer is Answer.NOT_DP
        assert conclusion.witness.delta_enclosure.lower > search.delta
        assert (conclusion.witness.input, conclusion.witness.adjacent) in of.pairs()


class Failing:
    """A source that encloses nothing for one input."""

    name = "failing"

    def __init__(self, of: Opened, input: Input) -> None:
        self._of = of
        self._input = input

    def distributions(
        self, inputs: Sequence[Input], bits: int
    ) -> list[tuple[Enclosure, ...] | NotEnclosed]:
        return [self.distribution(input, bits) for input in inputs]

    def distribution(self, input: Input, bits: int) -> tuple[Enclosure, ...] | NotEnclosed:
        if input == self._input:
            return NotEnclosed("the quadrature did not converge")
        return self._of.probabilities.distribution(input, bits)

    def table(self, inputs: Sequence[Input], bits: int) -> Bounds:
        return self._without(self._of.probabilities.table(inputs, bits), inputs)

    def cells(self, outputs: Sequence[int], inputs: Sequence[Input], bits: int) -> Bounds:
        return self._without(self._of.probabilities.cells(outputs, inputs, bits), inputs)

    def _without(self, found: Bounds, inputs: Sequence[Input]) -> Bounds:
        bad = [k for k, input in enumerate(inputs) if input == self._input]
        found.lower[bad], found.upper[bad] = 0.0, 1.0
        return Bounds(found.lower, found.upper, "the quadrature did not converge" if bad else None)


@pytest.mark.parametrize("name", ["svt, N = 4", "plain"])
def test_what_cannot_be_enclosed_is_never_a_proof(name) -> None:
    of = opened(name)
    program = of.states.program
    input = tuple(cell.domain[-1] for cell in program.inputs)
    source = Failing(of, input)
    search = Search(source, Fraction(99, 100), Growth(Fraction(1)), precisions(40, 160))
    total = count_pairs(program.inputs, program.adjacency)
    ListedPairs(of.states, AllPairs(), total, source).decide(search)
    conclusion = conclude(search, of.states.outputs)
    assert conclusion.answer is Answer.UNKNOWN
    assert "did not converge" in conclusion.reason


@pytest.mark.parametrize("in_blocks", [False, True])
def test_pairs_that_are_left_out_are_noticed(in_blocks) -> None:
    of = opened("plain")
    program = of.states.program
    pairs = tuple(adjacent_pairs(program.inputs, program.adjacency))
    selection = AllPairs() if in_blocks else OrderedPairs(pairs)
    search = Search(of.probabilities, Fraction(1), Growth(Fraction(1)), precisions(40, 160))
    listed = ListedPairs(of.states, selection, len(pairs) + 1, of.probabilities)
    with pytest.raises(BrokenInvariant, match="pairs were checked"):
        listed.decide(search)


def test_astronomically_many_pairs() -> None:
    program = read(SPARSE_VECTOR_TWICE, N=9)
    verdict = verify(Setting(program, AllPairs(), Options()), Claim(EPSILON, Fraction(1, 2)))
    assert verdict.answer is Answer.DP
    assert verdict.pairs == 4**9 - 2**9


def test_a_time_limit_ends_every_road() -> None:
    for name in ("svt, N = 4", "plain"):
        program = opened(name).states.program
        with limited(Limits(seconds=0.0)):
            verdict = verify(
                Setting(program, AllPairs(), Options()), Claim(EPSILON, Fraction(1, 2))
            )
        assert verdict.answer is Answer.UNKNOWN
        assert "time limit" in verdict.reason


# --- VerifyPair and sums over arrays against exact distributions inside the enclosures ------------

BUDGETS = st.fractions(0, 5, max_denominator=100)
LAWS = st.integers(2, 5).flatmap(
    lambda n: st.tuples(
        *(st.lists(st.integers(0, 60), min_size=n, max_size=n).filter(any) for _ in range(2))
    )
)


def probabilities(weights: list[int]) -> list[Fraction]:
    return [Fraction(w, sum(weights)) for w in weights]


def around(values: list[Fraction], bits: int) -> list[Enclosure]:
    """Enclosures of width <= 2**-bits, off-centre, exact where the value is 0."""
    third = Fraction(1, 3 * 2**bits)
    return [
        Enclosure(max(v - third, Fraction(0)), min(v + 2 * third, Fraction(1)))
        if v
        else Enclosure.exact(0)
        for v in values
    ]


def exact_delta(p: list[Fraction], q: list[Fraction], budget: Fraction) -> Enclosure:
    """delta for exactly known distributions; as thin as e^eps_prv at 400 bits."""
    exact = [Enclosure.exact(v) for v in p], [Enclosure.exact(v) for v in q]
    return divergence(*exact, eps_prv_factor(budget, 400))


@given(LAWS, BUDGETS, st.integers(4, 80))
def test_bounds_contain_delta_and_shrink(laws, budget, bits) -> None:
    p, q = map(probabilities, laws)
    delta = divergence(around(p, bits), around(q, bits), eps_prv_factor(budget, bits))
    true = exact_delta(p, q, budget)
    assert delta.lower <= true.lower <= true.upper <= delta.upper
    # The paper's error bound, |V| terms each of width 2^-bits + e^eps_prv 2^-bits (twice).
    assert delta.width <= 2 * len(p) * (1 + eps_prv_factor(budget, 60).lower + 1) / 2**bits
    assert delta.lower >= 0
    assert delta.upper <= 1


@given(LAWS, BUDGETS, st.integers(4, 60))
def test_witness_set_attains_the_lower_bound(laws, budget, bits) -> None:
    p, q = map(probabilities, laws)
    first, second, factor = around(p, bits), around(q, bits), eps_prv_factor(budget, bits)
    certain = certain_outputs(first, second, factor)
    delta = divergence(first, second, factor)
    over = difference_over(certain, first, second, factor)
    assert over.lower == delta.lower
    assert over.upper <= delta.upper
    # Every other set has a smaller difference than delta (Lemma 2).
    likely = likely_outputs(first, second, factor)
    assert set(certain) <= set(likely)
    assert difference_over(likely, first, second, factor).lower <= delta.upper


def test_randomised_response_closed_form() -> None:
    # Keep the bit with probability 3/4: p/q = 3, so delta = 3/4 - e^(1/2)/4 at budget 1/2.
    p, q = [Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]
    delta = exact_delta(p, q, Fraction(1, 2))
    with ctx.workprec(300):
        reference = (3 - arb(0.5).exp()) / 4
        assert float(reference) == pytest.approx(float(delta.lower))
    assert delta.width < Fraction(1, 2**390)
    assert exact_delta(p, q, Fraction(11, 10)) == Enclosure.exact(0)  # e^1.1 > 3


def test_budgets_beyond_all_bounds() -> None:
    factor = eps_prv_factor(Fraction(10**12), 40)
    assert factor.upper is None
    p = [Enclosure.exact(Fraction(1, 2)), Enclosure.exact(Fraction(1, 2))]
    q = [Enclosure.exact(0), Enclosure.exact(1)]
    assert divergence(p, q, factor) == Enclosure.exact(Fraction(1, 2))
    assert likely_outputs(p, q, factor) == certain_outputs(p, q, factor) == (0,)
    refuses(ValueError, "no lower bound", difference_over, (1,), p, q, factor)
    unknown = [Enclosure(Fraction(0), Fraction(1, 8))]
    assert divergence([p[0]], unknown, factor) == Enclosure(Fraction(0), Fraction(1, 2))


TINY = 2.0**-1074
DOUBLES = st.one_of(
    st.floats(0, 1),
    st.sampled_from([0.0, 1.0, TINY, 3 * TINY, 2.0**-1022, 1 - 2.0**-53, 0.1, 2.0**-53]),
    st.integers(0, 1074).map(lambda k: 2.0**-k),
)
WIDTHS = st.sampled_from([0.0, TINY, 1e-300, 1e-17, 1e-12, 0.5])
ALL_BUDGETS = st.one_of(
    st.fractions(0, 3, max_denominator=20),
    st.sampled_from(
        [Fraction(0), Fraction(1, 10**9), Fraction(700), Fraction(800), Fraction(20000)]
    ),
)
CELLS = st.tuples(DOUBLES, WIDTHS).map(lambda c: (c[0], min(c[0] + c[1], 1.0)))


def summed(first: HockeyStickBounds, second: HockeyStickBounds) -> Enclosure:
    lower = positive_part(first.lower - second.high_scaled).sum()
    upper = positive_part(first.upper - second.low_scaled).sum()
    return enclosure(lower, upper, len(first.lower), first.scale)


def exact(cells: list[tuple[float, float]]) -> list[Enclosure]:
    return [Enclosure(Fraction(low), Fraction(high)) for low, high in cells]


def shared(cell: tuple[float, float], number: int) -> tuple[float, float]:
    """Scale a cell down so that so many are parts of one distribution, in the numbers in use."""
    low, high = (Fraction(end) / (number + 1) for end in cell)
    return rounding.below(low), rounding.above(high)


def doubles(cells: list[tuple[float, float]], factor: Factor) -> HockeyStickBounds:
    lower, upper = (np.array(column, dtype=np.float64) for column in zip(*cells, strict=True))
    return bounds_in_doubles(lower, upper, factor)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=40), ALL_BUDGETS)
def test_doubles_contain_the_exact_bounds(cells, budget) -> None:
    first, second = ([shared(c[k], len(cells)) for c in cells] for k in (0, 1))
    factor = eps_prv_factor(budget, 64)
    sum_of = summed(doubles(first, factor), doubles(second, factor))
    true = divergence(exact(first), exact(second), factor)
    assert sum_of.lower <= true.lower
    assert sum_of.upper >= true.upper
    if budget > 700:
        return  # the factor has no double: tiny probabilities are not told from 0
    # Not much is lost: a rounding of e^eps_prv, of scaling, of the sums, and tiny numbers.
    slack = Fraction(len(cells) + 8, 2**51)
    scale = sum(Fraction(c[1]) for c in first)
    tiny = len(cells) * 2 * Fraction(rounding.FLOOR)
    assert sum_of.upper <= true.upper + slack * scale + tiny
    assert true.lower <= sum_of.lower + slack * scale + tiny


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=10), ALL_BUDGETS)
def test_integers_contain_the_exact_bounds(cells, budget) -> None:
    first, second = (exact([shared(c[k], len(cells)) for c in cells]) for k in (0, 1))
    bits = 90
    factor = eps_prv_factor(budget, bits)
    sum_of = summed(
        bounds_in_integers(first, factor, bits), bounds_in_integers(second, factor, bits)
    )
    true = divergence(first, second, factor)
    assert sum_of.lower <= true.lower <= true.upper <= sum_of.upper
    assert sum_of.width <= true.width + Fraction(2 * len(cells) + 2, 2**bits)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=300), st.randoms())
def test_any_order_of_summation_is_covered(terms, random) -> None:
    true = sum(map(Fraction, terms))
    for order in (terms, terms[::-1], sorted(terms), sorted(terms, reverse=True)):
        one_by_one = 0.0
        for term in order:
            one_by_one += term
        for total in (
            one_by_one,
            float(np.sum(order)),
            float(np.array(order) @ np.ones(len(order))),
        ):
            assert Fraction(total) * rounding_factor(len(terms)) >= true
            assert Fraction(total) * (2 - rounding_factor(len(terms))) <= true


def test_sums_above_one_are_a_bug() -> None:
    refuses(BrokenInvariant, None, enclosure, 1.5, 1.6, 3, None)
    assert enclosure(0.5, 1.6, 3, None).upper == 1


DELTAS = st.fractions(0, 1, max_denominator=40)


def brute_force(first: list[Fraction], second: list[Fraction], delta: Fraction) -> Fraction | None:
    """The least E >= 1 by all sets; None for infinity."""
    best = Fraction(1)
    for size in range(1, len(first) + 1):
        for chosen in combinations(range(len(first)), size):
            p = sum(first[k] for k in chosen)
            q = sum(second[k] for k in chosen)
            if q:
                best = max(best, (p - delta) / q)
            elif p > delta:
                return None
    return best


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6).filter(any), st.data(), DELTAS)
def test_the_least_factor_is_that_of_all_sets(first, data, delta) -> None:
    size = len(first)
    second = data.draw(st.lists(st.integers(0, 6), min_size=size, max_size=size).filter(any))
    slack = data.draw(st.just(Fraction(0)) | st.fractions(0, Fraction(1, 50), max_denominator=1000))
    p, q = probabilities(first), probabilities(second)
    wide_p, wide_q = (
        [Enclosure(max(x - slack, Fraction(0)), x + slack) for x in side] for side in (p, q)
    )
    exact = brute_force(p, q, delta)
    found = least_factor(wide_p, wide_q, delta)
    if found.lower is None:
        assert exact is None
    elif exact is not None:
        assert found.lower <= exact
        assert found.upper is None or exact <= found.upper
    else:
        assert found.upper is None
    if not slack:
        assert found.lower == found.upper == exact
    if not slack and exact is not None and exact > 1:
        # It is the boundary: delta is reached there and exceeded just before.
        assert divergence(wide_p, wide_q, Factor(exact, exact)) == Enclosure.exact(delta)
        chosen = found.outputs
        assert sum(p[k] for k in chosen) - exact * sum(q[k] for k in chosen) == delta
        before = (1 + exact) / 2
        assert divergence(wide_p, wide_q, Factor(before, before)).lower > delta
