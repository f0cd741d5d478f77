"""The least pure budget of a program with real inputs, where probabilities are log-concave in them.

    a set of pairs, an output  -> ln P_o(u) - ln P_o(u') is at most a convex function, that is
                                  largest at a vertex (`exact.log_concave`)
                               -> if that is not near a pair, the set is halved

Few vertices are left where an output is more likely the larger an input is, by its guards
(`movement`), and where inputs of both move together (the lemma there): then a set is largest on
`faces`, of distances that have a budget only by the latter, which leaves them. Where u' is one
point, L(u) - L(u') is concave, and nothing is to be halved.

All values are balls of exact pairs; which pairs and cuts are chosen need not be true.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush
from itertools import count, product
from math import prod
from typing import cast

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.extended import BY_ENCLOSURES, Extended
from dipapprox.data_classes import Record, replace
from dipapprox.errors import LimitReached
from dipapprox.exact.log_concave import Logarithms, logarithms
from dipapprox.limits import at_most, check_limits
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.pairs.adjacency import FREE
from dipapprox.pairs.boxes.cells import (
    PairSet,
    Point,
    faces,
    on_faces,
    real_places,
    sides,
    vertices,
    width,
)
from dipapprox.pairs.boxes.movement import movements
from dipapprox.pairs.selections import Pair
from dipapprox.semantics.state import FinalStates

PURE = "log-concave states"  # the word in reports
_MOST_VERTICES, _MOST_SETS = 500, 500
_STEPS = 10_000  # probabilities and sets
_HALVINGS = 34  # of the line between two pairs
_SHORT = 64  # denominators of places on it that are tried, too
_NEAR = Fraction(1, 2**34)  # of a budget, or of 1
_ONE_WAY: tuple[set[int], ...] = set(), {-1}, {1}  # signs of which one, or any, is right for all


class PureBudget(Record):
    """Bounds of the least ε_prv for δ = 0, and a pair that needs the lower one."""

    told: Extended
    pair: Pair | None
    output: int  # that tells the pair apart


def pure_search(
    states: FinalStates, eps: Fraction, roots: Sequence[PairSet], source: OutputProbabilities
) -> PureSearch | None:
    """Return what bounds the least pure budget of some sets of pairs; None if the theorem does not
    cover the program."""
    cells = states.program.inputs
    names = [cells[place].name for place in real_places(cells)]
    logs = logarithms(states, eps, names, source)
    if logs is None:
        return None
    growth = []
    for output in movements(states, eps, names):
        own = dict(zip(output.axes, output.growth, strict=True))
        growth.append([own.get(axis, 0) for axis in range(len(names))])
    return PureSearch(logs, growth, roots)


class _Open(Record, eq=False):
    upper: Fraction
    number: int
    pairs: PairSet
    states: Sequence[int]  # of one output
    ends: Sequence[Pair]  # the vertices
    near: Pair | None  # the vertex that needs most; None once a pair is found that needs more

    def __lt__(self, other: _Open) -> bool:
        return (-self.upper, self.number) < (-other.upper, other.number)


class PureSearch:
    """Bounds of the least pure budget, narrower and narrower.

    Args:
        growth: By output and real input the sign of the derivative, 0 if it is not known.
    """

    def __init__(
        self, logs: Logarithms, growth: Sequence[Sequence[int]], roots: Sequence[PairSet]
    ) -> None:
        self._logs = logs
        self._best, self._pair, self._output = Fraction(0), cast(Pair | None, None), 0
        self._order = count()
        self._open: list[_Open] = []
        self._unseen = (
            (pairs, own)
            for root, (own, signs) in product(roots, zip(logs.outputs, growth, strict=True))
            for part in on_faces(root, signs)
            for pairs in self._ends(part, own)
        )
        self._is_seen, self._sets, self._ended = False, 0, False

    @property
    def _near(self) -> Fraction:
        return _NEAR * max(self._best, Fraction(1))

    @property
    def _most(self) -> Fraction | None:
        """A bound from above; None if not all pairs were looked at."""
        if not self._is_seen:
            return None
        return max(self._best, self._open[0].upper) if self._open else self._best

    def bounds(self, asked: Enclosure | None = None) -> PureBudget | None:
        """Bound it as narrowly as can be, or until it is told from a number, or until a limit ends
        that; None if nothing is known then."""
        try:
            with at_most(_STEPS):
                while not self._ended and not self.is_told(asked):
                    self._go_on()
        except LimitReached:
            self._ended = True
        except BaseException:  # anywhere: nobody knows any more which sets are open
            self._ended, self._is_seen = True, False
            raise
        most = self._most
        if most is None and not self._best:
            return None
        told = Extended(self._best, most, BY_ENCLOSURES[0], PURE)
        return PureBudget(told, self._pair, self._output)

    def is_told(self, asked: Enclosure | None) -> bool:
        """Whether it is known narrowly, or whether it is more than asked."""
        most = self._most
        if most is not None and most <= self._best + self._near:
            return True
        if asked is None:
            return False
        return self._best > asked.upper or (most is not None and most <= asked.lower)

    def _go_on(self) -> None:
        """Look at a set of pairs, or divide one: it stays until all it becomes is looked at."""
        if not self._is_seen:
            fresh = next(self._unseen, None)
            if fresh is None:
                heapify(self._open)
                self._is_seen = True
            else:
                self._open += self._look(*fresh, None)
            return
        self._sets += 1
        if self._sets > _MOST_SETS:
            self._ended = True
            return
        part = self._open[0]
        if part.near is not None:
            found = [self._sharpened(part, part.near)]
        else:
            polygons, found = part.pairs.polygons, []
            for half in part.pairs.halves(
                max(range(len(polygons)), key=lambda k: width(polygons[k]))
            ):
                found += self._look(half, part.states, part.upper)
        heappop(self._open)
        for each in found:
            heappush(self._open, each)

    def _ends(self, root: PairSet, states: Sequence[int]) -> Iterator[PairSet]:
        """Yield the parts of a set where an output may need most, by the lemma.

        It is about inputs that differ in real ones alone: others move numbers, too, and their ends.
        """
        rows = self._logs.rows[states[0]] if len(states) == 1 else None
        if rows is None or root.first != root.second:
            yield root
            return
        sided = []
        for polygon in root.polygons:
            own = tuple(dict.fromkeys(filter(None, sides(polygon))))
            sided.append((polygon,) if polygon in own else own)
        for polygons in product(*sided):
            moves = [[x - y for x, y in polygon] for polygon in polygons]
            ways = [set[int]() for _ in polygons]  # 0: unknown
            for tied in rows:
                least, most = (
                    [sum((end(a * d for d in own) for a, own in zip(row, moves, strict=True)), FREE)
                     for row in tied]
                    for end in (min, max)
                )  # fmt: skip
                for k, row in enumerate(tied):
                    others = [*range(k), *range(k + 1, len(tied))]
                    falls = least[k] >= max((most[each] for each in others), default=FREE)
                    rises = most[k] <= min((least[each] for each in others), default=FREE)
                    for signs, a in zip(ways, row, strict=True):
                        if a and not (falls and rises):
                            signs.add((rises - falls) * (1 if a > 0 else -1))
            options = [
                faces(polygon, [(way, way) for way in signs or {-1}] if signs in _ONE_WAY else ())
                for polygon, signs in zip(polygons, ways, strict=True)
            ]
            yield from (replace(root, polygons=own) for own in product(*options))

    def _look(self, pairs: PairSet, states: Sequence[int], most: Fraction | None) -> list[_Open]:
        """Bound what pairs of a set need for one output, if there are any."""
        check_limits()
        if pairs.is_empty:
            return []
        if prod(map(len, pairs.polygons)) > _MOST_VERTICES:
            raise LimitReached(f"pair limit: more than {_MOST_VERTICES} vertices")
        corners: Iterable[Sequence[Point]] = product(*pairs.polygons)
        if pairs.is_bound and pairs.budget is not None:
            corners = [each for each, _ in vertices(pairs.polygons, pairs.budget)]
        ends = list(dict.fromkeys(pairs.pair(each) for each in corners))
        near = max(ends, key=lambda pair: self._need(pair, states))
        upper, _ = self._logs.bound(ends, near, states)
        upper = upper if most is None else min(upper, most)
        return [_Open(upper, next(self._order), pairs, states, ends, near)]

    def _sharpened(self, part: _Open, near: Pair) -> _Open:
        """Bound what pairs of a set need from one that needs about the most."""
        upper = part.upper
        for _ in part.pairs.polygons:
            _, far = self._logs.bound(part.ends, near, part.states)
            near = self._between(near, far, part.states)
            upper = min(upper, self._logs.bound(part.ends, near, part.states)[0])
            if upper <= self._best + self._near:
                break
        return replace(part, upper=upper, number=next(self._order), near=None)

    def _need(self, pair: Pair, states: Sequence[int]) -> Fraction:
        """Return at most what a pair needs."""
        lower = self._logs.need(pair, states).lower
        if lower > self._best:
            self._best, self._pair = lower, pair
            self._output = self._logs.outputs.index(states)
        return lower

    def _between(self, near: Pair, far: Pair, states: Sequence[int]) -> Pair:
        """Return about the pair on a line that needs most."""

        def at(share: Fraction) -> Pair:
            first, second = (
                tuple(
                    a if isinstance(a, str) else a + share * (Fraction(b) - a)
                    for a, b in zip(*ends, strict=True)
                )
                for ends in zip(near, far, strict=True)
            )
            return first, second

        low, high = Fraction(0), Fraction(1)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            ahead = at(middle + Fraction(1, 2 ** (_HALVINGS + 8)))
            if self._need(ahead, states) > self._need(at(middle), states):
                low = middle
            else:
                high = middle
        found = (near, at(low.limit_denominator(_SHORT)), at(low), far)
        return max(found, key=lambda pair: self._need(pair, states))
