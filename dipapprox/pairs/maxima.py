"""The largest delta_{u,u'} over all selected pairs, at any eps_prv.

doubles, all pairs, any number of budgets (`largest`)
    |   all at once, where that is possible (`maximum.Together`)
    |   otherwise: tables and blocks (`arrays`)
    v
wide? with more and more bits: all at once, or the pairs that may be the largest (`sharpened`)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.limits import Limits, Progress, silent
from dipapprox.numerics.bulk import ProbabilitySource
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.pairs.adjacency import count_selected
from dipapprox.pairs.divergence import Factor, divergence
from dipapprox.pairs.hockey_stick import DOUBLE_BITS, HockeyStickBounds, enclosure
from dipapprox.pairs.many_pairs import CountedPairs
from dipapprox.pairs.maximum import (
    FACTOR_BITS,
    FactorAt,
    Maximum,
    Together,
    all_about,
    first_largest,
    improved,
    simplest_pair,
)
from dipapprox.pairs.search import refined
from dipapprox.pairs.selected import SelectedPairs, TabledPairs
from dipapprox.pairs.selections import Pair, PairSelection
from dipapprox.pairs.walk import Block
from dipapprox.semantics.state import FinalStates

if TYPE_CHECKING:
    from dipapprox.pairs.products.measures import PairAtoms

MOST_PAIRS = 1_000_000_000
"""More pairs than this are not gone through one by one, not even in blocks."""

MOST_CANDIDATES = 5_000  # pairs that are compared exactly, at most
Enough = Callable[[Enclosure], bool]


class Maxima:
    """Bounds of the largest delta over the selected pairs of a program.

    Args:
        pairs: Their number; None if it is too large to count.
        ladder: Bits of the attempts, ascending.
        together: All pairs at once; None if they have to be gone through.
        arrays: The pairs one by one; None if `together` never fails.
        source: Distributions, for single pairs.
        progress: Told about budgets done.

    Attributes:
        ended: Which limit ended a climb to higher precisions, if one did.
    """

    def __init__(
        self,
        pairs: int | None,
        ladder: tuple[int, ...],
        together: Together | None,
        arrays: SelectedPairs | None,
        source: ProbabilitySource,
        limits: Limits,
        progress: Progress = silent,
    ) -> None:
        self.pairs, self.ladder, self.source = pairs, ladder, source
        self.ended: str | None = None
        self._together, self._arrays = together, arrays
        self._limits, self._progress = limits, progress
        self._first = ladder[0] if arrays is None else arrays.bits

    @classmethod
    def of(
        cls,
        states: FinalStates,
        source: OutputProbabilities,
        selection: PairSelection,
        ladder: tuple[int, ...],
        limits: Limits,
        progress: Progress = silent,
    ) -> Maxima:
        """Choose the cheapest way to go through the pairs of a program."""
        total = count_selected(states.program, selection)
        selected = SelectedPairs(states, selection, total, source, DOUBLE_BITS, limits)
        together = None if selected.plan is None else CountedPairs(selected.plan, selected)
        return cls(total, ladder, together, selected, source, limits, progress)

    @property
    def obstacle(self) -> str | None:
        """Why some probability could not be enclosed; None if all could."""
        told = (each.obstacle for each in (self._together, self._arrays) if each is not None)
        return next(filter(None, told), None)

    def standing(self, bits: int) -> list[tuple[Pair, list[PairAtoms]]] | None:
        """See `Together`."""
        return None if self._together is None else self._together.standing(bits)

    @property
    def out_of_time(self) -> bool:
        """Whether the limits of time or memory have been reached."""
        try:
            self._limits.check()
        except LimitReached:
            return True
        return False

    def gone_through(self) -> SelectedPairs:
        """Return the pairs as arrays.

        Raises:
            LimitReached: If there are more than `MOST_PAIRS`.
        """
        if self._arrays is None:
            raise BrokenInvariant("pairs that are no arrays")
        if self.pairs is None or self.pairs > MOST_PAIRS:
            number = "too many" if self.pairs is None else f"{float(self.pairs):.3g}"
            raise LimitReached(f"pair limit: {number} adjacent pairs")
        return self._arrays

    def largest(self, factors: Sequence[Factor]) -> list[Maximum]:
        """Bound the largest delta at every eps_prv, at the first precision."""
        if self._together is not None:
            found = []
            for done, factor in enumerate(factors):
                each = self._together.at(factor, self._first)
                if each is None:
                    self._together = None  # more than foreseen
                    return self.largest(factors)
                found.append(each)
                self._progress(done + 1, len(factors))
            return found
        arrays = self.gone_through()
        best = [_Best() for _ in factors]
        for tabled in arrays:
            for done, (factor, record) in enumerate(zip(factors, best, strict=True)):
                bounds = tabled.bounds(factor)
                for block in tabled.blocks():
                    self._limits.check()
                    record.take(tabled, block, bounds)
                self._progress(done + 1, len(factors))
        return [each.maximum(arrays.outputs, arrays.bits) for each in best]

    def sharpened(self, factor_at: FactorAt, enough: Enough) -> Maximum:
        """Bound the largest delta at one eps_prv until the enclosure is good enough.

        Returns:
            The best that the ladder of bits gives; its enclosure may be wider than wanted. Where a
            limit ends the climb of all pairs together, what the precision before gave.

        Raises:
            LimitReached: If a limit is reached before anything is known.
        """
        found = self.largest([factor_at(FACTOR_BITS)])[0]
        if enough(found.delta):
            return found
        together = self._together
        if together is not None:
            self.ended = together.ended

            def again(bits: int, before: Maximum) -> Maximum | None:
                try:
                    better = together.at(factor_at(max(bits, FACTOR_BITS)), bits)
                except LimitReached as reached:
                    self.ended = reached.reason
                    return None
                return None if better is None else improved(before, better)

            finer = tuple(bits for bits in self.ladder if bits > self._first)
            return refined(finer, again, lambda each: enough(each.delta), found)
        candidates = self._candidates(factor_at(FACTOR_BITS), found.delta.lower)
        if found.pair is None or candidates is None:
            return found
        return self._among(candidates, found, factor_at, enough)

    def _among(
        self, candidates: Sequence[Pair], found: Maximum, factor_at: FactorAt, enough: Enough
    ) -> Maximum:
        """Climb the ladder with the pairs that may be the largest, dropping those that are not.

        The climb ends where no pair has an enclosure.
        """
        remaining = candidates

        def again(bits: int, before: Maximum) -> Maximum | None:
            nonlocal remaining
            told: list[tuple[Pair, Enclosure | None]] = []
            for pair in remaining:
                self._limits.check()
                told.append((pair, self._delta(pair, factor_at(bits), bits)))
            if all(each is None for _, each in told):
                return None  # what is out of reach for these bits is so for more
            known = [(pair, each or UNIT) for pair, each in told]
            first = simplest_pair(dict(known))
            assert first is not None, "there are candidates"
            best, most = first
            # The best pair stays even where its delta is known exactly.
            remaining = [pair for pair, each in known if pair == best or each.upper > most.lower]
            upper = max(each.upper for _, each in known)
            return improved(before, Maximum(Enclosure(most.lower, upper), best, bits))

        return refined(self.ladder, again, lambda each: enough(each.delta), found)

    def _delta(self, pair: Pair, factor: Factor, bits: int) -> Enclosure | None:
        """Enclose delta of one pair; None if some probability has no enclosure."""
        first, second = self.source.distributions(pair, bits)
        if isinstance(first, NotEnclosed) or isinstance(second, NotEnclosed):
            return None
        return divergence(first, second, factor)

    def _candidates(self, factor: Factor, least: Fraction) -> list[Pair] | None:
        """Name the pairs whose delta may be positive and >= `least`; None if they are too many."""
        arrays = self.gone_through()
        found: list[Pair] = []
        # Sums in doubles are within this of the true ones: see `hockey_stick`.
        harmless = rounding.below(least * (1 - Fraction(arrays.outputs + 4, 2**52)))
        for tabled in arrays:
            bounds = tabled.bounds(factor)
            for block in tabled.blocks():
                self._limits.check()
                upper = bounds.above(block)
                places = np.flatnonzero((upper >= harmless) & (upper > 0))
                if len(found) + len(places) > MOST_CANDIDATES:
                    return None
                found += (tabled.pair(block, place) for place in places.tolist())
        return found


@dataclass(slots=True)
class _Best:
    """The largest sums met so far; -1 before the first."""

    lower: float = -1.0
    upper: float = -1.0
    pair: Pair | None = None

    def take(self, tabled: TabledPairs, block: Block, bounds: HockeyStickBounds) -> None:
        upper = bounds.above(block)
        self.upper = max(self.upper, float(upper.max()))
        places = np.flatnonzero(upper > self.lower)
        if not len(places):
            return
        lower = bounds.below(block.take(places))
        best = first_largest(lower)
        if all_about(lower[best]) > self.lower:
            self.lower, self.pair = float(lower[best]), tabled.pair(block, int(places[best]))

    def maximum(self, outputs: int, bits: int) -> Maximum:
        if self.pair is None:
            # The largest of no deltas is 0: nothing has to be told apart.
            return Maximum(Enclosure.exact(0), None, bits)
        return Maximum(enclosure(self.lower, self.upper, outputs, None), self.pair, bits)
