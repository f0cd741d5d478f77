"""The largest delta_{u,u'} over all adjacent pairs at once: a dynamic program over counters.

    counters of no cells
        |   for each cell: take every step from every state; add the terms of the outputs that
        |   are now complete; of the pairs with equal counters keep the best sums
        v
    largest sum of upper terms >= largest delta >= delta of the pair with the largest lower sum

Both sums are maximised on their own: the terms that are still to come depend on the counters
only. The steps that led to a maximum are remembered, so the maximising pairs can be named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dipapprox.language.core import Cell, InputRow
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.privacy.adjacency import Pair
from dipapprox.privacy.bounds import Discounted, Numbers, enclosure, positive_part
from dipapprox.privacy.counters import Completed, CounterPlan, Stage, Weights
from dipapprox.privacy.search import Progress, silent
from dipapprox.privacy.walk import Integers

Ask = Callable[[Sequence[int], Sequence[InputRow]], Discounted]
"""Bound the probability of output k under row k, for every k."""

MOST_EXPANSIONS = 1_200_000
"""Most expansions of one stage: about ten arrays of this length are alive at a time."""

_MOST_REMEMBERED = 5_000_000
"""Most states of all stages together, ten bytes each."""

Codes = NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class Largest:
    """Bounds of the largest delta over all pairs.

    Attributes:
        delta: Encloses it.
        certain: A pair whose delta is at least `delta.lower`.
        likely: A pair whose upper bound is `delta.upper`.
    """

    delta: Enclosure
    certain: Pair
    likely: Pair


@dataclass(frozen=True, slots=True)
class _Memory:
    """Where the best sums of the states after a stage came from."""

    lower_parent: NDArray[np.int32]
    lower_step: NDArray[np.uint16]
    upper_parent: NDArray[np.int32]
    upper_step: NDArray[np.uint16]


@dataclass(slots=True)
class _Layer:
    """The states after a stage. Row k of `first` and `second`: some pair with counters k.

    Attributes:
        first: Codes of u's values; columns are cells in the order of the plan.
    """

    first: Codes
    second: Codes
    spent: Integers
    lower: Numbers
    upper: Numbers


def largest_delta(
    plan: CounterPlan,
    cells: tuple[Cell, ...],
    ask: Ask,
    limits: Limits,
    progress: Progress = silent,
) -> Largest | None:
    """Bound the largest delta over all pairs of a plan.

    Args:
        plan: From `plan_counters` with at most `MOST_EXPANSIONS`.
        cells: The program's input cells.
        ask: Gives the probabilities, always in the same arithmetic.
        limits: Asked between outputs.
        progress: Told about expansions; their total is an upper bound.

    Returns:
        The bounds; None if more counters turned up than can be kept.
    """
    order = [stage.cell for stage in plan.stages]
    nothing = ask((), ())
    empty = np.zeros((1, 0), dtype=np.uint16)
    zero = nothing.zeros(1)
    layer = _Layer(empty, empty, np.zeros(1, dtype=np.int64), zero, zero)
    memories: list[_Memory] = []
    additions = len(order)
    kept = done = 0
    for k, stage in enumerate(plan.stages):
        limits.check()
        if len(layer.spent) * len(stage.steps) > MOST_EXPANSIONS:
            return None
        lower, upper = _terms(layer, stage, order[:k], cells, ask, limits)
        additions += len(stage.completed)
        done += lower.size
        progress(done, plan.expansions)
        layer, memory = _merged(layer, stage, order[: k + 1], plan.budget, lower, upper)
        memories.append(memory)
        kept += len(layer.spent)
        if kept > _MOST_REMEMBERED:
            return None
    low, high = int(np.argmax(layer.lower)), int(np.argmax(layer.upper))
    delta = enclosure(layer.lower[low], layer.upper[high], additions, nothing.scale)
    return Largest(
        delta,
        _pair(plan, cells, [(m.lower_parent, m.lower_step) for m in memories], low),
        _pair(plan, cells, [(m.upper_parent, m.upper_step) for m in memories], high),
    )


def _terms(
    layer: _Layer,
    stage: Stage,
    before: Sequence[int],
    cells: tuple[Cell, ...],
    ask: Ask,
    limits: Limits,
) -> tuple[Numbers, Numbers]:
    """Sums (states x steps): those so far plus the terms of the outputs of this stage."""
    shape = len(layer.spent), len(stage.steps)
    lower = np.repeat(layer.lower[:, None], shape[1], axis=1)
    upper = np.repeat(layer.upper[:, None], shape[1], axis=1)
    keyed = [_Keys.of(layer, stage, each, before) for each in stage.completed]
    if not keyed:
        return lower, upper
    rows = [row for keys in keyed for row in keys.rows(layer, before, stage.cell, cells)]
    outputs = [keys.output for keys in keyed for _ in range(len(keys.values))]
    bounds = ask(outputs, rows)
    start = 0
    for keys in keyed:
        limits.check()
        own = bounds.take(np.arange(start, start + len(keys.values)))
        start += len(keys.values)
        u, v = keys.first, keys.second
        lower += positive_part(own.lower[u] - own.high_discount[v])
        upper += positive_part(own.upper[u] - own.low_discount[v])
    return lower, upper


@dataclass(frozen=True, slots=True)
class _Keys:
    """The different arguments that one output's probability takes in a stage.

    Attributes:
        values: For every argument (row of the layer, whether of u', code of this cell's value).
        first: Arguments of u (states x steps), as positions in `values`.
        second: The same of u'.
    """

    output: int
    values: list[tuple[int, bool, int]]
    first: NDArray[np.intp]
    second: NDArray[np.intp]

    @classmethod
    def of(cls, layer: _Layer, stage: Stage, completed: Completed, before: Sequence[int]) -> _Keys:
        size = len(layer.spent)
        sums = np.concatenate(
            [
                _sums(layer.first, before, completed.weights),
                _sums(layer.second, before, completed.weights),
            ]
        )
        distinct, example, place = np.unique(sums, return_index=True, return_inverse=True)
        own = completed.weights[stage.cell]
        # What the cells so far contribute, and this cell's value: few combinations, so the
        # equal ones among them are found before they are spread over states and steps.
        combined = distinct[:, None] + own[None, :]
        _, chosen, number = np.unique(combined, return_index=True, return_inverse=True)
        number = number.reshape(combined.shape)
        values = [
            (int(example[k]) % size, bool(example[k] >= size), int(code))
            for k, code in zip(*np.unravel_index(chosen, combined.shape), strict=True)
        ]
        u, v = place[:size, None], place[size:, None]
        return cls(
            completed.output,
            values,
            number[u, stage.steps.first[None, :]],
            number[v, stage.steps.second[None, :]],
        )

    def rows(
        self, layer: _Layer, before: Sequence[int], cell: int, cells: tuple[Cell, ...]
    ) -> list[InputRow]:
        """Return a row for every argument; cells that do not matter have their first value."""
        found = []
        for state, adjacent, code in self.values:
            row = [each.domain[0] for each in cells]
            codes = (layer.second if adjacent else layer.first)[state]
            for position, known in zip(before, codes.tolist(), strict=True):
                row[position] = cells[position].domain[known]
            row[cell] = cells[cell].domain[code]
            found.append(tuple(row))
        return found


def _merged(
    layer: _Layer,
    stage: Stage,
    order: Sequence[int],
    budget: int | None,
    lower: Numbers,
    upper: Numbers,
) -> tuple[_Layer, _Memory]:
    """Take the steps, and keep of the pairs with equal counters the best sums."""
    steps = stage.steps
    codes = _pair_sums(layer, order[:-1], stage.weights)[:, None]
    own = stage.weights.get(stage.cell)
    if own is not None:
        codes = codes + own[steps.first, steps.second][None, :]
    else:
        codes = np.repeat(codes, len(steps), axis=1)
    spent = layer.spent[:, None] + steps.cost[None, :]
    if budget is None:
        kept = np.arange(codes.size)
        groups = codes.ravel()
    else:
        kept = np.flatnonzero(spent.ravel() <= budget)
        # Codes first: two columns become one number without assuming anything of their size.
        _, numbers = np.unique(codes.ravel()[kept], return_inverse=True)
        groups = numbers.astype(np.int64) * (budget + 1) + spent.ravel()[kept]
    lower, upper = lower.ravel()[kept], upper.ravel()[kept]
    low, high = _best(groups, lower), _best(groups, upper)
    parent, step = np.divmod(kept, len(steps))

    def grown(codes: Codes, taken: Integers) -> Codes:
        return np.concatenate(
            [codes[parent[low]], taken[step[low]].astype(np.uint16)[:, None]], axis=1
        )

    memory = _Memory(
        parent[low].astype(np.int32),
        step[low].astype(np.uint16),
        parent[high].astype(np.int32),
        step[high].astype(np.uint16),
    )
    following = _Layer(
        grown(layer.first, steps.first),
        grown(layer.second, steps.second),
        spent.ravel()[kept][low] if budget is not None else np.zeros(len(low), dtype=np.int64),
        lower[low],
        upper[high],
    )
    return following, memory


def _best(groups: Integers, sums: Numbers) -> NDArray[np.intp]:
    """Return the place of the largest sum of every group, groups ascending."""
    ascending = np.argsort(sums, kind="stable")
    order = ascending[np.argsort(groups[ascending], kind="stable")]
    ordered = groups[order]
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    return order[ends]


def _sums(codes: Codes, cells: Sequence[int], weights: Weights) -> Integers:
    total = np.zeros(len(codes), dtype=np.int64)
    for column, cell in enumerate(cells):
        table = weights.get(cell)
        if table is not None:
            total += table[codes[:, column]]
    return total


def _pair_sums(layer: _Layer, cells: Sequence[int], weights: Weights) -> Integers:
    total = np.zeros(len(layer.spent), dtype=np.int64)
    for column, cell in enumerate(cells):
        table = weights.get(cell)
        if table is not None:
            total += table[layer.first[:, column], layer.second[:, column]]
    return total


def _pair(
    plan: CounterPlan,
    cells: tuple[Cell, ...],
    memories: Sequence[tuple[NDArray[np.int32], NDArray[np.uint16]]],
    state: int,
) -> Pair:
    """Follow the best sums back to the pair of rows they belong to."""
    first = [cell.domain[0] for cell in cells]
    second = list(first)
    for stage, (parent, step) in zip(reversed(plan.stages), reversed(memories), strict=True):
        taken = int(step[state])
        domain = cells[stage.cell].domain
        first[stage.cell] = domain[int(stage.steps.first[taken])]
        second[stage.cell] = domain[int(stage.steps.second[taken])]
        state = int(parent[state])
    return tuple(first), tuple(second)
