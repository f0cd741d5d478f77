"""Adjacent pairs cell by cell, as numbers: a few steps for every cell, and blocks of all pairs.

A pair of inputs is built from left to right. In every cell it makes a *step*: u gets the value with
code a, u' the value with code b; staying the same is a step of cost 0. The costs, integers in a
common unit, add up to at most the radius. Codes are positions in the cell's domain.

Inputs are numbered as in `itertools.product` of the domains, the last cell fastest. A block is a
set of partial pairs that have taken the steps of the first cells; taking those of the next cell
multiplies it, and what grows too large is cut. Depth first, so the blocks that wait are few:
at most one cut of each size per cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import lcm, prod
from operator import mul

import numpy as np
from numpy.typing import NDArray

from dipapprox.data_classes import Record
from dipapprox.language.core import Cell, Everyone, Input, Value, Within
from dipapprox.pairs.adjacency import FREE, CellAdjacency, radius_of

_MOST_STEPS = 10_000
"""Most steps of one cell; a domain that allows more is not worked on cell by cell."""

_LARGEST_COST = 2**40  # largest sum of costs in common units
Integers = NDArray[np.int64]


class CellSteps(Record):
    """The steps of one cell, as three arrays of one length."""

    first: Integers
    second: Integers
    cost: Integers

    def __len__(self) -> int:
        return len(self.first)

    def each(self) -> Iterator[tuple[int, int, int]]:
        return zip(self.first.tolist(), self.second.tolist(), self.cost.tolist(), strict=True)


class Walk(Record):
    """The steps of every cell. Cells with equal domains share one object."""

    steps: tuple[CellSteps, ...]
    radius: int | None  # most that the costs may add up to; None when all steps are free


def plan_walk(cells: tuple[Cell, ...], adjacency: Within | Everyone) -> Walk | None:
    """Make the steps of all cells; None if a domain allows too many, or costs have no good unit."""
    found: dict[tuple[Value, ...], list[tuple[int, int, Fraction]]] = {}
    for cell in cells:
        if cell.domain in found:
            continue
        codes = {value: code for code, value in enumerate(cell.domain)}
        relation = CellAdjacency(cell, adjacency)
        steps = found[cell.domain] = []
        for value, code in codes.items():
            steps.append((code, code, FREE))
            steps += ((code, codes[other], cost) for other, cost in relation.of(value))
            if len(steps) > _MOST_STEPS:
                return None
    costs = [cost for steps in found.values() for _, _, cost in steps]
    unit = lcm(*(cost.denominator for cost in costs))
    if len(cells) * max(costs, default=FREE) * unit > _LARGEST_COST:
        return None
    made = {
        domain: CellSteps(*np.array([(a, b, int(c * unit)) for a, b, c in steps], np.int64).T)
        for domain, steps in found.items()
    }
    most = sum(int(made[cell.domain].cost.max()) for cell in cells)
    limit = min(int(radius_of(adjacency) * unit), most)
    return Walk(tuple(made[cell.domain] for cell in cells), None if limit >= most else limit)


class Block(Record):
    """Ordered pairs of inputs, by number; no pair of an input with itself."""

    first: Integers
    second: Integers

    def __len__(self) -> int:
        return len(self.first)

    def take(self, places: NDArray[np.intp]) -> Block:
        return Block(self.first[places], self.second[places])


class InputNumbers:
    def __init__(self, cells: Sequence[Cell]) -> None:
        self._domains = tuple(cell.domain for cell in cells)
        self.count = prod(map(len, self._domains))

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """How far apart inputs are that differ by 1 in one cell: numbers of a bit for each cell."""
        sizes = [len(domain) for domain in self._domains]
        return tuple(accumulate(sizes[:0:-1], mul, initial=1))[::-1]

    def input(self, number: int) -> Input:
        found = []
        for domain, stride in zip(self._domains, self.strides, strict=False):
            code, number = divmod(number, stride)
            found.append(domain[code])
        return tuple(found)


def pair_blocks(cells: Sequence[Cell], walk: Walk, size: int) -> Iterator[Block]:
    """Yield every ordered pair of different adjacent inputs once.

    Args:
        cells: The input cells; fewer than 2**60 inputs.
        size: Most pairs in a block, unless one step of one pair already gives more.
    """
    strides = InputNumbers(cells).strides
    # How many cells have values, the others having code 0; and rows: u, u', and the costs so far.
    stack = [(0, np.zeros((3, 1), np.int64))]
    while stack:
        cell, rows = stack.pop()
        if cell == len(cells):
            different = rows[0] != rows[1]
            if different.any():
                yield Block(*rows[:2, different])
            continue
        own = walk.steps[cell]
        most = max(size // len(own), 1)
        if rows.shape[1] > most:
            stack.append((cell, rows[:, most:]))
        steps = np.array([strides[cell] * own.first, strides[cell] * own.second, own.cost])
        rows = (rows[:, :most, None] + steps[:, None, :]).reshape(3, -1)
        if walk.radius is not None:
            rows = rows[:, rows[2] <= walk.radius]
        stack.append((cell + 1, rows))
