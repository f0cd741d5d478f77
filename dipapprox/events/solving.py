"""Final states in; their events for all inputs of a batch out, column by column.

First a state is prepared for all inputs; it has one of three shapes. A star grows along its path
(`paths`). A state whose guards are the same for all inputs falls apart once and for all; only the
laws differ, and samples that may trade places are counted as multisets. Everything else is keyed by
its guards and laws, input by input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from dipapprox.data_classes import Record
from dipapprox.events import columns
from dipapprox.events.canonical import CERTAIN, IMPOSSIBLE, Solutions
from dipapprox.events.columns import Block, CellTable, Column, Inputs, Numbered, Pairs, Tallies
from dipapprox.events.instantiate import Instantiator, Outline, without_inputs
from dipapprox.events.paths import AnyStar, GroupStar, PathStar, SampleChange, Variables
from dipapprox.events.reduce import connected_samples
from dipapprox.language.core import Value
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.linear.half_spaces import irredundant
from dipapprox.semantics.state import FinalStates


class InputFreePart(Record):
    """A connected part of a state whose guards mention no input.

    A role is a group of variables that may trade places without changing the guards, which are over
    places among all of them, role by role. Parts with equal guards and sizes have equal numbers.
    """

    number: int
    roles: tuple[tuple[int, ...], ...]
    guards: tuple[LinearForm, ...]


class Fixed(Record):
    """A state whose guards mention no input; `parts` None: it is impossible."""

    parts: tuple[InputFreePart, ...] | None


class Varying(Record):
    """A state whose guards mention inputs: variables, and the guards as tables over inputs."""

    variables: tuple[int, ...]
    guards: tuple[CellTable, ...]


Shape = AnyStar | Fixed | Varying


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


Row = Column | list[int]
"""Solutions of one state, an entry for each input; a list if there are few inputs."""


class Batch:
    """Columns of some inputs, each computed when first needed, perhaps with those of a whole."""

    def __init__(
        self,
        inputs: Inputs,
        block: Block,
        laws: Sequence[CellTable],
        whole: tuple[Batch, Column] | None = None,
    ) -> None:
        self.inputs = inputs
        self.block = block
        self.size = len(block)
        self.is_small = len(block) <= columns.FEW
        self._rows: list[list[int]] = block.tolist() if self.is_small else []
        self._laws = laws
        self._whole = whole
        self._asked: dict[object, int] = {}
        self._known: dict[object, Column] = {}
        self._numbers: dict[int, list[int]] = {}
        self.few_leaves: dict[int, list[int]] = {}

    def part(self, places: Column) -> Batch:
        return Batch(self.inputs, self.block[places], self._laws, (self, places))

    def constant(self, number: int) -> Column:
        """The same number for every input."""
        return np.full(len(self.block), number, np.int64)

    def law(self, variable: int) -> Column:
        """The number of the variable's law at every input."""
        return self.find(variable, lambda batch: batch.column(batch._laws[variable]))

    def column(self, table: CellTable) -> Column:
        """The value of a function of some cells at every input."""
        return self.inputs.column(table, self.block)

    def laws(self, variable: int) -> list[int]:
        """The same as a list: few numbers are dealt with faster so."""
        found = self._numbers.get(variable)
        if found is None:
            table = self._laws[variable]
            if len(table.places) == 1:
                found = self.inputs.few(table, self._rows)
            else:
                found = self.column(table).tolist()
            self._numbers[variable] = found
        return found

    def find(self, key: object, make: Callable[[Batch], Column]) -> Column:
        """Return a column that is known, or make it: of the whole if many parts ask for it."""
        found = self.get(key, make)
        return self.keep(key, make(self)) if found is None else found

    def get(self, key: object, make: Callable[[Batch], Column]) -> Column | None:
        """Return a column if it is known, or worth making for the whole."""
        found = self._known.get(key)
        if found is None and self._whole is not None:
            whole, places = self._whole
            asked = whole._asked[key] = whole._asked.get(key, 0) + 1
            if key in whole._known or asked * _AT_ONCE > whole.size:
                found = self.keep(key, whole.find(key, make)[places])
        return found

    def keep(self, key: object, column: Column) -> Column:
        self._known[key] = column
        return column


