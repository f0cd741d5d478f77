"""Pairs in, a finished `Search` out: one by one, in blocks, or all at once, whatever is quickest.

    few pairs, or many bits at once         one by one (`search`)
    outputs that depend on few counters     all at once, however many (`counted`)
    too many rows for one table             every output on its own, if that decides
    anything else                           in blocks (`block_search`)

Where there are many pairs, those that are likely to violate the claim come first (`likely`). A
violating pair is checked again on the exact ladder of `search`; pairs that doubles do not decide
climb: alone after blocks, all together with counters.
"""

from __future__ import annotations

from dipapprox.errors import BrokenInvariant
from dipapprox.language.core import Everyone, Within
from dipapprox.numerics.bulk import BulkSource
from dipapprox.pairs.adjacency import PairSelection
from dipapprox.pairs.block_search import search_blocks
from dipapprox.pairs.counted import CountedPairs
from dipapprox.pairs.first_look import look_first
from dipapprox.pairs.hockey_stick import DOUBLE_BITS
from dipapprox.pairs.likely import FEW_PAIRS, likely_first
from dipapprox.pairs.search import Progress, Search
from dipapprox.pairs.search_together import search_together
from dipapprox.pairs.selected import SelectedPairs
from dipapprox.pairs.tables import Tables
from dipapprox.semantics.state import FinalStates

_MOST_IN_TABLE, _MOST_IN_PORTIONS = 20_000_000, 200_000
"""Most pairs that are taken in blocks where exact forms may decide what counters do not."""


def check_pairs(
    search: Search,
    states: FinalStates,
    selection: PairSelection,
    total: int | None,
    bulk: BulkSource,
    progress: Progress,
) -> None:
    """Check all selected pairs by the cheapest road.

    Args:
        search: Fresh; afterwards it holds what was found.
        selection: Which pairs.
        total: Their number, if known.
        bulk: Gives many probabilities at once.
        progress: Told about pairs, or about pairs of counters where those are what costs time.

    Raises:
        UserError: If the program's adjacency does not suit its inputs.
        LimitReached: If a limit is reached.
        BrokenInvariant: If enclosures contradict each other, or some pairs were left out.
    """
    _check(search, SelectedPairs(states, selection, total), bulk, progress)
    if search.violation is None and total is not None and search.checked != total:
        # Counted by another route than they are made.
        raise BrokenInvariant(f"{search.checked} pairs were checked, but there are {total}")


def _check(search: Search, selected: SelectedPairs, bulk: BulkSource, progress: Progress) -> None:
    program, total, bits = selected.program, selected.total, search.ladder[0]
    in_doubles = bits <= DOUBLE_BITS
    arrays = selected.arrays(bulk, bits, search.limits)
    if selected.walk is not None:
        tables = Tables(bulk, search.source, selected.outputs)
        if isinstance(program.adjacency, Within | Everyone) and in_doubles:
            look_first(search, program, program.adjacency, tables)
            if search.violation is not None:
                return
        in_table = in_doubles and arrays.in_one_table
        # What is covered at once must be countable: the verdict says how many pairs there were.
        plan = None if total is None else selected.plan(in_one_table=in_table)
        if plan is not None and total is not None:
            affordable = _MOST_IN_TABLE if in_table else _MOST_IN_PORTIONS
            counted = CountedPairs(plan, program.inputs, tables, total, search.limits, progress)
            if search_together(search, counted, total, elsewhere=total <= affordable):
                return
        if total is not None and in_doubles and not in_table:
            alone = selected.output_by_output(tables, search.limits)
            if alone is not None and search_together(search, alone, total):
                return
    if in_doubles and (total is None or total > FEW_PAIRS):
        search_blocks(search, arrays, total, progress)
    else:
        search.run(likely_first(program, selected.selection, total), total, progress)
