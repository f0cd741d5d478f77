"""Final states in, their events for all inputs out: prepared once, solved column by column.

Three shapes. A star grows along its path (`paths`). A state whose guards are the same for all
inputs falls apart once and for all; only the laws differ, and samples that may trade places are
counted as multisets. Everything else is keyed by its guards and laws, input by input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from fractions import Fraction

import numpy as np

from dipapprox.data_classes import dataclass
from dipapprox.events.columns import FEW, Bags, Column, Pairs, combined, mapped
from dipapprox.events.inputs import Block, Inputs, Table, numeric
from dipapprox.events.instantiate import Outline, without_inputs
from dipapprox.events.paths import AnyStar, Change, GroupStar, PathStar
from dipapprox.events.reduce import connected_samples, irredundant
from dipapprox.events.solutions import CERTAIN, IMPOSSIBLE, Solutions
from dipapprox.language.core import Value
from dipapprox.semantics.linear import LinearForm, Symbol


@dataclass(frozen=True, slots=True)
class Part:
    """A connected part of a state whose guards mention no input.

    Attributes:
        number: Equal for parts with equal guards and roles of equal sizes.
        roles: Groups of variables that may trade places without changing the guards. The event is
            over all of them, one group after the other.
        guards: Over positions in the concatenation of `roles`.
    """

    number: int
    roles: tuple[tuple[int, ...], ...]
    guards: tuple[LinearForm, ...]


@dataclass(frozen=True, slots=True)
class Fixed:
    """A state whose guards mention no input; `parts` None: it is impossible."""

    parts: tuple[Part, ...] | None


@dataclass(frozen=True, slots=True)
class Varying:
    """A state whose guards mention inputs: variables, and the guards as tables over inputs."""

    variables: tuple[int, ...]
    guards: tuple[Table, ...]


Shape = AnyStar | Fixed | Varying

Row = Column | list[int]
"""Solutions of one state, an entry for each input; a list if there are few inputs."""


class Batch:
    """Columns of one batch of inputs, each computed when first needed.

    Args:
        block: The inputs.
        tables: The laws of the variables.
    """

    def __init__(self, block: Block, tables: Sequence[Table]) -> None:
        self.block = block
        self.size = len(block)
        self.is_small = len(block) <= FEW
        self._inputs: list[list[int]] = block.tolist() if self.is_small else []
        self._tables = tables
        self._laws: dict[int, Column] = {}
        self._numbers: dict[int, list[int]] = {}
        self.leaves: dict[int, Column] = {}
        self.groups: dict[tuple[int, bool], Column] = {}
        self.few_leaves: dict[int, list[int]] = {}

    def constant(self, number: int) -> Column:
        """The same number for every input."""
        return np.full(len(self.block), number, np.int64)

    def law(self, variable: int) -> Column:
        """The number of the variable's law at every input."""
        found = self._laws.get(variable)
        if found is None:
            found = self._laws[variable] = self._tables[variable].column(self.block)
        return found

    def laws(self, variable: int) -> list[int]:
        """The same as a list: few numbers are dealt with faster so."""
        found = self._numbers.get(variable)
        if found is None:
            found = self._tables[variable].numbers(self.block, self._inputs)
            self._numbers[variable] = found
        return found


