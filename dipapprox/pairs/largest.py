"""The largest delta_{u,u'} over all adjacent pairs at once: a dynamic program over counters.

    counters of no cells
        |   for each cell: take every step from every state; add the terms of the outputs that
        |   are now complete; of the pairs with equal counters keep the best sums
        v
    largest sum of upper terms >= largest delta >= delta of the pair with the largest lower sum

Both sums are maximised on their own: the terms that are still to come depend on the counters
only. The steps that led to a maximum are remembered, so the maximising pairs can be named.

A term whose bounds do not tell whether it is 0 or positive is *doubtful*. Where exact forms show
that it is 0, its upper bound becomes 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dipapprox.data_classes import dataclass, field
from dipapprox.language.core import Cell, Input
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.pairs.adjacency import Pair
from dipapprox.pairs.counters import CounterPlan, Stage, Weights
from dipapprox.pairs.hockey_stick import HockeyStickBounds, Numbers, enclosure
from dipapprox.pairs.search import Progress, silent
from dipapprox.pairs.walk import Integers

Ask = Callable[[Sequence[int], Sequence[Input]], HockeyStickBounds]
"""Bound the probability of outputs[k] under inputs[k], for every k."""

MOST_EXPANSIONS = 1_200_000
"""Most expansions of one stage: about ten arrays of this length are alive at a time."""

_MOST_REMEMBERED = 5_000_000
"""Most states of all stages together, ten bytes each."""

Settle = Callable[[int, Pair], bool]
"""Whether Pr[output | u] <= e^eps_prv Pr[output | u'], for certain."""

_MOST_SETTLED = 5_000
"""Most doubtful terms of one output that are settled."""

Codes = NDArray[np.uint16]

_Sums = dict[bytes, tuple[frozenset[int], Integers]]
"""By a table: cells, and for every state the sum of what the table says of their codes."""


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
class _Values:
    """The probabilities of an output at all its arguments; codes ascend, and inputs have them."""

    codes: Integers
    inputs: Sequence[Input]
    bounds: HockeyStickBounds


@dataclass(frozen=True, slots=True)
class _Memory:
    """Where the best sums of the states after a stage came from."""

    lower_parent: NDArray[np.int32]
    lower_step: NDArray[np.uint16]
    upper_parent: NDArray[np.int32]
    upper_step: NDArray[np.uint16]


@dataclass(slots=True)
class _Layer:
    """The states after a stage. Column k of `first` and `second`: some pair with counters k.

    Attributes:
        first: Codes of u's values; rows are cells in the order of the plan.
        weights: Of the stage.
        counters: Codes of the counters.
        first_sums: Of codes in `first`, as far as they were needed; grows.
        second_sums: Of codes in `second`.
    """

    first: Codes
    second: Codes
    weights: Weights
    counters: Integers
    spent: Integers
    lower: Numbers
    upper: Numbers
    first_sums: _Sums = field(default_factory=dict)
    second_sums: _Sums = field(default_factory=dict)


def largest_delta(
    plan: CounterPlan,
    cells: tuple[Cell, ...],
    ask: Ask,
    limits: Limits,
    progress: Progress = silent,
    settle: Settle | None = None,
) -> Largest | None:
    """Bound the largest delta over all pairs of a plan.

    Args:
        plan: From `plan_counters` with at most `MOST_EXPANSIONS`.
        cells: The program's input cells.
        ask: Gives the probabilities, always in the same arithmetic.
        limits: Asked between outputs.
        progress: Told about expansions; their total is an upper bound.
        settle: Settles doubtful terms.

    Returns:
        The bounds; None if more counters turned up than can be kept.
    """
    order = [stage.cell for stage in plan.stages]
    values, scale = _evaluated(plan, cells, ask, limits)
    empty = np.zeros((0, 1), dtype=np.uint16)
    zero = np.zeros(1, dtype=np.float64 if scale is None else object)
    none = np.zeros(1, dtype=np.int64)
    layer = _Layer(empty, empty, {}, none, none, zero, zero)
    memories: list[_Memory] = []
    additions = len(order)
    kept = done = 0
    for k, stage in enumerate(plan.stages):
        limits.check()
        if len(layer.spent) * len(stage.steps) > MOST_EXPANSIONS:
            return None
        lower, upper = _terms(layer, stage, order[:k], values, limits, settle)
        additions += len(stage.completed)
        done += lower.size
        progress(done, plan.expansions)
        layer, memory = _merged(layer, stage, order[: k + 1], plan.radius, lower, upper)
        memories.append(memory)
        kept += len(layer.spent)
        if kept > _MOST_REMEMBERED:
            return None
    low, high = int(np.argmax(layer.lower)), int(np.argmax(layer.upper))
    delta = enclosure(layer.lower[low], layer.upper[high], additions, scale)
    return Largest(
        delta,
        _pair(plan, cells, [(m.lower_parent, m.lower_step) for m in memories], low),
        _pair(plan, cells, [(m.upper_parent, m.upper_step) for m in memories], high),
    )


def _evaluated(
    plan: CounterPlan, cells: tuple[Cell, ...], ask: Ask, limits: Limits
) -> tuple[dict[int, _Values], int | None]:
    """Ask for the probabilities of all outputs at all their arguments, together.

    Returns:
        What was found for every output, and the unit of the numbers (`HockeyStickBounds.scale`).
    """
    outputs: list[int] = []
    inputs: list[Input] = []
    codes: list[int] = []
    completed = [each for stage in plan.stages for each in stage.completed]
    for each in completed:
        limits.check()
        for code, input in each.examples(cells):
            codes.append(code)
            inputs.append(input)
        outputs += [each.output] * each.arguments
    bounds = ask(outputs, inputs)
    found = {}
    start = 0
    for each in completed:
        own = np.array(codes[start : start + each.arguments], dtype=np.int64)
        order = np.argsort(own)
        found[each.output] = _Values(
            own[order], [inputs[start + k] for k in order.tolist()], bounds.take(start + order)
        )
        start += each.arguments
    return found, bounds.scale


def _terms(
    layer: _Layer,
    stage: Stage,
    before: Sequence[int],
    values: Mapping[int, _Values],
    limits: Limits,
    settle: Settle | None,
) -> tuple[Numbers, Numbers]:
    """Sums (states x steps): those so far plus the terms of the outputs of this stage."""
    steps = stage.steps
    shape = len(layer.spent), len(steps)
    lower = np.repeat(layer.lower[:, None], shape[1], axis=1)
    upper = np.repeat(layer.upper[:, None], shape[1], axis=1)
    for each in stage.completed:
        limits.check()
        of = values[each.output]
        own = each.weights[stage.cell][None, :]
        first = _sums(layer.first, before, each.weights, layer.first_sums)[:, None] + own
        second = _sums(layer.second, before, each.weights, layer.second_sums)[:, None] + own
        u = np.searchsorted(of.codes, first)[:, steps.first]
        v = np.searchsorted(of.codes, second)[:, steps.second]
        least, most = of.bounds.least(u, v), of.bounds.most(u, v)
        if settle is not None:
            most[_vanishing(each.output, of, u, v, (least == 0) & (most > 0), settle, limits)] = 0
        lower += least
        upper += most
    return lower, upper


def _vanishing(
    output: int,
    values: _Values,
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    doubtful: NDArray[np.bool_],
    settle: Settle,
    limits: Limits,
) -> NDArray[np.bool_]:
    """Which of the doubtful terms are 0 for certain.

    Args:
        first: Places of u's arguments, one for every term.
        second: Places of those of u'.
        doubtful: Terms to look at.
    """
    count = len(values.codes)
    pairs = first * count + second  # below 10^12: places are below `_MOST_ARGUMENTS`
    wanted = np.unique(pairs[doubtful])
    if len(wanted) > _MOST_SETTLED:
        return np.zeros_like(doubtful)
    zero = []
    for pair in wanted.tolist():
        limits.check()
        own, other = divmod(pair, count)
        if settle(output, (values.inputs[own], values.inputs[other])):
            zero.append(pair)
    vanishing: NDArray[np.bool_] = doubtful & np.isin(pairs, zero)
    return vanishing


def _merged(
    layer: _Layer,
    stage: Stage,
    order: Sequence[int],
    radius: int | None,
    lower: Numbers,
    upper: Numbers,
) -> tuple[_Layer, _Memory]:
    """Take the steps, and keep of the pairs with equal counters the best sums."""
    steps = stage.steps
    codes = _counters(layer, order[:-1], stage.weights)[:, None]
    own = stage.weights.get(stage.cell)
    if own is not None:
        codes = codes + own[steps.first, steps.second][None, :]
    else:
        codes = np.repeat(codes, len(steps), axis=1)
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
    low, high = _best(groups, lower), _best(groups, upper)
    parent, step = np.divmod(kept, len(steps))

    def grown(codes: Codes, taken: Integers) -> Codes:
        return np.concatenate([codes[:, parent[low]], taken[step[low]].astype(np.uint16)[None, :]])

    def carried(sums: _Sums) -> _Sums:
        if len(sums) > _MOST_CARRIED:
            return {}
        return {table: (of, found[parent[low]]) for table, (of, found) in sums.items()}

    memory = _Memory(
        parent[low].astype(np.int32),
        step[low].astype(np.uint16),
        parent[high].astype(np.int32),
        step[high].astype(np.uint16),
    )
    following = _Layer(
        grown(layer.first, steps.first),
        grown(layer.second, steps.second),
        stage.weights,
        codes.ravel()[kept][low],
        spent.ravel()[kept][low] if radius is not None else np.zeros(len(low), dtype=np.int64),
        lower[low],
        upper[high],
        carried(layer.first_sums),
        carried(layer.second_sums),
    )
    return following, memory


def _best(groups: Integers, sums: Numbers) -> NDArray[np.intp]:
    """Return the place of the largest sum of every group, groups ascending."""
    ascending = np.argsort(sums, kind="stable")
    order = ascending[np.argsort(groups[ascending], kind="stable")]
    ordered = groups[order]
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    return order[ends]


_FEW_CELLS = 4
"""So many are added up anew."""

_MOST_CARRIED = 8
"""Most sums that are taken over to the next stage."""


def _sums(codes: Codes, cells: Sequence[int], weights: Weights, known: _Sums) -> Integers:
    """Add up the weights of the codes in every state.

    Args:
        known: Sums over the same codes; grows. Outputs that like cells have differ in few of them.
    """
    groups: dict[bytes, tuple[Integers, list[int]]] = {}
    for place, cell in enumerate(cells):
        table = weights.get(cell)
        if table is not None:
            groups.setdefault(table.tobytes(), (table, []))[1].append(place)
    total = np.zeros(codes.shape[1], dtype=np.int64)
    for key, (table, places) in groups.items():
        own = frozenset(places)
        before, part = known.get(key, (frozenset[int](), np.zeros_like(total)))
        if len(before ^ own) >= len(own):
            before, part = frozenset(), np.zeros_like(total)
        for place in own - before:
            part = part + table[codes[place]]
        for place in before - own:
            part = part - table[codes[place]]
        if len(own) > _FEW_CELLS:
            known[key] = own, part
        total += part
    return total


def _counters(layer: _Layer, cells: Sequence[int], weights: Weights) -> Integers:
    """Return the codes of the counters before a stage, as its weights have them."""
    changes = {
        (id(before), id(now)): (before, now)
        for before, now in ((layer.weights.get(cell), weights.get(cell)) for cell in cells)
    }
    if all(
        before is now or (before is not None and now is not None and np.array_equal(before, now))
        for before, now in changes.values()
    ):
        return layer.counters
    total = np.zeros(len(layer.spent), dtype=np.int64)
    for place, cell in enumerate(cells):
        table = weights.get(cell)
        if table is not None:
            total += table[layer.first[place], layer.second[place]]
    return total


def _pair(
    plan: CounterPlan,
    cells: tuple[Cell, ...],
    memories: Sequence[tuple[NDArray[np.int32], NDArray[np.uint16]]],
    state: int,
) -> Pair:
    """Follow the best sums back to the pair of inputs they belong to."""
    first = [cell.domain[0] for cell in cells]
    second = list(first)
    for stage, (parent, step) in zip(reversed(plan.stages), reversed(memories), strict=True):
        taken = int(step[state])
        domain = cells[stage.cell].domain
        first[stage.cell] = domain[int(stage.steps.first[taken])]
        second[stage.cell] = domain[int(stage.steps.second[taken])]
        state = int(parent[state])
    return tuple(first), tuple(second)
