"""Inputs in; out, their final states as products of few distinct, numbered events.

For every input a catalogue names, state by state, the canonical events whose probabilities multiply
to the state's. What does not depend on the input is worked out once for each state (`shapes`); what
does is a column of small numbers over the inputs (`columns`), and only a combination of numbers
seen for the first time is made into an event.

Variables of events are samples after a change, numbered, with their laws as tables over inputs. As
text, for messages, an event is the program's variables that it is about, with their lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from operator import itemgetter

import numpy as np

from dipapprox.data_classes import dataclass, field
from dipapprox.distributions import MIRRORED, Distribution, Family
from dipapprox.events.columns import Column, Image, Inputs, Table, combined, numeric
from dipapprox.events.event import Chosen, Connected, count_samples
from dipapprox.events.instantiate import Instantiator, holds
from dipapprox.events.paths import Change, StarReader
from dipapprox.events.reduce import connected_samples
from dipapprox.events.shapes import Batch, Row, Shape, Shapes
from dipapprox.events.solutions import CERTAIN, Numbers, Solutions
from dipapprox.language.core import Input, Value
from dipapprox.semantics.linear import LinearForm, Symbol
from dipapprox.semantics.state import FinalStates, InputCondition, Sample, guards_of

_SHOWN = 6
"""Most variables, and most outputs, in a message."""


def origin_text(states: FinalStates, number: int, event: Connected) -> str:
    """Say where in a program an event comes from.

    Args:
        states: The final states.
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


