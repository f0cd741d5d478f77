"""The selected pairs of a program, and ways through all of them: equal in result, not in cost.

    few pairs, or listed ones            no steps: pairs as they are listed
    outputs that depend on few counters  all pairs at once, however many (`largest`)
    too many inputs for one table        every output on its own, if that decides (`OutputByOutput`)
    few enough inputs for one table      in blocks (`arrays`)
    anything else                        in portions, each with a table of its own

The ways differ in cost only.
"""

from __future__ import annotations

from functools import cached_property

from dipapprox.events.symmetry import CellSymmetry, symmetry_of
from dipapprox.language.core import Listed
from dipapprox.limits import Limits
from dipapprox.numerics.bulk import BulkSource
from dipapprox.pairs.arrays import PairArrays
from dipapprox.pairs.counters import CounterPlan, plan_counters
from dipapprox.pairs.largest import MOST_EXPANSIONS
from dipapprox.pairs.likely import FEW_PAIRS
from dipapprox.pairs.output_by_output import OutputByOutput
from dipapprox.pairs.selections import AllPairs, PairSelection
from dipapprox.pairs.tables import Tables
from dipapprox.pairs.walk import Walk, plan_walk
from dipapprox.semantics.state import FinalStates


class SelectedPairs:
    """The selected pairs of a program, and what they cost.

    Args:
        states: Final states.
        selection: Which pairs.
        total: Their number, if known.

    Attributes:
        walk: The steps of the cells; None if pairs are few, listed, or have too many steps.

    Raises:
        UserError: If the program's adjacency does not suit its inputs.
    """

    def __init__(self, states: FinalStates, selection: PairSelection, total: int | None) -> None:
        self.states = states
        self.program = states.program
        self.selection = selection
        self.total = total
        self.outputs = len(states.outputs)
        few = total is not None and total <= FEW_PAIRS
        adjacency = self.program.adjacency
        listed = not isinstance(selection, AllPairs) or isinstance(adjacency, Listed)
        self.walk: Walk | None = None
        if not few and not listed:
            assert not isinstance(adjacency, Listed)
            self.walk = plan_walk(self.program.inputs, adjacency)

    def arrays(self, source: BulkSource, bits: int, limits: Limits) -> PairArrays:
        """Return the pairs as arrays."""
        return PairArrays(
            self.program, self.selection, self.total, self.walk, source, self.outputs, bits, limits
        )

    def plan(self, *, in_one_table: bool) -> CounterPlan | None:
        """Plan counters; None if there are none, or a table of all inputs is cheaper."""
        found = self._plan
        if found is None or not in_one_table or self.total is None:
            return found
        return found if 2 * found.expansions <= self.total else None

    def output_by_output(self, tables: Tables, limits: Limits) -> OutputByOutput | None:
        """Return the pairs with every output on its own; None if that takes too much."""
        cells, walk, symmetry = self.program.inputs, self.walk, self._symmetry
        if walk is None or symmetry is None or self.total is None:
            return None
        if not OutputByOutput.is_affordable(symmetry, cells, walk):
            return None
        return OutputByOutput(symmetry, cells, walk, tables, self.total, limits)

    @cached_property
    def _plan(self) -> CounterPlan | None:
        if self.walk is None or self._symmetry is None:
            return None
        return plan_counters(self._symmetry, self.program.inputs, self.walk, MOST_EXPANSIONS)

    @property
    def _symmetry(self) -> CellSymmetry | None:
        return symmetry_of(self.states)
