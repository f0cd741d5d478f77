"""Programs that compare samples one by one: sets of pairs of real inputs where delta is largest.

**Lemma (edges).** Let all that depends on u_i, or on u'_i, be one sample with one cut, and let no
budget bind. Then delta is largest where (u_i, u'_i) is a corner, or on an edge parallel to no axis.
Proof. With F strictly increasing, (u_i, u'_i) -> (F(t), F(t')) maps the polygon homeomorphically
into the plane, edges parallel to axes to segments. For fixed other inputs delta is a convex
function of (F(t), F(t')), so largest at an extreme point of the image's hull: that lies in the
image, on its boundary, and not inside a segment.

**Images.** Let all that is published depend on u through the number s = a·u only, and on u' through
s' = a'·u'. Then so does delta, and of a set of pairs its image counts, {(a·u, a'·u')}: that of a
polytope, so a convex polygon, whatever the number of inputs, and whether a budget binds or not. It
is the hull of the images of the polytope's vertices.

A pair with a given image is a convex combination of three vertices, as the image is of theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import islice, pairwise, product, repeat
from math import lcm, prod

import numpy as np

from dipapprox.arithmetic.rounding import Array
from dipapprox.composition.divergences import lower_hull
from dipapprox.data_classes import Record, replace
from dipapprox.pairs.adjacency import FREE
from dipapprox.pairs.boxes.cells import (
    Fixed,
    PairSet,
    Point,
    Polygon,
    Vertex,
    X,
    Y,
    filled,
    real_places,
    sides,
    tidy,
    vertices,
)
from dipapprox.pairs.boxes.thresholds import Thresholds, thresholds_of
from dipapprox.semantics.state import FinalStates

_MOST_VERTICES = 20_000  # of a set whose budget binds


class Image(Record):
    """The image of a set of pairs: where (s, s') lies, and a vertex of the set for every corner."""

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
    """Return the image of a set of pairs by a and a', without corners if there are no pairs; None
    if it has many."""

    def image(vertex: Vertex) -> Point:
        xs = (a * point[X] for a, point in zip(first, vertex, strict=False))
        ys = (a * point[Y] for a, point in zip(second, vertex, strict=False))
        return sum(xs, FREE), sum(ys, FREE)

    found: dict[Point, Vertex] = {(FREE, FREE): ()}
    if pairs.is_bound:
        every = list(islice(vertices(pairs.polygons, pairs.budget or FREE), _MOST_VERTICES))
        if len(every) == _MOST_VERTICES:
            return None
        found = {image(each): each for each, _ in every}
    else:
        for polygon in pairs.polygons:
            grown = ((*known, point) for known, point in product(found.values(), polygon))
            found = {image(each): each for each in grown}
            found = {place: found[place] for place in _hull(list(found))}
    corners = _hull(list(found))
    return Image(corners, tuple(found[each] for each in corners))


def _hull(points: Sequence[Point]) -> Polygon:
    above = lower_hull((x, -y) for x, y in points)
    return tidy((*lower_hull(points), *((x, -y) for x, y in reversed(above))))


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
        if _combined([(a,), (b,)], found[:2]) != (place,):
            return None
    return found if min(found) >= 0 else None


def _combined(points: Sequence[Vertex], shares: Sequence[Fraction]) -> Vertex:
    def along(own: Sequence[Point], coordinate: int) -> Fraction:
        return sum((a * point[coordinate] for a, point in zip(shares, own, strict=True)), FREE)

    return tuple((along(own, X), along(own, Y)) for own in zip(*points, strict=True))


_MOST_FIXED = 64  # values of the finite inputs
_MOST_CORNERS = 243  # products of corners of one set
_MOST_ROOTS = 5_000
_LARGEST = 2**14  # of corners, in units: halved 36 times they are still exact
Kind = tuple[Fixed, Fixed, float | None, tuple[int, ...]]
"""Finite inputs in u and u', the budget in units, and how many corners there are for each input."""


class OneByOne(Record, eq=False):
    roots: list[PairSet]  # sets where delta may be largest
    unit: Fraction  # all corners are small integers in it
    thresholds: dict[Fixed, Thresholds]  # at all values of finite inputs, for this unit
    # Where one number stands for real inputs, those of all sets of pairs.
    images: tuple[Image, ...] = ()
    # For each sample the same pairs, where its cell alone is shown; none if that tells no more than
    # `thresholds` do.
    samples: tuple[OneByOne, ...] = ()

    def points(self, corner: Sequence[Point]) -> Sequence[Point]:
        """Return where real inputs are, at a corner of a set."""
        if not self.images:
            return corner
        return next(own for each in self.images if (own := each.pair(corner[0])) is not None)

    def triangles(self) -> dict[Kind, tuple[Array, ...]]:
        """Return products of triangles, segments and points that hold all pairs, by kind: for each
        real input an array of sets, corners, and x and y, in units."""
        unit = self.unit
        found: dict[Kind, list[tuple[Polygon, ...]]] = {}
        for root in self.roots:
            bound = root.is_bound
            budget = None if not bound or root.budget is None else float(root.budget / unit)
            # On one side of x = y each, if a budget binds.
            halves = [sides(each) if bound else (each,) for each in root.polygons]
            cut = [dict.fromkeys(t for half in own for t in _fan(half)) for own in halves]
            for parts in product(*cut):
                kind = (root.first, root.second, budget, tuple(map(len, parts)))
                found.setdefault(kind, []).append(parts)
        return {
            kind: tuple(
                np.array([[[float(x / unit), float(y / unit)] for x, y in each] for each in own])
                for own in zip(*sets, strict=True)
            )
            for kind, sets in found.items()
        }


def one_by_one(states: FinalStates, eps: Fraction, roots: Sequence[PairSet]) -> OneByOne | None:
    """Return pairs of a program, all in `roots`; None if samples are compared with each other."""
    cells, unit = states.program.inputs, _unit_of(roots)
    fixed = dict.fromkeys(side for each in roots for side in (each.first, each.second))
    if unit is None or len(fixed) > _MOST_FIXED:
        return None
    places = real_places(cells)
    found: dict[Fixed, Thresholds] = {}
    for values in fixed:
        own = thresholds_of(states, eps, filled(values, repeat(FREE)), places, unit)
        if own is None:
            return None
        found[values] = own
    if len(places) > 1 and all(each.number is not None for each in found.values()):
        known = _of_numbers(roots, found, unit)
        if known is not None:
            return known
    samples: list[OneByOne | None] = []
    if len(found) == 1 and len(places) > 1:
        ((side, own),) = found.items()
        samples = [_of_numbers(roots, {side: each}, unit) for each in own.of_samples()]
    told = () if None in samples else tuple(filter(None, samples))
    return OneByOne(_on_edges(roots, found), unit, found, samples=told)


def _of_numbers(
    roots: Sequence[PairSet], thresholds: Mapping[Fixed, Thresholds], old: Fraction
) -> OneByOne | None:
    """Return pairs of a program whose outputs depend on one number; None if they are too many.

    Args:
        thresholds: For real inputs, in the unit `old`.
    """
    images, sets = [], []
    for root in roots:
        first, second = (thresholds[side].number or () for side in (root.first, root.second))
        image = image_of(root, first, second)
        if image is None:
            return None
        if image.polygon:
            images.append(image)
            sets.append(PairSet((image.polygon,), root.first, root.second, None))
    unit = _unit_of(sets)
    if unit is None:
        return None
    found = {fixed: each.of_number(old, unit) for fixed, each in thresholds.items()}
    return OneByOne(_on_edges(sets, found), unit, found, tuple(images))


def _fan(polygon: Polygon) -> list[Polygon]:
    """Cut a polygon into triangles; what has no inside stays."""
    if len(polygon) <= 3:
        return [polygon] if polygon else []
    return [(polygon[0], *edge) for edge in pairwise(polygon[1:])]


def _unit_of(roots: Sequence[PairSet]) -> Fraction | None:
    """Return a unit in which all corners are small integers; None if they are not, or too many."""
    numbers = [each for root in roots for p in root.polygons for corner in p for each in corner]
    numbers += [root.budget for root in roots if root.budget is not None]
    unit = Fraction(1, lcm(*(each.denominator for each in numbers)))
    few = sum(prod(2 * max(len(p) - 2, 1) for p in root.polygons) for root in roots)
    corners = max((prod(min(len(p), 3) for p in root.polygons) for root in roots), default=1)
    small = all(abs(each) <= _LARGEST * unit for each in numbers)
    return unit if small and few <= _MOST_ROOTS and corners <= _MOST_CORNERS else None


def _on_edges(roots: Sequence[PairSet], thresholds: Mapping[Fixed, Thresholds]) -> list[PairSet]:
    """Return where delta is largest: see the lemma of edges."""
    found = []
    for root in roots:
        options: list[list[Polygon]] = []
        for axis, polygon in enumerate(root.polygons):
            if root.is_bound or not all(own.is_alone(axis) for own in thresholds.values()):
                options.append([polygon])
                continue
            edges = [(polygon[k - 1], polygon[k]) for k in range(len(polygon))]
            slanted = [(a, b) for a, b in edges if a[X] != b[X] and a[Y] != b[Y]]
            met = {corner for edge in slanted for corner in edge}
            corners = [(corner,) for corner in polygon if corner not in met]
            options.append([*slanted[: 1 if len(polygon) == 2 else None], *corners])
        found += [replace(root, polygons=own) for own in product(*options)]
    return found
