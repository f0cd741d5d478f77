"""Which pair of inputs a state of the dynamic program stands for: steps followed back.

In: for every stage of a plan, where the best sums of its states came from. Out: the values that u
and u' have in some cell, for all states at once, or the whole pair of one state. What nobody asks
for is not followed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dipapprox.data_classes import dataclass
from dipapprox.language.core import Cell
from dipapprox.pairs.counters import Stage
from dipapprox.pairs.selections import Pair
from dipapprox.pairs.walk import Integers

Codes = NDArray[np.uint16]


@dataclass(frozen=True, slots=True, eq=False)
class Origins:
    """For every state after a stage, the state before it and the step that was taken."""

    parent: NDArray[np.int32]
    step: Codes

    @classmethod
    def of(cls, parent: Integers, step: Integers) -> Origins:
        """Store them in little memory: states and steps are far fewer than the types can count."""
        return cls(parent.astype(np.int32), step.astype(np.uint16))


class Trace:
    """Some pair for every state after a stage.

    Args:
        stages: Of the plan.
        origins: Of the stages so far.
        count: How many states there are.
    """

    def __init__(self, stages: Sequence[Stage], origins: tuple[Origins, ...], count: int) -> None:
        self._stages = stages
        self._origins = origins
        self.count = count
        self._reached = len(origins)
        self._states: NDArray[np.int32] | None = None  # where the reached stage is; None: all
        self._first: dict[int, Codes] = {}
        self._second: dict[int, Codes] = {}

    def after(self, origins: Origins) -> Trace:
        """Return the trace after one more stage."""
        return Trace(self._stages, (*self._origins, origins), len(origins.parent))

    def first(self, place: int) -> Codes:
        """Return codes of u's values in the cell of a stage."""
        self._follow(place)
        return self._first[place]

    def second(self, place: int) -> Codes:
        """Return those of u'."""
        self._follow(place)
        return self._second[place]

    def pair(self, cells: tuple[Cell, ...], state: int) -> Pair:
        """Return the pair of one state; cells without a stage have their first values."""
        first = [cell.domain[0] for cell in cells]
        second = list(first)
        for stage, origins in zip(reversed(self._stages), reversed(self._origins), strict=True):
            taken = int(origins.step[state])
            domain = cells[stage.cell].domain
            first[stage.cell] = domain[int(stage.steps.first[taken])]
            second[stage.cell] = domain[int(stage.steps.second[taken])]
            state = int(origins.parent[state])
        return tuple(first), tuple(second)

    def _follow(self, place: int) -> None:
        while self._reached > place:
            self._reached -= 1
            origins, steps = self._origins[self._reached], self._stages[self._reached].steps
            step, parent = origins.step, origins.parent
            if self._states is not None:
                step, parent = step[self._states], parent[self._states]
            self._first[self._reached] = steps.first.astype(np.uint16)[step]
            self._second[self._reached] = steps.second.astype(np.uint16)[step]
            self._states = parent
