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

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dipapprox.data_classes import Record, field
from dipapprox.language.core import Cell, Input
from dipapprox.limits import Progress, check_limits, silent
from dipapprox.pairs.counters import CounterPlan, CounterStage, Origins, Trace, Weights
from dipapprox.pairs.hockey_stick import HockeyStickBounds, Numbers, enclosure
from dipapprox.pairs.maximum import Maximum, all_about, first_largest
from dipapprox.pairs.walk import Integers

Ask = Callable[[Sequence[int], Sequence[Input]], HockeyStickBounds]
"""Bound the probability of outputs[k] under inputs[k], for every k."""

MOST_EXPANSIONS = 1_200_000
"""Most expansions of one stage: about ten arrays of this length are alive at a time."""

_MOST_REMEMBERED = 5_000_000  # most states of all stages together, ten bytes each
_Sums = dict[bytes, tuple[frozenset[int], Integers]]
"""By a table: cells, and for every state the sum of what the table says of their codes."""


class _Values(Record, eq=False):
    """The probabilities of an output at all its arguments; codes ascend."""

    codes: Integers
    bounds: HockeyStickBounds

    def places(self, codes: Integers) -> Integers:
        return np.searchsorted(self.codes, codes)


class _Layer(Record, frozen=False):
    trace: Trace  # some pair with the counters of each
    weights: Weights  # of the stage
    counters: Integers  # codes of the counters
    spent: Integers
    lower: Numbers
    upper: Numbers
    # Of codes of the values of u, and of u', as far as they were needed; grow.
    sums: tuple[_Sums, ...] = field(default_factory=lambda: ({}, {}))


def largest_delta(
    plan: CounterPlan, cells: tuple[Cell, ...], ask: Ask, bits: int, progress: Progress = silent
) -> Maximum | None:
    """Bound the largest delta over all pairs of a plan.

    Args:
        plan: From `plan_counters` with at most `MOST_EXPANSIONS`.
        ask: Gives the probabilities, always in the same arithmetic.
        progress: Told about expansions; their total is an upper bound.

    Returns:
        The bounds; None if more counters turned up than can be kept.
    """
    order = [stage.cell for stage in plan.stages]
    values, scale = _evaluated(plan, cells, ask)
    zero = np.zeros(1, dtype=np.float64 if scale is None else object)
    none = np.zeros(1, dtype=np.int64)
    layer = _Layer(Trace(plan.stages, (), 1), {}, none, none, zero, zero)
    likely = layer.trace
    additions = len(order)
    kept = done = 0
    for k, stage in enumerate(plan.stages):
        check_limits()
        if len(layer.spent) * len(stage.steps) > MOST_EXPANSIONS:
            return None
        lower, upper = _terms(layer, stage, order[:k], values)
        additions += len(stage.completed)
        done += lower.size
        progress(done, plan.expansions)
        layer, origins = _merged(layer, stage, order[:k], plan.radius, lower, upper)
        likely = likely.after(origins)
        kept += len(layer.spent)
        if kept > _MOST_REMEMBERED:
            return None
    low, high = first_largest(layer.lower), first_largest(layer.upper)
    delta = enclosure(layer.lower[low], layer.upper.max(), additions, scale)
    pair = layer.trace.pair(cells, low)
    return Maximum(delta, pair, bits, likely.pair(cells, high))


def _evaluated(
    plan: CounterPlan, cells: tuple[Cell, ...], ask: Ask
) -> tuple[dict[int, _Values], int | None]:
    """Ask for the probabilities of all outputs at all their arguments, together; also return the
    unit of the numbers (`HockeyStickBounds.scale`)."""
    outputs: list[int] = []
    examples: list[tuple[int, Input]] = []
    completed = [each for stage in plan.stages for each in stage.completed]
    for each in completed:
        check_limits()
        examples += each.examples(cells)
        outputs += [each.output] * each.arguments
    codes = np.array([code for code, _ in examples], dtype=np.int64)
    bounds = ask(outputs, [input for _, input in examples])
    found = {}
    start = 0
    for each in completed:
        own = codes[start : start + each.arguments]
        order = np.argsort(own)
        found[each.output] = _Values(own[order], bounds.take(start + order))
        start += each.arguments
    return found, bounds.scale


def _terms(
    layer: _Layer, stage: CounterStage, before: Sequence[int], values: Mapping[int, _Values]
) -> tuple[Numbers, Numbers]:
    steps, trace = stage.steps, layer.trace
    lower = np.tile(layer.lower, (len(steps), 1))
    upper = np.tile(layer.upper, (len(steps), 1))
    for each in stage.completed:
        check_limits()
        of = values[each.output]
        own = each.weights[stage.cell][:, None]
        first, second = (
            of.places(_sums(trace, side, before, each.weights, known) + own)
            for side, known in enumerate(layer.sums)
        )
        least, most = _bounds(of, first[steps.first], second[steps.second])
        lower += least
        upper += most
    return lower.T, upper.T


