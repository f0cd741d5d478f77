"""Inputs in; out, their final states as products of few distinct, numbered events.

For every input a catalogue names, state by state, the canonical events whose probabilities multiply
to the state's. What does not depend on the input is worked out once for each state (`shapes`); what
does is a column of small numbers over the inputs (`solving`), and only a combination of numbers
seen for the first time is made into an event.

As text, for messages, an event is the program's variables that it is about, with their lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from operator import itemgetter

import numpy as np

from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant
from dipapprox.events import mixtures
from dipapprox.events.canonical import CERTAIN, IMPOSSIBLE, Numbers, Solutions
from dipapprox.events.circuits import NOTHING
from dipapprox.events.columns import CellTable, Column, Inputs, combined, mapped
from dipapprox.events.event import Chosen, Connected, Mixture, count_samples
from dipapprox.events.instantiate import Instantiator, holds
from dipapprox.events.reduce import connected_samples
from dipapprox.events.solving import Batch, Row, Solver
from dipapprox.language.core import Input, Value
from dipapprox.linear.form import Symbol
from dipapprox.semantics.outcomes import ALWAYS
from dipapprox.semantics.state import FinalStates, InputCondition, guards_of

_SHOWN = 6  # most variables, and most outputs, in a message


def origin_text(states: FinalStates, number: int, event: Connected) -> str:
    """Say where in a program an event comes from.

    Args:
        number: The state that the event was first met in.
        event: Canonical: it has lost its names. Of the comparisons in the state those over as many
            samples are named; all if there are none or several.

    Returns:
        For example "the guards of lines 8 and 9 tie 'x' (line 5) and 2 draws of 'r' (line 7) where
        out = 1".
    """
    state = states.states[number]
    outputs = _list(
        [
            f"{cell.name} = {value}"
            for cell, value in zip(states.program.outputs, state.outputs, strict=True)
        ]
    )
    if isinstance(event, Chosen):
        return f"a choice where {outputs}"
    if isinstance(event, Mixture):
        forms = [each.guard.form for each in states.comparisons]
        lines = {line for form in forms for line in states.lines.of(form)}
        return f"{_guards(sorted(lines), 2)} many draws where {outputs}"
    forms = [guard.form for guard in guards_of(state.path)]
    parts = [samples for samples, _ in connected_samples(len(states.samples), forms)]
    alike = [samples for samples in parts if len(samples) == count_samples(event)]
    samples = alike[0] if len(alike) == 1 else sorted({s for part in parts for s in part})
    lines_of = states.lines.of
    draws = Counter((states.samples[k].label, states.samples[k].line) for k in samples)
    named = [_draws(label, line, count) for (label, line), count in draws.items()]
    tied = set(samples)
    lines = {n for form in forms if not tied.isdisjoint(form.samples()) for n in lines_of(form)}
    return f"{_guards(sorted(lines), len(samples))} {_list(named)} where {outputs}"


def _no_cell(place: int) -> int:
    raise BrokenInvariant(f"a diagram still asks for the input at place {place}")


def _list(items: list[str]) -> str:
    if len(items) > _SHOWN:
        items = [*items[:_SHOWN], f"{len(items) - _SHOWN} more"]
    *first, last = items or ["no output"]
    return f"{', '.join(first)} and {last}" if first else last


def _guards(lines: list[int], samples: int) -> str:
    place = f" of line{'s' if len(lines) > 1 else ''} {_list(list(map(str, lines)))}"
    return f"the guards{place if lines else ''} {'tie' if samples > 1 else 'bound'}"


def _draws(label: str, line: int | None, count: int) -> str:
    where = "" if line is None else f" (line {line})"
    return f"{count} draws of '{label}'{where}" if count > 1 else f"'{label}'{where}"


_REMEMBERED = 300_000
"""About how many combinations are remembered; then all are forgotten before the next batch."""

_VALUES = 2**20  # most values of cells, over all inputs, in a batch that several outputs share
Conditions = tuple[InputCondition, ...]
_NONE = 0  # the number of no conditions
_Group = tuple[Column | None, Batch, list[int], list[Row]]
"""Of states with equal conditions: the inputs that meet them, outputs and solutions so far."""


class StateColumns(Record, eq=False):
    """Final states with equal conditions over a batch of inputs."""

    outputs: Column  # for each state its index in `FinalStates.outputs`, ascending
    # Positions of those that admit the states, ascending; None for all of them.
    inputs: Column | None
    solutions: Column  # states × these inputs: indices into `Catalogue.solutions`, or IMPOSSIBLE


def rounds(columns: StateColumns) -> Iterator[Column]:
    """Yield positions of states, all of them together, those of one round of different outputs.

    The states of each output come in their order.
    """
    first = np.searchsorted(columns.outputs, columns.outputs)
    turn = np.arange(len(columns.outputs)) - first
    order = np.argsort(turn, kind="stable")
    yield from np.split(order, np.cumsum(np.bincount(turn))[:-1])


def by_input(columns: StateColumns) -> Iterator[tuple[int, Iterator[tuple[int, int]]]]:
    """Yield for each of the inputs its position, and (output, solution) of every state."""
    count = columns.solutions.shape[1]
    places = range(count) if columns.inputs is None else columns.inputs.tolist()
    outputs = columns.outputs.tolist()
    for place, column in zip(places, columns.solutions.T.tolist(), strict=True):
        yield place, zip(outputs, column, strict=True)


def _in_portions(
    outputs: Sequence[tuple[int, Sequence[Input]]], most: int
) -> Iterator[list[tuple[int, Sequence[Input]]]]:
    """Group outputs so that each group but those of one output has at most so many inputs."""
    group: list[tuple[int, Sequence[Input]]] = []
    size = 0
    for output, inputs in outputs:
        if group and size + len(inputs) > most:
            yield group
            group, size = [], 0
        group.append((output, inputs))
        size += len(inputs)
    if group:
        yield group


class Catalogue:
    """The distinct canonical events of a program at one eps, found batch by batch."""

    def __init__(self, states: FinalStates, eps: Fraction) -> None:
        self._states = states
        self._instantiator = Instantiator(states, eps)
        outputs = {id(each): k for k, each in enumerate(states.outputs)}
        self._states_of: list[list[int]] = [[] for _ in outputs]
        for number, state in enumerate(states.states):
            self._states_of[outputs[id(state.outputs)]].append(number)
        # Numbers stand for conditions, of which there may be one for each of many cells.
        numbers: dict[Conditions, int] = {(): _NONE}
        self._conditions_of = [
            numbers.setdefault(state.conditions, len(numbers)) for state in states.states
        ]
        self._begin()

    def _begin(self) -> None:
        self._solutions = Solutions()
        self._inputs = Inputs(self._states.program)
        self._solver = Solver(self._states, self._instantiator, self._inputs, self._solutions)
        self._mixtures: mixtures.Mixtures | None = None
        self._conditions: dict[int, CellTable] = {}
        self._origins: list[int] = []

    @property
    def events(self) -> Sequence[Connected]:
        """All events so far, canonical and distinct; grows until `forget` empties it."""
        return self._solutions.events

    @property
    def solutions(self) -> Sequence[Numbers | None]:
        """Conjunctions of independent `events`, by index; None: impossible. Grows likewise."""
        return self._solutions.all

    @property
    def states_per_output(self) -> tuple[int, ...]:
        return tuple(map(len, self._states_of))

    def forget(self) -> bool:
        """Begin anew if too much is remembered: then all numbers lose their meaning."""
        size = len(self._inputs) + len(self._solver) + len(self._solutions)
        size += 0 if self._mixtures is None else len(self._mixtures)
        if size > _REMEMBERED:
            self._begin()
        return size > _REMEMBERED

    def columns(
        self, inputs: Sequence[Input], outputs: Iterable[int] | None = None
    ) -> list[StateColumns]:
        """Solve the states for a batch of inputs, those of some outputs, ascending, or of all.

        For each input the states are disjoint and, if all outputs are asked for, their
        probabilities sum to 1. A state's probability is the product over its solution's events.
        """
        whole = self._batch(inputs)
        return self._solved(whole, range(len(self._states_of)) if outputs is None else outputs)

    def columns_of(
        self, outputs: Sequence[tuple[int, Sequence[Input]]]
    ) -> Iterator[list[StateColumns]]:
        """Yield for each of some outputs what `columns` returns for it and inputs of its own."""
        cells = max(1, len(self._states.program.inputs))
        for group in _in_portions(outputs, _VALUES // cells):
            inputs = [input for _, own in group for input in own]
            whole = self._batch(inputs)
            start = 0
            for output, own in group:
                places = np.arange(start, start + len(own))
                yield self._solved(whole.part(places), (output,))
                start += len(own)

    def _batch(self, inputs: Sequence[Input]) -> Batch:
        return Batch(self._inputs, self._inputs.block(inputs), self._solver.laws)

    def _solved(self, all_inputs: Batch, outputs: Iterable[int]) -> list[StateColumns]:
        states, has_choices = self._states.states, bool(self._states.choices)
        solve, events, origins = self._solver.solve, self._solutions.events, self._origins
        whole: _Group = (None, all_inputs, [], [])
        groups: dict[int, _Group] = {_NONE: whole}
        for output in outputs:
            for number in self._states_of[output]:
                told = self._conditions_of[number]
                group = groups.get(told)
                if group is None:
                    held = all_inputs.column(self._condition(told, states[number].conditions))
                    admitted = np.flatnonzero(held)
                    group = groups[told] = (admitted, all_inputs.part(admitted), [], [])
                _, batch, solved, rows = group
                if not batch.size:
                    continue
                if states[number].compared == ALWAYS:
                    row = solve(number, batch)
                else:
                    row = self._mixed(number, batch)
                factor = self._chosen(number, batch) if has_choices else None
                if factor is not None:
                    row = combined(np.asarray(row, np.int64), factor, self._solutions.joined)
                solved.append(output)
                rows.append(row)
                if len(events) > len(origins):
                    origins += [number] * (len(events) - len(origins))
        return [
            StateColumns(np.array(solved, np.int64), admitted, np.array(rows, np.int64))
            for admitted, _, solved, rows in groups.values()
            if solved
        ]

    def _mixed(self, number: int, batch: Batch) -> list[int]:
        """Solve a state that is told by comparisons."""
        if self._mixtures is None:
            parts = self._states, self._instantiator, self._solutions
            self._mixtures = mixtures.Mixtures(*parts)
        inputs = self._inputs.inputs(batch.block)
        return [self._mixtures.solution(number, input) for input in inputs]

    def where(self, event: int) -> str:
        """Say what an event is in the program: its variables, their lines, an output it leads
        to."""
        return origin_text(self._states, self._origins[event], self.events[event])

    def states(
        self, inputs: Sequence[Input], outputs: Iterable[int] | None = None
    ) -> list[list[tuple[int, Numbers]]]:
        """Return (index in `states.outputs`, indices in `events`) for every state of every input.

        The probability of the state is the product of those of the events (1 if there are none);
        states of probability 0 are left out.
        """
        found: list[list[tuple[int, Numbers]]] = [[] for _ in inputs]
        known = self._solutions.all
        columns = self.columns(inputs, outputs)
        for group in columns:
            for input, states in by_input(group):
                for output, number in states:
                    numbers = known[number]
                    if numbers is not None:
                        found[input].append((output, numbers))
        if len(columns) > 1:
            for each in found:
                each.sort(key=itemgetter(0))
        return found

    def _chosen(self, number: int, batch: Batch) -> Column | None:
        """The solution of what a state needs of choices, at every input; None for nothing."""
        chances = self._instantiator.chances
        diagrams, diagram = chances.diagrams, chances.sets[number]
        root = chances.root(number)
        if diagrams is None or root is not None:
            chosen = self._chosen_root(diagram if root is None else root)
            return None if chosen == CERTAIN else batch.constant(chosen)
        domains = [cell.domain for cell in self._states.program.inputs]

        def step(place: int, here: int, value: Value) -> int:
            return diagrams.step(here, place, domains[place].index(value))

        steps = [(place, partial(step, place)) for place in diagrams.cells(diagram)]
        ends = self._inputs.walked(diagram, steps, batch.block)
        return mapped(ends, lambda end: self._chosen_root(diagrams.at(end, _no_cell)))

    def _chosen_root(self, root: int) -> int:
        if root == NOTHING:
            return IMPOSSIBLE
        event = self._instantiator.chosen_root(root)
        return CERTAIN if event is None else self._solutions.alone(event)

    def _condition(self, number: int, conditions: Conditions) -> CellTable:
        """Tabulate whether all conditions, which have a number, hold."""
        table = self._conditions.get(number)
        if table is None:
            named = {c.cell for c in conditions if c.cell is not None}
            named.update(name for c in conditions if c.form is not None for name in c.form.inputs())
            names = tuple(sorted(named))

            def image(values: tuple[Value, ...]) -> int:
                cells = dict(zip(names, values, strict=True))
                numbers: dict[Symbol, Fraction] = {
                    name: value for name, value in cells.items() if isinstance(value, Fraction)
                }
                return int(all(holds(condition, cells, numbers) for condition in conditions))

            table = self._conditions[number] = self._inputs.table(names, image)
        return table
