"""Polygons are cut exactly, and maxima lie where they are said to lie."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.pairs.boxes.polygons import Direction, Polygon, clipped, faces, rectangle

_NUMBERS = st.fractions(-2, 2, max_denominator=8)


@st.composite
def _polygons(draw: st.DrawFn) -> Polygon:
    low, high = sorted((draw(_NUMBERS), draw(_NUMBERS)))
    polygon = rectangle(low, high)
    for a, b in ((1, -1), (-1, 1), (1, 0), (0, 1), (-1, 0), (0, -1)):
        part = clipped(polygon, a, b, draw(st.fractions(0, 3, max_denominator=4)))
        polygon = part or polygon
    return polygon


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
