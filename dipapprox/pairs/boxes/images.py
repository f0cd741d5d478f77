"""Programs whose outputs depend on one number made of real inputs: it stands for all of them.

Let all that is published depend on u through s = a·u only, and on u' through s' = a'·u'. Then so
does delta, and of a set of pairs its image counts, {(a·u, a'·u')}: that of a polytope, so a convex
polygon, whatever the number of inputs, and whether a budget binds or not. It is the hull of the
images of the polytope's vertices.

**Vertices.** On one side of u_i = u'_i each, such a set is a product of polygons, cut by Σ |u_i -
u'_i| <= r, which is linear there. So its vertices are products of corners within the budget, and
points of edges, which join two such products that differ in one input, where all of it is spent.

A pair with a given image is a convex combination of three vertices, as the image is of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import prod

from dipapprox.data_classes import dataclass
from dipapprox.pairs.adjacency import FREE
from dipapprox.pairs.boxes.cells import PairSet
from dipapprox.pairs.boxes.polygons import Point, Polygon, X, Y, clipped

_MOST_VERTICES = 20_000
"""Products of corners of a set whose budget binds."""

Vertex = tuple[Point, ...]
"""Of a set of pairs: a point for every real input."""


@dataclass(frozen=True, slots=True)
class Image:
    """The image of a set of pairs.

    Attributes:
        polygon: Where (s, s') lies.
        vertices: Of the set, one for every corner.
    """

    polygon: Polygon
    vertices: tuple[Vertex, ...]

    def pair(self, place: Point) -> Vertex | None:
        """Return a point of the set with a given image; None if there is none."""
        corners = self.polygon
        last = max(len(corners) - 2, 1)
        for k in range(1, last + 1):
            own = [0, min(k, len(corners) - 1), min(k + 1, len(corners) - 1)]
            shares = _shares([corners[each] for each in own], place)
            if shares is not None:
                return _combined([self.vertices[each] for each in own], shares)
        return None


def image_of(pairs: PairSet, first: Sequence[Fraction], second: Sequence[Fraction]) -> Image | None:
    """Return the image of a set of pairs, without corners if there are none; None if it has many.

    Args:
        pairs: The set.
        first: a.
        second: a'.
    """

    def image(vertex: Vertex) -> Point:
        xs = (a * point[X] for a, point in zip(first, vertex, strict=False))
        ys = (a * point[Y] for a, point in zip(second, vertex, strict=False))
        return sum(xs, FREE), sum(ys, FREE)

    found: dict[Point, Vertex] = {(FREE, FREE): ()}
    if pairs.is_bound:
        vertices = _vertices(pairs)
        if vertices is None:
            return None
        found = {image(each): each for each in vertices}
    else:
        for polygon in pairs.polygons:
            grown = ((*known, point) for known, point in product(found.values(), polygon))
            found = {image(each): each for each in grown}
            found = {place: found[place] for place in _hull(list(found))}
    corners = _hull(list(found))
    return Image(corners, tuple(found[each] for each in corners))


def _vertices(pairs: PairSet) -> Iterator[Vertex] | None:
    """Yield all vertices of a set whose budget binds, and other points of it."""
    joined = [_joined(polygon) for polygon in pairs.polygons]
    if prod(map(len, joined)) > _MOST_VERTICES:
        return None
    return _within(joined, pairs.budget or FREE)


def _within(joined: Sequence[dict[Point, set[Point]]], budget: Fraction) -> Iterator[Vertex]:
    for vertex in product(*joined):
        left = budget - sum((abs(x - y) for x, y in vertex), FREE)
        if left >= 0:
            yield vertex
            continue
        for axis, own in enumerate(vertex):
            for other in joined[axis][own]:
                # From `own`, beyond the budget, towards what costs less.
                spared = abs(own[X] - own[Y]) - abs(other[X] - other[Y])
                if spared + left >= 0 < spared:
                    share = -left / spared
                    place = tuple(p + share * (q - p) for p, q in zip(own, other, strict=True))
                    yield (*vertex[:axis], (place[X], place[Y]), *vertex[axis + 1 :])


def _joined(polygon: Polygon) -> dict[Point, set[Point]]:
    """Return corners on either side of x = y, and to which ones edges lead."""
    found: dict[Point, set[Point]] = {}
    for side in (clipped(polygon, 1, -1, FREE), clipped(polygon, -1, 1, FREE)):
        for one, other in pairwise((*side, *side[:1])):
            found.setdefault(one, set()).add(other)
            found.setdefault(other, set()).add(one)
    return found


def _hull(points: Sequence[Point]) -> Polygon:
    """Return the corners of the convex hull, counterclockwise."""
    ordered = sorted(points)
    if len(ordered) < 3:
        return tuple(ordered)
    halves: list[list[Point]] = []
    for order in (ordered, ordered[::-1]):
        half: list[Point] = []
        for point in order:
            while len(half) > 1 and _turn(half[-2], half[-1], point) <= 0:
                half.pop()
            half.append(point)
        halves.append(half[:-1])
    return (*halves[0], *halves[1])


def _turn(a: Point, b: Point, c: Point) -> Fraction:
    """Twice the area of a triangle, > 0 if it is counterclockwise."""
    return (b[X] - a[X]) * (c[Y] - a[Y]) - (b[Y] - a[Y]) * (c[X] - a[X])


def _shares(triangle: Sequence[Point], place: Point) -> tuple[Fraction, ...] | None:
    """Return shares >= 0 of the corners of a triangle, or less, that make a place."""
    a, b, c = triangle
    area = _turn(a, b, c)
    if area:
        found = _turn(place, b, c) / area, _turn(a, place, c) / area, _turn(a, b, place) / area
    else:
        coordinate = X if a[X] != b[X] else Y
        length = b[coordinate] - a[coordinate]
        share = (place[coordinate] - a[coordinate]) / length if length else FREE
        found = 1 - share, share, FREE
        if any(p + share * (q - p) != r for p, q, r in zip(a, b, place, strict=True)):
            return None
    return found if min(found) >= 0 else None


def _combined(vertices: Sequence[Vertex], shares: Sequence[Fraction]) -> Vertex:
    points = []
    for own in zip(*vertices, strict=True):
        x, y = (
            sum((share * point[k] for share, point in zip(shares, own, strict=True)), FREE)
            for k in (X, Y)
        )
        points.append((x, y))
    return tuple(points)
