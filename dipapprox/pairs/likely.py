"""Pairs that are the likeliest to violate a claim come before all others.

Known counterexamples are simple: equal or alternating values, the least and the greatest values of
domains, one cell changed or all of them, all in one direction or one against the others. There are
a few hundred such pairs, however many cells; whoever looks for a violation looks at them first.

References:
    Ding, Wang, Wang, Zhang, Kifer: *Detecting violations of differential privacy*, CCS 2018,
    section 5: categories of inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import prod
from typing import cast

from dipapprox.language.core import Cell, Everyone, InputRow, Listed, Program, Value, Within
from dipapprox.pairs.adjacency import OrderedPairs, Pair, PairSelection, select_pairs
from dipapprox.pairs.cell_adjacency import CellAdjacency, radius_of

FEW_PAIRS = 100
"""Among so many pairs no order pays."""

_SCATTERED = 4
"""Inputs without a pattern that are tried, too."""

_GOLDEN = Fraction(618033988749895, 10**15)
"""Multiples of it modulo 1 leave no large gaps."""

Pattern = Callable[[int, int], int]
"""Position of a cell and number of cells -> -1, 0 or 1."""

_LEVELS: tuple[Pattern, ...] = (
    lambda _k, _n: -1,
    lambda _k, _n: 1,
    lambda _k, _n: 0,
    lambda k, _n: 1 if k % 2 else -1,
    lambda k, n: 1 if 2 * k >= n else -1,
    lambda k, n: -1 if 2 * k >= n else 1,
    lambda k, _n: -1 if k else 1,
    lambda k, _n: 1 if k else -1,
    lambda k, n: 1 if k == n - 1 else -1,
    lambda k, n: -1 if k == n - 1 else 1,
)
"""Of the values of an input: the least, a middle or the greatest one of each cell's domain."""

_RISES: tuple[Pattern, ...] = (
    lambda k, _n: 0 if k else 1,
    lambda k, n: 1 if k == n - 1 else 0,
    lambda _k, _n: 1,
    lambda k, _n: -1 if k else 1,
    lambda k, n: -1 if k == n - 1 else 1,
    lambda k, n: -1 if 2 * k >= n else 1,
    lambda k, _n: -1 if k % 2 else 1,
)
"""Of changes: up, none or down; the opposite changes are tried, too."""


def likely_first(program: Program, selection: PairSelection, total: int | None) -> Iterator[Pair]:
    """Stream the selected pairs, each once, the likely ones first; listed pairs as they stand.

    Args:
        program: The program.
        selection: Which pairs.
        total: Their number, if known.

    Raises:
        UserError: If the adjacency measures distances between named values.
    """
    stream = select_pairs(program, selection)
    adjacency = program.adjacency
    few = total is not None and total <= FEW_PAIRS
    if few or isinstance(selection, OrderedPairs) or isinstance(adjacency, Listed):
        return stream
    return _brought_forward(list(likely_pairs(program.inputs, adjacency)), stream)


def _brought_forward(first: Sequence[Pair], stream: Iterator[Pair]) -> Iterator[Pair]:
    yield from first
    done: dict[InputRow, set[InputRow]] = {}
    for u, v in first:
        done.setdefault(u, set()).add(v)
    latest: InputRow | None = None
    skipped: set[InputRow] | None = None
    for u, v in stream:
        if u is not latest:  # pairs come input by input; hashing rows takes time
            latest, skipped = u, done.get(u)
        if skipped is None or v not in skipped:
            yield u, v


def likely_pairs(cells: Sequence[Cell], adjacency: Within | Everyone) -> Iterator[Pair]:
    """Yield some adjacent pairs of different inputs, each once, in both orders where both are.

    Raises:
        UserError: If the adjacency measures distances between named values.
    """
    changes = _Changes(cells, adjacency)
    met: set[Pair] = set()
    for row in dict.fromkeys(_inputs(cells)):
        for rise in _RISES:
            for sign in (1, -1):
                other = changes.changed(row, rise, sign)
                for pair in ((row, other), (other, row)):
                    if pair not in met and changes.allow(*pair):
                        met.add(pair)
                        yield pair


def _inputs(cells: Sequence[Cell]) -> Iterator[InputRow]:
    domains = [_ascending(cell.domain) for cell in cells]
    for level in _LEVELS:
        places = (level(k, len(cells)) for k in range(len(cells)))
        yield tuple(
            domain[(len(domain) - 1) * (1 + place) // 2]
            for domain, place in zip(domains, places, strict=True)
        )
    count = prod(map(len, domains))
    for k in range(1, _SCATTERED + 1):
        number = int(_GOLDEN * k % 1 * count)
        row = []
        for domain in reversed(domains):
            number, place = divmod(number, len(domain))
            row.append(domain[place])
        yield tuple(reversed(row))


def _ascending(domain: tuple[Value, ...]) -> tuple[Value, ...]:
    """Numbers by size; values with names as they were declared."""
    if any(isinstance(value, str) for value in domain):
        return domain
    return tuple(sorted(cast("tuple[Fraction, ...]", domain)))


class _Changes:
    """What adjacent inputs may differ in."""

    def __init__(self, cells: Sequence[Cell], adjacency: Within | Everyone) -> None:
        made = {cell.domain: CellAdjacency(cell, adjacency) for cell in cells}
        self._relations = [made[cell.domain] for cell in cells]
        places = {
            domain: {value: place for place, value in enumerate(_ascending(domain))}
            for domain in made
        }
        self._places = [places[cell.domain] for cell in cells]
        self._radius = radius_of(adjacency)

    def changed(self, row: InputRow, rise: Pattern, sign: int) -> InputRow:
        """Change cells as far as they go in the pattern's direction, from the left, in radius."""
        left = self._radius
        found = list(row)
        for k, value in enumerate(row):
            direction = sign * rise(k, len(row))
            place = self._places[k]
            steps = [
                (direction * place[other], cost, other)
                for other, cost in self._relations[k].of(value)
                if cost <= left and direction * (place[other] - place[value]) > 0
            ]
            if steps:
                _, cost, found[k] = max(steps, key=lambda step: step[0])
                left -= cost
        return tuple(found)

    def allow(self, first: InputRow, second: InputRow) -> bool:
        """Whether two inputs are adjacent in this order, and different."""
        left = self._radius
        for relation, a, b in zip(self._relations, first, second, strict=True):
            if a != b:
                cost = dict(relation.of(a)).get(b)
                if cost is None or cost > left:
                    return False
                left -= cost
        return first != second