class Shapes:
    """Makes shapes of states and solves them.

    Args:
        inputs: Numbers the values of the input cells.
        solutions: Numbers laws, events, solutions.
        variable: Numbers changed samples; `Batch.law` knows the numbers.
        integers: The samples that are integers.
    """

    def __init__(
        self,
        inputs: Inputs,
        solutions: Solutions,
        variable: Callable[[Change], int],
        integers: Set[int],
    ) -> None:
        self._inputs = inputs
        self._solutions = solutions
        self._variable = variable
        self._integers = integers
        self._bags, self._pairs = Bags(), Pairs()
        self._part_numbers: dict[object, int] = {}
        self._forms: list[LinearForm] = []
        self._form_numbers: dict[LinearForm, int] = {}
        self._known: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self._bags) + len(self._pairs) + len(self._known)

    # --- preparation --------------------------------------------------------------------------

    def prepare(self, outline: Outline) -> Fixed | Varying:
        """Do for a state what need not be done for every input."""
        freed = without_inputs(len(outline.samples), outline.guards)
        if freed is not None and freed[0] and not self._integers.isdisjoint(outline.samples):
            freed = None  # an integer sample can only take integers, at every input
        shifts, guards = ({}, outline.guards) if freed is None else freed
        nothing = LinearForm.constant_form(0)
        variables = tuple(
            self._variable(Change(sample, Fraction(1), shifts.get(k, nothing)))
            for k, sample in enumerate(outline.samples)
        )
        if freed is None:
            return Varying(variables, tuple(self._guard_table(guard) for guard in guards))
        return Fixed(self._parts(variables, guards))

    def _guard_table(self, guard: LinearForm) -> Table:
        names = guard.inputs()

        def image(values: tuple[Value, ...]) -> int:
            form = guard.at(dict(zip(names, numeric(values), strict=True))).normalised()
            number = self._form_numbers.setdefault(form, len(self._forms))
            if number == len(self._forms):
                self._forms.append(form)
            return number

        return Table(self._inputs, names, image)

    def _parts(
        self, variables: Sequence[int], forms: Sequence[LinearForm]
    ) -> tuple[Part, ...] | None:
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
            number = self._part_numbers.setdefault(shape, len(self._part_numbers))
            globally = tuple(tuple(variables[s] for s in role) for role in roles)
            parts.append(Part(number, globally, here))
        return tuple(parts)

    # --- solution -----------------------------------------------------------------------------

    def solve(self, shape: Shape, batch: Batch) -> Row:
        """Return the state's solution for every input of the batch."""
        match shape:
            case PathStar():
                return self._star(shape, batch)
            case GroupStar():
                return self._star(shape, batch)
            case Fixed():
                return self._fixed(shape, batch)
            case Varying():
                return self._varying(shape, batch)

    def _star(self, star: AnyStar, batch: Batch) -> Row:
        if batch.is_small:
            centres, leaves = batch.laws(star.centre_number), self._few_leaves(star, batch)
            known, solve = self._known, self._star_solution
            pairs = zip(centres, leaves, strict=True)
            return [known.get((-1 - law, bag)) or solve(law, bag) for law, bag in pairs]
        return combined(
            batch.law(star.centre_number), self._leaves(star, batch), self._star_solution
        )

    def _star_solution(self, centre: int, bag: int) -> int:
        key = -1 - centre, bag
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._solutions.star(centre, self._bags.contents[bag])
        return known

    def _leaves(self, star: AnyStar, batch: Batch) -> Column:
        """The multiset of the star's leaves, from that of the nearest known ancestor."""
        waiting = []
        node: AnyStar | None = star
        while isinstance(node, PathStar) and id(node) not in batch.leaves:
            waiting.append(node)
            node = node.parent
        match node:
            case None:
                bags = batch.constant(0)
            case PathStar():
                bags = batch.leaves[id(node)]
            case GroupStar():
                centre = batch.law(node.centre_number) * 2 + int(node.above)
                bags = self._bags.remove(self._whole(node, batch), centre)
        for node in reversed(waiting):
            entries = batch.law(node.leaf) * 2 + int(node.above)
            bags = self._bags.add(bags, entries)
            if node is not star:  # what others begin with is kept
                batch.leaves[id(node)] = bags
        return bags

    def _whole(self, star: GroupStar, batch: Batch) -> Column:
        """The multiset of the leaves of a group, the centre of the star among them."""
        key = id(star.group), star.above
        bags = batch.groups.get(key)
        if bags is None:
            bags = batch.constant(0)
            for number in star.group.numbers:
                bags = self._bags.add(bags, batch.law(number) * 2 + int(star.above))
            batch.groups[key] = bags
        return bags

    def _few_leaves(self, star: AnyStar, batch: Batch) -> list[int]:
        """The same for few inputs."""
        known = batch.few_leaves
        waiting = []
        node: AnyStar | None = star
        while isinstance(node, PathStar) and id(node) not in known:
            waiting.append(node)
            node = node.parent
        if node is None:
            bags = [0] * len(batch.block)
        elif isinstance(node, PathStar):
            bags = known[id(node)]
        else:
            own = [2 * law + node.above for law in batch.laws(node.centre_number)]
            whole = self._whole(node, batch).tolist()
            bags = [self._bags.without(*pair) for pair in zip(whole, own, strict=True)]
        sums, add = self._bags.sums, self._bags.sum
        for node in reversed(waiting):
            above = node.above
            pairs = zip(bags, [2 * law + above for law in batch.laws(node.leaf)], strict=True)
            bags = [sums.get(pair) or add(*pair) for pair in pairs]
            if node is not star:  # what others begin with is kept
                known[id(node)] = bags
        return bags

    def _fixed(self, shape: Fixed, batch: Batch) -> Column:
        if shape.parts is None:
            return batch.constant(IMPOSSIBLE)
        found = batch.constant(CERTAIN)
        for k, part in enumerate(shape.parts):
            own = self._part(part, batch)
            found = own if k == 0 else combined(found, own, self._solutions.joined)
        return found

    def _part(self, part: Part, batch: Batch) -> Column:
        """Only the multiset of laws in each role counts."""
        key = batch.constant(0)
        for role in part.roles:
            bags = batch.constant(0)
            for variable in role:
                bags = self._bags.add(bags, batch.law(variable))
            key = self._pairs.columns(key, bags)

        def solve(number: int) -> int:
            known = self._known.get((part.number, number))
            if known is None:
                bags = self._sequence(number, len(part.roles))
                contents = (self._bags.contents[bag] for bag in bags)
                laws = [law for bag in contents for law, count in bag for _ in range(count)]
                known = self._solutions.event(laws, part.guards)
                self._known[part.number, number] = known
            return known

        return mapped(key, solve)

    def _varying(self, shape: Varying, batch: Batch) -> Column:
        """The key is the set of guards and the sequence of laws."""
        guards = batch.constant(0)
        for table in shape.guards:
            guards = self._bags.add(guards, table.column(batch.block))
        laws = batch.constant(0)
        for variable in shape.variables:
            laws = self._pairs.columns(laws, batch.law(variable))
        count = len(shape.variables)
        key = self._pairs.columns(self._pairs.columns(laws, batch.constant(count)), guards)

        def solve(number: int) -> int:
            known = self._known.get((_VARYING, number))
            if known is None:
                sequence, bag = self._pairs.contents[number]
                numbers = self._sequence(self._pairs.contents[sequence][0], count)
                forms = [self._forms[form] for form, _ in self._bags.contents[bag]]
                known = self._solutions.event(numbers, forms)
                self._known[_VARYING, number] = known
            return known

        return mapped(key, solve)

    def _sequence(self, number: int, length: int) -> list[int]:
        """Take pairs of pairs apart."""
        found = []
        for _ in range(length):
            number, last = self._pairs.contents[number]
            found.append(last)
        return found[::-1]


_VARYING = 2**40  # above all numbers of parts, and those of centres are negative


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
