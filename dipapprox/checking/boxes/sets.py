"""Sets of pairs (u, u') with real inputs: products of convex polygons, cut and reduced.

A polygon has the points (x, y) that say u_i = x and u'_i = y: the tuple of its corners,
counterclockwise; a segment has two, a point one. Finite inputs have one value in u and one in u'
throughout a set. With adjacency l1 distances of real inputs have a budget.

**Reduction.** Let a continuous function on a product of compact polygons never fall along some
directions, in each polygon all on one open side of a line through 0. Among its maxima take one with
the largest sum of w · (x, y), w · d > 0 for all directions d: no move along a direction is possible
there. So it lies, in each polygon, on an edge whose outward normal n has n · d > 0 for all d, or at
a corner where each d has that with the normal of one of the two edges there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import assert_never

from dipapprox.checking.values import Stuck
from dipapprox.data_classes import dataclass
from dipapprox.language.core import (
    Cell,
    Everyone,
    Input,
    Listed,
    Norm,
    Program,
    Value,
    Within,
)
from dipapprox.language.domains import AllReals

_MOST_SETS = 20_000
_ZERO = Fraction(0)

Point = tuple[Fraction, Fraction]
Polygon = tuple[Point, ...]
Direction = tuple[int, int]
Range = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Pairs:
    """A set of pairs.

    Attributes:
        polygons: For each real input.
        first: The values of u; None for real inputs.
        second: Of u'.
        budget: The most that distances of real inputs add up to; None for no bound.
    """

    polygons: tuple[Polygon, ...]
    first: tuple[Value | None, ...]
    second: tuple[Value | None, ...]
    budget: Fraction | None

    @property
    def pair(self) -> tuple[Input, Input] | None:
        """The only pair of the set; None if there are more."""
        if any(len(polygon) > 1 for polygon in self.polygons):
            return None
        found = []
        for place, fixed in enumerate((self.first, self.second)):
            own = iter([polygon[0][place] for polygon in self.polygons])
            found.append(tuple(next(own) if value is None else value for value in fixed))
        return found[0], found[1]

    @property
    def is_empty(self) -> bool:
        """Whether even the least distances exceed the budget."""
        return self.budget is not None and sum(map(least_distance, self.polygons)) > self.budget

    @property
    def is_tied(self) -> bool:
        """Whether the polygons have pairs that exceed the budget."""
        return self.budget is not None and sum(map(_most_distance, self.polygons)) > self.budget

    def with_polygons(self, polygons: Sequence[Polygon]) -> Pairs:
        """Return the set with other polygons."""
        return Pairs(tuple(polygons), self.first, self.second, self.budget)

    def cut(self, axis: int, coordinate: int, place: Fraction) -> list[Pairs]:
        """Cut a polygon where x, or y, has a value; parts without points are left out."""
        a, b = (1, 0) if coordinate == 0 else (0, 1)
        own = self.polygons[axis]
        parts = (clipped(own, a, b, place), clipped(own, -a, -b, -place))
        return [
            self.with_polygons((*self.polygons[:axis], part, *self.polygons[axis + 1 :]))
            for part in parts
            if part
        ]

    def reduced(self, directions: Sequence[Sequence[Direction]]) -> list[Pairs]:
        """Return sets on which a function is maximal that never falls along directions.

        Args:
            directions: For each real input, all on one open side of a line; see the module.
        """
        parts = map(_blocked, self.polygons, directions)
        return [self.with_polygons(polygons) for polygons in product(*parts)]


def extent(polygon: Polygon, coordinate: int) -> tuple[Fraction, Fraction]:
    """Return the least and the greatest x, or y."""
    values = [corner[coordinate] for corner in polygon]
    return min(values), max(values)


def least_distance(polygon: Polygon) -> Fraction:
    """Return the least |x - y|."""
    values = [x - y for x, y in polygon]
    return max(min(values), -max(values), _ZERO)


def _most_distance(polygon: Polygon) -> Fraction:
    return max(abs(x - y) for x, y in polygon)


def clipped(polygon: Polygon, a: Fraction | int, b: Fraction | int, most: Fraction) -> Polygon:
    """Return where a x + b y <= most; () if that is nowhere."""
    found: list[Point] = []
    for k, (x, y) in enumerate(polygon):
        x2, y2 = polygon[(k + 1) % len(polygon)]
        here, there = a * x + b * y - most, a * x2 + b * y2 - most
        if here <= 0:
            found.append((x, y))
        if here * there < 0:
            share = here / (here - there)
            found.append((x + share * (x2 - x), y + share * (y2 - y)))
    return tuple(dict.fromkeys(found))


def _blocked(polygon: Polygon, directions: Sequence[Direction]) -> list[Polygon]:
    """Return the edges and corners of a polygon where all directions are blocked."""
    if not directions or len(polygon) == 1:
        return [polygon]
    if len(polygon) == 2:
        (x, y), (x2, y2) = polygon
        for a, b in directions:
            along = (x2 - x) * a + (y2 - y) * b
            if (x2 - x) * b == (y2 - y) * a and along:
                return [polygon[1:] if along > 0 else polygon[:1]]
        return [polygon]
    edges = [(each, polygon[(k + 1) % len(polygon)]) for k, each in enumerate(polygon)]
    blocks = [
        [(y2 - y) * a + (x - x2) * b > 0 for a, b in directions] for (x, y), (x2, y2) in edges
    ]
    found: list[Polygon] = [edge for edge, own in zip(edges, blocks, strict=True) if all(own)]
    for k, own in enumerate(blocks):
        before = blocks[k - 1]
        if not all(own) and not all(before) and all(map(max, own, before)):
            found.append(polygon[k : k + 1])
    # There is one; rather the whole polygon than nothing.
    return found or [polygon]


def possible(polygon: Polygon, directions: Sequence[Direction]) -> list[Direction]:
    """Return the directions along which there are moves, for a polygon of at most two corners."""
    if len(polygon) > 2:
        return list(directions)
    (x, y), (x2, y2) = polygon[0], polygon[-1]
    return [(a, b) for a, b in directions if polygon[1:] and (x2 - x) * b == (y2 - y) * a]


def on_one_side(directions: Sequence[Direction]) -> bool:
    """Whether directions lie on one open side of a line through 0."""
    if any(direction == (0, 0) for direction in directions):
        return False
    candidates = [(a, b) for a in range(-3, 4) for b in range(-3, 4)]
    return not directions or any(
        all(a * x + b * y > 0 for x, y in directions) for a, b in candidates
    )


def real_ranges(program: Program) -> list[Range | None]:
    """Return the bounds of the real inputs, None for those without."""
    return [cell.domain.bounds for cell in program.inputs if isinstance(cell.domain, AllReals)]


def all_pairs(program: Program, ranges: Sequence[Range | None]) -> list[Pairs]:
    """Return sets that together hold the adjacent pairs, and pairs of equal inputs.

    Args:
        program: With real inputs.
        ranges: Of these.

    Raises:
        Stuck: If adjacency is no relation of numbers, a real input has no range, or there are too
            many sets.
    """
    adjacency = program.adjacency
    if isinstance(adjacency, Listed):
        raise Stuck("listed pairs of real inputs")
    radius = adjacency.radius if isinstance(adjacency, Within) else _ZERO
    sums = isinstance(adjacency, Within) and adjacency.norm in (Norm.L1, Norm.L0)
    found = [Pairs((), (), (), radius)]
    own = iter(ranges)
    for cell in program.inputs:
        choices = list(
            _real_choices(cell.name, next(own), adjacency)
            if isinstance(cell.domain, AllReals)
            else _choices(cell, adjacency)
        )
        found = [
            Pairs((*s.polygons, *polygon), (*s.first, x), (*s.second, y), s.budget - cost)
            for s in found
            for polygon, x, y, cost in choices
            if s.budget is not None and (not sums or cost <= s.budget)
        ]
        if len(found) > _MOST_SETS:
            raise Stuck("too many pairs of finite inputs beside real ones")
    tied = isinstance(adjacency, Within) and adjacency.norm is Norm.L1
    return [Pairs(s.polygons, s.first, s.second, s.budget if tied else None) for s in found]


_Choice = tuple[tuple[Polygon, ...], Value | None, Value | None, Fraction]
"""What an input is in u and in u', and what of the radius that takes."""


