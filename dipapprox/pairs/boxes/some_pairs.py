"""Single pairs of sets that are tried: what is known where bounds of sets are out of reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.pairs.boxes.cells import PairSet
from dipapprox.pairs.boxes.polygons import Point
from dipapprox.pairs.selections import Pair

_MOST_CORNERS = 16
"""Sets whose corners are looked at where bounds are out of reach."""

_MOST_EDGES = 2
"""Sets whose longest edges are."""

_MOST_HALVINGS = 16
"""Of an edge."""

Exact = Callable[[Pair], Enclosure]
"""Encloses delta of a pair."""

Enough = Callable[[Enclosure, int], bool]
"""Whether an enclosure of the largest delta will do after so many sets."""


def candidates(roots: Sequence[PairSet], exact: Exact) -> Iterator[Pair]:
    """Yield pairs at some corners of sets, and along their edges.

    Args:
        roots: The sets.
        exact: Encloses the deltas of single pairs.
    """
    for root in roots[:_MOST_CORNERS]:
        yield from corners(root)
    for root in roots[:_MOST_EDGES]:
        sizes = [
            max(max(abs(x2 - x), abs(y2 - y)) for (x, y), (x2, y2) in _edges(root, edge))
            for edge in range(max(map(len, root.polygons), default=0))
        ]
        for edge, size in enumerate(sizes):
            if size and 2 * size >= max(sizes):
                yield from _along(root, edge, exact)


def _edges(root: PairSet, number: int) -> list[tuple[Point, Point]]:
    """Return the edge of this number of every polygon."""
    return [
        (polygon[number % len(polygon)], polygon[(number + 1) % len(polygon)])
        for polygon in root.polygons
    ]


def _along(root: PairSet, edge: int, exact: Exact) -> Iterator[Pair]:
    """Yield pairs on edges of this number, nearer and nearer to where outputs change most.

    Far from where a program decides, all pairs look alike: what tells of the place is how well the
    two ends of a stretch, which need not be adjacent, can be told apart.
    """

    def at(share: Fraction) -> Pair:
        edges = _edges(root, edge)
        return root.pair(
            [(x + share * (x2 - x), y + share * (y2 - y)) for (x, y), (x2, y2) in edges]
        )

    def change(first: Pair, second: Pair) -> Fraction:
        ends = first[0], second[0]
        return max(exact(ends).lower, exact(ends[::-1]).lower)

    low, high = Fraction(0), Fraction(1)
    for _ in range(_MOST_HALVINGS):
        middle = (low + high) / 2
        start, pair, stop = at(low), at(middle), at(high)
        yield pair
        if change(start, pair) >= change(pair, stop):
            high = middle
        else:
            low = middle


def spread(pairs: Iterator[Pair], count: int) -> list[Pair]:
    """Return about so many of some pairs."""
    found = list(pairs)
    return found[:: max(len(found) // count, 1)]


def corners(root: PairSet) -> Iterator[Pair]:
    """Yield the pairs at some corners of a set."""
    for places in _some_corners(root):
        yield root.pair(places)


def _some_corners(pairs: PairSet) -> Iterator[list[Point]]:
    """Yield choices of a corner for each real input: all alike, and one unlike the others."""
    most = max(map(len, pairs.polygons), default=1)
    size = len(pairs.polygons)
    for common in range(most):
        base = [polygon[common % len(polygon)] for polygon in pairs.polygons]
        yield base
        for place in range(size):
            for other in range(most):
                own = list(base)
                own[place] = pairs.polygons[place][other % len(pairs.polygons[place])]
                yield own
