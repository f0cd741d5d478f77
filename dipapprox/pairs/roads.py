"""How many pairs are checked: one by one, in blocks, or all at once. Every road ends in `Search`.

    few pairs, or pairs that are listed     one by one (`search`)
    outputs that depend on few counters     all at once, however many (`counter_search`)
    few enough rows for a table             in blocks (`block_search`)
    anything else                           one by one, forgetting rows

Where there are many pairs, those that are likely to violate the claim come first (`likely`). The
roads differ in cost only. A violating pair is checked again on the exact ladder of `search`; pairs
that doubles do not decide climb: alone after blocks, all together with counters.
"""

from __future__ import annotations

from dipapprox.errors import BrokenInvariant
from dipapprox.language.core import Everyone, Listed, Within
from dipapprox.numerics.bulk import BulkSource
from dipapprox.pairs.adjacency import AllPairs, PairSelection
from dipapprox.pairs.block_search import search_blocks
from dipapprox.pairs.blocks import RowNumbers
from dipapprox.pairs.bounds import DOUBLE_BITS
from dipapprox.pairs.counter_search import search_counters
from dipapprox.pairs.counters import CounterPlan, plan_counters
from dipapprox.pairs.first_look import look_first
from dipapprox.pairs.largest import MOST_EXPANSIONS
from dipapprox.pairs.likely import FEW_PAIRS, likely_first
from dipapprox.pairs.search import Progress, Search
from dipapprox.pairs.symmetry import CellSymmetry
from dipapprox.pairs.tables import Tables
from dipapprox.pairs.walk import Walk, plan_walk
from dipapprox.semantics.state import FinalStates

_LARGEST_TABLE = 2_000_000
"""Most probabilities in a table of all rows; each takes 32 bytes."""

_MOST_IN_BLOCKS, _MOST_ALONE = 20_000_000, 200_000
"""Most pairs that are taken in blocks, or one by one, where exact forms may decide what counters
do not."""

_LARGEST_SYMMETRY = 500_000
"""Most final states times cells that symmetries are looked for in."""


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
        LimitReached: If a budget runs out.
        BrokenInvariant: If enclosures contradict each other, or some pairs were left out.
    """
    _check_by_some_road(search, states, selection, total, bulk, progress)
    if search.violation is None and total is not None and search.checked != total:
        # Counted by another route than they are made.
        raise BrokenInvariant(f"{search.checked} pairs were checked, but there are {total}")


def _check_by_some_road(
    search: Search,
    states: FinalStates,
    selection: PairSelection,
    total: int | None,
    bulk: BulkSource,
    progress: Progress,
) -> None:
    program = states.program
    walk = None
    if isinstance(selection, AllPairs) and not isinstance(program.adjacency, Listed):
        few = total is not None and total <= FEW_PAIRS
        walk = None if few else plan_walk(program.inputs, program.adjacency)
    if walk is not None:
        tables = Tables(bulk, search.source, len(states.outputs()), search.factor)
        rows = RowNumbers(program.inputs).count
        if isinstance(program.adjacency, Within | Everyone) and search.ladder[0] <= DOUBLE_BITS:
            look_first(search, program, program.adjacency, tables)
            if search.violation is not None:
                return
        table_fits = rows * len(states.outputs()) <= _LARGEST_TABLE
        in_blocks = table_fits and search.ladder[0] <= DOUBLE_BITS
        # What is covered at once must be countable: the verdict says how many pairs there were.
        plan = None if total is None else _counters(states, walk)
        if (
            plan is not None
            and total is not None
            and (not in_blocks or 2 * plan.expansions <= total)
            and search_counters(
                search,
                program,
                plan,
                tables,
                total,
                progress,
                elsewhere=total <= (_MOST_IN_BLOCKS if in_blocks else _MOST_ALONE),
            )
        ):
            return
        if in_blocks:
            search_blocks(search, program, walk, tables, total, progress)
            return
    search.run(likely_first(program, selection, total), total, progress)


def _counters(states: FinalStates, walk: Walk) -> CounterPlan | None:
    cells = states.program.inputs
    if len(states.states) * len(cells) > _LARGEST_SYMMETRY:
        return None
    return plan_counters(CellSymmetry(states), cells, walk, MOST_EXPANSIONS)
