"""Final states in, prepared for all inputs, out: stars, states that fall apart, and others.

Three shapes. A star grows along its path (`paths`). A state whose guards are the same for all
inputs falls apart once and for all; only the laws differ, and samples that may trade places are
counted as multisets. Everything else is keyed by its guards and laws, input by input.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.events.columns import CellTable, Inputs, Numbered, numeric
from dipapprox.events.instantiate import Instantiator, Outline, without_inputs
from dipapprox.events.paths import AnyStar, SampleChange, Variables
from dipapprox.events.reduce import connected_samples
from dipapprox.events.solutions import Solutions
from dipapprox.language.core import Value
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.linear.half_spaces import irredundant
from dipapprox.semantics.state import FinalStates


@dataclass(frozen=True, slots=True)
class InputFreePart:
    """A connected part of a state whose guards mention no input.

    A role is a group of variables that may trade places without changing the guards, which are over
    places among all of them, role by role. Parts with equal guards and sizes have equal numbers.
    """

    number: int
    roles: tuple[tuple[int, ...], ...]
    guards: tuple[LinearForm, ...]


@dataclass(frozen=True, slots=True)
class Fixed:
    """A state whose guards mention no input; `parts` None: it is impossible."""

    parts: tuple[InputFreePart, ...] | None


@dataclass(frozen=True, slots=True)
class Varying:
    """A state whose guards mention inputs: variables, and the guards as tables over inputs."""

    variables: tuple[int, ...]
    guards: tuple[CellTable, ...]


Shape = AnyStar | Fixed | Varying


class Shapes:
    """The shapes of final states, each made when it is first asked for.

    Like `Variables` it refers to nothing that refers to it. It keeps the tables of laws, and
    numbers the guards that mention inputs, at inputs.
    """

    def __init__(
        self, states: FinalStates, instantiator: Instantiator, inputs: Inputs, solutions: Solutions
    ) -> None:
        self._states = states
        self._instantiator = instantiator
        self._inputs = inputs
        self._variables = Variables(states.samples, instantiator.scales, inputs, solutions)
        self._found: list[Shape | None] = [None] * len(states.states)
        self._parts_alike: Numbered[object, None] = Numbered()
        self.laws = self._variables.tables
        self.forms: Numbered[LinearForm, LinearForm] = Numbered()

    def shape(self, number: int) -> Shape:
        """Return the shape of a state: do what need not be done for every input."""
        found = self._found[number]
        if found is None:
            found = self._variables.star(self._states.states[number].path)
            if found is None:
                found = self._prepared(self._instantiator.outline(number))
            self._found[number] = found
        return found

    def _prepared(self, outline: Outline) -> Fixed | Varying:
        freed = without_inputs(len(outline.samples), outline.guards)
        if (
            freed is not None
            and freed[0]
            and not self._variables.integers.isdisjoint(outline.samples)
        ):
            freed = None  # an integer sample can only take integers, at every input
        shifts, guards = ({}, outline.guards) if freed is None else freed
        nothing = LinearForm.constant_form(0)
        variables = tuple(
            self._variables.number(SampleChange(sample, Fraction(1), shifts.get(k, nothing)))
            for k, sample in enumerate(outline.samples)
        )
        if freed is None:
            return Varying(variables, tuple(self._guard_table(guard) for guard in guards))
        return Fixed(self._parts(variables, guards))

    def _guard_table(self, guard: LinearForm) -> CellTable:
        names, forms = guard.inputs(), self.forms

        def image(values: tuple[Value, ...]) -> int:
            form = guard.at(dict(zip(names, numeric(values), strict=True))).normalised()
            return forms.number(form, form)

        return self._inputs.table(names, image)

    def _parts(
        self, variables: Sequence[int], forms: Sequence[LinearForm]
    ) -> tuple[InputFreePart, ...] | None:
        """Take a state apart; None if its guards cannot hold together."""
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
            number = self._parts_alike.number(shape, None)
            globally = tuple(tuple(variables[s] for s in role) for role in roles)
            parts.append(InputFreePart(number, globally, here))
        return tuple(parts)


def _roles(samples: Sequence[int], guards: Sequence[LinearForm]) -> tuple[tuple[int, ...], ...]:
    """Group the samples that occur in the same guards up to their own name.

    Exchanging two samples of a group maps the set of guards to itself: each guard with one of
    them has a counterpart with the other, and none has both (it would name the other).
    """
    forms = [
        ([(s, *c.as_integer_ratio()) for s, c in guard.terms], guard.constant.as_integer_ratio())
        for guard in guards
    ]
    # Samples of a group are in as many guards of each length: most differ in this already.
    lengths: dict[int, list[int]] = {sample: [] for sample in samples}
    for terms, _ in forms:
        for sample, _, _ in terms:
            lengths[int(sample)].append(len(terms))
    alike: dict[tuple[int, ...], list[int]] = {}
    for sample, found in lengths.items():
        alike.setdefault(tuple(sorted(found)), []).append(sample)
    contexts: dict[int, set[object]] = {
        sample: set() for group in alike.values() if len(group) > 1 for sample in group
    }
    for terms, constant in forms:
        for place, (sample, *own) in enumerate(terms):
            if sample in contexts:
                others = *terms[:place], *terms[place + 1 :]
                contexts[int(sample)].add((*own, others, constant))
    groups: dict[object, list[int]] = {}
    for sample in samples:
        context = contexts.get(sample)
        groups.setdefault(sample if context is None else frozenset(context), []).append(sample)
    return tuple(sorted(tuple(group) for group in groups.values()))
