"""The largest delta_{u,u'} over all selected pairs, at any budget: the privacy profile's oracle.

doubles, all pairs, any number of budgets (`largest`)
    |   outputs that depend on few counters: all pairs at once (`largest_delta`)
    |   otherwise: tables and blocks (`arrays`)
    v
wide? the pairs that may be the largest, exactly, with more and more bits (`sharpened`)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from dipapprox.data_classes import dataclass
from dipapprox.errors import LimitReached
from dipapprox.limits import Limits
from dipapprox.numerics import rounding
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.pairs.adjacency import Pair, PairSelection, count_selected
from dipapprox.pairs.arrays import TabledPairs
from dipapprox.pairs.blocks import Block
from dipapprox.pairs.counters import CounterPlan
from dipapprox.pairs.divergence import (
    Factor,
    Probabilities,
    difference_over,
    divergence,
    likely_outputs,
)
from dipapprox.pairs.hockey_stick import (
    DOUBLE_BITS,
    Discounted,
    discounted_doubles,
    enclosure,
)
from dipapprox.pairs.largest import largest_delta
from dipapprox.pairs.search import Progress, silent
from dipapprox.pairs.selected import SelectedPairs
from dipapprox.pairs.tables import Tables
from dipapprox.privacy.profiles.least_factor import LeastFactor, least_factor
from dipapprox.privacy.profiles.pair_maxima import Budget, ExcessSet, Maximum, improved
from dipapprox.privacy.sources import RememberedRows
from dipapprox.privacy.verdict import Witness, WitnessRow
from dipapprox.semantics.state import FinalStates

_FACTOR_BITS = 64

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
        arrays: The pairs as arrays.

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
        self.ladder = ladder
        self.pairs = count_selected(states.program, selection)
        self._cells = states.program.inputs
        self._bulk = source
        self._rows = RememberedRows(source)
        self._limits = limits
        self._progress = progress
        self._outputs = states.outputs()
        self._counter_obstacle: str | None = None
        selected = SelectedPairs(states, selection, self.pairs)
        self.arrays = selected.arrays(source, DOUBLE_BITS, limits)
        self._plan = selected.plan(in_one_table=self.arrays.in_one_table)

    @property
    def obstacle(self) -> str | None:
        """Why some probability could not be enclosed; None if all could."""
        return self._counter_obstacle or self.arrays.obstacle

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
        for tabled in self.arrays:
            for done, (factor, record) in enumerate(zip(factors, best, strict=True)):
                bounds = discounted_doubles(tabled.lower, tabled.upper, factor)
                for block in tabled.blocks():
                    self._limits.check()
                    record.take(tabled, block, bounds)
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
        for tabled in self.arrays:
            bounds = discounted_doubles(tabled.lower, tabled.upper, factor)
            for block in tabled.blocks():
                self._limits.check()
                upper = bounds.above(block)
                places = np.flatnonzero((upper >= harmless) & (upper > 0))
                if len(found) + len(places) > _MOST_CANDIDATES:
                    return None
                found += (tabled.pair(block, place) for place in places.tolist())
        return found


@dataclass(slots=True)
class _Best:
    """The largest sums met so far; -1 before the first."""

    lower: float = -1.0
    upper: float = -1.0
    pair: Pair | None = None

    def take(self, tabled: TabledPairs, block: Block, bounds: Discounted) -> None:
        upper = bounds.above(block)
        self.upper = max(self.upper, float(upper.max()))
        places = np.flatnonzero(upper > self.lower)
        if not len(places):
            return
        lower = bounds.below(block.take(places))
        best = int(np.argmax(lower))
        if lower[best] > self.lower:
            self.lower, self.pair = float(lower[best]), tabled.pair(block, int(places[best]))

    def maximum(self, outputs: int) -> Maximum:
        if self.pair is None:
            # The largest of no deltas is 0: nothing has to be told apart.
            return Maximum(Enclosure.exact(0), None, DOUBLE_BITS)
        return Maximum(enclosure(self.lower, self.upper, outputs, None), self.pair, DOUBLE_BITS)
