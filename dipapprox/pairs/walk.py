"""Adjacent pairs cell by cell, as numbers: a few steps for every cell, and blocks of all pairs.

A pair of inputs is built from left to right. In every cell it makes a *step*: u gets the value with
code a, u' the value with code b; staying the same is a step of cost 0. The costs, integers in a
common unit, add up to at most the radius. Codes are positions in the cell's domain.

Inputs are numbered as in `itertools.product` of the domains, the last cell fastest. A block is a
set of partial pairs that have taken the steps of the first cells; taking those of the next cell
multiplies it, and what grows too large is cut. Depth first, so the blocks that wait are few:
at most one cut of each size per cell.

**Orbits.** Pairs up to permutations of cells that play the same part: one stands for all. Cells of
a group may be permuted in u and u' at once: that permutes the outputs, the same way for both
(`events.symmetry`). So the pairs of an orbit have the same divergences, at every eps and over the
same number of outputs. An orbit is known by how often each step (u_i, u'_i) occurs in each group. A
rule of adjacency that looks at cells one by one, and adds up what their steps cost, has whole
orbits; of listed pairs those are counted that are listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import factorial, lcm, prod
from operator import mul

import numpy as np
from numpy.typing import NDArray

from dipapprox.data_classes import Record
from dipapprox.events.symmetry import symmetry_of
from dipapprox.language.core import Cell, Everyone, Input, Value, Within
from dipapprox.pairs.adjacency import FREE, CellAdjacency, radius_of, rule_of, select_pairs
from dipapprox.pairs.likely import likely_first, likely_pairs
from dipapprox.pairs.selections import Orbit, Pair, PairSelection, one_by_one
from dipapprox.semantics.state import FinalStates

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


_Key = tuple[tuple[tuple[int, int], ...], ...]
"""For each group the steps of its cells, ascending, as places in their domain."""


def orbits(states: FinalStates, selection: PairSelection, total: int | None) -> Iterator[Orbit]:
    """Yield pairs that stand for all selected ones, the likely ones first."""
    program, cells = states.program, states.program.inputs
    symmetry, rule = symmetry_of(states), rule_of(program, selection)
    groups = () if symmetry is None else symmetry.permuting
    if any(len(group) > 1 for group in groups):
        if rule is None:
            return PairOrbits(cells, groups).of(select_pairs(program, selection))
        walk = plan_walk(cells, rule)
        if walk is not None:
            return PairOrbits(cells, groups).adjacent(walk, likely_pairs(cells, rule))
    return one_by_one(likely_first(program, selection, total))


class PairOrbits:
    """The orbits of the pairs of some inputs.

    Args:
        groups: All cells, grouped by the permutations that permute outputs.
    """

    def __init__(self, cells: Sequence[Cell], groups: Sequence[tuple[int, ...]]) -> None:
        self._groups = groups
        self._domains = [cells[group[0]].domain for group in groups]
        alike = {each: {value: k for k, value in enumerate(each)} for each in set(self._domains)}
        self._places = [alike[domain] for domain in self._domains]

    def of(self, pairs: Iterable[Pair]) -> Iterator[Orbit]:
        counts: Counter[_Key] = Counter()
        first: dict[_Key, Pair] = {}
        for pair in pairs:
            key = self._key(pair)
            counts[key] += 1
            first.setdefault(key, pair)
        return ((first[key], count) for key, count in counts.items())

    def adjacent(self, walk: Walk, likely: Iterable[Pair] = ()) -> Iterator[Orbit]:
        met: set[_Key] = set()
        for pair in likely:
            key = self._key(pair)
            if key not in met:
                met.add(key)
                yield pair, self._size(key)
        for key in self._keys(walk):
            if key not in met:
                yield self._pair(key), self._size(key)

    def _keys(self, walk: Walk) -> Iterator[_Key]:
        """Yield the orbits of different adjacent inputs: steps of a group in ascending order."""
        radius = walk.radius
        steps = [
            sorted(((a, b), cost) for a, b, cost in walk.steps[group[0]].each())
            for group in self._groups
        ]
        owners = [number for number, group in enumerate(self._groups) for _ in group]
        taken: _Key = ((),) * len(self._groups)
        waiting = [(0, 0, 0, taken)]
        while waiting:
            cell, least, spent, taken = waiting.pop()
            if cell == len(owners):
                if any(a != b for steps_taken in taken for a, b in steps_taken):
                    yield taken
                continue
            group = owners[cell]
            same = cell + 1 < len(owners) and owners[cell + 1] == group
            own = steps[group]
            for number in reversed(range(least, len(own))):
                step, cost = own[number]
                if radius is None or spent + cost <= radius:
                    more = (*taken[:group], (*taken[group], step), *taken[group + 1 :])
                    waiting.append((cell + 1, number if same else 0, spent + cost, more))

    def _key(self, pair: Pair) -> _Key:
        first, second = pair
        return tuple(
            tuple(sorted([(places[first[cell]], places[second[cell]]) for cell in group]))
            for group, places in zip(self._groups, self._places, strict=True)
        )

    def _size(self, key: _Key) -> int:
        """Return in how many ways the steps can be given to the cells."""
        return prod(
            factorial(len(steps)) // prod(map(factorial, Counter(steps).values())) for steps in key
        )

    def _pair(self, key: _Key) -> Pair:
        values: dict[int, tuple[Value, Value]] = {}
        for group, domain, steps in zip(self._groups, self._domains, key, strict=True):
            for cell, (ours, theirs) in zip(group, steps, strict=True):
                values[cell] = domain[ours], domain[theirs]
        first, second = zip(*(values[cell] for cell in range(len(values))), strict=True)
        return first, second
