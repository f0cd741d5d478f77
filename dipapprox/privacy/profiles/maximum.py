"""The largest delta_{u,u'} over all selected pairs, at any budget: the privacy profile's oracle.

doubles, all pairs, any number of budgets (`largest`)
    |   outputs that depend on few counters: all pairs at once (`largest_delta`)
    |   otherwise: tables and blocks (`parts`)
    v
wide? the pairs that may be the largest, exactly, with more and more bits (`sharpened`)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from dipapprox.errors import LimitReached
from dipapprox.language.core import Listed
from dipapprox.limits import Limits
from dipapprox.numerics import rounding
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.pairs.adjacency import AllPairs, Pair, PairSelection, count_selected
from dipapprox.pairs.blocks import Block
from dipapprox.pairs.bounds import (
    DOUBLE_BITS,
    Discounted,
    Numbers,
    discounted_doubles,
    enclosure,
    positive_part,
)
from dipapprox.pairs.counters import CounterPlan, plan_counters
from dipapprox.pairs.divergence import (
    Factor,
    Probabilities,
    difference_over,
    divergence,
    likely_outputs,
)
from dipapprox.pairs.largest import MOST_EXPANSIONS, largest_delta
from dipapprox.pairs.search import Progress, silent
from dipapprox.pairs.symmetry import CellSymmetry
from dipapprox.pairs.tables import Tables
from dipapprox.pairs.walk import plan_walk
from dipapprox.privacy.profiles.least_factor import LeastFactor, least_factor
from dipapprox.privacy.profiles.pair_maxima import Budget, ExcessSet, Maximum, improved
from dipapprox.privacy.profiles.parts import PairParts, Part
from dipapprox.privacy.sources import RememberedRows
from dipapprox.privacy.verdict import Witness, WitnessRow
from dipapprox.semantics.state import FinalStates

_FACTOR_BITS = 64
_FEW_PAIRS = 100
_LARGEST_SYMMETRY = 500_000

MOST_PAIRS = 1_000_000_000
"""More pairs than this are not gone through one by one, not even in blocks."""

_MOST_CANDIDATES = 5_000
"""Pairs that are compared exactly, at most."""


class Maxima:
    """Bounds of the largest delta over the selected pairs of a program.

    Args:
        states: Final states.
        source: Output probabilities at one epsilon.
        selection: Which pairs.
        ladder: Bits of the attempts at single pairs, ascending.
        limits: Asked throughout.
        progress: Told about budgets done.

    Attributes:
        pairs: Their number; None if it is too large to count.
        parts: The pairs as arrays.

    Raises:
        UserError: If the program's adjacency does not suit its inputs.
    """

    def __init__(
        self,
        states: FinalStates,
        source: OutputProbabilities,
        selection: PairSelection,
        ladder: tuple[int, ...],
        limits: Limits,
        progress: Progress = silent,
    ) -> None:
        program = states.program
        self.ladder = ladder
        self.pairs = count_selected(program, selection)
        self._cells = program.inputs
        self._bulk = source
        self._rows = RememberedRows(source)
        self._limits = limits
        self._progress = progress
        self._outputs = states.outputs()
        self._counter_obstacle: str | None = None
        walk = None
        if isinstance(selection, AllPairs) and not isinstance(program.adjacency, Listed):
            few = self.pairs is not None and self.pairs <= _FEW_PAIRS
            walk = None if few else plan_walk(program.inputs, program.adjacency)
        self.parts = PairParts(program, selection, walk, source, len(self._outputs), limits)
        self._plan: CounterPlan | None = None
        if walk is not None and len(states.states) * len(program.inputs) <= _LARGEST_SYMMETRY:
            plan = plan_counters(CellSymmetry(states), program.inputs, walk, MOST_EXPANSIONS)
            many = self.pairs is None or not self.parts.in_one_table
            if plan is not None and (many or 2 * plan.expansions <= (self.pairs or 0)):
                self._plan = plan

    @property
    def obstacle(self) -> str | None:
        """Why some probability could not be enclosed; None if all could."""
        return self._counter_obstacle or self.parts.obstacle

    def distributions(self, pair: Pair, bits: int) -> Sequence[Probabilities | NotEnclosed]:
        """Enclose the probability of every output for both inputs."""
        return self._rows.distributions(pair, bits)

    def check_size(self) -> None:
        """Refuse to go through too many pairs.

        Raises:
            LimitReached: If there are more than `MOST_PAIRS`.
        """
        if self.pairs is None or self.pairs > MOST_PAIRS:
            number = "too many" if self.pairs is None else f"{float(self.pairs):.3g}"
            raise LimitReached(f"pair limit: {number} adjacent pairs")

    def largest(self, factors: Sequence[Factor]) -> list[Maximum]:
        """Bound the largest delta at every budget, in doubles."""
        if self._plan is not None:
            found = []
            for done, factor in enumerate(factors):
                each = self._by_counters(self._plan, factor, DOUBLE_BITS)
                if each is None:
                    self._plan = None  # more counters than foreseen: by blocks
                    return self.largest(factors)
                found.append(each)
                self._progress(done + 1, len(factors))
            return found
        self.check_size()
        best = [_Best() for _ in factors]
        for part in self.parts:
            for done, (factor, record) in enumerate(zip(factors, best, strict=True)):
                bounds = discounted_doubles(part.lower, part.upper, factor)
                for block in part.blocks():
                    self._limits.check()
                    lower, upper = _sums(bounds, block)
                    record.take(part, block, lower, upper)
                self._progress(done + 1, len(factors))
        return [record.maximum(len(self._outputs)) for record in best]

    def sharpened(self, budget: Budget, enough: Callable[[Enclosure], bool]) -> Maximum:
        """Bound the largest delta at one budget until the enclosure is good enough.

        Returns:
            The best that the ladder of bits gives; its enclosure may be wider than wanted.
        """
        found = self.largest([budget(_FACTOR_BITS)])[0]
        if enough(found.delta) or found.pair is None:
            return found
        if self._plan is not None:
            return self._climbed(self._plan, found, budget, enough)
        candidates = self._candidates(budget(_FACTOR_BITS), found.delta.lower)
        if candidates is None:
            return found
        for bits in self.ladder:
            known: list[tuple[Pair, Enclosure]] = []
            for pair in candidates:
                self._limits.check()
                known.append((pair, self._delta(pair, budget(bits), bits)))
            best, most = max(known, key=lambda each: each[1].lower)
            delta = Enclosure(most.lower, max(each.upper for _, each in known))
            found = improved(found, Maximum(delta, best, bits))
            if enough(found.delta):
                break
            # The best pair stays even where its delta is known exactly.
            candidates = [pair for pair, each in known if pair == best or each.upper > most.lower]
        return found

    def least_factor(self, pair: Pair, delta: Fraction, bits: int) -> LeastFactor | NotEnclosed:
        """See `PairMaxima`."""
        first, second = self.distributions(pair, bits)
        if isinstance(first, NotEnclosed):
            return first
        if isinstance(second, NotEnclosed):
            return second
        return least_factor(first, second, delta)

    def excess(self, pair: Pair, factor: Factor, bits: int) -> ExcessSet | None:
        """See `PairMaxima`."""
        first, second = self.distributions(pair, bits)
        if isinstance(first, NotEnclosed) or isinstance(second, NotEnclosed):
            return None
        chosen = likely_outputs(first, second, factor)
        return ExcessSet(
            sum((first[k].lower for k in chosen), Fraction(0)),
            sum((second[k].upper for k in chosen), Fraction(0)),
            tuple(tuple(self._outputs[k]) for k in chosen),
            None,
            difference_over(chosen, first, second, factor).upper > 0,
        )

    def witness(
        self, pair: Pair, factor: Factor, outputs: Sequence[int] | None, bits: int
    ) -> Witness | None:
        """See `PairMaxima`."""
        first, second = self.distributions(pair, bits)
        if isinstance(first, NotEnclosed) or isinstance(second, NotEnclosed):
            return None
        chosen = likely_outputs(first, second, factor) if outputs is None else tuple(outputs)
        rows = tuple(WitnessRow(tuple(self._outputs[k]), first[k], second[k]) for k in chosen)
        return Witness(*pair, rows, difference_over(chosen, first, second, factor))

    def _delta(self, pair: Pair, factor: Factor, bits: int) -> Enclosure:
        first, second = self.distributions(pair, bits)
        if isinstance(first, NotEnclosed) or isinstance(second, NotEnclosed):
            return UNIT
        return divergence(first, second, factor)

    def _climbed(
        self,
        plan: CounterPlan,
        found: Maximum,
        budget: Budget,
        enough: Callable[[Enclosure], bool],
    ) -> Maximum:
        for bits in self.ladder:
            if bits <= DOUBLE_BITS:
                continue
            each = self._by_counters(plan, budget(bits), bits)
            if each is None:
                break
            found = improved(found, Maximum(each.delta, each.pair, bits))
            if enough(found.delta):
                break
        return found

    def _by_counters(self, plan: CounterPlan, factor: Factor, bits: int) -> Maximum | None:
        tables = Tables(self._bulk, self._rows, len(self._outputs), lambda _: factor)
        ask = partial(tables.cells, bits=bits)
        found = largest_delta(plan, self._cells, ask, self._limits)
        self._counter_obstacle = self._counter_obstacle or tables.obstacle
        return None if found is None else Maximum(found.delta, found.certain, bits)

    def _candidates(self, factor: Factor, least: Fraction) -> list[Pair] | None:
        """Name the pairs whose delta may be positive and >= `least`; None if they are too many."""
        found: list[Pair] = []
        # Sums in doubles are within this of the true ones: see `bounds`.
        harmless = rounding.below(least * (1 - Fraction(len(self._outputs) + 4, 2**52)))
        for part in self.parts:
            bounds = discounted_doubles(part.lower, part.upper, factor)
            for block in part.blocks():
                self._limits.check()
                _, upper = _sums(bounds, block)
                places = np.flatnonzero((upper >= harmless) & (upper > 0))
                if len(found) + len(places) > _MOST_CANDIDATES:
                    return None
                found += (part.pair(block, place) for place in places.tolist())
        return found


@dataclass(slots=True)
class _Best:
    """The largest sums met so far; -1 before the first."""

    lower: float = -1.0
    upper: float = -1.0
    pair: Pair | None = None

    def take(self, part: Part, block: Block, lower: Numbers, upper: Numbers) -> None:
        self.upper = max(self.upper, float(upper.max()))
        place = int(np.argmax(lower))
        if lower[place] > self.lower:
            self.lower, self.pair = float(lower[place]), part.pair(block, place)

    def maximum(self, outputs: int) -> Maximum:
        if self.pair is None:
            # The largest of no deltas is 0: nothing has to be told apart.
            return Maximum(Enclosure.exact(0), None, DOUBLE_BITS)
        return Maximum(enclosure(self.lower, self.upper, outputs, None), self.pair, DOUBLE_BITS)


def _sums(bounds: Discounted, block: Block) -> tuple[Numbers, Numbers]:
    first, second = block.first, block.second
    lower = positive_part(bounds.lower[first] - bounds.high_discount[second]).sum(axis=1)
    upper = positive_part(bounds.upper[first] - bounds.low_discount[second]).sum(axis=1)
    return lower, upper
