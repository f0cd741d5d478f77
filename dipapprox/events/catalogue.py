"""Input rows in; out, their final states as products of few distinct, numbered events.

For every row a catalogue names, state by state, the canonical events whose probabilities multiply
to the state's. What does not depend on the row is worked out once for each state (`shapes`); what
does is a column of small numbers over the rows (`columns`), and only a combination of numbers seen
for the first time is made into an event.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from dipapprox.data_classes import dataclass
from dipapprox.events.columns import Column, combined
from dipapprox.events.event import Connected
from dipapprox.events.event_text import origin_text
from dipapprox.events.inputs import Inputs, Table
from dipapprox.events.instantiate import Instantiator, holds
from dipapprox.events.paths import StarReader
from dipapprox.events.shapes import Batch, Shape, Shapes
from dipapprox.events.solutions import Numbers, Solutions
from dipapprox.events.variables import Variables
from dipapprox.language.core import InputRow, Value
from dipapprox.semantics.linear import Symbol
from dipapprox.semantics.state import FinalStates, InputCondition

_REMEMBERED = 300_000
"""About how many combinations are remembered; then all are forgotten before the next batch."""

Conditions = tuple[InputCondition, ...]


@dataclass(frozen=True, slots=True, eq=False)
class StateColumn:
    """One final state over a batch of rows.

    Attributes:
        output: Index of the state's outputs in `FinalStates.outputs()`.
        rows: Positions of the rows that admit the state, ascending; None for all of them.
        solutions: For each of these rows an index into `Catalogue.solutions`, or IMPOSSIBLE.
    """

    output: int
    rows: Column | None
    solutions: Column


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
        self._shapes = Shapes(self._inputs, self._solutions, number, self._integers)
        self._chosen_of: list[int | None] = [None] * len(self._states.states)
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
        self, rows: Sequence[InputRow], outputs: Iterable[int] | None = None
    ) -> list[StateColumn]:
        """Solve the states for all rows.

        For each row the states are disjoint and, if all outputs are asked for, their
        probabilities sum to 1. A state's probability is the product over its solution's events.

        Args:
            rows: A batch; what is equal in many rows is worked out once.
            outputs: Whose states are wanted; None for all.
        """
        block = self._inputs.block(rows)
        batches: dict[Conditions, tuple[Column | None, Batch]] = {
            (): (None, Batch(block, self._variables.tables))
        }
        wanted = range(len(self._states_of)) if outputs is None else outputs
        found = []
        for output in wanted:
            for number in self._states_of[output]:
                conditions = self._states.states[number].conditions
                if conditions not in batches:
                    admitted = np.flatnonzero(self._condition(conditions).column(block))
                    batches[conditions] = admitted, Batch(block[admitted], self._variables.tables)
                where, batch = batches[conditions]
                if len(batch.block):
                    column = self._shapes.solve(self._shape(number), batch)
                    if self._states.states[number].choices:
                        chosen = batch.constant(self._chosen(number))
                        column = combined(column, chosen, self._solutions.joined)
                    found.append(StateColumn(output, where, column))
                    new = len(self.events) - len(self._origins)
                    self._origins += [number] * new
        return found

    def where(self, event: int) -> str:
        """Say what an event is in the program: its variables, their lines, an output it leads to.

        Args:
            event: Index in `events`.
        """
        return origin_text(self._states, self._origins[event], self.events[event])

    def states(
        self, rows: Sequence[InputRow], outputs: Iterable[int] | None = None
    ) -> list[list[tuple[int, Numbers]]]:
        """Return for every row (index in `states.outputs()`, indices in `events`) for every state.

        The probability of the state is the product of those of the events (1 if there are none);
        states of probability 0 are left out.

        Args:
            rows: A batch.
            outputs: Whose states are wanted; None for all.
        """
        found: list[list[tuple[int, Numbers]]] = [[] for _ in rows]
        for column in self.columns(rows, outputs):
            admitted = range(len(rows)) if column.rows is None else column.rows.tolist()
            for row, number in zip(admitted, column.solutions.tolist(), strict=True):
                numbers = self._solutions.all[number]
                if numbers is not None:
                    found[row].append((column.output, numbers))
        return found

    def row(self, row: InputRow) -> list[tuple[int, Numbers]]:
        """Return the states of one row."""
        return self.states((row,))[0]

    def _shape(self, number: int) -> Shape:
        shape = self._shape_of[number]
        if shape is None:
            shape = self._reader.star(self._states.states[number].path)
            if shape is None:
                shape = self._shapes.prepare(self._instantiator.outline(number))
            self._shape_of[number] = shape
        return shape

    def _chosen(self, number: int) -> int:
        """The solution of a state's choices."""
        found = self._chosen_of[number]
        if found is None:
            found = self._solutions.chosen(self._instantiator.chosen(number))
            self._chosen_of[number] = found
        return found

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
