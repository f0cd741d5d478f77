"""Sets of pairs (u, u') of inputs, some of them real: all adjacent ones, and parts of these.

Inputs with a finite domain have one value in u and one in u' throughout a set; a real input has a
convex polygon for its values in both. Adjacency l1 also bounds the sum of all distances of real
inputs.

**Vertices.** On one side of u_i = u'_i each, such a set is a product of polygons, cut by Σ |u_i -
u'_i| <= r, which is linear there. So its vertices are products of corners within the budget, and
points of edges, which join two such products that differ in one input, where all of it is spent.

**Polygons.** They say where one input of u and the same input of u' may lie together: the point (x,
y) stands for u_i = x and u'_i = y. A polygon is the tuple of its corners, counterclockwise; one
corner is a point, two are a segment. All is exact.

**Lemma (blocked moves).** Let f be continuous on a product of compact polygons, and in some of them
let D be directions along which f never falls, wherever one is; all on one open side of a line
through 0. Then f has a maximum at which, in each of these polygons, no move along a direction of D
is possible.
Proof. The set of the maxima is compact; take one whose sum over the polygons of w·(x, y) is the
largest, w being on that open side: w·d > 0 for all d in D. A possible move along d would lead to
another maximum with a larger sum.

So f is maximal on `faces`: on edges with an outward normal n with n·d > 0 for all d in D, and at
corners where every d has n·d > 0 for the normal n of one of the two edges that meet there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product

from dipapprox.data_classes import Record, replace
from dipapprox.errors import LimitReached, UserError
from dipapprox.language.core import Cell, Everyone, Input, Listed, Norm, Program, Value, Within
from dipapprox.language.domains import AllReals
from dipapprox.pairs.adjacency import FREE, CellAdjacency, radius_of, reach_of
from dipapprox.pairs.selections import Pair

Point = tuple[Fraction, Fraction]
Polygon = tuple[Point, ...]
Direction = tuple[int, int]

X, Y = 0, 1


def rectangle(low: Fraction, high: Fraction) -> Polygon:
    """Return the square [low, high]², or the point if both are equal."""
    return tidy(((low, low), (high, low), (high, high), (low, high)))


def clipped(polygon: Polygon, a: Fraction | int, b: Fraction | int, most: Fraction) -> Polygon:
    """Return where a x + b y <= most; () if that is nowhere."""
    found: list[Point] = []
    beyond = [a * x + b * y - most for x, y in polygon]
    for k, (x, y) in enumerate(polygon):
        after = (k + 1) % len(polygon)
        if beyond[k] <= 0:
            found.append((x, y))
        if (beyond[k] < 0 < beyond[after]) or (beyond[after] < 0 < beyond[k]):
            share = beyond[k] / (beyond[k] - beyond[after])
            other = polygon[after]
            found.append((x + share * (other[0] - x), y + share * (other[1] - y)))
    return tidy(found)


def sides(polygon: Polygon) -> tuple[Polygon, Polygon]:
    """Return where x <= y, and where x >= y."""
    return clipped(polygon, 1, -1, Fraction(0)), clipped(polygon, -1, 1, Fraction(0))


def tidy(corners: Iterable[Point]) -> Polygon:
    """Leave out corners that are met before."""
    return tuple(dict.fromkeys(corners))


def extent(polygon: Polygon, coordinate: int) -> tuple[Fraction, Fraction]:
    values = [corner[coordinate] for corner in polygon]
    return min(values), max(values)


def width(polygon: Polygon) -> Fraction:
    """Return the longer extent."""
    return max(high - low for low, high in (extent(polygon, X), extent(polygon, Y)))


def cut(polygon: Polygon, coordinate: int, place: Fraction) -> tuple[Polygon, ...]:
    """Cut a polygon where x, or y, has a value."""
    a, b = (1, 0) if coordinate == X else (0, 1)
    parts = (clipped(polygon, a, b, place), clipped(polygon, -a, -b, -place))
    return tuple(part for part in parts if part)


def faces(polygon: Polygon, directions: Sequence[Direction]) -> tuple[Polygon, ...]:
    """Return the edges and corners where all directions, which are on one open side of a line
    through 0, are blocked (see the module); without any, the polygon stays."""
    if not directions or len(polygon) == 1:
        return (polygon,)
    if len(polygon) == 2:
        (x, y), (x2, y2) = polygon
        ahead = (x2 - x, y2 - y)
        for a, b in directions:
            if ahead[X] * b == ahead[Y] * a:
                return (polygon[1:] if ahead[X] * a + ahead[Y] * b > 0 else polygon[:1],)
        return (polygon,)
    edges = [(end, polygon[(k + 1) % len(polygon)]) for k, end in enumerate(polygon)]
    # The outward normal of an edge is its direction, turned to the right.
    blocked = [
        [(y2 - y) * a - (x2 - x) * b > 0 for a, b in directions] for (x, y), (x2, y2) in edges
    ]
    found: list[Polygon] = [
        edge for edge, blocks in zip(edges, blocked, strict=True) if all(blocks)
    ]
    for k, blocks in enumerate(blocked):
        before = blocked[k - 1]
        if not all(blocks) and not all(before) and all(map(max, blocks, before)):
            found.append((polygon[k],))
    # By the lemma there is one; a polygon without an inside may have none that is seen so.
    return tuple(found) or (polygon,)


_MOST_SETS = 20_000  # combinations of the values of finite inputs
Fixed = tuple[Value | None, ...]  # the values of the finite inputs; None for real ones


class PairSet(Record):
    polygons: tuple[Polygon, ...]  # for each real input, in the order of the program
    first: Fixed  # of u; `second` of u'
    second: Fixed
    # The most that distances of real inputs may add up to; None for no bound.
    budget: Fraction | None

    def halves(self, axis: int) -> Iterator[PairSet]:
        """Yield the halves of a set, cut across the longer extent of a real input's polygon."""
        polygon = self.polygons[axis]
        (left, right), (low, high) = (extent(polygon, coordinate) for coordinate in (X, Y))
        longer = (X, (left + right) / 2) if right - left >= high - low else (Y, (low + high) / 2)
        for half in cut(polygon, *longer):
            polygons = (*self.polygons[:axis], half, *self.polygons[axis + 1 :])
            yield replace(self, polygons=polygons)

    @property
    def is_one_pair(self) -> bool:
        return all(len(polygon) == 1 for polygon in self.polygons)

    @property
    def is_empty(self) -> bool:
        """Whether even the least distances exceed the budget."""
        return self._exceeds(lambda low, high: max(low, -high, FREE))

    @property
    def is_bound(self) -> bool:
        """Whether the budget may keep inputs apart that the polygons allow."""
        return self._exceeds(lambda low, high: max(high, -low))

    def _exceeds(self, distance: Callable[[Fraction, Fraction], Fraction]) -> bool:
        if self.budget is None:
            return False
        changes = ([x - y for x, y in polygon] for polygon in self.polygons)
        return sum((distance(min(own), max(own)) for own in changes), FREE) > self.budget

    def pair(self, corners: Sequence[Point]) -> Pair:
        """Return the pair where real inputs have these values, moved together if they must be."""
        points = self.moved_together(corners)
        return filled(self.first, [x for x, _ in points]), filled(
            self.second, [y for _, y in points]
        )

    def moved_together(self, corners: Sequence[Point]) -> tuple[Point, ...]:
        """Return real inputs within the budget."""
        spent = sum((abs(x - y) for x, y in corners), FREE)
        share = Fraction(1)
        if self.budget is not None and spent > self.budget:
            share = self.budget / spent
        return tuple((x, x + share * (y - x)) for x, y in corners)


