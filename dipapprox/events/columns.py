"""Many inputs at once: columns of small numbers, and numbers for pairs and multisets of them.

A column holds one number per input. Equal things have equal numbers, so that what happens in
thousands of inputs is worked out once for each distinct combination: numpy finds the combinations,
Python looks them up. Everything is exact; nothing is hashed without being compared.

`Inputs` makes such columns: of the input cells, and of functions of a few cells: `CellTable`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import chain
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dipapprox.data_classes import Record, field
from dipapprox.errors import BrokenInvariant
from dipapprox.language.core import Input, Program, Value
from dipapprox.language.domains import AllReals

Column = NDArray[np.int64]
Key = TypeVar("Key", bound=Hashable)
Thing = TypeVar("Thing")
FEW = 24  # up to so many inputs, a loop in Python is faster than numpy's set-up
_DENSE = 2**16
"""Numbers below this are tallied rather than sorted, if there are not much fewer of them."""

_SPARSE = 16  # how many times as large as their count numbers may be for that
Bag = tuple[tuple[int, int], ...]  # A multiset of numbers: (number, how often), ascending


def mapped(column: Column, image: Callable[[int], int]) -> Column:
    """Apply a function to every number >= 0; it is asked once for each distinct number."""
    if len(column) <= FEW:
        return np.array([image(number) for number in column.tolist()], np.int64)
    if int(column.max()) < min(_DENSE, _SPARSE * len(column)):
        present = np.flatnonzero(np.bincount(column))
        table = np.zeros(int(present[-1]) + 1, np.int64)
        table[present] = [image(number) for number in present.tolist()]
        dense: Column = table[column]
        return dense
    distinct, place = np.unique(column, return_inverse=True)
    sparse: Column = np.array([image(number) for number in distinct.tolist()], np.int64)[place]
    return sparse


def combined(left: Column, right: Column, image: Callable[[int, int], int]) -> Column:
    """Apply a function to every pair of numbers in [0, 2^31); once for each distinct pair.

    Numbers count objects that are in memory, so they are far below 2^31: products fit 64 bits.
    """
    if len(left) <= FEW:
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        return np.array([image(a, b) for a, b in pairs], np.int64)
    width = int(right.max()) + 1
    return mapped(left * width + right, lambda number: image(*divmod(number, width)))


class Numbered(Generic[Key, Thing]):
    """Numbers for `things`, from 0 on; those with equal keys are one."""

    __slots__ = ("_numbers", "things")

    def __init__(self) -> None:
        self.things: list[Thing] = []
        self._numbers: dict[Key, int] = {}

    def number(self, key: Key, thing: Thing) -> int:
        """Return the number of a thing, the next free one for a new thing."""
        found = self._numbers.setdefault(key, len(self.things))
        if found == len(self.things):
            self.things.append(thing)
        return found


Pairs = Numbered[tuple[int, int], tuple[int, int]]
"""Numbers for pairs: sequences are pairs of a sequence and its last entry."""


def paired(pairs: Pairs, left: Column, right: Column) -> Column:
    return combined(left, right, lambda a, b: pairs.number((a, b), (a, b)))


class Tallies:
    """Multisets of numbers, each as one integer: entry k has a *unit*, a power of two, and is in
    the multiset as often as the digit there says. So they are added up by adding integers.
    """

    def __init__(self, most: int) -> None:
        self._width = most.bit_length()
        self._entries: list[int] = []
        self._units: dict[int, int] = {}
        self._table = np.zeros(64, np.int64)

    def unit(self, entry: int) -> int:
        """Return the multiset of one entry."""
        found = self._units.get(entry)
        if found is None:
            found = self._units[entry] = 1 << self._width * len(self._entries)
            self._entries.append(entry)
        return found

    def units(self, entries: Column) -> Column:
        """Return the multisets of one entry each; of Python's integers if 64 bits are too few."""
        if (size := int(entries.max()) + 1) > len(self._table):
            spare = np.zeros(max(size, 2 * len(self._table)) - len(self._table), self._table.dtype)
            self._table = np.concatenate([self._table, spare])
        found: Column = self._table[entries]
        if not found.all():
            for entry in np.unique(entries[found == 0]).tolist():
                unit = self.unit(entry)
                if unit << self._width >= 2**63:
                    self._table = self._table.astype(object)
                self._table[entry] = unit
            found = self._table[entries]
        return found

    def content(self, tally: int) -> Bag:
        """Return the entries of a multiset, and how often it has them."""
        width, found = self._width, []
        digit = (1 << width) - 1
        for entry in self._entries:
            if count := tally & digit:
                found.append((entry, count))
            tally >>= width
            if not tally:
                break
        found.sort()
        return tuple(found)


