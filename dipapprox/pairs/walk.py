"""Adjacent pairs cell by cell: which values two adjacent inputs may have in a cell, as numbers.

A pair of inputs is built from left to right. In every cell it makes a *step*: u gets the value with
code a, u' the value with code b; staying the same is a step of cost 0. The costs, integers in a
common unit, add up to at most the radius. Codes are positions in the cell's domain.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from dipapprox.data_classes import dataclass
from dipapprox.language.core import Cell, Everyone, Value, Within
from dipapprox.pairs.adjacency import FREE, CellAdjacency, radius_of

_MOST_STEPS = 10_000
"""Most steps of one cell; a domain that allows more is not worked on cell by cell."""

_LARGEST_COST = 2**40
"""Largest sum of costs in common units."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of one cell, as three arrays of one length."""

    first: Integers
    second: Integers
    cost: Integers

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, slots=True)
class Walk:
    """The steps of every cell. Cells with equal domains share one object.

    Attributes:
        radius: Most that the costs may add up to; None when all steps are free.
    """

    steps: tuple[Steps, ...]
    radius: int | None


def plan_walk(cells: tuple[Cell, ...], adjacency: Within | Everyone) -> Walk | None:
    """Make the steps of all cells; None if a domain allows too many, or costs have no handy unit.

    Raises:
        UserError: If the adjacency measures distances between named values.
    """
    found: dict[tuple[Value, ...], list[tuple[int, int, Fraction]]] = {}
    for cell in cells:
        if cell.domain in found:
            continue
        codes = {value: code for code, value in enumerate(cell.domain)}
        relation = CellAdjacency(cell, adjacency)
        steps: list[tuple[int, int, Fraction]] = []
        for value, code in codes.items():
            steps.append((code, code, FREE))
            steps += ((code, codes[other], cost) for other, cost in relation.of(value))
            if len(steps) > _MOST_STEPS:
                return None
        found[cell.domain] = steps
    costs = [cost for steps in found.values() for _, _, cost in steps]
    unit = lcm(*(cost.denominator for cost in costs))
    if len(cells) * max(costs, default=FREE) * unit > _LARGEST_COST:
        return None
    made = {domain: _steps(steps, unit) for domain, steps in found.items()}
    most = sum(int(made[cell.domain].cost.max()) for cell in cells)
    limit = min(int(radius_of(adjacency) * unit), most)
    return Walk(tuple(made[cell.domain] for cell in cells), None if limit >= most else limit)


def _steps(steps: list[tuple[int, int, Fraction]], unit: int) -> Steps:
    columns = np.array([(a, b, int(cost * unit)) for a, b, cost in steps], dtype=np.int64)
    return Steps(columns[:, 0], columns[:, 1], columns[:, 2])
