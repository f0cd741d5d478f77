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

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from itertools import chain, count, islice, product
from math import prod
from typing import ClassVar

from dipapprox.arithmetic.enclosure import UNIT, Enclosure
from dipapprox.arithmetic.rounding import above, below
from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import Limits
from dipapprox.pairs.boxes.bounds import Bound, FactorBounds, SetChoice, bound
from dipapprox.pairs.boxes.cells import PairSet, boxes
from dipapprox.pairs.boxes.models import OutputModels
from dipapprox.pairs.boxes.polygons import cut, extent, middle
from dipapprox.pairs.boxes.regions import PairRegion
from dipapprox.pairs.boxes.some_pairs import Enough, Exact, candidates, corners, spread
from dipapprox.pairs.divergence import Factor
from dipapprox.pairs.maximum import simplest_pair
from dipapprox.pairs.selections import Pair

_MOST_PARTS = 64
"""Products of edges and corners that one set is replaced by."""

_MOST_TRIED = 32
"""Pairs that a search begins with, about."""


@dataclass(frozen=True, slots=True, eq=False)
class _Open:
    """A set that may hold the largest delta.

    Attributes:
        upper: At least its largest delta.
        number: Of the set.
        pairs: The set.
        choice: Which outputs are taken.
        bound: What is known of it; None before it was looked at.
    """

    upper: float
    number: int
    pairs: PairSet
    choice: SetChoice
    bound: Bound | None

    def __lt__(self, other: _Open) -> bool:
        return (-self.upper, self.number) < (-other.upper, other.number)


@dataclass(frozen=True, slots=True)
class BoxSearchResult:
    """What a search found.

    Attributes:
        delta: Encloses the largest delta.
        pair: Whose delta is at least `delta.lower`; None if none was looked at.
        left: A set of pairs with the largest upper bound; None if that is of one pair.
        sets: How many sets were looked at.
        ended: What ended the search early; None for nothing.
    """

    delta: Enclosure
    pair: Pair | None
    left: PairSet | None
    sets: int
    ended: str | None = None