def filled(fixed: Fixed, reals: Iterable[Fraction]) -> Input:
    values = iter(reals)
    return tuple([next(values) if value is None else value for value in fixed])


def real_places(cells: Sequence[Cell]) -> list[int]:
    return [place for place, cell in enumerate(cells) if isinstance(cell.domain, AllReals)]


def pairs_of(program: Program) -> list[PairSet]:
    """Return sets that together hold the adjacent pairs of a program with real inputs.

    Raises:
        UserError: If the program lists pairs, or wants distances between named values.
        LimitReached: As `all_pairs`.
    """
    if isinstance(program.adjacency, Listed):
        raise UserError("pairs of real inputs cannot be listed in a program")
    return all_pairs(program.inputs, program.adjacency)


def all_pairs(cells: Sequence[Cell], adjacency: Within | Everyone) -> list[PairSet]:
    """Return sets that together hold the adjacent pairs, and pairs of equal inputs.

    Raises:
        LimitReached: If finite inputs have too many values, or a real one has no bounds.
    """
    radius = radius_of(adjacency)
    bound = isinstance(adjacency, Within) and adjacency.norm is Norm.L1
    found: list[_Option] = [((), (), (), FREE)]
    for cell in cells:
        options = list(_options(cell, adjacency))
        found = [
            (polygons + polygon, first + one, second + other, spent + cost)
            for polygons, first, second, spent in found
            for polygon, one, other, cost in options
            if spent + cost <= radius
        ]
        if len(found) > _MOST_SETS:
            raise LimitReached(f"pair limit: finite inputs have more than {_MOST_SETS} pairs")
    return [
        PairSet(polygons, first, second, radius - spent if bound else None)
        for polygons, first, second, spent in found
    ]