Block = NDArray[np.int64]  # inputs × input cells: the numbers of the values
Image = Callable[[tuple[Value, ...]], int]  # A function of the values of some cells


class CellTable(Record, eq=False):
    """A function of some cells with small numbers as values, asked once for each combination."""

    places: tuple[int, ...]  # where the cells stand in an input
    image: Image  # from the cells' values, in their order, to a number >= 0
    # What is known of the function, by the number of the cells' values; grows. Tables of the same
    # function of the values of other cells may share it.
    known: dict[int, int] = field(default_factory=dict)


class Inputs:
    """Numbers for the values of the input cells, and for the combinations that occur."""

    def __init__(self, program: Program) -> None:
        self._places = {cell.name: k for k, cell in enumerate(program.inputs)}
        self._values: Numbered[Value, Value] = Numbered()
        self._combinations: Pairs = Numbered()
        # Inputs are made of the domains' own objects: identities are looked up at once, while
        # hashing a fraction takes a microsecond. The program keeps the objects alive.
        self._program = program
        # Of inputs that may be any number nothing is known beforehand.
        domains = {
            id(cell.domain): cell.domain
            for cell in program.inputs
            if not isinstance(cell.domain, AllReals)
        }.values()
        number = self._values.number
        self._known = {id(value): number(value, value) for domain in domains for value in domain}

    def __len__(self) -> int:
        return len(self._combinations.things)

    def block(self, inputs: Sequence[Input]) -> Block:
        size = len(inputs) * len(self._places)
        known = self._known.__getitem__
        try:
            numbers = np.fromiter(map(known, map(id, chain.from_iterable(inputs))), np.int64, size)
        except KeyError:  # values that are not the domains' own objects
            flat = list(chain.from_iterable(inputs))
            alike = {id(value): value for value in flat}
            own = {each: self._values.number(value, value) for each, value in alike.items()}
            numbers = np.fromiter(map(own.__getitem__, map(id, flat)), np.int64, size)
        return numbers.reshape(len(inputs), len(self._places))

    def inputs(self, block: Block) -> list[Input]:
        values = self._values.things
        return [tuple([values[number] for number in row]) for row in block.tolist()]

    def table(
        self, names: Sequence[str], image: Image, known: dict[int, int] | None = None
    ) -> CellTable:
        """Return the table of a function of some cells; see `CellTable`."""
        places = tuple([self._places[name] for name in names])
        return CellTable(places, image, {} if known is None else known)

    def column(self, table: CellTable, block: Block) -> Column:
        places = table.places
        if not places:
            return np.full(len(block), self._image(table, 0), np.int64)
        column: Column = block[:, places[0]]
        for place in places[1:]:
            column = paired(self._combinations, column, block[:, place])
        return mapped(column, lambda number: self._image(table, number))

    def walked(
        self, start: int, steps: Sequence[tuple[int, Callable[[int, Value], int]]], block: Block
    ) -> Column:
        """Go from a number by one cell after the other, with a step for each, at every input."""
        things = self._values.things
        column: Column = np.full(len(block), start, np.int64)
        for place, step in steps:

            def go(number: int, value: int, step: Callable[[int, Value], int] = step) -> int:
                return step(number, things[value])

            column = combined(column, block[:, place], go)
        return column

    def few(self, table: CellTable, inputs: Sequence[Sequence[int]]) -> list[int]:
        """Do the same for a function of one cell and few rows of a block."""
        (place,) = table.places
        known, image = table.known, self._image
        numbers = [input[place] for input in inputs]
        return [known[number] if number in known else image(table, number) for number in numbers]

    def _image(self, table: CellTable, number: int) -> int:
        found = table.known.get(number)
        if found is None:
            values = self._values_of(number, len(table.places))
            found = table.known[number] = table.image(values)
        return found

    def _values_of(self, number: int, count: int) -> tuple[Value, ...]:
        """Return the values behind a number of a combination of `count` cells."""
        found: list[Value] = []
        for _ in range(count - 1):
            number, last = self._combinations.things[number]
            found.append(self._values.things[last])
        if count:
            found.append(self._values.things[number])
        return tuple(reversed(found))


def numeric(values: Sequence[Value]) -> list[Fraction]:
    """Return values of cells that arithmetic uses; BrokenInvariant if one has a name."""
    numbers = [value for value in values if isinstance(value, Fraction)]
    if len(numbers) < len(values):
        raise BrokenInvariant("arithmetic on a named value reached the events")
    return numbers
