"""The largest delta_{u,u'} over sets of pairs with real inputs: branch and bound.

    sets of pairs, the most promising first
        -> polynomials bound delta there, and tell where its maximum lies (`bounds`)
        -> nothing to choose?  the pair's own enclosure, by exact events
        -> hopeless?           left out
        -> as sharp as can be? the end: no set has a larger bound
        -> else                cut where it is widest for the noise

Every set that is left out has an upper bound at most that of what is kept, or below the lower bound
of a pair that was found; so the largest upper bound of what is left bounds all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from heapq import heappop, heappush, nsmallest
from itertools import chain, count, islice, product
from math import inf, prod
from typing import ClassVar

from dipapprox.arithmetic.enclosure import UNIT, Enclosure
from dipapprox.arithmetic.rounding import above, below
from dipapprox.data_classes import Record, replace
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import check_limits
from dipapprox.pairs.boxes.bounds import Bound, FactorBounds, PairRegion, SetChoice, bound
from dipapprox.pairs.boxes.cells import Fixed, PairSet, Point, boxes, width
from dipapprox.pairs.boxes.models import Box, OutputModels
from dipapprox.pairs.divergence import Factor
from dipapprox.pairs.maximum import simplest_pair
from dipapprox.pairs.selections import Pair

Exact = Callable[[Pair], Enclosure]  # encloses delta of a pair
Enough = Callable[[Enclosure, int], bool]
"""Whether an enclosure of the largest delta will do after so many sets."""

_PROMISING, _BETTER = 4, 16
"""A pair is looked at alone where linear forms say that it brings the lower bound so much of the
way to the upper one of its set, or makes it so much larger: pairs take longer than sets."""

_AHEAD = 24  # sets whose probabilities are found with those of one
_MOST_PARTS = 64  # products of edges and corners that one set is replaced by
_MOST_TRIED = 32  # pairs that a search begins with, about


class _Open(Record, eq=False):
    """A set that may hold the largest delta, which is at most `upper`."""

    upper: float
    number: int  # of the set
    pairs: PairSet
    choice: SetChoice  # which outputs are taken
    bound: Bound | None  # what is known of it; None before it was looked at

    def __lt__(self, other: _Open) -> bool:
        return (-self.upper, self.number) < (-other.upper, other.number)


class BoxSearchResult(Record):
    delta: Enclosure  # encloses the largest delta
    pair: Pair | None  # whose delta is at least `delta.lower`; None if none was looked at
    left: PairSet | None  # a set of pairs with the largest upper bound; None if that is of one pair
    sets: int  # how many sets were looked at
    ended: str | None = None  # what ended the search early; None for nothing


class SetSearch:
    """A search for the largest delta at one eps_prv: of this one only single pairs are known.

    Others go through sets of pairs, and leave those open that may hold more than is known.

    Args:
        whole: Where the largest delta may be.
    """

    cheaper: ClassVar[int] = 1
    """Times less than one of `BoxSearch` a set costs."""

    def __init__(self, exact: Exact, factor: Factor, whole: PairSet | None = None) -> None:
        self._exact, self._whole = exact, whole
        upper = inf if factor.upper is None else above(factor.upper)
        if factor.upper is not None and factor.upper < 1:
            raise BrokenInvariant("e^eps_prv below 1: all outputs together would count, too")
        self._factor = FactorBounds(below(factor.lower), upper)
        self._known: dict[Pair, Enclosure] = {}
        self._best = self._most = Fraction(0)
        self._sets, self._least_upper = 0, UNIT.upper

    def follow(self, other: SetSearch) -> None:
        """Learn what another search for the same knows."""
        self._known |= other._known
        self._best = max(self._best, other._best)
        self._least_upper = min(self._least_upper, other._enclosure().upper)

    def run(self, enough: Enough) -> None:
        """Search until the enclosure of the largest delta is good enough, or gets no better.

        What is known where a limit ends it, `found` says.
        """
        self._begin()
        while not enough(self._enclosure(), self._sets // self.cheaper) and self._step():
            check_limits()

    def try_pairs(self, pairs: Iterable[Pair], enough: Enough, exact: Exact | None = None) -> None:
        """Look at single pairs, `exact` enclosing them, until what is known is good enough."""
        for pair in pairs:
            known = self._enclosure()
            if enough(known, 0):
                break
            check_limits()
            if self._try(pair, exact).lower > known.upper and exact is None:
                raise BrokenInvariant("a pair has a larger delta than all sets of pairs")

    def found(self) -> BoxSearchResult:
        delta, pair = self._enclosure(), None
        best = simplest_pair(self._known)
        if best is not None:
            pair, delta = best[0], Enclosure(best[1].lower, delta.upper)
        return BoxSearchResult(delta, pair, self._left(), self._sets)

    def _enclosure(self) -> Enclosure:
        if not self._known:
            return UNIT
        upper = max(self._best, self._most, self._upper())
        return Enclosure(self._best, min(upper, self._least_upper))

    def _try(self, pair: Pair, exact: Exact | None = None) -> Enclosure:
        """Enclose the delta of a pair, once."""
        delta = self._known.get(pair)
        if delta is None:
            delta = self._known[pair] = (exact or self._exact)(pair)
            self._best = max(self._best, delta.lower)
        return delta

    def _least(self) -> float:
        return below(self._best) if self._known else -1.0

    def _begin(self) -> None:
        """Look at what is there, once."""

    def _step(self) -> bool:
        """Look at the sets of the largest bounds; False if nothing would get better.

        A limit may end this anywhere: a set is open until all that it became is.
        """
        return False

    def _upper(self) -> Fraction:
        """Return at least what open sets have."""
        return UNIT.upper

    def _left(self) -> PairSet | None:
        """Return the open set of the largest upper bound; None if that is of one pair, or none."""
        return self._whole


class BoxSearch(SetSearch):
    """A search by polynomials, the most promising set first.

    Args:
        regions: Sets that hold all pairs, for every set of outputs that may be best there.
    """

    def __init__(
        self, regions: Sequence[PairRegion], models: OutputModels, exact: Exact, factor: Factor
    ) -> None:
        super().__init__(exact, factor)
        self._models = models
        self._order = count()
        self._waiting: list[_Open] = []
        self._current: _Open | None = None
        for region in regions:
            for root in region.sets:
                self._put(root, region.choice, 1.0)

    def _begin(self) -> None:
        """Try some pairs: every set may turn out to be of no use, or too large to be bounded."""
        if self._current is not None:  # what ended an earlier run has left it open
            heappush(self._waiting, self._current)
            self._current = None
        first: Iterator[Pair] = (each for part in self._waiting for each in corners(part.pairs))
        wide = [part.pairs for part in self._waiting if not part.pairs.is_one_pair]
        few = [list(corners(each)) for each in wide[:: max(2 * len(wide) // _MOST_TRIED, 1)]]
        spread = (own[:: max(len(few) * len(own) // _MOST_TRIED, 1)] for own in few)
        for pair in chain(islice(first, 1), *spread):
            check_limits()
            self._try(pair)

    def _step(self) -> bool:
        if not self._waiting or self._waiting[0].upper <= self._least():
            self._waiting = []
            return False
        first = self._waiting[0]
        if first.bound is not None and first.bound.sharp:
            return False  # its bound is the largest, and will not get better
        self._current = part = heappop(self._waiting)
        self._sets += 1
        pairs = part.pairs
        if pairs.is_one_pair:
            delta = self._try(pairs.pair([polygon[0] for polygon in pairs.polygons]))
            self._most = max(self._most, delta.upper)
        elif part.bound is None:
            self._look(part)
        else:
            self._halve(part)
        self._current = None
        return True

    def _upper(self) -> Fraction:
        return max((Fraction(each.upper) for each in self._open()), default=Fraction(0))

    def _left(self) -> PairSet | None:
        open_sets = self._open()
        left = open_sets[0].pairs if open_sets else None
        return None if left is None or left.is_one_pair else left

    def _open(self) -> list[_Open]:
        return sorted(self._waiting[:1] + ([] if self._current is None else [self._current]))

    def _put(
        self, pairs: PairSet, choice: SetChoice, upper: float, found: Bound | None = None
    ) -> None:
        """Open a set, unless it is hopeless."""
        number = next(self._order)
        if upper > self._least() and not pairs.is_empty:
            heappush(self._waiting, _Open(upper, number, pairs, choice, found))

    def _look(self, part: _Open) -> None:
        """Bound a set, and replace it by where its maximum lies."""
        pairs = part.pairs
        first, second = (self._models.on(*side, self._ahead) for side in _sides(pairs))
        found = bound(pairs, first, second, self._factor, part.choice)
        upper = min(part.upper, found.upper)
        if upper <= self._least():
            return
        least = self._least()
        if found.seems > least + min((upper - least) / _PROMISING, abs(least) / _BETTER):
            self._try(pairs.pair(found.best))
        parts = found.parts
        if parts == tuple((polygon,) for polygon in pairs.polygons):
            self._put(pairs, part.choice, upper, found)
            return
        if prod(map(len, parts)) > _MOST_PARTS:
            parts = tuple(
                each if len(each) == 1 else (polygon,)
                for each, polygon in zip(parts, pairs.polygons, strict=True)
            )
        for polygons in product(*parts):
            known = found if polygons == pairs.polygons else None
            self._put(replace(pairs, polygons=polygons), part.choice, upper, known)

    def _ahead(self) -> Iterator[tuple[Box, Fixed]]:
        """Yield the boxes of the sets that are likely to be looked at next."""
        likely = [self._current, *nsmallest(_AHEAD, self._waiting)]
        return (
            side
            for each in likely
            if each is not None and each.bound is None
            for side in _sides(each.pairs)
        )

    def _halve(self, part: _Open) -> None:
        """Halve a set where it is widest for the noise."""

        def size(axis: int) -> float:
            return float(width(part.pairs.polygons[axis])) * self._models.sensitivity(axis)

        for half in part.pairs.halves(max(range(len(part.pairs.polygons)), key=size)):
            self._put(half, part.choice, part.upper)


def _sides(pairs: PairSet) -> Iterator[tuple[Box, Fixed]]:
    """Yield the box of u, then of u', with the values of finite inputs."""
    return zip(boxes(pairs), (pairs.first, pairs.second), strict=True)


# What is known where bounds of sets are out of reach: single pairs of them are tried.

_MOST_CORNERS = 16  # sets whose corners are looked at
_MOST_EDGES = 2  # sets whose longest edges are
_MOST_HALVINGS = 16  # of an edge


def candidates(roots: Sequence[PairSet], exact: Exact) -> Iterator[Pair]:
    """Yield pairs at some corners of sets, and along their edges."""
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
        pair = at(middle)
        yield pair
        if change(at(low), pair) >= change(pair, at(high)):
            high = middle
        else:
            low = middle


def corners(root: PairSet) -> Iterator[Pair]:
    """Yield the pairs at some corners of a set: all alike, and one unlike the others."""
    most = max(map(len, root.polygons), default=1)
    for common in range(most):
        base = [polygon[common % len(polygon)] for polygon in root.polygons]
        yield root.pair(base)
        for (place, polygon), other in product(enumerate(root.polygons), range(most)):
            yield root.pair([*base[:place], polygon[other % len(polygon)], *base[place + 1 :]])