class Variables:
    """Numbers changed samples, equal ones alike.

    It refers to nothing that refers to it: a thousand states are freed as soon as nobody needs
    them, and not when the garbage collector comes by.

    Args:
        samples: Of the final states.
        scales: Theirs, at one eps.
        inputs: Numbers the values of the input cells.
        solutions: Numbers laws.

    Attributes:
        tables: For each variable the numbers of its laws.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        scales: Sequence[Fraction],
        inputs: Inputs,
        solutions: Solutions,
    ) -> None:
        self._samples = samples
        self._scales = scales
        self._inputs = inputs
        self._solutions = solutions
        self._numbers: dict[Change | int, int] = {}
        self._kinds: dict[object, tuple[Image, dict[int, int]]] = {}
        self.tables: list[Table] = []

    def number(self, changed: Change | int) -> int:
        """Number a sample after a change or as it is, and tabulate its law over the inputs."""
        # Nearly all samples are unchanged, and a number is found at once.
        if isinstance(changed, Change) and changed.is_nothing:
            changed = changed.sample
        number = self._numbers.setdefault(changed, len(self.tables))
        if number == len(self.tables):
            self.tables.append(self._laws(changed))
        return number

    def _laws(self, changed: Change | int) -> Table:
        change = changed if isinstance(changed, Change) else None
        number = changed.sample if isinstance(changed, Change) else changed
        sample, scale = self._samples[number], self._scales[number]
        mean, family = sample.mean, sample.family
        if change is None and len(mean.terms) == 1:
            ((name, slope),) = mean.terms
            # By identity: samples and scales are kept alive, and fractions hash slowly.
            kind = family, id(slope), id(mean.constant), id(scale)
            found = self._kinds.get(kind)
            if found is None:
                found = self._kinds[kind] = self._law_of(family, mean, scale), {}
            return Table(self._inputs, (str(name),), *found)
        if change is not None:
            mean = mean.scaled(change.factor) + change.shift
            scale *= abs(change.factor)
            family = MIRRORED[family] if change.factor < 0 else family
        return Table(self._inputs, mean.inputs(), self._law_of(family, mean, scale))

    def _law_of(self, family: Family, mean: LinearForm, scale: Fraction) -> Image:
        """Number a law by the values of the cells that its mean is of."""
        slopes, constant = [slope for _, slope in mean.terms], mean.constant
        solutions = self._solutions

        def law(values: tuple[Value, ...]) -> int:
            numbers = zip(slopes, numeric(values), strict=True)
            value = sum([slope * number for slope, number in numbers], constant)
            return solutions.law(Distribution(family, value, scale))

        return law


_REMEMBERED = 300_000
"""About how many combinations are remembered; then all are forgotten before the next batch."""

_VALUES = 2**20
"""Most values of cells, over all inputs, in a batch that several outputs share."""

Conditions = tuple[InputCondition, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """States with equal conditions, one after the other, on their way to `StateColumns`."""

    inputs: Column | None
    batch: Batch
    outputs: list[int] = field(default_factory=list)
    solutions: list[Row] = field(default_factory=list)

    def columns(self) -> StateColumns:
        outputs, solutions = np.array(self.outputs, np.int64), np.array(self.solutions, np.int64)
        return StateColumns(outputs, self.inputs, solutions)


@dataclass(frozen=True, slots=True, eq=False)
class StateColumns:
    """Final states with equal conditions over a batch of inputs.

    Attributes:
        outputs: For each state the index of its outputs in `FinalStates.outputs()`, ascending.
        inputs: Positions of the inputs that admit the states, ascending; None for all of them.
        solutions: States × these inputs: indices into `Catalogue.solutions`, or IMPOSSIBLE.
    """

    outputs: Column
    inputs: Column | None
    solutions: Column

    def by_input(self) -> Iterator[tuple[int, Iterator[tuple[int, int]]]]:
        """Yield for each of the inputs its position, and (output, solution) of every state."""
        count = self.solutions.shape[1]
        places = range(count) if self.inputs is None else self.inputs.tolist()
        outputs = self.outputs.tolist()
        for place, column in zip(places, self.solutions.T.tolist(), strict=True):
            yield place, zip(outputs, column, strict=True)

    def rounds(self) -> Iterator[Column]:
        """Yield positions of states, all of them together, those of one round of different outputs.

        The states of each output come in their order.
        """
        first = np.searchsorted(self.outputs, self.outputs)
        turn = np.arange(len(self.outputs)) - first
        order = np.argsort(turn, kind="stable")
        yield from np.split(order, np.cumsum(np.bincount(turn))[:-1])


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
    """The distinct canonical events of a program at one eps, found batch by batch.

    Args:
        states: The final states, inputs symbolic.
        eps: The program's privacy parameter, exact and > 0.
    """

    def __init__(self, states: FinalStates, eps: Fraction) -> None:
        self._states = states
        self._integers = frozenset(
            k for k, sample in enumerate(states.samples) if sample.family.is_discrete
        )
        self._instantiator = Instantiator(states, eps)
        outputs = {id(each): k for k, each in enumerate(states.outputs())}
        self._states_of: list[list[int]] = [[] for _ in outputs]
        for number, state in enumerate(states.states):
            self._states_of[outputs[id(state.outputs)]].append(number)
        self._begin()

    def _begin(self) -> None:
        self._solutions = Solutions()
        self._inputs = Inputs(self._states.program)
        samples, scales = self._states.samples, self._instantiator.scales
        self._variables = Variables(samples, scales, self._inputs, self._solutions)
        self._reader = StarReader(self._variables.number, self._integers)
        number = self._variables.number
        self._shapes = Shapes(self._inputs, self._solutions, number, self._integers, len(samples))
        self._shape_of: list[Shape | None] = [None] * len(self._states.states)
        self._conditions: dict[Conditions, Table] = {}
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
        """How many final states have each output."""
        return tuple(map(len, self._states_of))

    def forget(self) -> bool:
        """Begin anew if too much is remembered: then all numbers lose their meaning."""
        size = len(self._inputs) + len(self._shapes) + len(self._solutions)
        if size > _REMEMBERED:
            self._begin()
        return size > _REMEMBERED

    def columns(
        self, inputs: Sequence[Input], outputs: Iterable[int] | None = None
    ) -> list[StateColumns]:
        """Solve the states for all inputs.

        For each input the states are disjoint and, if all outputs are asked for, their
        probabilities sum to 1. A state's probability is the product over its solution's events.

        Args:
            inputs: A batch; what is equal in many inputs is worked out once.
            outputs: Whose states are wanted, ascending; None for all.
        """
        whole = Batch(self._inputs.block(inputs), self._variables.tables)
        return self._solved(whole, range(len(self._states_of)) if outputs is None else outputs)

    def columns_of(
        self, outputs: Sequence[tuple[int, Sequence[Input]]]
    ) -> Iterator[list[StateColumns]]:
        """Solve the states of some outputs, each for inputs of its own.

        Args:
            outputs: The index of each output, and the inputs; what is equal is worked out once.

        Yields:
            For each of them what `columns` returns for this output and its inputs.
        """
        cells = max(1, len(self._states.program.inputs))
        for group in _in_portions(outputs, _VALUES // cells):
            inputs = [input for _, own in group for input in own]
            whole = Batch(self._inputs.block(inputs), self._variables.tables)
            start = 0
            for output, own in group:
                places = np.arange(start, start + len(own))
                yield self._solved(whole.part(places), (output,))
                start += len(own)

    def _solved(self, all_inputs: Batch, outputs: Iterable[int]) -> list[StateColumns]:
        whole = _Rows(None, all_inputs)
        groups: dict[Conditions, _Rows] = {(): whole}
        states, has_choices = self._states.states, bool(self._states.choices)
        shapes, solve, events = self._shape_of, self._shapes.solve, self._solutions.events
        origins = self._origins
        for output in outputs:
            for number in self._states_of[output]:
                conditions = states[number].conditions
                rows = groups.get(conditions) if conditions else whole
                if rows is None:
                    held = self._condition(conditions).column(all_inputs.block)
                    admitted = np.flatnonzero(held)
                    rows = groups[conditions] = _Rows(admitted, all_inputs.part(admitted))
                if not rows.batch.size:
                    continue
                row = solve(shapes[number] or self._shape(number), rows.batch)
                chosen = self._chosen(number) if has_choices else CERTAIN
                if chosen != CERTAIN:
                    factor = rows.batch.constant(chosen)
                    row = combined(np.asarray(row, np.int64), factor, self._solutions.joined)
                rows.outputs.append(output)
                rows.solutions.append(row)
                if len(events) > len(origins):
                    origins += [number] * (len(events) - len(origins))
        return [rows.columns() for rows in groups.values() if rows.outputs]

    def where(self, event: int) -> str:
        """Say what an event is in the program: its variables, their lines, an output it leads to.

        Args:
            event: Index in `events`.
        """
        return origin_text(self._states, self._origins[event], self.events[event])

    def states(
        self, inputs: Sequence[Input], outputs: Iterable[int] | None = None
    ) -> list[list[tuple[int, Numbers]]]:
        """Return (index in `states.outputs()`, indices in `events`) for every state of every input.

        The probability of the state is the product of those of the events (1 if there are none);
        states of probability 0 are left out.

        Args:
            inputs: A batch.
            outputs: Whose states are wanted; None for all.
        """
        found: list[list[tuple[int, Numbers]]] = [[] for _ in inputs]
        known = self._solutions.all
        columns = self.columns(inputs, outputs)
        for group in columns:
            for input, states in group.by_input():
                for output, number in states:
                    numbers = known[number]
                    if numbers is not None:
                        found[input].append((output, numbers))
        if len(columns) > 1:
            for each in found:
                each.sort(key=itemgetter(0))
        return found

    def for_input(self, input: Input) -> list[tuple[int, Numbers]]:
        """Return the states of one input."""
        return self.states((input,))[0]

    def _shape(self, number: int) -> Shape:
        shape = self._shape_of[number]
        if shape is None:
            shape = self._reader.star(self._states.states[number].path)
            if shape is None:
                shape = self._shapes.prepare(self._instantiator.outline(number))
            self._shape_of[number] = shape
        return shape

    def _chosen(self, number: int) -> int:
        """The solution of what a state needs of choices."""
        event = self._instantiator.chosen(number)
        return CERTAIN if event is None else self._solutions.chosen(event)

    def _condition(self, conditions: Conditions) -> Table:
        """Tabulate whether all conditions hold."""
        table = self._conditions.get(conditions)
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

            table = self._conditions[conditions] = Table(self._inputs, names, image)
        return table
