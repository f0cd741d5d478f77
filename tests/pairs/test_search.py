"""The search through all pairs: known distributions, blocks against single pairs, limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_programs import CASES, SCRAMBLED, SPARSE_VECTOR_TWICE, read
from scrambled import Scrambled

import dipapprox
from dipapprox import Answer, Claim, Enclosure, LimitReached, Limits, NotEnclosed, Options
from dipapprox.errors import BrokenInvariant
from dipapprox.events.symmetry import CellSymmetry
from dipapprox.integrals.integral import Strategy
from dipapprox.language.core import Input
from dipapprox.limits import silent
from dipapprox.numerics.bulk import Bounds
from dipapprox.numerics.nested.engine import Nested
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.pairs.adjacency import adjacent_pairs, count_pairs
from dipapprox.pairs.counters import plan_counters
from dipapprox.pairs.divergence import Factor, Growth, divergence, eps_prv_factor
from dipapprox.pairs.largest import MOST_EXPANSIONS, largest_delta
from dipapprox.pairs.maxima import CountedPairs, search_blocks
from dipapprox.pairs.maximum import Maximum, search_together
from dipapprox.pairs.published.divergences import PublishedDivergences, Terms
from dipapprox.pairs.published.together import PublishedPairs
from dipapprox.pairs.search import Search, precisions
from dipapprox.pairs.selected import SelectedPairs
from dipapprox.pairs.selections import AllPairs, OrderedPairs, Pair, one_by_one
from dipapprox.pairs.walk import plan_walk
from dipapprox.privacy.details import witness_over
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verifier import Conclusion, check_pairs, conclude, verify
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.texts import text_of
from tests.thorough import part

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


def run(
    source: Fake, delta: Fraction, pairs: list[Pair], budget: Fraction = Fraction(1, 2)
) -> tuple[Search, Conclusion]:
    search = Search(source, delta, Growth(budget), LADDER, Limits())
    search.run(one_by_one(pairs), len(pairs))
    outputs = tuple((Fraction(i),) for i in range(len(source.laws[ZERO])))
    return search, conclude(search, len(pairs), None, partial(witness_over, outputs))


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
    assert Fraction(1, 10) < found.delta_enclosure.lower < found.delta_enclosure.upper == 1


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
        return Search(self.probabilities, delta, Growth(budget), precisions(40, 160), Limits())

    def selected(self, bits: int = 40) -> SelectedPairs:
        total = len(self.pairs())
        return SelectedPairs(self.states, AllPairs(), total, self.probabilities, bits, Limits())


@cache
def opened(name: str) -> Opened:
    states = execute(CASES[name](), True, Limits())
    probabilities = OutputProbabilities(states, EPSILON, Nested(Strategy.LEAST_NESTING), Limits())
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
    states = execute(program, True, Limits())
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
    selected = SelectedPairs(states, AllPairs(), len(pairs), source, 40, Limits())
    # Doubles or integers, now these, now those.
    bits = 40 if len(name) % 2 else 100
    ask = partial(selected.cells, bits=bits, factor=factor)
    largest = largest_delta(plan, program.inputs, ask, bits, Limits())
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
    assert search_together(search, counted, len(of.pairs()))


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
    conclusion = conclude(search, None, None, partial(witness_over, outputs))
    assert conclusion.answer is Answer.DP
    assert search.checked == len(of.pairs())
    assert conclusion.delta_enclosure.meets(largest)
    assert conclusion.delta_enclosure.width < Fraction(1, 2**34)
    if largest.lower > near:
        search = of.search(largest.lower - near, budget)
        strategy(of, search)
        conclusion = conclude(search, None, None, partial(witness_over, outputs))
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
    search = Search(source, Fraction(99, 100), Growth(Fraction(1)), precisions(40, 160), Limits())
    total = count_pairs(program.inputs, program.adjacency)
    check_pairs(search, of.states, Setting(program, AllPairs(), Options()), total, source)
    conclusion = conclude(search, total, None, partial(witness_over, of.states.outputs))
    assert conclusion.answer is Answer.UNKNOWN
    assert "did not converge" in conclusion.reason


@pytest.mark.parametrize("in_blocks", [False, True])
def test_pairs_that_are_left_out_are_noticed(in_blocks) -> None:
    of = opened("plain")
    program = of.states.program
    pairs = tuple(adjacent_pairs(program.inputs, program.adjacency))
    selection = AllPairs() if in_blocks else OrderedPairs(pairs)
    search = Search(
        of.probabilities, Fraction(1), Growth(Fraction(1)), precisions(40, 160), Limits()
    )
    setting = Setting(of.states.program, selection, Options())
    with pytest.raises(BrokenInvariant, match="pairs were checked"):
        check_pairs(search, of.states, setting, len(pairs) + 1, of.probabilities)


def test_astronomically_many_pairs() -> None:
    program = read(SPARSE_VECTOR_TWICE, N=9)
    verdict = verify(Setting(program, AllPairs(), Options()), Claim(EPSILON, Fraction(1, 2)))
    assert verdict.answer is Answer.DP
    assert verdict.pairs == 4**9 - 2**9


def test_a_time_limit_ends_every_road() -> None:
    for name in ("svt, N = 4", "plain"):
        program = opened(name).states.program
        options = Options(limits=Limits(seconds=0.0))
        verdict = verify(Setting(program, AllPairs(), options), Claim(EPSILON, Fraction(1, 2)))
        assert verdict.answer is Answer.UNKNOWN
        assert "time limit" in verdict.reason