def _choices(cell: Cell, adjacency: Within | Everyone) -> Iterator[_Choice]:
    for x, y in product(cell.domain, repeat=2):
        cost = _cost(x, y, adjacency)
        if cost is not None:
            yield (), x, y, cost


def _real_choices(name: str, own: Range | None, adjacency: Within | Everyone) -> Iterator[_Choice]:
    if own is None:
        raise Stuck(f"the real input '{name}' has no bounds")
    low, high = own
    square = tuple(dict.fromkeys(((low, low), (high, low), (high, high), (low, high))))
    match adjacency:
        case Everyone():
            yield (square,), None, None, _ZERO
        case Within(Norm.L0, _):
            yield (tuple(dict.fromkeys(((low, low), (high, high)))),), None, None, _ZERO
            yield (square,), None, None, Fraction(1)
        case Within(norm, radius):
            up = _ZERO if norm is Norm.DECREASING else radius
            down = _ZERO if norm is Norm.INCREASING else radius
            yield (clipped(clipped(square, 1, -1, down), -1, 1, up),), None, None, _ZERO
        case _:
            assert_never(adjacency)


def _cost(x: Value, y: Value, adjacency: Within | Everyone) -> Fraction | None:
    """Return what of the radius a change of one input takes; None if it is too much."""
    if isinstance(adjacency, Everyone):
        return _ZERO
    if adjacency.norm is Norm.L0:
        return Fraction(x != y)
    if isinstance(x, str) or isinstance(y, str):
        raise Stuck(f"a distance from the named value of '{x}' or '{y}'")
    change = y - x
    if abs(change) > adjacency.radius:
        return None
    match adjacency.norm:
        case Norm.L1:
            return abs(change)
        case Norm.LINF:
            return _ZERO
        case Norm.INCREASING:
            return _ZERO if change >= 0 else None
        case Norm.DECREASING:
            return _ZERO if change <= 0 else None
        case _:
            assert_never(adjacency.norm)