def _bounds(values: _Values, first: Integers, second: Integers) -> tuple[Numbers, Numbers]:
    """Bound the terms of one output, given places of u's arguments, and of those of u'."""
    count = len(values.codes)
    pairs = None
    if count**2 <= first.size:  # many terms are alike: each is worked out once
        pairs = first * count + second
        first, second = np.divmod(np.arange(count**2), count)
    least, most = values.bounds.least(first, second), values.bounds.most(first, second)
    return (least, most) if pairs is None else (least.take(pairs), most.take(pairs))


def _merged(
    layer: _Layer,
    stage: CounterStage,
    before: Sequence[int],
    radius: int | None,
    lower: Numbers,
    upper: Numbers,
) -> tuple[_Layer, Origins]:
    """Take the steps, and keep of the pairs with equal counters the best sums: states, traced where
    the best lower ones came from, and where the best upper ones did."""
    steps = stage.steps
    own = stage.weights.get(stage.cell)
    changes = np.zeros(len(steps), np.int64) if own is None else own[steps.first, steps.second]
    codes = _counters(layer, before, stage.weights)[:, None] + changes[None, :]
    spent = layer.spent[:, None] + steps.cost[None, :]
    if radius is None:
        kept = np.arange(codes.size)
        groups = codes.ravel()
    else:
        kept = np.flatnonzero(spent.ravel() <= radius)
        # Codes first: two columns become one number. There are at most 2^21 different codes, and a
        # radius is at most 2^40 (`walk`): 64 bits hold the number.
        _, numbers = np.unique(codes.ravel()[kept], return_inverse=True)
        groups = numbers.astype(np.int64) * (radius + 1) + spent.ravel()[kept]
    lower, upper = lower.ravel()[kept], upper.ravel()[kept]
    (low, _), (high, highest) = _best(groups, (lower, upper))
    parent, step = np.divmod(kept, len(steps))

    def carried(sums: _Sums) -> _Sums:
        if len(sums) > _MOST_CARRIED:
            return {}
        return {table: (of, found[parent[low]]) for table, (of, found) in sums.items()}

    following = _Layer(
        layer.trace.after(Origins.of(parent[low], step[low])),
        stage.weights,
        codes.ravel()[kept][low],
        spent.ravel()[kept][low] if radius is not None else np.zeros(len(low), dtype=np.int64),
        lower[low],
        highest,
        tuple(map(carried, layer.sums)),
    )
    return following, Origins.of(parent[high], step[high])


def _best(groups: Integers, sums: Sequence[Numbers]) -> list[tuple[NDArray[np.intp], Numbers]]:
    """Return, for each array of sums, the largest one of every group, groups ascending: a place,
    of several alike the last, and the largest sum itself."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    sizes = np.diff(np.append(starts, len(order)))
    places = np.arange(len(order))
    found = []
    for each in sums:
        own = each[order]
        largest = np.maximum.reduceat(own, starts)
        alike = own >= np.repeat(all_about(largest), sizes)
        last = np.maximum.reduceat(np.where(alike, places, -1), starts)
        found.append((order[last], largest))
    return found


_FEW_CELLS = 4  # so many are added up anew
_MOST_CARRIED = 8  # most sums that are taken over to the next stage


def _sums(
    trace: Trace, side: int, cells: Sequence[int], weights: Weights, known: _Sums
) -> Integers:
    """Add up the weights of the codes in every state, of u (side 0) or u' (1).

    Args:
        cells: In the order of the plan.
        known: Sums over the same codes; grows. Outputs that like cells have differ in few of them.
    """
    groups: dict[bytes, tuple[Integers, list[int]]] = {}
    for place, cell in enumerate(cells):
        table = weights.get(cell)
        if table is not None:
            groups.setdefault(table.tobytes(), (table, []))[1].append(place)
    total = np.zeros(trace.count, dtype=np.int64)
    for key, (table, places) in groups.items():
        own = frozenset(places)
        before, part = known.get(key, (frozenset[int](), np.zeros_like(total)))
        if len(before ^ own) >= len(own):
            before, part = frozenset(), np.zeros_like(total)
        part = part.copy()
        for place in own - before:
            part += table.take(trace.codes(place)[side])
        for place in before - own:
            part -= table.take(trace.codes(place)[side])
        if len(own) > _FEW_CELLS:
            known[key] = own, part
        total += part
    return total


def _counters(layer: _Layer, cells: Sequence[int], weights: Weights) -> Integers:
    """Return the codes of the counters before a stage, as its weights have them."""
    both = ((layer.weights.get(cell), weights.get(cell)) for cell in cells)
    changes = {(id(before), id(now)): (before, now) for before, now in both if before is not now}
    if all(
        before is not None and now is not None and np.array_equal(before, now)
        for before, now in changes.values()
    ):
        return layer.counters
    total = np.zeros(len(layer.spent), dtype=np.int64)
    for place, cell in enumerate(cells):
        if cell in weights:
            total += weights[cell][layer.trace.codes(place)]
    return total
