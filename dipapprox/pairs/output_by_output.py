"""All adjacent pairs at once where inputs are too many for a table: every output on its own.

With t_o(u, u') = max(p_u(o) - e^eps_prv p_u'(o), 0), Lemma 2's sum over outputs lies between

    max_o max over pairs of t_o   <=   largest delta   <=   sum over o of max over pairs of t_o.

Both ends are 0 together: so this decides pure privacy, and other claims that are not tight. For one
output only its cells matter, and u is best compared with the adjacent u' of the least scaled
probability. Adjacent inputs take steps cell by cell, so these minima are formed cell by cell, too:

    m_0(u') = e^eps_prv p_u'(o),   m_k(u) = min over steps of cell k from the value of u of m_{k-1}

with one m for every sum of costs. That takes (inputs of the output's cells) x (steps of a cell) for
each cell, where pairs are as many as the product of all their steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, combinations_with_replacement, product
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import dataclass
from dipapprox.events.symmetry import CellSymmetry
from dipapprox.language.core import Cell, Input, Value
from dipapprox.limits import Limits
from dipapprox.pairs.growth import Factor
from dipapprox.pairs.hockey_stick import (
    DOUBLE_BITS,
    HockeyStickBounds,
    Numbers,
    bounds_in_doubles,
    enclosure,
)
from dipapprox.pairs.maximum import Maximum, Together, first_largest
from dipapprox.pairs.search import Search
from dipapprox.pairs.selections import Pair
from dipapprox.pairs.tables import Tables
from dipapprox.pairs.walk import Integers, Walk

MOST_ARGUMENTS = 1_000_000
"""Most probabilities of all outputs together; a minute or two, and 200 MB."""

_LARGEST_ARRAY = 5_000_000
"""Most inputs of an output's cells, times sums of costs; a few arrays of this length are alive."""

_MOST_SETTLED = 5_000
"""Most terms that exact forms are asked for."""


@dataclass(frozen=True, slots=True)
class _Output:
    """An output: its cells, and how its probability depends on them.

    Attributes:
        cells: Positions of the cells, class by class: only how often each value occurs in a class
            matters.
        argument: For all values of these cells, an array with one axis for each: the number of
            the multisets that they make.
        arguments: For every number the values of the cells.
    """

    number: int
    cells: tuple[int, ...]
    argument: Integers
    arguments: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class _Term:
    """Bounds of the largest term of an output, and the places (of all its cells) of two inputs."""

    output: _Output
    lower: float
    upper: float
    certain: tuple[int, int]
    likely: tuple[int, int]