_Option = tuple[tuple[Polygon, ...], Fixed, Fixed, Fraction]
"""What some inputs may be in u and u', polygons for real ones, and what the change costs."""


def _options(cell: Cell, adjacency: Within | Everyone) -> Iterator[_Option]:
    if not isinstance(cell.domain, AllReals):
        relation = CellAdjacency(cell, adjacency)
        for value in cell.domain:
            yield (), (value,), (value,), FREE
            for other, cost in relation.of(value):
                yield (), (value,), (other,), cost
        return
    if cell.domain.bounds is None:
        raise LimitReached(
            f"the input '{cell.name}' has no bounds: only 'real -5..5' and the like are covered"
        )
    low, high = cell.domain.bounds
    near, price = rectangle(low, high), FREE
    match adjacency:
        case Within(Norm.L0, _):
            yield (tidy(((low, low), (high, high))),), (None,), (None,), FREE
            price = Fraction(1)
        case Within(norm, radius):
            fall, rise = reach_of(norm, radius)
            near = clipped(clipped(near, 1, -1, fall), -1, 1, rise)
    yield (near,), (None,), (None,), price


def boxes(pairs: PairSet) -> tuple[tuple[tuple[Fraction, Fraction], ...], ...]:
    """Return the least boxes that hold the real inputs of u, and those of u'."""
    return tuple(tuple([extent(polygon, k) for polygon in pairs.polygons]) for k in (X, Y))


def on_faces(root: PairSet, signs: Sequence[int]) -> Iterator[PairSet]:
    """Yield the parts of a set that hold a maximum of what never falls as real inputs of u move by
    these signs, those of u' against them; 0: nothing is known."""
    signed = zip(root.polygons, signs, strict=True)
    options: Iterable[Sequence[Polygon]]
    if root.is_bound:
        options = ([sides(each)[sign > 0] if sign else each] for each, sign in signed)
    else:
        options = (faces(each, ((sign, 0), (0, -sign)) if sign else ()) for each, sign in signed)
    return (replace(root, polygons=polygons) for polygons in product(*options))


Vertex = tuple[Point, ...]  # of a set of pairs: a point for every real input


def vertices(polygons: Sequence[Polygon], budget: Fraction) -> Iterator[tuple[Vertex, Fraction]]:
    """Yield all vertices of a set whose budget binds, and other points of it, with what is left of
    the budget there."""
    joined: list[dict[Point, set[Point]]] = [{} for _ in polygons]  # to which ones edges lead
    for own, polygon in zip(joined, polygons, strict=True):
        for side in sides(polygon):
            for one, other in pairwise((*side, *side[:1])):
                own.setdefault(one, set()).add(other)
                own.setdefault(other, set()).add(one)
    for vertex, left in _within(joined, budget):
        yield vertex, left
        for axis, (x, y) in enumerate(vertex):
            for x2, y2 in joined[axis][x, y]:
                more = abs(x2 - y2) - abs(x - y)
                if 0 < left < more:
                    last = (x + left / more * (x2 - x), y + left / more * (y2 - y))
                    yield (*vertex[:axis], last, *vertex[axis + 1 :]), FREE


def _within(
    joined: Sequence[Iterable[Point]], budget: Fraction
) -> Iterator[tuple[Vertex, Fraction]]:
    """Yield products of corners within a budget, and what is left of it."""
    if not joined:
        yield (), budget
        return
    for x, y in joined[0]:
        left = budget - abs(x - y)
        if left >= 0:
            for others, rest in _within(joined[1:], left):
                yield ((x, y), *others), rest
