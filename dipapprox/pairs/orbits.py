"""Pairs of inputs up to permutations of cells that play the same part: one for each orbit.

Cells of a group may be permuted in u and u' at once: that permutes the outputs, the same way for
both (`events.symmetry`). So the pairs of an orbit have the same divergences, at every eps and over
the same number of outputs, and one of them stands for all. An orbit is known by how often each
step (u_i, u'_i) occurs in each group. A rule of adjacency that looks at cells one by one, and adds
up what their steps cost, has whole orbits; of listed pairs those are counted that are listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import factorial, prod

from dipapprox.events.symmetry import symmetry_of
from dipapprox.language.core import Cell, Value
from dipapprox.pairs.adjacency import rule_of, select_pairs
from dipapprox.pairs.likely import likely_first, likely_pairs
from dipapprox.pairs.selections import Orbit, Pair, PairSelection, one_by_one
from dipapprox.pairs.walk import Walk, plan_walk
from dipapprox.semantics.state import FinalStates

_Key = tuple[tuple[tuple[int, int], ...], ...]
"""For each group the steps of its cells, ascending, as places in their domain."""


def orbits(states: FinalStates, selection: PairSelection, total: int | None) -> Iterator[Orbit]:
    """Yield pairs that stand for all selected ones, the likely ones first."""
    program, cells = states.program, states.program.inputs
    symmetry, rule = symmetry_of(states), rule_of(program, selection)
    groups = () if symmetry is None else symmetry.permuting
    if any(len(group) > 1 for group in groups):
        if rule is None:
            return PairOrbits(cells, groups).of(select_pairs(program, selection))
        walk = plan_walk(cells, rule)
        if walk is not None:
            return PairOrbits(cells, groups).adjacent(walk, likely_pairs(cells, rule))
    return one_by_one(likely_first(program, selection, total))


class PairOrbits:
    """The orbits of the pairs of some inputs.

    Args:
        groups: All cells, grouped by the permutations that permute outputs.
    """

    def __init__(self, cells: Sequence[Cell], groups: Sequence[tuple[int, ...]]) -> None:
        self._groups = groups
        self._domains = [cells[group[0]].domain for group in groups]
        alike = {each: {value: k for k, value in enumerate(each)} for each in set(self._domains)}
        self._places = [alike[domain] for domain in self._domains]

    def of(self, pairs: Iterable[Pair]) -> Iterator[Orbit]:
        counts: Counter[_Key] = Counter()
        first: dict[_Key, Pair] = {}
        for pair in pairs:
            key = self._key(pair)
            counts[key] += 1
            first.setdefault(key, pair)
        return ((first[key], count) for key, count in counts.items())

    def adjacent(self, walk: Walk, likely: Iterable[Pair] = ()) -> Iterator[Orbit]:
        met: set[_Key] = set()
        for pair in likely:
            key = self._key(pair)
            if key not in met:
                met.add(key)
                yield pair, self._size(key)
        for key in self._keys(walk):
            if key not in met:
                yield self._pair(key), self._size(key)

    def _keys(self, walk: Walk) -> Iterator[_Key]:
        """Yield the orbits of different adjacent inputs: steps of a group in ascending order."""
        radius = walk.radius
        steps = [
            sorted(((a, b), cost) for a, b, cost in walk.steps[group[0]].each())
            for group in self._groups
        ]
        owners = [number for number, group in enumerate(self._groups) for _ in group]
        taken: _Key = ((),) * len(self._groups)
        waiting = [(0, 0, 0, taken)]
        while waiting:
            cell, least, spent, taken = waiting.pop()
            if cell == len(owners):
                if any(a != b for steps_taken in taken for a, b in steps_taken):
                    yield taken
                continue
            group = owners[cell]
            same = cell + 1 < len(owners) and owners[cell + 1] == group
            own = steps[group]
            for number in reversed(range(least, len(own))):
                step, cost = own[number]
                if radius is None or spent + cost <= radius:
                    more = (*taken[:group], (*taken[group], step), *taken[group + 1 :])
                    waiting.append((cell + 1, number if same else 0, spent + cost, more))

    def _key(self, pair: Pair) -> _Key:
        first, second = pair
        return tuple(
            tuple(sorted([(places[first[cell]], places[second[cell]]) for cell in group]))
            for group, places in zip(self._groups, self._places, strict=True)
        )

    def _size(self, key: _Key) -> int:
        """Return in how many ways the steps can be given to the cells."""
        return prod(
            factorial(len(steps)) // prod(map(factorial, Counter(steps).values())) for steps in key
        )

    def _pair(self, key: _Key) -> Pair:
        values: dict[int, tuple[Value, Value]] = {}
        for group, domain, steps in zip(self._groups, self._domains, key, strict=True):
            for cell, (ours, theirs) in zip(group, steps, strict=True):
                values[cell] = domain[ours], domain[theirs]
        first, second = zip(*(values[cell] for cell in range(len(values))), strict=True)
        return first, second