class OutputByOutput(Together):
    """The adjacent pairs of a program. What is known of them together is not tight.

    Args:
        symmetry: Of the program's cells.
        cells: The program's input cells.
        walk: Their steps.
        tables: Bounds of probabilities.
        total: Number of the pairs.
        limits: Asked throughout.
    """

    def __init__(
        self,
        symmetry: CellSymmetry,
        cells: tuple[Cell, ...],
        walk: Walk,
        tables: Tables,
        total: int,
        limits: Limits,
    ) -> None:
        super().__init__(total)
        self._symmetry = symmetry
        self._cells = cells
        self._walk = walk
        self._tables = tables
        self._limits = limits
        self._orbits = symmetry.orbits()
        self._known: list[tuple[_Output, HockeyStickBounds]] = []  # of the first orbits

    @staticmethod
    def is_affordable(symmetry: CellSymmetry, cells: Sequence[Cell], walk: Walk) -> bool:
        """Whether the probabilities and the arrays that it takes are few enough."""
        arguments, largest = 0, 0
        for output, *_ in symmetry.orbits():
            relevant = symmetry.relevant[output]
            classes = symmetry.classes(output)
            sizes = [(len(group), len(cells[group[0]].domain)) for group in classes]
            arguments += prod(comb(size + values - 1, size) for size, values in sizes)
            largest = max(largest, prod(len(cells[cell].domain) for cell in relevant))
        sums = 1 if walk.radius is None else walk.radius + 1
        return arguments <= MOST_ARGUMENTS and largest * sums <= _LARGEST_ARRAY

    def at(self, factor: Factor, bits: int) -> Maximum | None:
        """See `Together`; only in doubles, and always of the same bits."""
        if bits > DOUBLE_BITS:
            return None
        terms: list[_Term] = []
        for place, orbit in enumerate(self._orbits):
            # Their largest terms are equal: exchanging cells in both inputs keeps them adjacent.
            self._limits.check()
            if place < len(self._known):
                output, known = self._known[place]
                bounds = bounds_in_doubles(known.lower, known.upper, factor)
                self._known[place] = output, bounds
            else:
                output, bounds = self._asked(orbit[0], bits, factor)
                self._known.append((output, bounds))
            terms += [self._term(output, bounds)] * len(orbit)
        self.obstacle = self._tables.obstacle
        upper = sum(term.upper for term in terms)
        best = terms[first_largest(np.array([term.lower for term in terms]))]
        wide = terms[first_largest(np.array([term.upper for term in terms]))]
        delta = enclosure(best.lower, upper, len(terms), None)
        return Maximum(
            delta, self._pair(best.output, best.certain), bits, self._pair(wide.output, wide.likely)
        )

    def exactly(self, search: Search, found: Maximum) -> Maximum:
        """Show that delta is 0, if that is claimed: term by term."""
        exact = search.exact
        if exact is None or search.delta or found.delta.lower:
            return found
        asked = 0
        for output, bounds in self._known:
            for pair in self._doubtful(output, bounds):
                self._limits.check()
                asked += 1
                if asked > _MOST_SETTLED or exact.exceeds(output.number, pair) is not False:
                    return found
        search.exactly += self._total or 0
        return Maximum(Enclosure.exact(0), found.pair, found.bits, found.likely)

    def _asked(self, number: int, bits: int, factor: Factor) -> tuple[_Output, HockeyStickBounds]:
        """Bound the probabilities of an output at all its arguments."""
        output = _output(number, self._symmetry.classes(number), self._cells)
        inputs = [self._input(output, values) for values in output.arguments]
        return output, self._tables.cells([number] * len(inputs), inputs, bits, factor)

    def _term(self, output: _Output, bounds: HockeyStickBounds) -> _Term:
        """Bound the largest term of an output."""
        least = self._least(output, bounds.low_scaled)
        above = (bounds.upper[output.argument] - least).ravel()
        high = first_largest(above)
        likely = high, self._partner(output, high, bounds.low_scaled)
        most_above = float(above.max())
        if most_above <= 0:
            return _Term(output, 0.0, 0.0, likely, likely)
        most = self._least(output, bounds.high_scaled)
        below = (bounds.lower[output.argument] - most).ravel()
        low = first_largest(below)
        certain = low, self._partner(output, low, bounds.high_scaled)
        return _Term(output, max(float(below[low]), 0.0), most_above, certain, likely)

    def _least(self, output: _Output, values: Numbers) -> Numbers:
        """Return the least number of an adjacent input, for all values of the output's cells.

        Args:
            values: By argument.
        """
        radius = self._walk.radius
        found = values[output.argument][None]
        for axis, cell in enumerate(output.cells, 1):
            self._limits.check()
            steps = self._walk.steps[cell]
            dearest = 0 if radius is None else int(steps.cost.max())
            sums = 1 if radius is None else min(len(found) + dearest, radius + 1)
            grown = np.full((sums, *found.shape[1:]), np.inf)
            target, source = np.moveaxis(grown, axis, 0), np.moveaxis(found, axis, 0)
            for a, b, cost in zip(
                steps.first.tolist(), steps.second.tolist(), steps.cost.tolist(), strict=True
            ):
                paid = 0 if radius is None else cost
                kept = min(source.shape[1], sums - paid)
                if kept > 0:
                    place = target[a, paid : paid + kept]
                    np.minimum(place, source[b, :kept], out=place)
            found = grown
        least: Numbers = found.min(axis=0)
        return least

    def _neighbours(self, output: _Output, place: int) -> Integers:
        """Return the places of all inputs adjacent to one, and of the input itself."""
        shape = output.argument.shape
        places, spent = np.zeros(1, np.int64), np.zeros(1, np.int64)
        for code, cell, size in zip(
            np.unravel_index(place, shape) if shape else (), output.cells, shape, strict=True
        ):
            steps = self._walk.steps[cell]
            own = np.flatnonzero(steps.first == code)
            places = (places[:, None] * size + steps.second[own][None, :]).ravel()
            spent = (spent[:, None] + steps.cost[own][None, :]).ravel()
            if self._walk.radius is not None:
                kept = spent <= self._walk.radius
                places, spent = places[kept], spent[kept]
        return places

    def _partner(self, output: _Output, place: int, scaled: Numbers) -> int:
        """Return the place of the adjacent input with the least scaled probability."""
        places = self._neighbours(output, place)
        return int(places[np.argmin(scaled[output.argument.ravel()[places]])])

    def _doubtful(self, output: _Output, bounds: HockeyStickBounds) -> Iterator[Pair]:
        """Yield a pair for every term of an output that may be positive."""
        argument = output.argument.ravel()
        least = self._least(output, bounds.low_scaled).ravel()
        # Inputs with one argument have neighbours with the same arguments: one of them will do.
        arguments, places = np.unique(argument, return_index=True)
        doubtful = bounds.upper[arguments] > least[places]
        for own, place in zip(arguments[doubtful].tolist(), places[doubtful].tolist(), strict=True):
            others = np.unique(argument[self._neighbours(output, place)])
            for other in others[bounds.low_scaled[others] < bounds.upper[own]].tolist():
                if other != own:
                    yield (
                        self._input(output, output.arguments[own]),
                        self._input(output, output.arguments[other]),
                    )

    def _pair(self, output: _Output, places: tuple[int, int]) -> Pair:
        shape = output.argument.shape
        first, second = (
            self._input(output, [int(k) for k in np.unravel_index(place, shape)] if shape else [])
            for place in places
        )
        return first, second

    def _input(self, output: _Output, codes: Sequence[int]) -> Input:
        """Return an input by the values of an output's cells; the others have their first value."""
        input: list[Value] = [cell.domain[0] for cell in self._cells]
        for cell, code in zip(output.cells, codes, strict=True):
            input[cell] = self._cells[cell].domain[code]
        return tuple(input)


def _output(number: int, classes: Sequence[Sequence[int]], cells: Sequence[Cell]) -> _Output:
    """Number the arguments of an output's probability."""
    argument: Integers = np.zeros((), np.int64)
    choices: list[list[tuple[int, ...]]] = []
    for group in classes:
        size, values = len(group), len(cells[group[0]].domain)
        own = list(combinations_with_replacement(range(values), size))
        choices.append(own)
        argument = argument[(..., *(None,) * size)] * len(own) + _multisets(size, values)
    flat = tuple(tuple(chain.from_iterable(choice)) for choice in product(*choices))
    return _Output(number, tuple(chain.from_iterable(classes)), argument, flat)


@lru_cache(maxsize=2)
def _multisets(size: int, values: int) -> NDArray[np.int64]:
    """Number the multisets of `size` values, for all their sequences: an axis for each place."""
    codes = np.sort(np.indices((values,) * size, np.uint16).reshape(size, -1), axis=0)
    packed = np.zeros(codes.shape[1], np.int64)
    for column in codes:
        packed = packed * values + column
    # In the order of their sorted sequences, as `combinations_with_replacement` has them.
    _, numbers = np.unique(packed, return_inverse=True)
    return numbers.astype(np.int64).reshape((values,) * size)
