"""Polygons are cut exactly, and maxima lie where they are said to lie."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.pairs.boxes.polygons import (
    Direction,
    Polygon,
    clipped,
    cut,
    diagonal,
    extent,
    faces,
    middle,
    rectangle,
)

_NUMBERS = st.fractions(-2, 2, max_denominator=8)


@st.composite
def _polygons(draw: st.DrawFn) -> Polygon:
    low, high = sorted((draw(_NUMBERS), draw(_NUMBERS)))
    polygon = rectangle(low, high)
    for a, b in ((1, -1), (-1, 1), (1, 0), (0, 1), (-1, 0), (0, -1)):
        part = clipped(polygon, a, b, draw(st.fractions(0, 3, max_denominator=4)))
        polygon = part or polygon
    return polygon


def _area(polygon: Polygon) -> Fraction:
    total = Fraction(0)
    for k, (x, y) in enumerate(polygon):
        x2, y2 = polygon[(k + 1) % len(polygon)]
        total += x * y2 - x2 * y
    return total / 2


def test_a_square_without_a_size_is_a_point() -> None:
    one = Fraction(1)
    assert rectangle(one, one) == diagonal(one, one) == ((one, one),)


@given(_polygons())
def test_halves_are_the_whole(polygon: Polygon) -> None:
    if len(polygon) == 1:
        return
    parts = cut(polygon, *middle(polygon))
    assert sum(map(_area, parts)) == _area(polygon) >= 0
    widths = [max(b - a for a, b in (extent(p, 0), extent(p, 1))) for p in (*parts, polygon)]
    assert all(2 * _perimeter(part) < 2 * _perimeter(polygon) + 1 for part in parts)
    assert max(widths[:-1]) <= widths[-1]


def _perimeter(polygon: Polygon) -> Fraction:
    (a, b), (c, d) = extent(polygon, 0), extent(polygon, 1)
    return b - a + d - c


@given(_polygons(), st.integers(-3, 3), st.integers(-3, 3))
def test_maxima_of_linear_forms_lie_on_faces(polygon: Polygon, a: int, b: int) -> None:
    directions: list[Direction] = []
    for slope, direction in ((a, (1, 0)), (b, (0, 1)), (a + b, (1, 1))):
        if slope:
            sign = 1 if slope > 0 else -1
            directions.append((sign * direction[0], sign * direction[1]))
    parts = faces(polygon, directions)
    whole = {corner for part in parts for corner in part}
    assert whole <= set(polygon)
    best = max(a * x + b * y for x, y in polygon)
    assert any(a * x + b * y == best for x, y in whole)
    if a and b and a + b and len(polygon) > 2:
        assert len(parts) <= len(polygon)
