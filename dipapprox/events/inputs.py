"""Inputs as columns, and functions of a few cells tabulated over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dipapprox.errors import BrokenInvariant
from dipapprox.events.columns import Column, Pairs, mapped
from dipapprox.language.core import Input, Program, Value
from dipapprox.language.domains import AllReals

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
