"""Inputs in, one after the other; their events out, solved in blocks.

A catalogue solves many inputs in little more time than one. Whoever asks for an input mostly asks
for those that follow it as well; so each miss solves as many further inputs as were missed before.
At most about twice as many inputs are solved as were asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dipapprox.cache import Cache
from dipapprox.events.catalogue import Catalogue
from dipapprox.events.solutions import Numbers
from dipapprox.language.core import Cell, Input

InputStates = tuple[tuple[int, Numbers], ...]
"""(index of the output, indices of independent events) of every possible state; cf.
`Catalogue.row`."""

_ENTRIES = 100_000
"""About how many states of inputs are solved ahead."""


class SolvedInputs:
    """What a catalogue says of inputs.

    Args:
        catalogue: Whoever lets it forget lets this forget, too.
        cells: The inputs.
    """

    def __init__(self, catalogue: Catalogue, cells: Sequence[Cell]) -> None:
        self._catalogue = catalogue
        self._cells = cells
        self._most = max(_ENTRIES // max(sum(catalogue.states_per_output), 1), 1)
        self.forget()

    def forget(self) -> None:
        """Forget everything: the numbers have lost their meaning."""
        self._ahead: Cache[Input, InputStates] = Cache(2 * self._most)
        self._block = 1

    def states(self, input: Input) -> InputStates:
        """Return the possible states of an input and the events that they need."""
        found = self._ahead.get(input)
        if found is not None:
            return found
        # At most half of what there is room for: all of the block stays until it is asked for.
        block = [input]
        for following in _after(input, self._cells):
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


def _after(input: Input, cells: Sequence[Cell]) -> Iterator[Input]:
    """The inputs that follow, the last cell changing fastest."""
    values = [cell.domain for cell in cells]
    places = [domain.index(value) for domain, value in zip(values, input, strict=True)]
    while True:
        for cell in reversed(range(len(cells))):
            places[cell] += 1
            if places[cell] < len(values[cell]):
                break
            places[cell] = 0
        else:
            return
        yield tuple(domain[place] for domain, place in zip(values, places, strict=True))
