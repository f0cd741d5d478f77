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
from dipapprox.events.instantiate import Instantiator, Outline
from dipapprox.events.reduce import connected_samples, irredundant, reduce
from dipapprox.language.core import InputRow, Value
from dipapprox.semantics.linear import LinearForm, Symbol
from dipapprox.semantics.state import FinalStates

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
        self._laws: dict[Distribution, int] = {}
        self._law_list: list[Distribution] = []
        self._forms: dict[LinearForm, int] = {}
        self._form_list: list[LinearForm] = []
        self._shapes: dict[object, int] = {}
        cells = {cell.name: k for k, cell in enumerate(states.program.inputs)}
        self._means = tuple(_Table(sample.mean, cells) for sample in states.samples)
        outlines = self._instantiator.outlines
        self._fixed = {id(o): self._parts(o) for o in outlines if not o.varying}
        self._guards = {
            id(o): tuple(_Table(g, cells) for g in o.guards) for o in outlines if o.varying
        }

    def row(self, row: InputRow) -> Iterator[tuple[int, Numbers]]:
        """Yield (index in `states.outputs()`, indices in `events`) for every possible state.

        The probability of the state is the product of those of the events (1 if there are none);
        states of probability 0 are left out.
        """
        numbers = self._instantiator.numbers(row)
        laws = self._law_codes(row)
        for outline in self._instantiator.admitted(row, numbers):
            found = (
                self._varying(outline, row, laws)
                if outline.varying
                else self._constant(self._fixed[id(outline)], laws)
            )
            if found is not None:
                yield outline.output, found

    def _constant(self, parts: tuple[_Part, ...] | None, laws: Sequence[int]) -> Numbers | None:
        """A state whose guards are the same for all rows: only the laws differ."""
        if parts is None:
            return None
        found: list[int] = []
        for part in parts:
            roles = [sorted([laws[sample] for sample in role]) for role in part.roles]
            codes = tuple([code for role in roles for code in role])
            key = (part.number, codes)
            if key not in self._known:
                self._known[key] = self._solve(codes, part.guards)
            numbers = self._known[key]
            if numbers is None:
                return None
            found += numbers
        return tuple(found)

    def _varying(self, outline: Outline, row: InputRow, laws: Sequence[int]) -> Numbers | None:
        """A state whose guards mention inputs: the key is the set of guards and the laws."""
        guards = []
        for table in self._guards[id(outline)]:
            values = tuple([row[place] for place in table.places])
            code = table.codes.get(values)
            if code is None:
                form = table.substituted(values).normalised()
                code = self._forms.setdefault(form, len(self._form_list))
                if code == len(self._form_list):
                    self._form_list.append(form)
                table.codes[values] = code
            guards.append(code)
        codes = tuple([laws[sample] for sample in outline.samples])
        key = (frozenset(guards), codes)
        if key not in self._known:
            self._known[key] = self._solve(codes, [self._form_list[g] for g in sorted(key[0])])
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
        """Return a small number for each sample's law; equal laws have equal numbers."""
        codes = []
        for sample, table in enumerate(self._means):
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

    def _parts(self, outline: Outline) -> tuple[_Part, ...] | None:
        """Take a state apart once and for all; None if its guards cannot hold together."""
        guards = irredundant(outline.guards)
        if guards is None:
            return None
        parts = []
        for samples, forms in connected_samples(len(outline.samples), guards):
            roles = _roles(samples, forms)
            place: dict[Symbol, Symbol] = {
                sample: k for k, sample in enumerate(s for role in roles for s in role)
            }
            here = tuple(guard.renamed(place.__getitem__) for guard in forms)
            shape = (tuple(map(len, roles)), frozenset(here))
            number = self._shapes.setdefault(shape, len(self._shapes))
            globally = tuple(tuple(outline.samples[s] for s in role) for role in roles)
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
