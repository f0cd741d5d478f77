"""Upper bounds: a family of cost vectors that no step leaves.

Let the second run's samples be those of the first, shifted: by s_j at position j, with s_i >= s_j
where the sample of i is below that of j, and 0 where it is shown. Then every guard has the same
outcome, and each density changes by at most the factor e^(d_j |s_j - c_j| eps), c_j the change of
the input. So the least sum of these prices bounds the loss of a run. Both in s and in c it is
convex: the worst changes are -1 and 1, and |s - c| splits into two levels that do not see each
other, u = [s >= 0] and v = [s = 1]: each level pays the rate where it is on the wrong side. (u must
be 1 and v 0 where the sample is shown, whose price d_j |c_j| is paid once.)

A vector has the least cost so far of one level for every choice of the level at the stored values;
axis k of its array is the choice for the k-th of them. What is added to one vector of a pair may
be taken from the other. Costs above the bound that is claimed need not be told apart (∞): entries
made larger keep an upper bound one. A pair that is nowhere larger than another costs no more, then
or later, so it is enough that every step from a pair leads within some pair.

All pairs but the first are moreover made by steps from pairs before them: so every number in the
file is what the check finds, or it is refuted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

from dipapprox.certificates.budgets import CellFamily, JoinedCells, VectorFamily, VectorPair
from dipapprox.checking.budgets.graph import GraphNode, missing_step, read_graph
from dipapprox.checking.budgets.machine import Machine, Move
from dipapprox.checking.values import Stuck
from dipapprox.digits import brief_text
from dipapprox.language.automata import INSAMPLE
from dipapprox.limits import Limits

Costs = npt.NDArray[np.int64]
"""Shape (pairs, 2, 2, …, 2): pairs of one node, level, choices for the free values."""

Makers = npt.NDArray[np.intp]

_LARGEST = 2**40
"""Units up to which sums of a few costs stay far below the end of int64."""

_MOST_FREE = 24
_MOST_COMPARED = 100_000
_FEW = 16
"""Costs of one level up to which vectors are compared cost by cost."""


def examine_family(
    machine: Machine, family: VectorFamily | CellFamily, bound: Fraction, limits: Limits
) -> str | None:
    """Say why a family does not prove that `bound` is a budget, or what in it is false.

    Raises:
        Stuck: If costs are too large to be added in 64 bits.
        LimitReached: If `limits` run out.
    """
    unit = Fraction(1, common_denominator(machine))
    read = read_family(machine, family, unit, bound, limits)
    if isinstance(read, str):
        return read
    steps = _Steps(machine, read, unit, int(bound / unit))
    return _examine_vectors(steps, family.vectors, limits)


def common_denominator(machine: Machine) -> int:
    """Return the least number of which every cost is a whole multiple of the reciprocal."""
    costs = [machine.rate(move) for move in machine.moves]
    costs += [machine.fresh_cost(move) for move in machine.moves]
    return lcm(1, *(cost.denominator for cost in costs))


def read_family(
    machine: Machine,
    family: VectorFamily | CellFamily | JoinedCells,
    unit: Fraction,
    bound: Fraction,
    limits: Limits,
) -> tuple[GraphNode, ...] | str:
    """Return the graph of which cost vectors speak; a text says what is wrong.

    Raises:
        Stuck: If costs are too large to be added in 64 bits.
        LimitReached: If `limits` run out.
    """
    if family.unit != unit:
        return f"unit: it is {brief_text(unit)}"
    if (bound / unit).denominator > 1:
        return "least_budget.upper: it is no whole number of units"
    costs = [machine.rate(move) + machine.fresh_cost(move) for move in machine.moves]
    if max(bound, *costs) / unit >= _LARGEST:
        raise Stuck("costs of more than 2^40 units")
    graph = read_graph(machine, family.nodes)
    if isinstance(graph, str):
        return f"nodes: {graph}"
    complaint = missing_step(machine, graph, limits)
    return graph if complaint is None else f"nodes: {complaint}"


def _examine_vectors(steps: _Steps, vectors: Sequence[VectorPair], limits: Limits) -> str | None:
    pairs: dict[int, list[int]] = defaultdict(list)
    for number, pair in enumerate(vectors):
        if pair.node >= len(steps.graph):
            return f"vectors[{number}]: there is no node {pair.node}"
        size = 2 ** len(steps.graph[pair.node].free)
        if {len(pair.lower), len(pair.upper)} != {size}:
            return f"vectors[{number}]: expected {size} costs of either level"
        pairs[pair.node].append(number)
    first = vectors[0]
    if (first.node, first.lower, first.upper) != (0, (0,), (0,)):
        return "vectors[0]: expected the empty run at node 0, which costs nothing"
    stacks = {}
    for node, numbers in pairs.items():
        stack = steps.stack(node, [vectors[number] for number in numbers])
        if stack is None:
            return "vectors: a cost above the upper bound"
        stacks[node] = stack
    known = {node: _Known(stack, pairs[node]) for node, stack in stacks.items()}
    if any(each.has_double for each in known.values()):
        return "vectors: a pair comes twice"
    maker = np.full(len(vectors), len(vectors))
    maker[0] = -1
    largest = 0
    for node, numbers in pairs.items():
        for target, made, values in steps.made(node, stacks[node]):
            limits.check()
            if values.max() > steps.bound:
                return f"vectors: a step from node {node} costs more than the upper bound"
            largest = max(largest, int(values.max()))
            others = np.arange(len(made))
            if target in known:
                others = known[target].note(made, numbers, maker)
            beyond = steps.first_beyond(made[others], stacks.get(target))
            if beyond is not None:
                where = f"a step from vectors[{numbers[others[beyond]]}] to node {target}"
                return f"vectors: {where} leads beyond all that are there"
    unmade = np.flatnonzero(maker >= np.arange(len(vectors)))
    if len(unmade):
        return f"vectors[{unmade[0]}]: no step from those before it makes it"
    if largest != steps.bound:
        return f"least_budget.upper: the vectors prove {brief_text(largest * steps.unit)}"
    return None


class _Steps:
    """What steps of a graph make of cost vectors, in whole units."""

    def __init__(
        self, machine: Machine, graph: Sequence[GraphNode], unit: Fraction, bound: int
    ) -> None:
        self.machine, self.graph = machine, graph
        self.unit, self.bound = unit, bound
        self.infinite = bound + 1

    def stack(self, node: int, pairs: Sequence[VectorPair]) -> Costs | None:
        """Return the pairs of one node as an array; None if a cost is above the bound."""
        free = len(self.graph[node].free)
        if free > _MOST_FREE:
            raise Stuck(f"more than {_MOST_FREE} values whose shifts are left open")
        rows = [
            [self.infinite if cost is None else cost for cost in (*pair.lower, *pair.upper)]
            for pair in pairs
        ]
        costs = (cost for pair in pairs for cost in (*pair.lower, *pair.upper))
        if any(cost is not None and cost > self.bound for cost in costs):
            return None
        # Bit i of an index is the i-th free value: the last axis is the first value.
        flat = np.array(rows, dtype=np.int64).reshape((len(pairs), 2) + (2,) * free)
        axes = (0, 1, *range(free + 1, 1, -1))
        return np.ascontiguousarray(flat.transpose(axes))

    def made(self, node: int, stack: Costs) -> Iterator[tuple[int, Costs, Costs]]:
        """Yield, for each step from a node and each change, where it leads, the pairs that it
        makes, normalised, and what they cost at least."""
        for step, target in self.graph[node].leaving.items():
            move = self.machine.moves[step]
            for change in self.machine.changes if self.machine.reads(move) else (0,):
                pairs = self._after(node, stack, move, target, change)
                yield target, pairs, self._normalise(pairs)

    def _after(self, node: int, stack: Costs, move: Move, target: int, change: int) -> Costs:
        before, after = self.graph[node], self.graph[target]
        made = np.full((len(stack), 2) + (2,) * len(after.free), self.infinite, dtype=np.int64)
        # Choices for values that do not count afterwards are made now, the cheapest.
        kept = [x for x in before.free if x in after.free and x not in move.stored]
        dropped = tuple(k + 1 for k, x in enumerate(before.free) if x not in kept)
        order = [kept.index(x) for x in after.free if x in kept]
        for level in (0, 1):
            for choice in (0, 1):
                if not self._is_allowed(before, after, move, level, choice):
                    continue
                part = stack[:, level].copy()
                for axis, x in enumerate(before.free):
                    # Along i -> j the level must not rise: no less below, no more above.
                    if choice and x in move.at_least:
                        part[(slice(None),) * (axis + 1) + (0,)] = self.infinite
                    if not choice and x in move.less:
                        part[(slice(None),) * (axis + 1) + (1,)] = self.infinite
                least = part.min(axis=dropped) if dropped else part
                least = least.transpose((0, *(k + 1 for k in order)))
                place = tuple(choice if x in move.stored else slice(None) for x in after.free)
                price = self._price(move, change, level, choice)
                made[(slice(None), level, *place)] = np.minimum(
                    made[(slice(None), level, *place)], least + price
                )
        return made

    def _is_allowed(
        self, before: GraphNode, after: GraphNode, move: Move, level: int, choice: int
    ) -> bool:
        """Whether pinned values, and that the sample is shown, leave a choice open."""
        if move.shows == INSAMPLE and choice == level:
            return False
        pinned = before.pinned
        if choice and any(pinned[x] < level for x in move.at_least if x in pinned):
            return False
        if not choice and any(pinned[x] >= level for x in move.less if x in pinned):
            return False
        stored = [after.pinned[x] for x in move.stored if x in after.pinned]
        return all(choice == int(shift >= level) for shift in stored)

    def _price(self, move: Move, change: int, level: int, choice: int) -> int:
        rate = int(self.machine.rate(move) / self.unit)
        fresh = int(self.machine.fresh_cost(move) / self.unit) * abs(change)
        once = 0 if level else fresh
        if move.shows == INSAMPLE:
            return once if level else once + rate * abs(change)
        liked = int(change >= 0) if level == 0 else int(change > 0)
        return once + (0 if choice == liked else rate)

    def _normalise(self, pairs: Costs) -> Costs:
        """Bring pairs, in place, to least cost 0 on the second level, ∞ above the bound."""
        axes = tuple(range(1, pairs.ndim - 1))
        lower, upper = pairs[:, 0], pairs[:, 1]
        least: Costs = upper.min(axis=axes, keepdims=True) if axes else upper.copy()
        upper -= least
        lower += least
        np.minimum(pairs, self.infinite, out=pairs)
        values: Costs = lower.min(axis=axes, keepdims=True) if axes else lower.copy()
        upper[upper + values > self.bound] = self.infinite
        return values.reshape(len(pairs))

    def first_beyond(self, pairs: Costs, stack: Costs | None) -> int | None:
        """Return the first of some pairs that is within none of a stack; None if there is none.

        One is within another if, but for what one level may take from the other, it is at most it.
        """
        if not len(pairs) or stack is None:
            return 0 if len(pairs) else None
        these = pairs.reshape(len(pairs), 2, -1)
        those = np.where(stack >= self.infinite, _LARGEST, stack).reshape(len(stack), 2, -1)
        few = these.shape[2] <= _FEW
        step = max(1, _MOST_COMPARED // (len(stack) if few else those.size))
        for begin in range(0, len(pairs), step):
            some = these[begin : begin + step]
            if few:
                total = np.zeros((len(some), len(stack)), dtype=np.int64)
                for level in (0, 1):
                    gaps = some[:, level, 0, None] - those[:, level, 0]
                    for index in range(1, these.shape[2]):
                        gap = some[:, level, index, None] - those[:, level, index]
                        np.maximum(gaps, gap, out=gaps)
                    total += gaps
            else:
                total = (some[:, None] - those).max(axis=3).sum(axis=2)
            outside = np.flatnonzero((total > 0).all(axis=1))
            if len(outside):
                return begin + int(outside[0])
        return None


class _Known:
    """The pairs of one node, found again by their costs.

    Args:
        stack: The pairs.
        numbers: Those that they have in the file.
    """

    def __init__(self, stack: Costs, numbers: Sequence[int]) -> None:
        self._rows, order = np.unique(_whole(stack), return_index=True)
        self._numbers = np.array(numbers)[order]
        self.has_double = len(order) < len(numbers)

    def note(self, made: Costs, numbers: Sequence[int], maker: Makers) -> Makers:
        """Note for pairs of the file which pair made them first; return the indices of others.

        Args:
            made: Pairs at this node.
            numbers: Those of the pairs that made them, ascending.
            maker: For all pairs of the file the first that is known to make it.
        """
        rows, first = np.unique(_whole(made), return_index=True)
        places = np.minimum(np.searchsorted(self._rows, rows), len(self._rows) - 1)
        same = self._rows[places] == rows
        found = self._numbers[places[same]]
        maker[found] = np.minimum(maker[found], np.array(numbers)[first[same]])
        others: Makers = np.sort(first[~same])
        return others


def _whole(pairs: Costs) -> npt.NDArray[np.void]:
    """Return each pair as one value."""
    rows = np.ascontiguousarray(pairs).reshape(len(pairs), -1)
    return rows.view(f"V{rows.itemsize * rows.shape[1]}").reshape(-1)