_AT_ONCE = 2048  # so many numbers are dealt with in about the time that it takes to begin


class Solver:
    """Solves states for all inputs of a batch; each has a shape, made when it is first asked for.

    Like `Variables` it refers to nothing that refers to it. `laws` are the tables of these.
    """

    def __init__(
        self, states: FinalStates, instantiator: Instantiator, inputs: Inputs, solutions: Solutions
    ) -> None:
        self._states = states
        self._instantiator = instantiator
        self._inputs = inputs
        self._solutions = solutions
        self._variables = Variables(states.samples, instantiator.scales, inputs, solutions)
        self.laws = self._variables.tables
        self._shapes: list[Shape | None] = [None] * len(states.states)
        self._parts_alike: Numbered[object, None] = Numbered()
        # Guards that mention inputs, at inputs.
        self._forms: Numbered[LinearForm, LinearForm] = Numbered()
        self._tallies = Tallies(len(states.samples))
        self._sequences: Pairs = Numbered()
        self._known: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self._sequences.things) + len(self._known)

    def solve(self, number: int, batch: Batch) -> Row:
        shape = self._shapes[number]
        if shape is None:
            shape = self._variables.star(self._states.states[number].path)
            if shape is None:
                shape = self._prepared(self._instantiator.outline(number))
            self._shapes[number] = shape
        match shape:
            case PathStar() | GroupStar():
                return self._star(shape, batch)
            case Fixed():
                return self._fixed(shape, batch)
            case Varying():
                return self._varying(shape, batch)

    # --- shapes ---------------------------------------------------------------------------------

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
        names, forms = guard.inputs(), self._forms

        def image(values: tuple[Value, ...]) -> int:
            form = guard.at(dict(zip(names, columns.numeric(values), strict=True))).normalised()
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

    # --- solutions ------------------------------------------------------------------------------

    def _star(self, star: AnyStar, batch: Batch) -> Row:
        if batch.is_small:
            centres, leaves = batch.laws(star.centre_number), self._few_leaves(star, batch)
            known, solve = self._known, self._star_solution
            pairs = zip(centres, leaves, strict=True)
            return [known.get((-1 - law, tally)) or solve(law, tally) for law, tally in pairs]
        distinct, number = np.unique(self._leaves(star, batch), return_inverse=True)
        tallies: list[int] = distinct.tolist()
        return columns.combined(
            batch.law(star.centre_number),
            number,
            lambda centre, place: self._star_solution(centre, tallies[place]),
        )

    def _star_solution(self, centre: int, tally: int) -> int:
        key = -1 - centre, tally
        known = self._known.get(key)
        if known is None:
            leaves = self._tallies.content(tally)
            known = self._known[key] = self._solutions.star(centre, leaves)
        return known

    def _leaves(self, star: AnyStar, batch: Batch) -> Column:
        """The tally of the star's leaves."""
        if isinstance(star, GroupStar):
            own = self._units(star.centre_number, star.above, batch)
            return self._group(star, batch) - own
        before = batch.constant(0) if star.parent is None else self._kept(star.parent, batch)
        return before + self._units(star.leaf, star.above, batch)

    def _kept(self, star: AnyStar, batch: Batch) -> Column:
        """The same, kept for the stars that begin with this one."""
        waiting: list[PathStar] = []
        node = star
        while (tallies := batch.get(("leaves", id(node)), partial(self._kept, node))) is None:
            if isinstance(node, GroupStar) or node.parent is None:
                tallies = batch.keep(("leaves", id(node)), self._leaves(node, batch))
                break
            waiting.append(node)
            node = node.parent
        for node in reversed(waiting):
            tallies = tallies + self._units(node.leaf, node.above, batch)
            batch.keep(("leaves", id(node)), tallies)
        return tallies

    def _group(self, star: GroupStar, batch: Batch) -> Column:
        """The tally of the leaves of a group, the centre of the star among them."""

        def added(batch: Batch) -> Column:
            tallies = batch.constant(0)
            for number in star.group.numbers:
                tallies = tallies + self._units(number, star.above, batch)
            return tallies

        return batch.find(("group", id(star.group), star.above), added)

    def _units(self, variable: int, above: bool, batch: Batch) -> Column:
        """The tally of one leaf."""
        return self._tallies.units(batch.law(variable) * 2 + int(above))

    def _few_leaves(self, star: AnyStar, batch: Batch) -> list[int]:
        """The same for few inputs."""
        known, unit = batch.few_leaves, self._tallies.unit
        waiting = []
        node: AnyStar | None = star
        while isinstance(node, PathStar) and id(node) not in known:
            waiting.append(node)
            node = node.parent
        if node is None:
            tallies = [0] * len(batch.block)
        elif isinstance(node, PathStar):
            tallies = known[id(node)]
        else:
            own = [unit(2 * law + node.above) for law in batch.laws(node.centre_number)]
            whole: list[int] = self._group(node, batch).tolist()
            tallies = [tally - one for tally, one in zip(whole, own, strict=True)]
        for node in reversed(waiting):
            above, laws = node.above, batch.laws(node.leaf)
            tallies = [
                tally + unit(2 * law + above) for tally, law in zip(tallies, laws, strict=True)
            ]
            if node is not star:  # what others begin with is kept
                known[id(node)] = tallies
        return tallies

    def _fixed(self, shape: Fixed, batch: Batch) -> Column:
        if shape.parts is None:
            return batch.constant(IMPOSSIBLE)
        found = batch.constant(CERTAIN)
        for k, part in enumerate(shape.parts):
            own = self._part(part, batch)
            found = own if k == 0 else columns.combined(found, own, self._solutions.joined)
        return found

    def _part(self, part: InputFreePart, batch: Batch) -> Column:
        """Only the multiset of laws in each role counts."""
        key = batch.constant(0)
        for role in part.roles:
            key = self._with_any_order(key, [batch.law(variable) for variable in role])
        size = sum(map(len, part.roles))

        def solve(number: int) -> int:
            known = self._known.get((part.number, number))
            if known is None:
                known = self._solutions.event(self._sequence(number, size), part.guards)
                self._known[part.number, number] = known
            return known

        return columns.mapped(key, solve)

    def _varying(self, shape: Varying, batch: Batch) -> Column:
        """The key is the sequence of laws, and the multiset of guards."""
        count = len(shape.variables)
        key = batch.constant(count)
        for variable in shape.variables:
            key = columns.paired(self._sequences, key, batch.law(variable))
        key = self._with_any_order(key, [batch.column(guard) for guard in shape.guards])
        size = count + len(shape.guards)

        def solve(number: int) -> int:
            known = self._known.get((_VARYING + size, number))
            if known is None:
                sequence = self._sequence(number, size)
                forms = [self._forms.things[form] for form in sequence[count:]]
                known = self._solutions.event(sequence[:count], forms)
                self._known[_VARYING + size, number] = known
            return known

        return columns.mapped(key, solve)

    def _with_any_order(self, key: Column, added: Sequence[Column]) -> Column:
        """Append numbers to sequences, ascending: their order does not matter."""
        for column in np.sort(np.stack(added), axis=0) if added else ():
            key = columns.paired(self._sequences, key, column)
        return key

    def _sequence(self, number: int, length: int) -> list[int]:
        """Take pairs of pairs apart."""
        found = []
        for _ in range(length):
            number, last = self._sequences.things[number]
            found.append(last)
        return found[::-1]


_VARYING = 2**40  # above all numbers of parts, and those of centres are negative
