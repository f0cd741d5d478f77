"""Pairs that are the likeliest to violate a claim come before all others.

Known counterexamples are simple: equal or alternating values, the least and the greatest values of
domains, one cell changed or all of them, all in one direction or one against the others. There are
a few hundred such pairs, however many cells; whoever looks for a violation looks at them first.

References:
    Ding, Wang, Wang, Zhang, Kifer: *Detecting violations of differential privacy*, CCS 2018,
    section 5: categories of inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import cast

from dipapprox.language.core import Cell, Everyone, Input, Program, Value, Within
from dipapprox.pairs.adjacency import FREE, CellAdjacency, radius_of, rule_of, select_pairs
from dipapprox.pairs.selections import FEW_PAIRS, Pair, PairSelection

_SCATTERED = 4  # inputs without a pattern that are tried, too
_GOLDEN = Fraction(618033988749895, 10**15)  # multiples of it modulo 1 leave no large gaps
Pattern = Callable[[int, int], int]  # position of a cell and number of cells -> -1, 0 or 1

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
    """Stream the selected pairs, each once, the likely ones first; listed pairs as they stand."""
    stream, rule = select_pairs(program, selection), rule_of(program, selection)
    if rule is None or (total is not None and total <= FEW_PAIRS):
        return stream
    return _brought_forward(list(likely_pairs(program.inputs, rule)), stream)


def _brought_forward(first: Sequence[Pair], stream: Iterator[Pair]) -> Iterator[Pair]:
    yield from first
    done: dict[Input, set[Input]] = {}
    for u, v in first:
        done.setdefault(u, set()).add(v)
    latest: Input | None = None
    skipped: set[Input] | None = None
    for u, v in stream:
        if u is not latest:  # pairs come input by input; hashing inputs takes time
            latest, skipped = u, done.get(u)
        if skipped is None or v not in skipped:
            yield u, v


def likely_pairs(cells: Sequence[Cell], adjacency: Within | Everyone) -> Iterator[Pair]:
    """Yield some adjacent pairs of different inputs, each once, in both orders where both are."""
    made = {cell.domain: _Changes(cell, adjacency) for cell in cells}
    changes = [made[cell.domain] for cell in cells]
    radius = radius_of(adjacency)

    def valued(places: _Places) -> Input:
        return tuple(own.values[place] for own, place in zip(changes, places, strict=True))

    met: set[tuple[_Places, _Places]] = set()
    for places in dict.fromkeys(_inputs([len(own.values) for own in changes])):
        input = valued(places)
        for rise, sign in product(_RISES, (1, -1)):
            others = _changed(places, rise, sign, changes, radius)
            ahead, back = (places, others), (others, places)
            allowed = [
                each
                for each in (ahead, back)
                if each not in met and _are_adjacent(*each, changes, radius)
            ]
            if allowed:
                met.update(allowed)
                other = valued(others)
                yield from ((input, other) if each is ahead else (other, input) for each in allowed)


_Places = tuple[int, ...]  # an input by the places of its values, the domains in ascending order


def _inputs(sizes: Sequence[int]) -> Iterator[_Places]:
    """Yield inputs with a pattern, then a few without; by the sizes of the domains."""
    for level in _LEVELS:
        yield tuple((size - 1) * (1 + level(k, len(sizes))) // 2 for k, size in enumerate(sizes))
    count = prod(sizes)
    for k in range(1, _SCATTERED + 1):
        number = int(_GOLDEN * k % 1 * count)
        places = []
        for size in reversed(sizes):
            number, place = divmod(number, size)
            places.append(place)
        yield tuple(reversed(places))


class _Changes:
    """What values of a domain may change to: numbers by size, named ones as they were declared."""

    def __init__(self, cell: Cell, adjacency: Within | Everyone) -> None:
        self._relation = CellAdjacency(cell, adjacency)
        named = any(isinstance(value, str) for value in cell.domain)
        numbers = cast("tuple[Fraction, ...]", cell.domain)
        self.values: tuple[Value, ...] = cell.domain if named else tuple(sorted(numbers))
        self._place = {value: place for place, value in enumerate(self.values)}
        self._costs: dict[int, dict[int, Fraction]] = {}

    def costs(self, place: int) -> Mapping[int, Fraction]:
        """Return the places of the values that a value may change to, with what each costs."""
        if place not in self._costs:
            changes = self._relation.of(self.values[place])
            self._costs[place] = {self._place[value]: cost for value, cost in changes}
        return self._costs[place]


def _changed(
    places: _Places, rise: Pattern, sign: int, changes: Sequence[_Changes], radius: Fraction
) -> _Places:
    """Change cells as far as they go in the pattern's direction, from the left, in radius."""
    left = radius
    found = list(places)
    for k, place in enumerate(places):
        direction = sign * rise(k, len(places))
        if not direction:
            continue
        costs = changes[k].costs(place)
        near = (other for other, cost in costs.items() if _is_within(cost, left))
        furthest = max(near, key=lambda other: direction * other, default=place)
        if direction * furthest > direction * place:
            found[k] = furthest
            left -= costs[furthest]
    return tuple(found)


def _are_adjacent(
    first: _Places, second: _Places, changes: Sequence[_Changes], radius: Fraction
) -> bool:
    left = radius
    for own, a, b in zip(changes, first, second, strict=True):
        if a != b:
            cost = own.costs(a).get(b)
            if cost is None or not _is_within(cost, left):
                return False
            left -= cost
    return first != second


def _is_within(cost: Fraction, left: Fraction) -> bool:
    # Most changes are free, and fractions take long to compare.
    return cost is FREE or cost <= left
