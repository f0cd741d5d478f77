"""Many pairs in, a finished `Search` out: in blocks, or all at once, whatever is quickest.

    outputs that depend on few counters     all at once, however many (below)
    anything else                           in blocks: in doubles where those decide, each
                                            pair alone on the ladder where not
    more bits than doubles have             one by one, or orbit by orbit (`search`)

Those that are likely to violate the claim (`likely`) are looked at in
doubles before anything is summed for all: as many as take a third of the probabilities that sums
for all pairs need, for these find every violation that doubles show. A violating pair is checked
again on the exact ladder of `search`; pairs that doubles do not decide climb: alone after blocks,
all together with counters.

Counted. All adjacent pairs as their counters: the dynamic program of `largest`, at any precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice

import numpy as np

from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.enclosure import Enclosure, Side, compare
from dipapprox.data_classes import replace
from dipapprox.limits import Progress, silent
from dipapprox.numerics.bulk import BulkSource
from dipapprox.pairs.adjacency import VERY_MANY
from dipapprox.pairs.counters import CounterPlan
from dipapprox.pairs.divergence import Factor
from dipapprox.pairs.hockey_stick import DOUBLE_BITS, enclosure, rounding_factor
from dipapprox.pairs.largest import largest_delta
from dipapprox.pairs.likely import likely_pairs
from dipapprox.pairs.maximum import FACTOR_BITS, Maximum, Together, largest_first, search_together
from dipapprox.pairs.orbits import orbits
from dipapprox.pairs.search import Search
from dipapprox.pairs.selected import SelectedPairs
from dipapprox.pairs.selections import Pair, PairSelection
from dipapprox.semantics.state import FinalStates


class CountedPairs(Together):
    """The pairs of a plan."""

    def __init__(
        self, plan: CounterPlan, pairs: SelectedPairs, progress: Progress = silent
    ) -> None:
        super().__init__(pairs.total)
        self._plan, self._pairs, self._progress = plan, pairs, progress

    def at(self, factor: Factor, bits: int) -> Maximum | None:
        """See `Together`."""
        pairs = self._pairs
        ask, cells = partial(pairs.cells, factor=factor, bits=bits), pairs.program.inputs
        found = largest_delta(self._plan, cells, ask, bits, pairs.limits, self._progress)
        self.obstacle = pairs.obstacle
        return found

    def give_up(self, search: Search, found: Maximum) -> None:
        """Leave the pair undecided that may attain the upper bound."""
        assert found.likely is not None
        search.cover(self._total or 0, found.delta, found.by)
        own = search.attempt(found.likely, found.bits)
        if not search.check_exactly(found.likely, own) or search.violation is None:
            delta = Enclosure(min(own.delta.lower, search.delta), found.delta.upper)
            search.give_up(replace(own, delta=delta, obstacle=self.obstacle))


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
    while batch := list(islice(pairs, size)):
        search.limits.check()
        tabled = selected.portion(batch)
        bounds = tabled.bounds(search.factor(FACTOR_BITS))
        (block,) = tabled.blocks()
        ends = zip(bounds.below(block), bounds.above(block), strict=True)
        for place, (low, high) in enumerate(ends):
            if enclosure(low, high, outputs, None).lower <= search.delta:
                continue
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
    largest = least = -1.0  # of the pairs decided here: the largest upper bound, its lower bound
    for tabled in arrays:
        bounds = tabled.bounds(factor)
        for block in tabled.blocks():
            search.limits.check()
            upper = bounds.above(block)
            doubtful = np.flatnonzero(upper > harmless)
            if len(doubtful):
                lower = bounds.below(block.take(doubtful))
                # A certain violation first: it ends the search.
                for place in doubtful[largest_first(lower)].tolist():
                    search.limits.check()
                    search.check(tabled.pair(block, place))
                    if search.violation is not None:
                        search.cover(len(block), _NOTHING)
                        return
                upper[doubtful] = -1.0  # the ladder has recorded them
            place = int(np.argmax(upper))
            if upper[place] > largest:
                largest = float(upper[place])
                (least,) = bounds.below(block.take(np.array([place])))
            search.cover(len(block), _NOTHING)
            progress(search.checked, arrays.total)
    if largest >= 0:
        search.cover(0, enclosure(least, largest, arrays.outputs, None))


_MOST_IN_TABLE, _MOST_IN_PORTIONS = VERY_MANY, 200_000
"""Most pairs that are taken in blocks where exact forms may decide what counters do not."""


def check_many(
    search: Search,
    states: FinalStates,
    selection: PairSelection,
    total: int | None,
    bulk: BulkSource,
    progress: Progress,
) -> None:
    """Check many selected pairs, or pairs of many outputs; see `verifier.check_pairs`."""
    selected = SelectedPairs(states, selection, total, bulk, search.ladder[0], search.limits)
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
        counted = CountedPairs(plan, selected, progress)
        if search_together(search, counted, total, elsewhere=total <= affordable):
            return
    if in_doubles:
        search_blocks(search, selected, progress)
    else:
        search.run(orbits(states, selection, total), total, progress)
