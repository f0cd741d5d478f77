"""What to remember of a pair (u, u') of inputs while it is built cell by cell.

The cells are put in an order, and every output belongs to the stage of the last cell it depends
on. Before and after a stage the outputs of later stages are *pending*. Two cells that were already
given values are alike for the pending outputs if swapping them permutes those outputs
(`symmetry`). Then the terms

    Σ over outputs o of a later stage of max(p_u(o) - e^eps_prv p_u'(o), 0)

do not change when u and u' are both permuted within a class of like cells: they are functions of

    joint counters      how often each step (u_i, u'_i) occurs in the class, or, where swaps leave
                        every pending output fixed, of the coarser
    marginal counters   how often each value occurs in u, and how often in u',

together with the values of the later cells. So pairs with equal counters can be treated as one.
Prefix programs (sparse vector) have marginal counters of one class; a program that treats all
cells alike (noisy max) has joint counters, and what is left are the orbits of pairs.

Swapping i, j <= t leaves the stage of an output alone if it is after t: its last cell is not
moved. So a swap that permutes the pending outputs permutes those of each later stage. Classes of
different stages need not be nested, because swaps are looked for, not known completely; it does
not matter: whatever pairs are treated as one, the rest of their sum is the same.

Which pair a state of the dynamic program stands for is found by following steps back (`Trace`): for
every stage it is known where the best sums of its states came from. What nobody asks for is not
followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, pairwise, product
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from dipapprox.data_classes import Record
from dipapprox.events.symmetry import CellSymmetry
from dipapprox.language.core import Cell, Input, Value
from dipapprox.pairs.selections import Pair
from dipapprox.pairs.walk import CellSteps, Integers, Walk

_LARGEST_CODE = 2**52
_MOST_ARGUMENTS = 1_000_000  # most probabilities of all outputs together; some seconds and 200 MB
Weights = dict[int, Integers]
"""For cells by position: what a value, or a pair of values, adds to a code."""


class Completed(Record):
    """An output whose probability is known after a stage."""

    output: int
    # Cells by position; how often each value occurs in each class is the *argument* of the
    # probability.
    classes: tuple[tuple[int, ...], ...]
    # Arrays (values of the cell,); their sum over the cells is the code of the input's argument.
    weights: Weights
    arguments: int  # how many there are

    def examples(self, cells: Sequence[Cell]) -> Iterator[tuple[int, Input]]:
        """Yield the code of every argument, with an input that has it.

        Cells on which the output does not depend have their first value.
        """
        choices = []  # for every argument of a class its part of the code, and values that have it
        for group in self.classes:
            domain, weights = cells[group[0]].domain, self.weights[group[0]].tolist()
            choices.append(
                [
                    (sum(map(weights.__getitem__, codes)), [domain[code] for code in codes])
                    for codes in combinations_with_replacement(range(len(domain)), len(group))
                ]
            )
        input: list[Value] = [cell.domain[0] for cell in cells]
        for choice in product(*choices):
            for group, (_, values) in zip(self.classes, choice, strict=True):
                for cell, value in zip(group, values, strict=True):
                    input[cell] = value
            yield sum(own for own, _ in choice), tuple(input)


class CounterStage(Record):
    cell: int
    steps: CellSteps
    completed: tuple[Completed, ...]  # the outputs of this stage
    # Arrays (values of u x values of u'), for this cell and those before it; pairs with equal sums
    # over the cells have equal counters after this stage.
    weights: Weights
    states: int  # at most this many different counters after this stage
    expansions: int  # at most this many pairs of counters before it and steps


class CounterPlan(Record):
    """The stages of all cells that some output depends on; the others change nothing."""

    stages: tuple[CounterStage, ...]
    radius: int | None

    @property
    def expansions(self) -> int:
        """At most this many expansions in all stages together."""
        return sum(stage.expansions for stage in self.stages)

    @property
    def arguments(self) -> int:
        return sum(each.arguments for stage in self.stages for each in stage.completed)


def plan_counters(
    symmetry: CellSymmetry, cells: Sequence[Cell], walk: Walk, most: int
) -> CounterPlan | None:
    """Order the cells and find the counters; None if a stage would need more than `most`
    expansions, or all too many probabilities, or counters are too large to encode."""
    order = _order(symmetry.relevant)
    place = {cell: k for k, cell in enumerate(order)}
    last = [max((place[c] for c in used), default=-1) for used in symmetry.relevant]
    stages: list[CounterStage] = []
    states = 1
    for k, cell in enumerate(order):
        pending = [o for o, stage in enumerate(last) if stage > k]
        used = {c for o in pending for c in symmetry.relevant[o]}
        groups = _groups(symmetry, [c for c in order[: k + 1] if c in used], pending)
        counters = _counters(groups, cells, walk, len(order)) or _counters(groups, cells, walk)
        expansions = states * len(walk.steps[cell])
        if counters is None or expansions > most:
            return None
        weights, bound = counters
        completed = _completed(symmetry, [o for o, stage in enumerate(last) if stage == k], cells)
        if completed is None:
            return None
        # Paid changes are part of the state: as joint counters determine them, the bound holds
        # for those; with marginal counters it may be exceeded, and the run is cut short.
        states = min(bound, expansions)
        stages.append(CounterStage(cell, walk.steps[cell], completed, weights, states, expansions))
    plan = CounterPlan(tuple(stages), walk.radius)
    return plan if plan.arguments <= _MOST_ARGUMENTS else None


def _order(relevant: Sequence[tuple[int, ...]]) -> list[int]:
    """Put first the cells of the outputs that need the fewest further cells."""
    waiting = {output: set(cells) for output, cells in enumerate(relevant) if cells}
    order: list[int] = []
    while waiting:
        output = min(waiting, key=lambda o: (len(waiting[o]), max(waiting[o])))
        new = sorted(waiting[output])
        order += new
        waiting = {o: left for o, cells in waiting.items() if (left := cells.difference(new))}
    return order


def _groups(
    symmetry: CellSymmetry, cells: Sequence[int], pending: Sequence[int]
) -> list[tuple[tuple[int, ...], bool]]:
    """Classes of like cells, and whether all swaps in them leave all pending outputs fixed."""
    groups = symmetry.groups(cells, lambda swap: all(map(swap.matched.__getitem__, pending)))
    swaps = [[symmetry.swap(*each) for each in pairwise(group)] for group in groups]
    return [
        (group, all(swap is not None and all(swap.fixed[o] for o in pending) for swap in own))
        for group, own in zip(groups, swaps, strict=True)
    ]


def _counters(
    groups: Sequence[tuple[tuple[int, ...], bool]],
    cells: Sequence[Cell],
    walk: Walk,
    most: int | None = None,
) -> tuple[Weights, int] | None:
    """Encode the counters of all classes in one number, and bound how many there are; None if codes
    are too large.

    Args:
        most: Classes have at most so many cells; with it the code of a cell seldom changes from
            one stage to the next. None: codes are as small as they can be.
    """
    weights: Weights = {}
    radix = 1
    states = 1
    for group, fixed in groups:
        size, values = len(group), len(cells[group[0]].domain)
        steps = walk.steps[group[0]]
        base = (most or size) + 1
        joint = comb(size + len(steps) - 1, size)
        marginal = comb(size + values - 1, size) ** 2
        table = np.zeros((values, values), dtype=np.int64)
        is_marginal = size > 1 and fixed and marginal < joint
        # One cell: the number of its step. More: how often each step occurs, but the last.
        span = len(steps) if size == 1 else base ** (len(steps) - 1)
        if is_marginal:
            span = base ** (2 * (values - 1))
        if radix * span > _LARGEST_CODE:
            return None
        if is_marginal:
            units = np.array([base**k * radix for k in range(values - 1)], dtype=np.int64)
            table[:-1, :] += units[:, None]
            table[:, :-1] += units[None, :] * base ** (values - 1)
        else:
            for k in range(len(steps)):
                unit = k if size == 1 else base**k if k < len(steps) - 1 else 0
                table[steps.first[k], steps.second[k]] = unit * radix
        states *= marginal if is_marginal else joint
        radix *= span
        weights.update(dict.fromkeys(group, table))
    return weights, states


def _completed(
    symmetry: CellSymmetry, outputs: Sequence[int], cells: Sequence[Cell]
) -> tuple[Completed, ...] | None:
    found = []
    for output in outputs:
        classes = symmetry.classes(output)
        sizes = [(len(group), len(cells[group[0]].domain)) for group in classes]
        if prod((size + 1) ** (values - 1) for size, values in sizes) > _LARGEST_CODE:
            return None
        weights: Weights = {}
        radix = 1
        for group, (size, values) in zip(classes, sizes, strict=True):
            units = [(size + 1) ** k * radix for k in range(values - 1)]
            weights.update(dict.fromkeys(group, np.array([*units, 0], dtype=np.int64)))
            radix *= (size + 1) ** (values - 1)
        arguments = prod(comb(size + values - 1, size) for size, values in sizes)
        found.append(Completed(output, classes, weights, arguments))
    return tuple(found)


Codes = NDArray[np.uint16]


class Origins(Record, eq=False):
    """For every state after a stage, the state before it and the step that was taken."""

    parent: NDArray[np.int32]
    step: Codes

    @classmethod
    def of(cls, parent: Integers, step: Integers) -> Origins:
        """Store them in little memory: states and steps are far fewer than the types can count."""
        return cls(parent.astype(np.int32), step.astype(np.uint16))


class Trace:
    """Some pair for each of so many states after a stage, by the origins of the stages so far."""

    def __init__(
        self, stages: Sequence[CounterStage], origins: tuple[Origins, ...], count: int
    ) -> None:
        self._stages = stages
        self._origins = origins
        self.count = count
        self._reached = len(origins)
        self._states: NDArray[np.int32] | None = None  # where the reached stage is; None: all
        self._codes: dict[int, tuple[Codes, Codes]] = {}

    def after(self, origins: Origins) -> Trace:
        return Trace(self._stages, (*self._origins, origins), len(origins.parent))

    def codes(self, place: int) -> tuple[Codes, Codes]:
        """Return codes of the values of u, and of u', in the cell of a stage."""
        while self._reached > place:
            self._reached -= 1
            origins, steps = self._origins[self._reached], self._stages[self._reached].steps
            step, parent = origins.step, origins.parent
            if self._states is not None:
                step, parent = step[self._states], parent[self._states]
            first, second = steps.first.astype(np.uint16), steps.second.astype(np.uint16)
            self._codes[self._reached] = first[step], second[step]
            self._states = parent
        return self._codes[place]

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
