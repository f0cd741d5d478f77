"""All adjacent pairs in blocks: two arrays of input numbers at a time, bounded memory.

Inputs are numbered as in `itertools.product` of the domains, the last cell fastest. A block is a
set of partial pairs that have taken the steps of the first cells; taking those of the next cell
multiplies it, and what grows too large is cut. Depth first, so the blocks that wait are few:
at most one cut of each size per cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from math import prod

import numpy as np
from numpy.typing import NDArray

from dipapprox.data_classes import dataclass
from dipapprox.language.core import Cell, Input
from dipapprox.pairs.walk import Integers, Walk


@dataclass(frozen=True, slots=True)
class Block:
    """Ordered pairs of inputs, by number; no pair of an input with itself."""

    first: Integers
    second: Integers

    def __len__(self) -> int:
        return len(self.first)

    def take(self, places: NDArray[np.intp]) -> Block:
        """Return some of the pairs as a block of their own."""
        return Block(self.first[places], self.second[places])


@dataclass(frozen=True, slots=True)
class _Partial:
    """Pairs whose cells before `cell` have their values; the others have code 0."""

    cell: int
    first: Integers
    second: Integers
    spent: Integers


class InputNumbers:
    """Numbers for all inputs of a program.

    Attributes:
        count: How many there are.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._domains = tuple(cell.domain for cell in cells)
        self.count = prod(map(len, self._domains))

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """How far apart inputs are that differ by 1 in one cell: numbers of a bit for each cell."""
        sizes = [len(domain) for domain in self._domains]
        return tuple(accumulate(sizes[:0:-1], lambda a, b: a * b, initial=1))[::-1]

    def input(self, number: int) -> Input:
        """Return the input with a number."""
        found = []
        for domain, stride in zip(self._domains, self.strides, strict=False):
            code, number = divmod(number, stride)
            found.append(domain[code])
        return tuple(found)


def pair_blocks(cells: Sequence[Cell], walk: Walk, size: int) -> Iterator[Block]:
    """Yield every ordered pair of different adjacent inputs once.

    Args:
        cells: The input cells; fewer than 2**60 inputs.
        walk: Their steps.
        size: Most pairs in a block, unless one step of one pair already gives more.
    """
    strides = InputNumbers(cells).strides
    start = np.zeros(1, dtype=np.int64)
    stack = [_Partial(0, start, start, start)]
    while stack:
        part = stack.pop()
        if part.cell == len(cells):
            different = part.first != part.second
            if different.any():
                yield Block(part.first[different], part.second[different])
            continue
        steps = walk.steps[part.cell]
        most = max(size // len(steps), 1)
        if len(part.first) > most:
            rest = slice(most, None)
            stack.append(_Partial(part.cell, part.first[rest], part.second[rest], part.spent[rest]))
        part = _Partial(part.cell, part.first[:most], part.second[:most], part.spent[:most])
        stack.append(_stepped(part, walk, strides[part.cell]))


def _stepped(part: _Partial, walk: Walk, stride: int) -> _Partial:
    steps = walk.steps[part.cell]
    first = (part.first[:, None] + stride * steps.first[None, :]).ravel()
    second = (part.second[:, None] + stride * steps.second[None, :]).ravel()
    if walk.radius is None:
        return _Partial(part.cell + 1, first, second, np.zeros(len(first), dtype=np.int64))
    spent = (part.spent[:, None] + steps.cost[None, :]).ravel()
    kept = np.flatnonzero(spent <= walk.radius)
    return _Partial(part.cell + 1, first[kept], second[kept], spent[kept])
