"""Single pairs of sets that are tried: what is known where bounds of sets are out of reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from dipapprox.arithmetic.enclosure import UNIT, Enclosure
from dipapprox.data_classes import dataclass
from dipapprox.errors import LimitReached
from dipapprox.limits import Limits
from dipapprox.pairs.boxes.cells import PairSet
from dipapprox.pairs.boxes.polygons import Point
from dipapprox.pairs.maximum import about
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


@dataclass(frozen=True, slots=True)
class BoxSearchResult:
    """What a search found.

    Attributes:
        delta: Encloses the largest delta.
        pair: Whose delta is at least `delta.lower`; None if none was looked at.
        left: A set of pairs with the largest upper bound; None if that is of one pair.
        sets: How many sets were looked at.
    """

    delta: Enclosure
    pair: Pair | None
    left: PairSet | None
    sets: int


def better(first: BoxSearchResult, second: BoxSearchResult) -> BoxSearchResult:
    """Join what two searches for the same found; what the first one left open is open."""
    pair = first.pair if first.delta.lower >= second.delta.lower else second.pair
    delta = first.delta.intersect(second.delta, "single pairs", "boxes of pairs", "the largest δ")
    sets = first.sets + second.sets
    return BoxSearchResult(delta, pair or second.pair, first.left, sets)


def some_pairs(
    roots: Sequence[PairSet], exact: Exact, limits: Limits, enough: Enough
) -> BoxSearchResult:
    """Look at some corners of sets, and along their edges; nothing is known from above.

    Args:
        roots: The sets.
        exact: Encloses the deltas of single pairs.
        limits: Asked before every pair; what is known when one is reached is returned.
        enough: Whether an enclosure is good enough.

    Raises:
        LimitReached: If a limit is reached before anything is known.
    """
    best: tuple[Fraction, Pair] | None = None
    looked = 0
    left = roots[0] if roots else None

    def found() -> BoxSearchResult:
        if best is None:
            return BoxSearchResult(UNIT, None, left, looked)
        return BoxSearchResult(Enclosure(best[0], Fraction(1)), best[1], left, looked)

    try:
        for pair in _candidates(roots, exact):
            limits.check()
            delta = exact(pair)
            looked += 1
            if best is None or about(delta.lower) > best[0]:
                best = delta.lower, pair
                if enough(found().delta, looked):
                    break
    except LimitReached:
        if best is None:
            raise
    return found()


def _candidates(roots: Sequence[PairSet], exact: Exact) -> Iterator[Pair]:
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
