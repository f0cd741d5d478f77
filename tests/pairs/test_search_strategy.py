"""All pairs at once and in blocks, against every pair one by one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import product

import pytest
from pair_programs import CASES, SCRAMBLED, SPARSE_VECTOR_TWICE, read
from scrambled import Scrambled

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.errors import BrokenInvariant
from dipapprox.events.symmetry import CellSymmetry
from dipapprox.integrals.integral import Strategy
from dipapprox.language.core import Input
from dipapprox.limits import Limits, silent
from dipapprox.numerics.bulk import Bounds
from dipapprox.numerics.nested.engine import Nested
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.pairs.adjacency import adjacent_pairs, count_pairs
from dipapprox.pairs.counters import plan_counters
from dipapprox.pairs.divergence import Growth, divergence, eps_prv_factor
from dipapprox.pairs.largest import MOST_EXPANSIONS, largest_delta
from dipapprox.pairs.many_pairs import CountedPairs, search_blocks
from dipapprox.pairs.maximum import search_together
from dipapprox.pairs.search import Search, precisions
from dipapprox.pairs.selected import SelectedPairs
from dipapprox.pairs.selections import AllPairs, OrderedPairs, Pair
from dipapprox.pairs.walk import plan_walk
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.conclusion import conclude, witness_over
from dipapprox.privacy.options import Options
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verdict import Answer
from dipapprox.privacy.verifier import check_pairs, verify
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.thorough import part

EPSILON = Fraction(1, 2)
NAMES = sorted(CASES)


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
def test_counters_on_arbitrary_numbers(name: str) -> None:
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


Searching = Callable[[Opened, Search], None]


@pytest.mark.parametrize("strategy", [by_counters, in_blocks])
@pytest.mark.parametrize("name", part(NAMES, 8))
def test_strategies_decide_on_either_side(name: str, strategy: Searching) -> None:
    budget = Fraction(1, 5)
    of, largest = opened(name), truth(name, budget)
    near = Fraction(1, 2**50)
    outputs = of.states.outputs
    search = of.search(min(largest.upper + near, Fraction(1)), budget)
    strategy(of, search)
    conclusion = conclude(search, None, None, partial(witness_over, outputs, search.delta))
    assert conclusion.answer is Answer.DP
    assert search.checked == len(of.pairs())
    assert conclusion.delta_enclosure.meets(largest)
    assert conclusion.delta_enclosure.width < Fraction(1, 2**34)
    if largest.lower > near:
        search = of.search(largest.lower - near, budget)
        strategy(of, search)
        conclusion = conclude(search, None, None, partial(witness_over, outputs, search.delta))
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
def test_what_cannot_be_enclosed_is_never_a_proof(name: str) -> None:
    of = opened(name)
    program = of.states.program
    input = tuple(cell.domain[-1] for cell in program.inputs)
    source = Failing(of, input)
    search = Search(source, Fraction(99, 100), Growth(Fraction(1)), precisions(40, 160), Limits())
    total = count_pairs(program.inputs, program.adjacency)
    check_pairs(search, of.states, Setting(program, AllPairs(), Options()), total, source)
    conclusion = conclude(
        search, total, None, partial(witness_over, of.states.outputs, search.delta)
    )
    assert conclusion.answer is Answer.UNKNOWN
    assert "did not converge" in conclusion.reason


@pytest.mark.parametrize("in_blocks", [False, True])
def test_pairs_that_are_left_out_are_noticed(in_blocks: bool) -> None:
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
