"""All adjacent pairs as their counters: the dynamic program of `largest`, at any precision."""

from __future__ import annotations

from functools import partial

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.language.core import Cell
from dipapprox.limits import Limits, Progress, silent
from dipapprox.pairs.counters import CounterPlan
from dipapprox.pairs.divergence import Attempt
from dipapprox.pairs.growth import Factor
from dipapprox.pairs.largest import largest_delta
from dipapprox.pairs.maximum import Maximum, Together
from dipapprox.pairs.search import Search
from dipapprox.pairs.tables import Tables


class CountedPairs(Together):
    """The pairs of a plan.

    Args:
        plan: Their counters.
        cells: The program's input cells.
        tables: Bounds of probabilities.
        total: Number of the pairs, if known.
        limits: Asked throughout.
        progress: Told about pairs of counters.
    """

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
