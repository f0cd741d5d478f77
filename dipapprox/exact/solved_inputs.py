"""Inputs in, one after the other; their events out, solved in blocks.

A catalogue solves many inputs in little more time than one. Whoever asks for an input mostly asks
for those that follow it as well; so each miss solves as many further inputs as were missed before.
At most about twice as many inputs are solved as were asked for. Inputs that differ only in the
order of interchangeable cells are solved as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dipapprox.cache import Cache
from dipapprox.deferred import Deferred
from dipapprox.events.catalogue import Catalogue
from dipapprox.events.solutions import Numbers
from dipapprox.language.core import Cell, Input
from dipapprox.semantics.state import FinalStates

if TYPE_CHECKING:
    from dipapprox.events import symmetry
else:
    symmetry = Deferred("dipapprox.events.symmetry")

InputStates = tuple[tuple[int, Numbers], ...]
"""(index of the output, indices of independent events) of every possible state; cf.
`Catalogue.row`."""

_MANY = 32
"""Symmetries are looked for when as many inputs are to be solved at once."""

_ENTRIES = 100_000
"""About how many states of inputs are solved ahead."""


class SolvedInputs:
    """What a catalogue says of inputs.

    Args:
        catalogue: Whoever lets it forget lets this forget, too.
        states: Those of the catalogue.
    """

    def __init__(self, catalogue: Catalogue, states: FinalStates) -> None:
        self._catalogue = catalogue
        self._states = states
        self._cells = states.program.inputs
        self._symmetry: symmetry.CellSymmetry | None = None
        self._most = max(_ENTRIES // max(sum(catalogue.states_per_output), 1), 1)
        self.forget()

    def forget(self) -> None:
        """Forget everything: the numbers have lost their meaning."""
        self._ahead: Cache[Input, InputStates] = Cache(2 * self._most)
        self._block = 1

    def states(self, input: Input) -> InputStates:
        """Return the possible states of an input and the events that they need."""
        if self._symmetry is None and self._block >= min(_MANY, self._most):
            self._symmetry = symmetry.symmetry_of(self._states)
        known = self._symmetry
        if known is not None:
            input = known.multiset(input)
        found = self._ahead.get(input)
        if found is not None:
            return found
        # At most half of what there is room for: all of the block stays until it is asked for.
        block = [input]
        for following in _after(input, self._cells, known):
            if len(block) >= self._block:
                break
            if self._ahead.get(following) is None:
                block.append(following)
        self._block = min(2 * self._block, self._most)
        solved = dict(zip(block, self._solved(block), strict=True))
        for each, states in solved.items():
            self._ahead.put(each, states)
        return solved[input]

    def _solved(self, inputs: Sequence[Input]) -> Iterator[InputStates]:
        return map(tuple, self._catalogue.states(inputs))


def _after(
    input: Input, cells: Sequence[Cell], found: symmetry.CellSymmetry | None
) -> Iterator[Input]:
    """The inputs that follow, the last cell changing fastest; of multisets the sorted ones."""
    values = [cell.domain for cell in cells]
    places = [domain.index(value) for domain, value in zip(values, input, strict=True)]
    before: dict[int, int] = {}  # cells of a group, ascending: none has a value before the last's
    for group in () if found is None else found.leaving:
        before.update(zip(group[1:], group, strict=False))
    while True:
        for cell in reversed(range(len(cells))):
            if places[cell] + 1 < len(values[cell]):
                break
        else:
            return
        places[cell] += 1
        for later in range(cell + 1, len(cells)):
            places[later] = places[before[later]] if later in before else 0
        yield tuple(domain[place] for domain, place in zip(values, places, strict=True))
