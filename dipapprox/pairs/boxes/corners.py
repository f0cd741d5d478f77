"""The largest delta_{u,u'} where samples are compared one by one: triangles by their corners.

    sets of pairs: for every real input a triangle, a segment or a point for (u_i, u'_i)
        -> delta at all products of corners, for thousands of sets at once
        -> an upper bound of each set; hopeless ones are left out, others are cut in halves

**Lemma (corners).** On a set, let κ_i bound half of |∂²P_S/∂u_i²| for all sets S of outputs, for
the u, and κ'_i for the u' (`thresholds`). For all numbers c_i, c'_i, and λ >= 0 if Σ |u_i - u'_i|
<= r is asked for, delta is at most the maximum over products of corners of

    delta + Σ κ_i (u_i - c_i)² + E κ'_i (u'_i - c'_i)² - λ (Σ |u_i - u'_i| - r).

Proof. f_S = P_S(u) - E P_S(u') has no mixed derivative in u_i and u'_i: with the squares added it
is convex in (u_i, u'_i) for fixed other inputs, and so is the largest of all S, delta with the
squares. With the last term, too, where u_i - u'_i has one sign, as triangles are cut to have. A
function that is convex in each factor of a product of polygons is largest at corners. Squares are
>= 0, and so is the last term where pairs are adjacent.

With c in the middle that is O(h²) off. With c at the corner where delta is largest, that corner has
no squares: if no other one has more, then delta is largest there, without any error, and the pair
counts with its own enclosure. Instead of delta one h_o = P_o(u) - E P_o(u') may be bounded: where
all are negative, delta is 0. Where signs tell that S is one of few, only samples count in κ that
some of their P_S depend on.

Where all S that may be best show one sample alone, or one alone has other laws at u and u', delta
is at most what that sample tells of any pair, which is one number's (`one_by_one`): where other
inputs may be anything, as many sets would be as good.

**Doubles.** Corners are exact. The rest is off by `thresholds.error` and a few
roundings of numbers of that size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.rounding import Array, above, below
from dipapprox.data_classes import Record
from dipapprox.limits import check_limits
from dipapprox.pairs.boxes.cells import Fixed, PairSet, Polygon, filled, tidy
from dipapprox.pairs.boxes.one_by_one import Kind, OneByOne
from dipapprox.pairs.boxes.search import BoxSearch, Enough, Exact, SetSearch
from dipapprox.pairs.boxes.thresholds import Thresholds, all_between
from dipapprox.pairs.divergence import Factor
from dipapprox.pairs.selections import Pair

CORNERS = "convexity between corners"  # the words in reports
_MOST_SETS = 400_000  # looked at for one eps_prv
_SURE_FACTOR = 2**16  # of probabilities at u': with a larger one other doubles may tell more, and
LARGEST_FACTOR = 2**40  # from here on these, which are off by 2^-46, would tell next to nothing
_FEW_SETS = 40  # of several inputs, tell whether chords bound anything
_ROUGHER = 8  # times fewer sets are looked at of one input where corners told what they can
_AT_ONCE = 4_096
_HALVINGS = 24  # in looking for a price λ
_ALIKE = 2.0**-36  # what is as near to a lower bound is not cut to be bounded better
_MOST_ALONE = 2_000  # sets by which one sample is told
_MOST_TRIED = 16  # single pairs that are enclosed at once


class CornerSearch(SetSearch):
    """A search by corners, thousands of sets at once.

    Args:
        claimed: What is at most this need not be known better; None if every digit counts.
        alone: Whether `pairs` show the cells of one sample alone: deltas of the program, which
            `exact` encloses, may be less than theirs, and bound them from no side.
    """

    cheaper: ClassVar[int] = 8

    def __init__(
        self,
        pairs: OneByOne,
        exact: Exact,
        factor: Factor,
        claimed: Fraction | None = None,
        *,
        alone: bool = False,
    ) -> None:
        super().__init__(exact, factor)
        self._alone = alone
        self._pairs = pairs
        self._unit, self._thresholds = pairs.unit, pairs.thresholds
        self._e = self._factor.taken
        self._claimed = -1.0 if claimed is None else below(claimed)
        self._samples = [CornerSearch(each, exact, factor, alone=True) for each in pairs.samples]
        self._told_alone = np.ones(len(self._samples))
        self._flat: list[tuple[Kind, TriangleSets]] = []
        self._tables: dict[tuple[Fixed, Fixed], NDArray[np.bool_]] = {}
        self._waiting: dict[Kind, list[TriangleSets]] = {}
        for kind, corners in pairs.triangles().items():
            upper = np.ones(len(corners[0]) if corners else 1)
            bends = np.zeros((len(upper), len(corners), 2))
            self._waiting[kind] = [TriangleSets(corners, upper, bends)]

    def _begin(self) -> None:
        for place, each in enumerate(self._samples):
            each._known, each._best = self._known, self._best
            each.run(
                lambda delta, sets: delta.width <= _ALIKE / 2 or sets * self.cheaper > _MOST_ALONE
            )
            self._best = max(self._best, each._best)
            self._told_alone[place] = above(each._enclosure().upper)
        with self._renewing() as waiting:
            for kind, (sets,) in waiting.items():
                for start in range(0, len(sets.upper), _AT_ONCE):
                    check_limits()
                    part = sets.taken(np.arange(start, min(start + _AT_ONCE, len(sets.upper))))
                    self._look(kind, part.corners, part.upper)

    @contextmanager
    def _renewing(self) -> Iterator[dict[Kind, list[TriangleSets]]]:
        """Take all open sets, to open others in their place; what ends this opens them again."""
        waiting, self._waiting = self._waiting, {}
        try:
            yield waiting
        except BaseException:
            self._waiting = waiting
            raise

    def _upper(self) -> Fraction:
        parts = (each for sets in self._waiting.values() for each in sets)
        return Fraction(max((float(each.upper.max()) for each in parts), default=0.0))

    def _left(self) -> PairSet | None:
        found = [
            (float(each.upper.max()), kind, each)
            for kind, sets in self._waiting.items()
            for each in sets
        ]
        found += [(0.0, *each) for each in self._flat]
        if not found:
            return None
        _, kind, sets = max(found, key=lambda each: each[0])
        place, (first, second, budget, *_) = int(np.argmax(sets.upper)), kind
        polygons = tuple(self._points(each[place]) for each in sets.corners)
        if self._pairs.images:
            points = (self._pairs.points([corner]) for corner in polygons[0])
            polygons = tuple(tidy(own) for own in zip(*points, strict=True))
        left = None if budget is None else Fraction(budget) * self._unit
        return PairSet(polygons, first, second, left)

    def _points(self, corners: Array) -> Polygon:
        return tuple((Fraction(x) * self._unit, Fraction(y) * self._unit) for x, y in corners)

    def _step(self) -> bool:
        """Cut the sets of the largest bounds; False if none is left that may be cut."""
        least, moved = below(self._best), False
        if self._sets >= _MOST_SETS:
            return False
        with self._renewing() as waiting:
            for kind, parts in waiting.items():
                sets = _joined(parts)
                order = np.argsort(-sets.upper)
                few = order[:_AT_ONCE]
                # Next to a lower bound doubles tell no more, but whether there is anything.
                near = 2 * self._off(kind) if least > 0 else 0.0
                few = few[sets.upper[few] > max(least + near, self._claimed)]
                # Points have no halves, nor have sets whose corners would not be exact.
                corners = [each[few] for each in sets.corners]
                kept = np.zeros(len(few), dtype=np.bool_)
                for each in corners:
                    kept |= (each != each[:, :1]).any(axis=(1, 2))
                for each in corners:
                    kept &= (each % _FINEST == 0).all(axis=(1, 2))
                few = few[kept]
                rest = np.ones(len(order), dtype=np.bool_)
                rest[few] = False
                if rest.any():
                    self._keep(kind, sets.taken(rest))
                if len(few):
                    moved = True
                    halves = _joined([*_halved(sets.taken(few))])
                    self._look(kind, halves.corners, halves.upper)
        return moved

    def _keep(self, kind: Kind, sets: TriangleSets) -> None:
        kept = sets.taken(sets.upper > self._least())
        if len(kept.upper):
            self._waiting.setdefault(kind, []).append(kept)

    def _look(self, kind: Kind, corners: tuple[Array, ...], before: Array) -> None:
        first, second, budget, sizes = kind
        self._sets += len(before)
        chosen = np.indices(sizes).reshape(len(sizes), prod(sizes))
        places = np.zeros((2, len(sizes), len(before), chosen.shape[1]))
        for axis, (each, own) in enumerate(zip(corners, chosen, strict=True)):
            places[:, axis] = each[:, own].transpose(2, 0, 1)
        over = np.abs(places[0] - places[1]).sum(axis=0) - (np.inf if budget is None else budget)
        u, v = self._thresholds[first], self._thresholds[second]
        off = self._off(kind)
        rough, floor, ceiling = self._roughly(u, v, places, u.wider * v.wider * off)
        rough = np.minimum(before, rough)
        open_ = (over <= 0).any(axis=1) & (rough > self._least())
        if not open_.any():
            return
        corners, before = tuple(each[open_] for each in corners), rough[open_]
        places, over, rows = places[:, :, open_], over[open_], np.arange(len(before))
        h = u.masses(places[0]) - self._e * v.masses(places[1])
        delta = np.maximum(h, 0.0).sum(axis=0)
        curvatures = u.curvature(places[0]), v.curvature(places[1])
        middle = (places.min(axis=-1) + places.max(axis=-1)) / 2
        own = np.stack([curvatures[0].outputs, self._e * curvatures[1].outputs])
        offsets = places - middle[..., None]
        central = np.einsum("soix,sixc->oxc", own, offsets * offsets) * (1 + 2.0**-40)
        alone = np.minimum((h + central).max(axis=-1) + off, ceiling[:, open_])
        least = np.maximum((h - central).min(axis=-1) - off, floor[:, open_])
        still = self._told(first, second, least, alone)
        bound = np.ones(len(delta))
        moving = (None, None) if still is None else (~still[0], ~still[1])
        if self._samples:
            both = u.moved(places[0] != places[1])
            if still is not None:
                both &= ~(still[0] & still[1])
            told = self._told_alone[both.argmax(axis=0)]
            bound = np.where(both.sum(axis=0) == 1, told, 1.0)
        bends = np.stack(
            [
                factor * each.half(own, alone > 0, least < 0)
                for factor, each, own in zip((1, self._e), curvatures, moving, strict=True)
            ]
        )
        central = _squares(bends, offsets)
        price = np.zeros(len(delta)) if budget is None else _prices(delta + central, over)
        paid = delta if budget is None else delta - price[:, None] * over
        slack = off if budget is None else off + 2.0**-50 * np.abs(delta - paid).max(axis=1)
        best = np.where(over <= 0, paid, -np.inf).argmax(axis=1)
        peak = paid[rows, best]
        aside = paid + _squares(bends, places - places[:, :, rows, best][..., None])
        aside[rows, best] = -np.inf
        most = aside.max(axis=1)
        upper = np.minimum((paid + central).max(axis=1), np.maximum(most, peak)) + slack
        upper = np.minimum(upper, np.maximum(alone, 0.0).sum(axis=0) * (1 + 2.0**-40))
        upper = np.minimum(upper, np.minimum(before, bound))

        # Where the best corner has no squares and pays nothing, and others less than it, for sure.
        is_free = (price == 0) | (over[rows, best] == 0)
        settled = (most + 2 * slack <= peak) & is_free & (over[rows, best] <= 0)
        seems = np.where(over <= 0, delta + off, -np.inf)
        top, corner = np.unravel_index(int(seems.argmax()), seems.shape)
        if seems[top, corner] > (below(self._best) if self._known else -np.inf):
            self._try(self._pair(kind, places[:, :, top, corner]))
        settled &= upper > below(self._best)
        done = self._settle(kind, places[:, :, rows, best], settled, peak + slack)
        open_sets = TriangleSets(corners, upper, bends.transpose(2, 1, 0))
        alike = (bound <= upper) & (bound <= above(self._best) + _ALIKE)
        if alike.any():
            self._most = max(self._most, Fraction(float(bound[alike].max())))
            self._flat = [(kind, open_sets.taken(np.flatnonzero(alike)[:1]))]
        self._keep(kind, open_sets.taken(~(done | alike)))

    def _off(self, kind: Kind) -> float:
        """Return what sums of the h_o are off, at most."""
        u, v = self._thresholds[kind[0]], self._thresholds[kind[1]]
        return u.error + self._e * v.error + (u.outputs + 16) * 2.0**-51 * (1 + self._e)

    def _roughly(
        self, u: Thresholds, v: Thresholds, places: Array, off: float
    ) -> tuple[Array, Array, Array]:
        """Bound delta on sets by extents of probabilities alone, and the h_o from both sides."""
        (least, most), (others_least, others_most) = u.extent(places[0]), v.extent(places[1])
        floor, ceiling = least - self._e * others_most - off, most - self._e * others_least + off
        taken = np.maximum(ceiling, 0.0).sum(axis=0)
        left = np.maximum(-floor, 0.0).sum(axis=0) + (1 - self._e) + off
        return np.minimum(taken, left), floor, ceiling

    def _told(
        self, first: Fixed, second: Fixed, least: Array, most: Array
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
        """Say by sample and set which samples no P_S depends on, S being all that may be best.

        Args:
            first: The finite inputs of u; `second` of u'.
            least: Lower bounds of the h_o, by output and set; `most` upper ones.

        Returns:
            At u and at u'; None where nothing is told of sets.
        """
        still = self._thresholds[first].still, self._thresholds[second].still
        if (first, second) not in self._tables:
            tables = np.array([all_between(each) for own in still for each in own])
            self._tables[first, second] = tables
        tables = self._tables[first, second]
        if not tables.size:
            return None
        powers = 2 ** np.arange(len(least))
        taken = powers @ (least > 0)
        found = tables[:, taken, powers @ (most > 0) - taken]
        return found[: len(still[0])], found[len(still[0]) :]

    def _pair(self, kind: Kind, place: Array) -> Pair:
        points = self._pairs.points(self._points(place.T))
        return filled(kind[0], [x for x, _ in points]), filled(kind[1], [y for _, y in points])

    def _settle(
        self, kind: Kind, places: Array, settled: NDArray[np.bool_], upper: Array
    ) -> NDArray[np.bool_]:
        """Try the pairs that stand for whole sets, as far as they are few; say for which."""
        done = np.zeros(len(upper), dtype=np.bool_)
        tried = 0
        for row in np.flatnonzero(settled)[np.argsort(-upper[settled], kind="stable")]:
            if upper[row] <= below(self._best) and tried:
                break  # hopeless
            pair = self._pair(kind, places[:, :, row])
            tried += pair not in self._known
            if tried > _MOST_TRIED:
                break
            delta, most = self._try(pair), Fraction(float(upper[row]))
            self._most = max(self._most, most if self._alone else min(delta.upper, most))
            done[row] = True
        return done


def in_turn(
    boxes: Callable[[], BoxSearch],
    pairs: OneByOne | None,
    exact: Exact,
    factor: Factor,
    claimed: Fraction | None,
    enough: Enough,
    *,
    alone: bool,
) -> Iterator[tuple[SetSearch, Enough]]:
    """Yield searches, each for where those before leave open what is asked, and when it ends.

    Args:
        pairs: None where samples are not compared one by one.
        alone: Whether there is one real input: corners of few sets tell much, and chords the rest.
            Of several, chords that tell anything may tell more than corners.
    """
    if pairs is None or factor.lower > LARGEST_FACTOR:
        yield boxes(), enough
        return
    if factor.lower <= _SURE_FACTOR:
        yield CornerSearch(pairs, exact, factor, claimed), enough
        return
    chords = boxes()
    if not alone:
        yield chords, lambda delta, sets: sets >= _FEW_SETS or enough(delta, sets)
    promising = alone or chords.found().delta.upper < 1
    yield CornerSearch(pairs, exact, factor, claimed), enough
    if promising:
        yield chords, lambda delta, sets: enough(delta, sets * (_ROUGHER if alone else 1))


def _squares(bends: Array, offsets: Array) -> Array:
    """Return what is added at corners that lie so far from where the squares are 0."""
    found: Array = (bends[..., None] * (offsets * offsets)).sum(axis=(0, 1)) * (1 + 2.0**-40)
    return found


def _prices(values: Array, over: Array) -> Array:
    """Return prices λ that make the largest value - λ over small, about."""
    free = np.where(over <= 0, values, -np.inf).max(axis=1)
    least = np.where(over > 0, over, np.inf).min(axis=1)
    rise = values.max(axis=1) - free
    high = np.where((rise > 0) & np.isfinite(least) & np.isfinite(rise), rise / least, 0.0)
    low, rows = np.zeros(len(high)), np.arange(len(high))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        falls = over[rows, (values - middle[:, None] * over).argmax(axis=1)] > 0
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    return high


_FINEST = 2.0**-36  # units: sets whose corners are no multiples of it are not cut
_SIMILAR = 0.25  # inputs that count for at least so much of the largest are cut along with it


class TriangleSets(Record, eq=False):
    """Sets of one kind: products of triangles, segments and points.

    Corners are multiples of a unit times powers of 2, and stay exact doubles: cuts add halves, and
    sets that have no exact ones are not cut.
    """

    # For each real input an array of sets, corners, and x and y, in units.
    corners: tuple[Array, ...]
    upper: Array  # at least the largest delta, by set
    bends: Array  # κ and E κ', by set, input, and x and y

    def taken(self, places: NDArray[np.intp] | NDArray[np.bool_]) -> TriangleSets:
        corners = tuple(each[places] for each in self.corners)
        return TriangleSets(corners, self.upper[places], self.bends[places])


def _joined(parts: Sequence[TriangleSets]) -> TriangleSets:
    corners = zip(*(each.corners for each in parts), strict=True)
    return TriangleSets(
        tuple(np.concatenate(own) for own in corners),
        np.concatenate([each.upper for each in parts]),
        np.concatenate([each.bends for each in parts]),
    )


def _halved(sets: TriangleSets) -> Iterator[TriangleSets]:
    """Cut sets across the longest edges of the inputs that matter most."""
    edges = [np.array(list(combinations(range(n), 2)) or [(0, 0)]).T for n in range(4)]
    weights = []
    for axis, corners in enumerate(sets.corners):
        own = sets.bends[:, axis, None] + 2.0**-60
        first, second = edges[corners.shape[1]]
        weights.append((own * (corners[:, second] - corners[:, first]) ** 2).sum(axis=-1))
    largest = np.stack([each.max(axis=1) for each in weights], axis=1)
    cut = largest >= _SIMILAR * largest.max(axis=1, keepdims=True)
    parts = [(sets, cut, [each.argmax(axis=1) for each in weights])]
    for axis, corners in enumerate(sets.corners):
        grown = []
        for part, own, chosen in parts:
            here = own[:, axis] & (corners.shape[1] > 1)
            if not here.any():
                grown.append((part, own, chosen))
                continue
            if not here.all():
                grown.append((part.taken(~here), own[~here], [each[~here] for each in chosen]))
            part, rows = part.taken(here), np.arange(int(here.sum()))
            ends = edges[corners.shape[1]][:, chosen[axis][here]]
            middle = (part.corners[axis][rows, ends[0]] + part.corners[axis][rows, ends[1]]) / 2
            for end in ends:
                moved = part.corners[axis].copy()
                moved[rows, end] = middle
                halves = (*part.corners[:axis], moved, *part.corners[axis + 1 :])
                half = TriangleSets(halves, part.upper, part.bends)
                grown.append((half, own[here], [each[here] for each in chosen]))
        parts = grown
    return (part for part, _, _ in parts)
