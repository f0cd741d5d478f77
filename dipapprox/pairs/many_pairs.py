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

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

import numpy as np

from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.enclosure import Enclosure, Side, compare
from dipapprox.language.core import Cell, Everyone, Program, Within
from dipapprox.limits import Limits, Progress, silent
from dipapprox.numerics.bulk import BulkSource
from dipapprox.pairs.adjacency import VERY_MANY
from dipapprox.pairs.counters import CounterPlan
from dipapprox.pairs.divergence import Attempt, Factor
from dipapprox.pairs.hockey_stick import (
    DOUBLE_BITS,
    Tables,
    bounds_in_doubles,
    enclosure,
    rounding_factor,
)
from dipapprox.pairs.largest import largest_delta
from dipapprox.pairs.likely import likely_pairs
from dipapprox.pairs.maximum import FACTOR_BITS, Maximum, Together, largest_first, search_together
from dipapprox.pairs.orbits import orbits
from dipapprox.pairs.search import Search
from dipapprox.pairs.selected import PairArrays, SelectedPairs, numbered
from dipapprox.pairs.selections import Pair, PairSelection
from dipapprox.semantics.state import FinalStates


class CountedPairs(Together):
    """The pairs of a plan."""

    def __init__(
        self,
        plan: CounterPlan,
        cells: tuple[Cell, ...],
        tables: Tables,
        total: int | None,
        limits: Limits,
        progress: Progress = silent,
    ) -> None:
        super().__init__(total)
        self._plan = plan
        self._cells = cells
        self._tables = tables
        self._limits = limits
        self._progress = progress

    def at(self, factor: Factor, bits: int) -> Maximum | None:
        """See `Together`."""
        ask = partial(self._tables.cells, factor=factor, bits=bits)
        found = largest_delta(self._plan, self._cells, ask, bits, self._limits, self._progress)
        self.obstacle = self._tables.obstacle
        return found

    def give_up(self, search: Search, found: Maximum) -> bool:
        """Leave the pair undecided that may attain the upper bound."""
        assert found.likely is not None
        search.cover(self._total or 0, found.delta, found.by)
        own = search.attempt(found.likely, found.bits)
        if search.check_exactly(found.likely, own) and search.violation is not None:
            return True
        delta = Enclosure(min(own.delta.lower, search.delta), found.delta.upper)
        obstacle = self.obstacle
        search.give_up(
            Attempt(own.pair, found.bits, delta, own.factor, own.first, own.second, obstacle)
        )
        return True


_TERMS = 2**18
"""Most probabilities of a batch, if two pairs do not take more."""

_SHARE = 3
"""Likely pairs take at most a third of what all pairs take."""

_FEWEST = 4
"""A look at the pairs of fewer inputs does not pay."""


def look_first(
    search: Search,
    program: Program,
    adjacency: Within | Everyone,
    tables: Tables,
    most: int | None = None,
) -> None:
    """Look for a certain violation among the likely pairs; nothing else is recorded of them.

    Args:
        search: Fresh; its first precision is within the reach of doubles. Afterwards it has a
            violation, and the number of pairs looked at, or is as it was.
        tables: Bounds of probabilities.
        most: Most probabilities asked for; None for no bound.
    """
    bits = search.ladder[0]
    pairs = likely_pairs(program.inputs, adjacency)
    if most is not None:
        inputs = most // tables.outputs
        if inputs < _FEWEST:
            return
        # Most inputs come with their pair in both orders, and share the other input.
        pairs = islice(pairs, 2 * (inputs - 1))
    looked = 0
    for batch in _growing_batches(pairs, tables.outputs):
        search.limits.check()
        for pair in _violating(search, batch, tables, bits):
            # The ladder's first step, which must agree, gives the witness.
            if compare(search.attempt(pair, bits).delta, search.delta) is Side.ABOVE:
                search.check(pair)
                search.checked = looked + batch.index(pair) + 1
                return
        looked += len(batch)


def _growing_batches(pairs: Iterator[Pair], outputs: int) -> Iterator[list[Pair]]:
    """Cut pairs into batches, each twice as long as the one before while they are small enough."""
    size = 8
    while batch := list(islice(pairs, size)):
        yield batch
        size = max(min(2 * size, _TERMS // (2 * outputs)), 2)


def _violating(search: Search, pairs: Sequence[Pair], tables: Tables, bits: int) -> Iterator[Pair]:
    """Yield the pairs whose sums of certain differences exceed delta."""
    block, inputs = numbered(pairs)
    bounds = tables.table(inputs, bits, search.factor(FACTOR_BITS))
    for pair, low, high in zip(pairs, bounds.below(block), bounds.above(block), strict=True):
        if enclosure(low, high, bounds.lower.shape[1], None).lower > search.delta:
            yield pair


_NOTHING = Enclosure.exact(0)
"""What is known of the largest delta before any pair is looked at: it is >= 0."""


def search_blocks(
    search: Search, arrays: PairArrays, total: int | None, progress: Progress
) -> None:
    """Decide blocks of pairs in doubles; hand single pairs to the ladder where they do not do."""
    search.bits = max(search.bits, arrays.bits)
    factor = search.factor(FACTOR_BITS)
    # Sums up to this are certainly at most delta, whatever was rounded.
    harmless = rounding.below(search.delta / rounding_factor(arrays.outputs))
    largest = least = -1.0  # of the pairs decided here: the largest upper bound, its lower bound
    for tabled in arrays:
        bounds = bounds_in_doubles(tabled.lower, tabled.upper, factor)
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
            progress(search.checked, total)
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
    selected = SelectedPairs(states, selection, total)
    program, bits = states.program, search.ladder[0]
    in_doubles = bits <= DOUBLE_BITS
    arrays = selected.arrays(bulk, bits, search.limits)
    if selected.walk is not None:
        tables = Tables(bulk, selected.outputs)
        in_table = in_doubles and arrays.in_one_table
        # What is covered at once must be countable: the verdict says how many pairs there were.
        plan = None if total is None else selected.plan(in_one_table=in_table)
        if isinstance(program.adjacency, Within | Everyone) and in_doubles:
            all_together = arrays.probabilities if plan is None else plan.arguments
            most = None if all_together is None else all_together // _SHARE
            look_first(search, program, program.adjacency, tables, most)
            if search.violation is not None:
                return
        if plan is not None and total is not None:
            affordable = _MOST_IN_TABLE if in_table else _MOST_IN_PORTIONS
            counted = CountedPairs(plan, program.inputs, tables, total, search.limits, progress)
            if search_together(search, counted, total, elsewhere=total <= affordable):
                return
    if in_doubles:
        search_blocks(search, arrays, total, progress)
    else:
        search.run(orbits(states, selection, total), total, progress)
