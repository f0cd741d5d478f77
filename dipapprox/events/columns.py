"""Many inputs at once: columns of small numbers, and numbers for pairs and multisets of them.

A column holds one number per input. Equal things have equal numbers, so that what happens in
thousands of inputs is worked out once for each distinct combination: numpy finds the combinations,
Python looks them up. Everything is exact; nothing is hashed without being compared.

`Inputs` are such columns, and a `Table` is a function of a few cells over them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dipapprox.errors import BrokenInvariant
from dipapprox.language.core import Input, Program, Value
from dipapprox.language.domains import AllReals

Column = NDArray[np.int64]

FEW = 24
"""Up to so many inputs, a loop in Python is faster than numpy's set-up."""

_DENSE = 2**16
"""Numbers below this are tallied rather than sorted, if there are not much fewer of them."""

_SPARSE = 16
"""How many times as large as their count numbers may be for that."""

Bag = tuple[tuple[int, int], ...]
"""A multiset of numbers: (number, how often), ascending."""


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


class Pairs:
    """Numbers for pairs: sequences are pairs of a sequence and its last entry."""

    def __init__(self) -> None:
        self.contents: list[tuple[int, int]] = []
        self._numbers: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.contents)

    def columns(self, left: Column, right: Column) -> Column:
        """Return the number of every pair."""
        return combined(left, right, self.number)

    def number(self, left: int, right: int) -> int:
        """Return the pair's number, the next free one for a new pair."""
        found = self._numbers.setdefault((left, right), len(self.contents))
        if found == len(self.contents):
            self.contents.append((left, right))
        return found


class Bags:
    """Numbers for multisets; 0 is the empty one. Entries may be added in any order.

    Attributes:
        contents: By number.
    """

    def __init__(self) -> None:
        self.contents: list[Bag] = [()]
        self._numbers: dict[Bag, int] = {(): 0}
        self._sums: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self._sums)

    def add(self, bags: Column, entries: Column) -> Column:
        """Put one more entry into every bag."""
        return combined(bags, entries, self._sum)

    def _sum(self, bag: int, entry: int) -> int:
        found = self._sums.get((bag, entry))
        if found is None:
            content = _with(self.contents[bag], entry)
            found = self._numbers.setdefault(content, len(self.contents))
            if found == len(self.contents):
                self.contents.append(content)
            self._sums[bag, entry] = found
        return found


def _with(bag: Bag, entry: int) -> Bag:
    place = bisect_left(bag, (entry,))
    if place < len(bag) and bag[place][0] == entry:
        return (*bag[:place], (entry, bag[place][1] + 1), *bag[place + 1 :])
    return (*bag[:place], (entry, 1), *bag[place:])


class Tallies:
    """Multisets of numbers, each as one integer: entry k has a *unit*, a power of two, and is in
    the multiset as often as the digit there says. So they are added up by adding integers.

    Args:
        most: A multiset has at most so many entries.
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


Block = NDArray[np.int64]
"""Inputs × input cells: the numbers of the values."""


class Inputs:
    """Numbers for the values of the input cells, and for the combinations that occur."""

    def __init__(self, program: Program) -> None:
        self._places = {cell.name: k for k, cell in enumerate(program.inputs)}
        self._values: list[Value] = []
        self._numbers: dict[Value, int] = {}
        self._combinations = Pairs()
        # Inputs are made of the domains' own objects: identities are looked up at once, while
        # hashing a fraction takes a microsecond. The program keeps the objects alive.
        self._program = program
        # Of inputs that may be any number nothing is known beforehand.
        domains = {
            id(cell.domain): cell.domain
            for cell in program.inputs
            if not isinstance(cell.domain, AllReals)
        }.values()
        self._known = {id(value): self._number(value) for domain in domains for value in domain}

    def __len__(self) -> int:
        return len(self._combinations)

    def places(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return where cells stand in an input."""
        return tuple([self._places[name] for name in names])

    def block(self, inputs: Sequence[Input]) -> Block:
        """Number the values of inputs."""
        size = len(inputs) * len(self._places)
        known = self._known.__getitem__
        try:
            numbers = np.fromiter(map(known, map(id, chain.from_iterable(inputs))), np.int64, size)
        except KeyError:  # values that are not the domains' own objects
            flat = list(chain.from_iterable(inputs))
            alike = {id(value): value for value in flat}
            own = {each: self._number(value) for each, value in alike.items()}
            numbers = np.fromiter(map(own.__getitem__, map(id, flat)), np.int64, size)
        return numbers.reshape(len(inputs), len(self._places))

    def combinations(self, block: Block, places: Sequence[int]) -> Column:
        """Number the values that each input has at some places."""
        if not places:
            return np.zeros(len(block), np.int64)
        column: Column = block[:, places[0]]
        for place in places[1:]:
            column = self._combinations.columns(column, block[:, place])
        return column

    def values(self, number: int, count: int) -> tuple[Value, ...]:
        """Return the values behind a number of `combinations` at `count` places."""
        found: list[Value] = []
        for _ in range(count - 1):
            number, last = self._combinations.contents[number]
            found.append(self._values[last])
        if count:
            found.append(self._values[number])
        return tuple(reversed(found))

    def _number(self, value: Value) -> int:
        number = self._numbers.setdefault(value, len(self._values))
        if number == len(self._values):
            self._values.append(value)
        return number


Image = Callable[[tuple[Value, ...]], int]
"""A function of the values of some cells."""


def numeric(values: Sequence[Value]) -> list[Fraction]:
    """Return values of cells that arithmetic uses.

    Raises:
        BrokenInvariant: If one has a name: a bug.
    """
    numbers = [value for value in values if isinstance(value, Fraction)]
    if len(numbers) < len(values):
        raise BrokenInvariant("arithmetic on a named value reached the events")
    return numbers


class Table:
    """A function of some cells with small numbers as values, asked once for each combination.

    Args:
        inputs: Numbers the cells' values.
        names: The cells.
        image: From the cells' values, in the order of `names`, to a number >= 0.
        known: What is known of the function, by the number of the cells' values; grows. Tables of
            one cell each and the same function of its value may share it.
    """

    __slots__ = ("_function", "_inputs", "_known", "_places")

    def __init__(
        self,
        inputs: Inputs,
        names: Sequence[str],
        image: Image,
        known: dict[int, int] | None = None,
    ) -> None:
        self._inputs = inputs
        self._places = inputs.places(names)
        self._function = image
        self._known: dict[int, int] = {} if known is None else known

    def numbers(self, block: Block, inputs: Sequence[Sequence[int]]) -> list[int]:
        """Return the function's values at few inputs, which are given as a list, too."""
        if len(self._places) != 1:
            column: list[int] = self.column(block).tolist()
            return column
        (place,) = self._places
        return [self._image(input[place]) for input in inputs]

    def column(self, block: Block) -> Column:
        """Return the function's value at every input."""
        return mapped(self._inputs.combinations(block, self._places), self._image)

    def _image(self, number: int) -> int:
        found = self._known.get(number)
        if found is None:
            found = self._function(self._inputs.values(number, len(self._places)))
            self._known[number] = found
        return found
