"""All input rows of a program over few distinct events: the bulk road from rows to probabilities.

For every row a catalogue names, state by state, the canonical events whose probabilities multiply
to the state's. What does not depend on the row (which guards are implied, how the event falls
apart, which samples may trade places) is worked out once for each state; a row then costs a few
look-ups with small integers as keys, and only a key seen for the first time is made into an event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dipapprox.distributions import Distribution
from dipapprox.events.canonical import canonical
from dipapprox.events.event import Event, Impossible
from dipapprox.events.instantiate import Instantiator, Outline, without_inputs
from dipapprox.events.reduce import connected_samples, irredundant, reduce
from dipapprox.language.core import InputRow, Value
from dipapprox.semantics.linear import LinearForm, Symbol
from dipapprox.semantics.state import FinalStates

_REMEMBERED = 200_000
"""Most keys that are remembered; then all are forgotten, and what is still needed comes back."""

Numbers = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """A connected part of a state whose guards mention no input.

    Attributes:
        roles: Groups of samples that may trade places without changing the guards. The event is
            over all of them, one group after the other.
    """

    number: int
    roles: tuple[tuple[int, ...], ...]
    guards: tuple[LinearForm, ...]  # over positions in the concatenation of `roles`


class _Table:
    """A form over input cells, tabulated: the code of its value at each row."""

    def __init__(self, form: LinearForm, cells: dict[str, int]) -> None:
        self.form = form
        self.names = form.inputs()
        self.places = tuple(cells[name] for name in self.names)
        self.codes: dict[tuple[Value, ...], int] = {}

    def substituted(self, values: Sequence[Value]) -> LinearForm:
        """The form with the cells replaced by numbers."""
        numbers: dict[Symbol, Fraction] = {}
        for name, value in zip(self.names, values, strict=True):
            assert isinstance(value, Fraction), "arithmetic on a named value reached the events"
            numbers[name] = value
        return self.form.at(numbers)


class Catalogue:
    """The distinct canonical events of a program at one epsilon, found row by row.

    Attributes:
        events: Canonical connected events; rows refer to them by index. Grows, never changes.
    """

    def __init__(self, states: FinalStates, epsilon: Fraction) -> None:
        self.events: list[Event] = []
        self._instantiator = Instantiator(states, epsilon)
        self._numbers: dict[Event, int] = {}
        self._known: dict[object, Numbers | None] = {}
        self._samples = states.samples
        self._scales = tuple(sample.scale.at(epsilon) for sample in states.samples)
        self._cells = {cell.name: k for k, cell in enumerate(states.program.inputs)}
        self._variables: dict[tuple[int, LinearForm], int] = {}
        self._tables: list[tuple[int, _Table]] = []
        self._laws: dict[Distribution, int] = {}
        self._law_list: list[Distribution] = []
        self._forms: dict[LinearForm, int] = {}
        self._form_list: list[LinearForm] = []
        self._shapes: dict[object, int] = {}
        self._fixed: dict[int, tuple[_Part, ...] | None] = {}
        self._varying: dict[int, tuple[tuple[int, ...], tuple[_Table, ...]]] = {}
        for outline in self._instantiator.outlines:
            self._prepare(outline)

    def row(self, row: InputRow) -> Iterator[tuple[int, Numbers]]:
        """Yield (index in `states.outputs()`, indices in `events`) for every possible state.

        The probability of the state is the product of those of the events (1 if there are none);
        states of probability 0 are left out.
        """
        laws = self._law_codes(row)
        numbers = self._instantiator.numbers(row)
        for outline in self._instantiator.admitted(row, numbers):
            if id(outline) in self._fixed:
                found = self._constant(self._fixed[id(outline)], laws)
            else:
                found = self._general(*self._varying[id(outline)], row, laws)
            if found is not None:
                yield outline.output, found

    def _prepare(self, outline: Outline) -> None:
        """Do for a state what need not be done for every row."""
        freed = without_inputs(len(outline.samples), outline.guards)
        shifts, guards = ({}, outline.guards) if freed is None else freed
        nothing = LinearForm.constant_form(0)
        variables = tuple(
            self._variable(sample, self._samples[sample].mean + shifts.get(k, nothing))
            for k, sample in enumerate(outline.samples)
        )
        if freed is None:
            tables = tuple(_Table(guard, self._cells) for guard in guards)
            self._varying[id(outline)] = variables, tables
        else:
            self._fixed[id(outline)] = self._parts(variables, guards)

    def _variable(self, sample: int, mean: LinearForm) -> int:
        """Number a sample whose mean may have taken up inputs from the guards."""
        number = self._variables.setdefault((sample, mean), len(self._tables))
        if number == len(self._tables):
            self._tables.append((sample, _Table(mean, self._cells)))
        return number

    def _constant(self, parts: tuple[_Part, ...] | None, laws: Sequence[int]) -> Numbers | None:
        """A state whose guards are the same for all rows: only the laws differ."""
        if parts is None:
            return None
        found: list[int] = []
        for part in parts:
            roles = [sorted([laws[sample] for sample in role]) for role in part.roles]
            codes = tuple([code for role in roles for code in role])
            numbers = self._solved((part.number, codes), codes, part.guards)
            if numbers is None:
                return None
            found += numbers
        return tuple(found)

    def _general(
        self,
        variables: tuple[int, ...],
        tables: tuple[_Table, ...],
        row: InputRow,
        laws: Sequence[int],
    ) -> Numbers | None:
        """A state whose guards mention inputs: the key is the set of guards and the laws."""
        guards = []
        for table in tables:
            values = tuple([row[place] for place in table.places])
            code = table.codes.get(values)
            if code is None:
                form = table.substituted(values).normalised()
                code = self._forms.setdefault(form, len(self._form_list))
                if code == len(self._form_list):
                    self._form_list.append(form)
                table.codes[values] = code
            guards.append(code)
        codes = tuple([laws[variable] for variable in variables])
        chosen = frozenset(guards)
        return self._solved((chosen, codes), codes, [self._form_list[g] for g in sorted(chosen)])

    def _solved(
        self, key: object, codes: Sequence[int], guards: Sequence[LinearForm]
    ) -> Numbers | None:
        """Look an event up by its cheap key, or work it out."""
        if key not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = self._solve(codes, guards)
        return self._known[key]

    def _solve(self, codes: Sequence[int], guards: Sequence[LinearForm]) -> Numbers | None:
        """Reduce an event and number its factors; None if it is impossible."""
        event = Event(tuple(self._law_list[code] for code in codes), tuple(guards))
        reduced = reduce(event)
        if isinstance(reduced, Impossible):
            return None
        numbers = []
        for factor in map(canonical, reduced.factors):
            number = self._numbers.setdefault(factor, len(self.events))
            if number == len(self.events):
                self.events.append(factor)
            numbers.append(number)
        return tuple(numbers)

    def _law_codes(self, row: InputRow) -> list[int]:
        """Return a small number for each variable's law; equal laws have equal numbers."""
        codes = []
        for sample, table in self._tables:
            values = tuple([row[place] for place in table.places])
            code = table.codes.get(values)
            if code is None:
                mean = table.substituted(values).constant
                law = Distribution(self._samples[sample].family, mean, self._scales[sample])
                code = self._laws.setdefault(law, len(self._law_list))
                if code == len(self._law_list):
                    self._law_list.append(law)
                table.codes[values] = code
            codes.append(code)
        return codes

    def _parts(
        self, variables: Sequence[int], forms: Sequence[LinearForm]
    ) -> tuple[_Part, ...] | None:
        """Take a state apart once and for all; None if its guards cannot hold together."""
        guards = irredundant(forms)
        if guards is None:
            return None
        parts = []
        for samples, own in connected_samples(len(variables), guards):
            roles = _roles(samples, own)
            place: dict[Symbol, Symbol] = {
                sample: k for k, sample in enumerate(s for role in roles for s in role)
            }
            here = tuple(guard.renamed(place.__getitem__) for guard in own)
            shape = (tuple(map(len, roles)), frozenset(here))
            number = self._shapes.setdefault(shape, len(self._shapes))
            globally = tuple(tuple(variables[s] for s in role) for role in roles)
            parts.append(_Part(number, globally, here))
        return tuple(parts)


def _roles(samples: Sequence[int], guards: Sequence[LinearForm]) -> tuple[tuple[int, ...], ...]:
    """Group the samples that occur in the same guards up to their own name.

    Exchanging two samples of a group maps the set of guards to itself: each guard with one of
    them has a counterpart with the other, and none has both (it would name the other).
    """
    contexts: dict[int, set[LinearForm]] = {sample: set() for sample in samples}
    for guard in guards:
        for sample in guard.samples():
            terms = {-1 if s == sample else s: c for s, c in guard.terms}
            contexts[sample].add(LinearForm.of(terms, guard.constant))
    groups: dict[frozenset[LinearForm], list[int]] = {}
    for sample, context in contexts.items():
        groups.setdefault(frozenset(context), []).append(sample)
    return tuple(sorted(tuple(group) for group in groups.values()))
