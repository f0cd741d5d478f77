"""The largest delta_{u,u'} over all selected pairs, at any eps_prv, and many pairs against a claim.

doubles, all pairs, any number of budgets (`largest`)
    |   all at once, where that is possible (`maximum.Together`)
    |   otherwise: tables and blocks (`arrays`)
    v
wide? with more and more bits: all at once, or the pairs that may be the largest (`sharpened`)

A claim is decided in whatever way is quickest:

    outputs that depend on few counters     all at once, however many (`largest`), at any precision
    anything else                           in blocks: in doubles where those decide, each
                                            pair alone on the ladder where not
    more bits than doubles have             one by one, or orbit by orbit (`divergence`)

Those that are likely to violate the claim (`likely`) are looked at in doubles before anything is
summed for all: as many as take a third of the probabilities that sums for all pairs need, for these
find every violation that doubles show. A violating pair is checked again on the exact ladder; pairs
that doubles do not decide climb: alone after blocks, all together with counters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property, partial
from itertools import islice

import numpy as np

from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.enclosure import UNIT, Enclosure, Side, compare, if_enclosed, sure
from dipapprox.data_classes import Record, replace
from dipapprox.errors import LimitReached
from dipapprox.limits import Progress, check_limits, silent
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.pairs.adjacency import VERY_MANY
from dipapprox.pairs.counters import CounterPlan
from dipapprox.pairs.divergence import Factor, Search, divergence, refined
from dipapprox.pairs.hockey_stick import (
    DOUBLE_BITS,
    HockeyStickBounds,
    Numbers,
    enclosure,
    rounding_factor,
)
from dipapprox.pairs.largest import largest_delta
from dipapprox.pairs.likely import likely_pairs
from dipapprox.pairs.maximum import (
    FACTOR_BITS,
    Enough,
    FactorAt,
    Maximum,
    Together,
    all_about,
    first_largest,
    improved,
    largest_first,
    search_together,
    simplest_pair,
)
from dipapprox.pairs.selected import SelectedPairs, TabledPairs
from dipapprox.pairs.selections import Pair, PairSelection
from dipapprox.pairs.walk import Block, orbits
from dipapprox.semantics.state import FinalStates

MOST_PAIRS = 1_000_000_000
"""More pairs than this are not gone through one by one, not even in blocks."""

MOST_CANDIDATES = 5_000  # pairs that are compared exactly, at most


class CountedPairs(Together):
    def __init__(
        self, plan: CounterPlan, pairs: SelectedPairs, progress: Progress = silent
    ) -> None:
        super().__init__(pairs.total)
        self._plan, self._pairs, self._progress = plan, pairs, progress

    def at(self, factor: Factor, bits: int) -> Maximum | None:
        pairs = self._pairs
        ask, cells = partial(pairs.cells, factor=factor, bits=bits), pairs.program.inputs
        found = largest_delta(self._plan, cells, ask, bits, self._progress)
        self.obstacle = pairs.obstacle
        return found

    def give_up(self, search: Search, found: Maximum) -> None:
        """Leave the pair undecided that may attain the upper bound."""
        assert found.likely is not None
        search.cover(self.pairs or 0, found.delta, found.by)
        own = search.attempt(found.likely, found.bits)
        if not search.check_exactly(found.likely, own) or search.violation is None:
            delta = Enclosure(min(own.delta.lower, search.delta), found.delta.upper)
            search.give_up(replace(own, delta=delta, obstacle=self.obstacle))


class ListedPairs(Together):
    """The selected pairs of a program, which are gone through where that is quickest.

    Args:
        pairs: As in `Together`.
        source: Their probabilities, in bulk.
    """

    at_once = False

    def __init__(
        self,
        states: FinalStates,
        selection: PairSelection,
        pairs: int | None,
        source: OutputProbabilities,
    ) -> None:
        super().__init__(pairs)
        self.states, self.source = states, source
        self._selection = selection

    @cached_property
    def _arrays(self) -> SelectedPairs:
        return SelectedPairs(self.states, self._selection, self.pairs, self.source, DOUBLE_BITS)

    @cached_property
    def _counted(self) -> CountedPairs | None:
        """All pairs by their counters; None if they have to be gone through."""
        plan = self._arrays.plan
        if plan is None:
            return None
        counted = CountedPairs(plan, self._arrays)
        counted.ladder = self.ladder
        return counted

    def gone_through(self) -> SelectedPairs:
        """Return the pairs as arrays.

        Raises:
            LimitReached: If there are more than `MOST_PAIRS`.
        """
        if self.pairs is None or self.pairs > MOST_PAIRS:
            number = "too many" if self.pairs is None else f"{float(self.pairs):.3g}"
            raise LimitReached(f"pair limit: {number} adjacent pairs")
        return self._arrays

    def at(self, factor: Factor, bits: int) -> Maximum:
        """See `Together`: by as many bits as doubles have, or more where counters are enough."""
        found = None if self._counted is None else self._counted.at(factor, bits)
        return found or self.largest([factor])[0]

    def largest(self, factors: Sequence[Factor]) -> list[Maximum]:
        if self._counted is not None:
            found = []
            for done, factor in enumerate(factors):
                each = self._counted.at(factor, DOUBLE_BITS)
                if each is None:
                    self._counted = None  # more than foreseen
                    return self.largest(factors)
                found.append(each)
                self.progress(done + 1, len(factors))
            self.obstacle = self._arrays.obstacle
            return found
        arrays = self.gone_through()
        best = [_Best() for _ in factors]
        for tabled in arrays:
            for done, (factor, record) in enumerate(zip(factors, best, strict=True)):
                bounds = tabled.bounds(factor)
                for block in tabled.blocks():
                    check_limits()
                    record.take(tabled, block, bounds, bounds.above(block))
                self.progress(done + 1, len(factors))
        self.obstacle = arrays.obstacle
        return [each.maximum(arrays.outputs, arrays.bits) for each in best]

    def climb(self, found: Maximum, factor_at: FactorAt, enough: Enough) -> Maximum:
        """See `Together`: all at once, or with the pairs that may be the largest."""
        if enough(found.delta):
            return found
        if self._counted is not None:
            found = self._counted.climb(found, factor_at, enough)
            self.ended, self.obstacle = self._counted.ended, self._arrays.obstacle
            return found
        candidates = self._candidates(factor_at(FACTOR_BITS), found.delta.lower)
        if found.pair is None or candidates is None:
            return found
        return self._among(candidates, found, factor_at, enough)

    def decide(self, search: Search) -> None:
        self._decide(search)
        search.finish(self.pairs)

    def _decide(self, search: Search) -> None:
        states, selection, total = self.states, self._selection, self.pairs
        selected = SelectedPairs(states, selection, total, self.source, search.ladder[0])
        in_doubles = selected.bits <= DOUBLE_BITS
        # What is covered at once must be countable: the verdict says how many pairs there were.
        plan = None if total is None else selected.plan
        if in_doubles and selected.walk is not None and selected.rule is not None:
            likely = likely_pairs(states.program.inputs, selected.rule)
            all_together = selected.probabilities if plan is None else plan.arguments
            if all_together is not None:
                inputs = all_together // _SHARE // selected.outputs
                # Most inputs come with their pair in both orders, and share the other input.
                likely = islice(likely, 2 * (inputs - 1) if inputs >= _FEWEST else 0)
            look_first(search, selected, likely)
            if search.violation is not None:
                return
        if plan is not None and total is not None:
            affordable = _MOST_IN_TABLE if selected.in_one_table else _MOST_IN_PORTIONS
            counted = CountedPairs(plan, selected, self.progress)
            if search_together(search, counted, elsewhere=total <= affordable):
                return
        if in_doubles:
            search_blocks(search, selected, self.progress)
        else:
            search.run(orbits(states, selection, total), total, self.progress)

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
            try:
                for pair in remaining:
                    check_limits()
                    told.append((pair, self._delta(pair, factor_at(bits), bits)))
            except LimitReached as reached:
                self.ended = reached.reason
                return None
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

    @if_enclosed
    def _delta(self, pair: Pair, factor: Factor, bits: int) -> Enclosure:
        first, second = map(sure, self.source.distributions(pair, bits))
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
                check_limits()
                upper = bounds.above(block)
                places = np.flatnonzero((upper >= harmless) & (upper > 0))
                if len(found) + len(places) > MOST_CANDIDATES:
                    return None
                found += (tabled.pair(block, place) for place in places.tolist())
        return found


class _Best(Record, frozen=False):
    """The largest sums met so far; -1 before the first."""

    lower: float = -1.0
    upper: float = -1.0
    pair: Pair | None = None

    def take(
        self, tabled: TabledPairs, block: Block, bounds: HockeyStickBounds, upper: Numbers
    ) -> None:
        """Take the pairs of a block, whose sums have these upper bounds; -1 for others."""
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


_MOST_IN_TABLE, _MOST_IN_PORTIONS = VERY_MANY, 200_000
"""Most pairs that are taken in blocks where exact forms may decide what counters do not."""

_TERMS = 2**18  # most probabilities of a batch, if two pairs do not take more
_SHARE = 3  # likely pairs take at most a third of what all pairs take
_FEWEST = 4  # A look at the pairs of fewer inputs does not pay


def look_first(search: Search, selected: SelectedPairs, pairs: Iterator[Pair]) -> None:
    """Look for a certain violation among likely pairs; nothing else is recorded of them.

    Args:
        search: Fresh; its first precision is within the reach of doubles. Afterwards it has a
            violation, and the number of pairs looked at, or is as it was.
        pairs: The likely ones; batches of them grow.
    """
    looked, size, outputs = 0, 8, selected.outputs
    # Sums above this are certainly above delta, whatever was rounded.
    harmful = rounding.above(search.delta / (2 - rounding_factor(outputs)))
    while batch := list(islice(pairs, size)):
        check_limits()
        tabled = selected.portion(batch)
        (block,) = tabled.blocks()
        sums = tabled.bounds(search.factor(FACTOR_BITS)).below(block)
        for place in np.flatnonzero(sums > harmful).tolist():
            # The ladder's first step, which must agree, gives the witness.
            own = search.attempt(batch[place], selected.bits)
            if compare(own.delta, search.delta) is Side.ABOVE:
                search.check(batch[place])
                search.checked = looked + place + 1
                return
        looked += len(batch)
        size = max(min(2 * size, _TERMS // (2 * outputs)), 2)


_NOTHING = Enclosure.exact(0)
"""What is known of the largest delta before any pair is looked at: it is >= 0."""


def search_blocks(search: Search, arrays: SelectedPairs, progress: Progress) -> None:
    """Decide blocks of pairs in doubles; hand single pairs to the ladder where they do not do."""
    search.bits = max(search.bits, arrays.bits)
    factor = search.factor(FACTOR_BITS)
    # Sums up to this are certainly at most delta, whatever was rounded.
    harmless = rounding.below(search.delta / rounding_factor(arrays.outputs))
    best = _Best()  # of the pairs decided here
    for tabled in arrays:
        bounds = tabled.bounds(factor)
        for block in tabled.blocks():
            check_limits()
            upper = bounds.above(block)
            doubtful = np.flatnonzero(upper > harmless)
            if len(doubtful):
                lower = bounds.below(block.take(doubtful))
                # A certain violation first: it ends the search.
                for place in doubtful[largest_first(lower)].tolist():
                    check_limits()
                    search.check(tabled.pair(block, place))
                    if search.violation is not None:
                        search.cover(len(block), _NOTHING)
                        return
                upper[doubtful] = -1.0  # the ladder has recorded them
            best.take(tabled, block, bounds, upper)
            search.cover(len(block), _NOTHING)
            progress(search.checked, arrays.total)
    search.cover(0, best.maximum(arrays.outputs, arrays.bits).delta)
