"""Where one input of u and the same input of u' may lie together: convex polygons in a plane.

The point (x, y) says u_i = x and u'_i = y. A polygon is the tuple of its corners, counterclockwise;
one corner is a point, two are a segment. All is exact.

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

from collections.abc import Iterable, Sequence
from fractions import Fraction

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


def middle(polygon: Polygon) -> tuple[int, Fraction]:
    """Return where to cut a polygon, which is no point, in halves: its longer extent, and where."""
    widths = [high - low for low, high in (extent(polygon, X), extent(polygon, Y))]
    coordinate = X if widths[X] >= widths[Y] else Y
    low, high = extent(polygon, coordinate)
    return coordinate, (low + high) / 2


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