class SetSearch(ABC):
    """A search for the largest delta at one eps_prv, set by set; single pairs are enclosed once.

    Args:
        exact: Encloses the deltas of single pairs.
        factor: Bounds of e^eps_prv.
    """

    cheaper: ClassVar[int] = 1
    """Times less than one of `BoxSearch` a set costs."""

    def __init__(self, exact: Exact, factor: Factor, limits: Limits) -> None:
        self._exact, self._limits = exact, limits
        upper = float("inf") if factor.upper is None else above(factor.upper)
        if factor.upper is not None and factor.upper < 1:
            raise BrokenInvariant("e^eps_prv below 1: all outputs together would count, too")
        self._factor = FactorBounds(below(factor.lower), upper)
        self._known: dict[Pair, Enclosure] = {}
        self._best = self._most = Fraction(0)
        self._sets = 0

    def run(self, enough: Enough) -> None:
        """Search until the enclosure of the largest delta is good enough, or gets no better.

        Args:
            enough: Whether an enclosure is; asked before every step.

        Raises:
            LimitReached: If a limit is reached; what is known then, `found` says.
        """
        self._begin()
        while not enough(self._enclosure(), self._sets // self.cheaper) and self._step():
            self._limits.check()

    def found(self) -> BoxSearchResult:
        """Return what is known by now."""
        delta, best = self._enclosure(), simplest_pair(self._known)
        if best is not None:
            delta = Enclosure(best[1].lower, delta.upper)
        pair = None if best is None else best[0]
        return BoxSearchResult(delta, pair, self._left(), self._sets)

    def _enclosure(self) -> Enclosure:
        """Enclose the largest delta by what is known."""
        if not self._known:
            return UNIT
        return Enclosure(self._best, min(max(self._best, self._most, self._upper()), Fraction(1)))

    def look_at(self, pairs: Iterable[Pair], exact: Exact, claimed: Fraction) -> None:
        """Look at pairs in another way, while none is known to have more than what is claimed."""
        for pair in pairs:
            if self._best > claimed:
                break
            self._limits.check()
            self._remember(pair, exact(pair))

    def _try(self, pair: Pair) -> Enclosure:
        """Enclose the delta of a pair, once."""
        return self._known.get(pair) or self._remember(pair, self._exact(pair))

    def _remember(self, pair: Pair, delta: Enclosure) -> Enclosure:
        self._known[pair] = delta
        self._best = max(self._best, delta.lower)
        return delta

    def _least(self) -> float:
        return below(self._best) if self._known else -1.0

    @abstractmethod
    def _begin(self) -> None:
        """Look at what is there, once."""

    @abstractmethod
    def _step(self) -> bool:
        """Look at the sets of the largest bounds; False if nothing would get better.

        A limit may end this anywhere: a set is open until all that it became is.
        """

    @abstractmethod
    def _upper(self) -> Fraction:
        """Return at least what open sets have."""

    @abstractmethod
    def _left(self) -> PairSet | None:
        """Return the open set of the largest upper bound; None if that is of one pair, or none."""


class BoxSearch(SetSearch):
    """A search by polynomials, the most promising set first.

    Args:
        regions: Sets that hold all pairs, for every set of outputs that may be best there.
        models: Bounds probabilities.
        exact: Encloses the deltas of single pairs.
        factor: Bounds of e^eps_prv.
        likely: Pairs to be tried first.
    """

    def __init__(
        self,
        regions: Sequence[PairRegion],
        models: OutputModels,
        exact: Exact,
        factor: Factor,
        limits: Limits,
        *,
        likely: Sequence[Pair] = (),
    ) -> None:
        super().__init__(exact, factor, limits)
        self._likely = likely
        self._models = models
        self._order = count()
        self._waiting: list[_Open] = []
        self._current: _Open | None = None
        for region in regions:
            for root in region.sets:
                self._put(root, region.choice, 1.0)

    def _begin(self) -> None:
        """Try some pairs: every set may turn out to be of no use, or too large to be bounded."""
        first: Iterator[Pair] = (each for part in self._waiting for each in corners(part.pairs))
        wide = [part.pairs for part in self._waiting if not part.pairs.is_one_pair]
        own = max(_MOST_TRIED // len(wide), 2) if wide else 0
        for pair in chain(
            islice(first, 1), self._likely, *(spread(corners(each), own) for each in wide)
        ):
            self._limits.check()
            self._try(pair)

    def _step(self) -> bool:
        """See `SetSearch`."""
        if not self._waiting or self._waiting[0].upper <= self._least():
            self._waiting = []
            return False
        first = self._waiting[0]
        if first.bound is not None and first.bound.sharp:
            return False  # its bound is the largest, and will not get better
        self._current = heappop(self._waiting)
        self._replace_by_others(self._current)
        self._current = None
        return True

    def _replace_by_others(self, part: _Open) -> None:
        """Settle a set, or put others in its place."""
        self._sets += 1
        pairs = part.pairs
        if pairs.is_one_pair:
            delta = self._try(pairs.pair([polygon[0] for polygon in pairs.polygons]))
            self._most = max(self._most, delta.upper)
        elif part.bound is None:
            self._look(part)
        else:
            self._divide(part, part.bound)

    def _upper(self) -> Fraction:
        """See `SetSearch`."""
        return max((Fraction(each.upper) for each in self._open()), default=Fraction(0))

    def _left(self) -> PairSet | None:
        """See `SetSearch`."""
        open_sets = self._open()
        left = open_sets[0].pairs if open_sets else None
        return None if left is None or left.is_one_pair else left

    def _open(self) -> list[_Open]:
        """Return the open sets of largest upper bounds, the largest first."""
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
        wall = self._wall(pairs)
        if wall is not None:
            self._replace(part, wall, part.upper)
            return
        found = self._bound(pairs, part.choice)
        upper = min(part.upper, found.upper)
        if upper <= self._least():
            return
        if upper > self._least() * (1 + 2.0**-40):
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
            own = PairSet(polygons, pairs.first, pairs.second, pairs.budget)
            same = polygons == pairs.polygons
            self._put(own, part.choice, upper, found if same else None)

    def _bound(self, pairs: PairSet, choice: SetChoice) -> Bound:
        """Bound a set by near forms."""
        first, second = (
            self._models.on(box, fixed)
            for box, fixed in zip(boxes(pairs), (pairs.first, pairs.second), strict=True)
        )
        return bound(pairs, first, second, self._factor, choice)

    def _wall(self, pairs: PairSet) -> tuple[int, int, Fraction] | None:
        """Return where a border of patches cuts a set; None if it lies in one for u and for u'."""
        for axis, polygon in enumerate(pairs.polygons):
            for coordinate in (0, 1):
                low, high = extent(polygon, coordinate)
                for place in self._models.walls(axis):
                    if low < place < high:
                        return axis, coordinate, place
        return None

    def _divide(self, part: _Open, found: Bound) -> None:
        """Cut a set across its widest polygon, for the noise."""
        polygons = part.pairs.polygons

        def size(axis: int) -> float:
            widths = [
                float(high - low) for low, high in (extent(polygons[axis], k) for k in (0, 1))
            ]
            return max(widths) * self._models.sensitivity(axis)

        axis = max(range(len(polygons)), key=size)
        self._replace(part, (axis, *middle(polygons[axis])), found.upper)

    def _replace(self, part: _Open, where: tuple[int, int, Fraction], upper: float) -> None:
        """Cut a set; `where` is the real input, whether in u or in u', and the place."""
        axis, coordinate, place = where
        pairs = part.pairs
        for polygon in cut(pairs.polygons[axis], coordinate, place):
            polygons = (*pairs.polygons[:axis], polygon, *pairs.polygons[axis + 1 :])
            own = PairSet(polygons, pairs.first, pairs.second, pairs.budget)
            self._put(own, part.choice, upper)


class TriedPairs(SetSearch):
    """A search of some pairs, where sets have no bounds.

    Args:
        roots: Sets that hold all pairs.
        exact: Encloses the deltas of single pairs.
        factor: Bounds of e^eps_prv.
        before: A search that went as far as there were bounds.
    """

    def __init__(
        self,
        roots: Sequence[PairSet],
        exact: Exact,
        factor: Factor,
        limits: Limits,
        before: SetSearch | None = None,
    ) -> None:
        super().__init__(exact, factor, limits)
        self._roots = roots
        self._pairs = candidates(roots, exact)
        self._before: BoxSearchResult | None = None
        if before is not None:
            self._before = before.found()
            self._known, self._best = dict(before._known), before._best

    def _begin(self) -> None:
        """See `SetSearch`."""

    def _step(self) -> bool:
        """See `SetSearch`."""
        pair = next(self._pairs, None)
        if pair is None:
            return False
        self._sets += 1
        bounds = Enclosure(Fraction(0), self._upper())
        self._try(pair).intersect(bounds, "boxes of pairs", "single pairs", "the largest δ")
        return True

    def _upper(self) -> Fraction:
        """See `SetSearch`."""
        return UNIT.upper if self._before is None else self._before.delta.upper

    def _left(self) -> PairSet | None:
        """See `SetSearch`."""
        if self._before is not None:
            return self._before.left
        return self._roots[0] if self._roots else None
