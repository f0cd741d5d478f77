"""Pairs in, a finished `Search` out: few pairs one by one, many of them together.

few pairs of few outputs   one by one on the ladder of precisions (`search`)
anything else              whatever is quickest (`many_pairs`)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dipapprox.deferred import Deferred
from dipapprox.errors import BrokenInvariant
from dipapprox.numerics.bulk import BulkSource
from dipapprox.pairs.adjacency import PairSelection
from dipapprox.pairs.likely import FEW_PAIRS, likely_first
from dipapprox.pairs.search import Progress, Search
from dipapprox.semantics.state import FinalStates

if TYPE_CHECKING:
    from dipapprox.pairs import many_pairs
else:
    many_pairs = Deferred("dipapprox.pairs.many_pairs")

_FEW_OUTPUTS = 200
"""A pair with more of them is summed in doubles before it is summed exactly."""


def check_pairs(
    search: Search,
    states: FinalStates,
    selection: PairSelection,
    total: int | None,
    bulk: BulkSource,
    progress: Progress,
) -> None:
    """Check all selected pairs the cheapest way.

    Args:
        search: Fresh; afterwards it holds what was found.
        states: Final states.
        selection: Which pairs.
        total: Their number, if known.
        bulk: Gives many probabilities at once.
        progress: Told about pairs, or about pairs of counters where those are what costs time.

    Raises:
        UserError: If the program's adjacency does not suit its inputs.
        LimitReached: If a limit is reached.
        BrokenInvariant: If enclosures contradict each other, or some pairs were left out.
    """
    if total is not None and total <= FEW_PAIRS and len(states.outputs()) <= _FEW_OUTPUTS:
        search.run(likely_first(states.program, selection, total), total, progress)
    else:
        many_pairs.check_many(search, states, selection, total, bulk, progress)
    if search.violation is None and total is not None and search.checked != total:
        # Counted by another route than they are made.
        raise BrokenInvariant(f"{search.checked} pairs were checked, but there are {total}")
