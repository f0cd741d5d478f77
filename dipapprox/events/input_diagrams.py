"""Functions of the input with small numbers as values, as algebraic decision diagrams.

A diagram is a number: of a value, or of a cell with a diagram for each value of its domain. Cells
are asked in the order of the program, the last one first, for programs mostly read them in their
order, and what is read last is asked for on top. Equal functions have equal numbers: what depends
on how many of N cells are 1 has N (N + 1) / 2 of them.

References:
    R. I. Bahar et al.: Algebraic decision diagrams and their applications, 1993.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dipapprox.errors import LimitReached
from dipapprox.language.traversal import solved
from dipapprox.limits import ask

MOST_DIAGRAMS = 2_000_000
"""More are not made: then what is published is different at nearly every input."""

_BETWEEN = 256  # diagrams between two looks at the clock
Terms = tuple[tuple[int, int], ...]  # (weight, diagram), ascending
_VALUE = -1  # the cell of what is a value


class InputDiagrams:
    """The diagrams of a program, made when asked for."""

    def __init__(self) -> None:
        self._things: list[tuple[int, tuple[int, ...]]] = []  # the cell, and the diagrams
        self._numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        self._cells: list[int] = []  # all that are asked, as masks
        self._asked: dict[tuple[int, tuple[int, ...]], int] = {}
        self._sums: dict[Terms, int] = {}
        self._given: dict[tuple[int, int, int], int] = {}

    def value(self, value: int) -> int:
        return self._number(_VALUE, (value,))

    def value_of(self, diagram: int) -> int | None:
        """Return the value that a diagram has at all inputs; None if there are several."""
        cell, found = self._things[diagram]
        return found[0] if cell == _VALUE else None

    def cells(self, diagram: int) -> tuple[int, ...]:
        """Return the places of the cells that a diagram depends on, in the order of asking."""
        mask = self._cells[diagram]
        return tuple([place for place in reversed(range(mask.bit_length())) if mask >> place & 1])

    def values(self, diagram: int) -> Iterator[int]:
        """Yield all values that a diagram has, each once."""
        waiting, seen = [diagram], {diagram}
        while waiting:
            cell, found = self._things[waiting.pop()]
            if cell == _VALUE:
                yield found[0]
                continue
            waiting += (new := set(found) - seen)
            seen |= new

    def at(self, diagram: int, places: Callable[[int], int]) -> int:
        """Return the value at an input: `places` says where in its domain a cell's value is."""
        cell, found = self._things[diagram]
        while cell != _VALUE:
            cell, found = self._things[found[places(cell)]]
        return found[0]

    def step(self, diagram: int, cell: int, value: int) -> int:
        """Return what is left of a diagram that asks for no later cell, where one has a value."""
        own, found = self._things[diagram]
        return found[value] if own == cell else diagram

    def ask(self, cell: int, diagrams: Sequence[int]) -> int:
        """Return the diagram that is one of several, by the place of a cell's value."""

        def parts(key: tuple[int, tuple[int, ...]]) -> list[tuple[int, tuple[int, ...]]]:
            top = self._first(key[1])
            if top <= cell:
                return []
            return [(cell, tuple(own)) for own in self._columns(key[1], top)]

        def joined(key: tuple[int, tuple[int, ...]], found: list[int]) -> int:
            if found:
                return self._branch(self._first(key[1]), found)
            own = [self.step(each, cell, value) for value, each in enumerate(key[1])]
            return self._branch(cell, own)

        return solved((cell, tuple(diagrams)), self._asked, parts, joined)

    def total(self, terms: Terms, add: Callable[[Terms], int]) -> int:
        """Return a sum of diagrams with weights; `add` returns the value for weights and values."""

        def parts(key: Terms) -> list[Terms]:
            top = self._first([diagram for _, diagram in key])
            if top == _VALUE:
                return []
            columns = self._columns([diagram for _, diagram in key], top)
            weights = [weight for weight, _ in key]
            return [tuple(sorted(zip(weights, own, strict=True))) for own in columns]

        def joined(key: Terms, found: list[int]) -> int:
            if found:
                return self._branch(self._first([diagram for _, diagram in key]), found)
            values = [(weight, self._things[diagram][1][0]) for weight, diagram in key]
            return self.value(add(tuple(sorted(values))))

        return solved(terms, self._sums, parts, joined)

    def exchanged(self, diagram: int, first: int, second: int) -> int:
        """Return the diagram with two cells of equal domains exchanged."""
        mask = self._cells[diagram]
        if not (mask >> first | mask >> second) & 1:
            return diagram
        given = self._given_value
        size = self._size(diagram, first) or self._size(diagram, second)
        return self.ask(
            first,
            [
                self.ask(second, [given(given(diagram, first, w), second, v) for w in range(size)])
                for v in range(size)
            ],
        )

    def _given_value(self, diagram: int, cell: int, value: int) -> int:
        """Return what a diagram is where a cell has a value."""

        def parts(key: tuple[int, int, int]) -> list[tuple[int, int, int]]:
            own, found = self._things[key[0]]
            if own == cell or not self._cells[key[0]] >> cell & 1:
                return []
            return [(each, cell, value) for each in found]

        def joined(key: tuple[int, int, int], found: list[int]) -> int:
            if found:
                return self._branch(self._things[key[0]][0], found)
            return self.step(key[0], cell, value)

        return solved((diagram, cell, value), self._given, parts, joined)

    def _size(self, diagram: int, cell: int) -> int:
        """Return how many values a cell has that a diagram depends on; 0 if it does not."""
        while self._cells[diagram] >> cell & 1:
            own, found = self._things[diagram]
            if own == cell:
                return len(found)
            diagram = next(each for each in found if self._cells[each] >> cell & 1)
        return 0

    def _first(self, diagrams: Sequence[int]) -> int:
        """Return the first cell that some diagrams ask for."""
        return max([self._things[each][0] for each in diagrams])

    def _columns(self, diagrams: Sequence[int], cell: int) -> list[list[int]]:
        """Return what diagrams are for each value of the first cell that they ask for."""
        size = next(len(own) for d in diagrams for c, own in (self._things[d],) if c == cell)
        return [[self.step(each, cell, value) for each in diagrams] for value in range(size)]

    def _branch(self, cell: int, diagrams: Sequence[int]) -> int:
        first = diagrams[0]
        if all(each == first for each in diagrams):
            return first
        return self._number(cell, tuple(diagrams))

    def _number(self, cell: int, below: tuple[int, ...]) -> int:
        found = self._numbers.setdefault((cell, below), len(self._things))
        if found == len(self._things):
            if not found % _BETWEEN:
                ask()
            if found >= MOST_DIAGRAMS:
                raise LimitReached(
                    f"more than {MOST_DIAGRAMS} different probabilities of choices at the inputs"
                )
            self._things.append((cell, below))
            mask = 0
            if cell != _VALUE:
                mask = 1 << cell
                for each in below:
                    mask |= self._cells[each]
            self._cells.append(mask)
        return found
