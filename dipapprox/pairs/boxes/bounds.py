"""The largest delta_{u,u'} on a set of pairs: bounds from near forms, and where it must lie.

With h_o(u, u') = P_o(u) - E P_o(u'), E = e^eps_prv, delta = Σ_o max(0, h_o). On a set of pairs,
`models` gives for each h_o a linear form and the most that it is off. Then:

* max(0, h) <= a h + b on an interval [l, m] around 0, with a = m / (m - l), b = -a l: the chord. So
  delta is at most a linear form plus constants; a linear form is largest at corners of polygons.
  If the distances of real inputs have a budget, then max Σ L_i <= λ budget + Σ max (L_i - λ |d_i|)
  for every λ >= 0 (Lagrange); a λ is chosen, nothing about it has to be true.
* What is off by known coefficients of second degree is summed before absolute values are taken:
  in Σ h_o over the outputs that are taken, and over those that are not, much of it cancels; on
  segments, where one number says where u_i and u'_i are, so does what u and u' have in common.
* If few signs are unknown, each of those outputs is taken or left: delta is at most the largest of
  the bounds of the sums.
* As Σ h_o = 1 - E, delta is 1 - E + Σ max(0, -h_o), too: what holds for sums over the outputs with
  h_o > 0 holds for those over all others.
* delta = max over sets S of outputs of Σ_{o in S} h_o, so it is locally Lipschitz, and its slope
  along any direction lies in Σ [slopes of h_o], where outputs with a sign are taken or left, and
  all others may be taken or left. Where that is never negative along some directions, the maximum
  lies on certain edges or corners (`cells`). Where distances have a budget that may bind, only
  moves that keep all distances are considered: u_i and u'_i together.

**Rounding.** Everything here is sums of products in doubles, for n outputs and k real inputs of at
most m = n + 2 (k + 1)² terms with at most 16 roundings each: what is computed is off by at most
(m + 16) 2^-52 times the sum of the absolute values of the terms (as in
`interpolation.polynomial`); (n + 2 k² + 34) 2^-51, which is more, is added. Corners are rational
numbers, rounded once. Where E is only known to lie between two bounds, P_o >= 0 tells
which counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.rounding import Array
from dipapprox.data_classes import Record
from dipapprox.pairs.boxes.cells import (
    Direction,
    PairSet,
    Point,
    Polygon,
    X,
    Y,
    extent,
    faces,
    sides,
    tidy,
)
from dipapprox.pairs.boxes.models import Models

_LARGEST_FACTOR = 2.0**200  # A factor beyond is replaced by it: that makes bounds larger
_UNIT = 2.0**-51
_MOST_UNDECIDED = 4  # outputs of unknown sign that are taken or left one by one
_SHARP = 2.0
"""Where errors are at most so many times those of probabilities at nodes, bounds are sharp."""

Taken = NDArray[np.bool_]  # by output


class FactorBounds(Record):
    """Doubles around e^eps_prv; `upper` may be infinite."""

    lower: float
    upper: float

    @property
    def taken(self) -> float:
        """What upper bounds of delta use."""
        return min(self.lower, _LARGEST_FACTOR)

    @property
    def width(self) -> float:
        """At least the distance of the true factor from `taken`."""
        return (self.upper - self.taken) * (1 + 4 * _UNIT)


class Bound(Record):
    upper: float  # at least the largest delta
    best: tuple[Point, ...]  # real inputs of a pair at which the upper bound is about attained
    seems: float  # about the delta of that pair
    # Polygons for each real input: a maximum of delta lies in a product of some.
    parts: tuple[tuple[Polygon, ...], ...]
    # Whether bounds of smaller sets would hardly be better: probabilities at nodes are not known
    # well enough.
    sharp: bool = False


OF_NO_USE = Bound(-1.0, (), -1.0, ())  # of a set of pairs that need not be looked at


class SetChoice(Record, eq=False):
    """Outputs that are taken in any case, or left in any case: see `together`."""

    taken: Taken
    left: Taken

    def settled(self, least: Array, most: Array, factor: FactorBounds) -> tuple[Taken, Taken, bool]:
        """Say which outputs are taken everywhere in a set of pairs, and which are left; and whether
        this choice is not worse than another one on all of the set.

        `least` and `most` bound the h_o for the factor that is used: the true one may be larger.
        P_o(u') is at most 1.
        """
        above, below = least - factor.width >= 0, most <= 0
        worse = (self.left & above) | (self.taken & (most < 0))
        return self.taken | ~self.left & above, self.left | ~self.taken & below, not worse.any()


class PairRegion(Record, eq=False):
    """Sets of pairs, and the outputs that are taken or left there in any case."""

    sets: tuple[PairSet, ...]
    choice: SetChoice


def bound(
    pairs: PairSet, first: Models, second: Models, factor: FactorBounds, choice: SetChoice
) -> Bound:
    """Bound the largest delta on a set of pairs, or what is asked instead of it; `first` are the
    outputs on the box of u."""
    h = _Differences(pairs, first, second, factor)
    positive, negative, is_of_use = choice.settled(h.least, h.most, factor)
    if not is_of_use:
        return OF_NO_USE
    upper, best = h.largest(choice)
    best = pairs.moved_together(best)
    parts = tuple(map(faces, pairs.polygons, h.signs(positive, negative)))
    return Bound(max(upper, 0.0), best, h.about(best), parts, h.sharp)


class _Differences:
    def __init__(self, pairs: PairSet, first: Models, second: Models, factor: FactorBounds) -> None:
        e = factor.taken
        self._pairs, self._first, self._second = pairs, first, second
        self._factor, self._e = factor, e
        self._values = first.values - e * second.values  # at the centres of the boxes, about
        terms = np.abs(first.values) + e * np.abs(second.values)
        most, least = self._values.copy(), self._values.copy()
        for axis, (x, y) in enumerate(map(_offsets, pairs.polygons)):
            own, other = first.gradients[:, axis], e * second.gradients[:, axis]
            forms = np.outer(own, x) - np.outer(other, y)
            most += forms.max(axis=1)
            least += forms.min(axis=1)
            terms += np.abs(own) * np.abs(x).max() + np.abs(other) * np.abs(y).max()
        terms += np.abs(first.bends).sum(axis=(1, 2)) + e * np.abs(second.bends).sum(axis=(1, 2))
        slack = (2 * len(pairs.polygons) ** 2 + 34 + len(terms)) * _UNIT
        self._rounding = slack * terms  # of a few sums of the terms of each h_o
        # How far each is from its linear form, and from that of second degree.
        off = (first.spreads + e * second.spreads + self._rounding) * (1 + 8 * _UNIT)
        self._off = (first.rests + e * second.rests + self._rounding) * (1 + 8 * _UNIT)
        self.least = np.maximum(least - off, -e * second.most * (1 + 2 * _UNIT))
        self.most = np.minimum(most + off, first.most)
        noise = float((first.noises + e * second.noises + self._rounding).sum())
        self.sharp = float(off.sum()) <= _SHARP * noise
        # Where distances count, the places where x = y at the border as well.
        self._shapes: Sequence[Polygon] = pairs.polygons
        if pairs.is_bound:
            self._shapes = [tidy(p for side in sides(own) for p in side) for own in pairs.polygons]
        self._places = [_offsets(shape) for shape in self._shapes]
        self._turns = _turns(pairs.polygons)

    def largest(self, choice: SetChoice) -> tuple[float, tuple[Point, ...]]:
        """Bound delta; also return corners where the bound is about attained."""
        least, most = self.least, self.most
        certain = choice.taken | ~choice.left & (least >= 0)
        undecided = np.flatnonzero(~certain & ~choice.left & (most > 0))
        chord, rise = certain.astype(np.float64), 0.0
        for k in undecided:
            chord[k] = most[k] / (most[k] - least[k])
            rise += float(chord[k] * -least[k])
        upper, best = self._bound(chord, rise)
        alone = np.where(choice.left, 0.0, np.maximum(most, 0.0))
        upper = min(upper, float(alone.sum()) * (1 + len(most) * _UNIT))
        if 0 < len(undecided) <= _MOST_UNDECIDED:
            found = []
            for taken in product((0.0, 1.0), repeat=len(undecided)):
                chord[undecided] = taken
                found.append(self._bound(chord, 0.0))
                if found[-1][0] >= upper:
                    break
            upper, best = max(found, key=itemgetter(0)) if found[-1][0] < upper else (upper, best)
        return upper, best

    def _bound(self, shares: Array, rise: float) -> tuple[float, tuple[Point, ...]]:
        """Bound rise + Σ share_o h_o for shares in [0, 1], as it stands and as 1 - E -
        Σ (1 - share_o) h_o + rise."""
        found = []
        for sign, own, constant in ((1, shares, 0.0), (-1, 1 - shares, 1 - self._e)):
            gx = sign * (own @ self._first.gradients)
            gy = -sign * self._e * (own @ self._second.gradients)
            best, form = self._form(gx, gy)
            total = constant + rise + float(own @ (sign * self._values + self._off)) + form
            x = np.tensordot(own, self._first.bends, 1)
            y = self._e * np.tensordot(own, self._second.bends, 1)
            if self._turns is None:
                total += float(np.abs(x).sum() + np.abs(y).sum())
            else:
                total += float(np.abs(x - self._turns * y).sum())
            # Twice: once for these sums, once for the shares.
            total += 4 * float(own @ self._rounding) + 64 * _UNIT * (abs(constant) + rise)
            total += float(own @ self._off) * (len(own) + 16) * _UNIT
            found.append((total, best))
        return min(found, key=itemgetter(0))

    def _form(self, gx: Array, gy: Array) -> tuple[tuple[Point, ...], float]:
        """Return corners that maximise a linear form, and its maximum, or more."""
        pairs = self._pairs
        forms = [gx[k] * x + gy[k] * y for k, (x, y) in enumerate(self._places)]
        if not pairs.is_bound or pairs.budget is None:
            places = [int(np.argmax(form)) for form in forms]
            total = float(sum(form.max() for form in forms))
        else:
            lengths = [np.array([float(abs(x - y)) for x, y in shape]) for shape in self._shapes]
            budget = float(pairs.budget)
            total, places = np.inf, [0] * len(forms)
            for price in _prices(forms, lengths):
                # A form minus the price of the distance is linear on either side of x = y.
                priced = [form - price * own for form, own in zip(forms, lengths, strict=True)]
                paid = price * (budget + sum(float(own.max()) for own in lengths))
                found = price * budget + float(sum(each.max() for each in priced))
                found += paid * (len(forms) + 8) * _UNIT
                if found < total:
                    total, places = found, [int(np.argmax(each)) for each in priced]
        return tuple(s[k] for s, k in zip(self._shapes, places, strict=True)), total

    def about(self, place: Sequence[Point]) -> float:
        """Return about the delta of a pair, by the linear forms."""
        centres = [[sum(extent(own, k)) / 2 for k in (X, Y)] for own in self._pairs.polygons]
        x, y = (
            np.array([float(p[k] - c[k]) for p, c in zip(place, centres, strict=True)])
            for k in (X, Y)
        )
        h = self._values + self._first.gradients @ x - self._e * (self._second.gradients @ y)
        return float(np.maximum(h, 0.0).sum())

    def signs(self, positive: Taken, negative: Taken) -> list[list[Direction]]:
        """Return for each polygon directions along which delta never falls, if these outputs are
        taken everywhere, and those left."""
        first, second, e, width = self._first, self._second, self._e, self._factor.width
        found: list[list[Direction]] = []
        for axis in range(len(self._pairs.polygons)):
            low, high = first.lowest[:, axis], first.highest[:, axis]
            low_y, high_y = -e * second.highest[:, axis], -e * second.lowest[:, axis]
            x = _sign(low, high, positive, negative)
            y = _sign(low_y, high_y, positive, negative)
            both = 0
            if np.isfinite(width):
                # In the sum of both the factor matters, and the rounding of what may cancel.
                sizes = np.maximum(np.abs(second.lowest[:, axis]), np.abs(second.highest[:, axis]))
                terms = np.abs(low) + np.abs(high) + np.abs(low_y) + np.abs(high_y)
                off = sizes * width + terms * _UNIT
                both = _sign(low + low_y - off, high + high_y + off, positive, negative)
            if self._pairs.is_bound:
                x = y = 0
            elif x and x == y:
                both = x
            # On one open side of a line.
            found.append([each for each in ((x, 0), (0, y), (both, both)) if any(each)])
        return found


def _turns(polygons: Sequence[Polygon]) -> Array | None:
    """Say what T_2(z_i) and z_i z_j of u' are for those of u; None if some polygon has an inside.

    On segments z_i of u' is z_i of u, or its negative; what does not move has no bends.
    """
    if any(len(polygon) > 2 for polygon in polygons):
        return None
    falls = [(p[-1][X] < p[0][X]) != (p[-1][Y] < p[0][Y]) for p in polygons]
    signs = np.where(falls, -1.0, 1.0)
    return np.outer(signs, signs)


def _offsets(polygon: Polygon) -> Array:
    """Return the corners as offsets from the centres of the extents: arrays of x, and of y."""
    centres = [sum(extent(polygon, coordinate)) / 2 for coordinate in (X, Y)]
    return np.array([[float(c[k] - centres[k]) for c in polygon] for k in (X, Y)])


def _prices(forms: Sequence[Array], lengths: Sequence[Array]) -> list[float]:
    """Return prices of distance that may give good bounds."""
    found = {0.0}
    for form, own in zip(forms, lengths, strict=True):
        spread = float(own.max() - own.min())
        if spread > 0:
            far, near = form[own == own.max()].max(), form[own == own.min()].max()
            found.add(max(float(far - near) / spread, 0.0))
    return sorted(found)


def _sign(low: Array, high: Array, positive: Taken, negative: Taken) -> int:
    """Say from bounds for the slopes of the h_o whether that of delta is never negative (1), or
    never positive (-1); else 0."""
    off = (np.abs(low) + np.abs(high)) * (8 * _UNIT)
    low, high = low - off, high + off
    # What the outputs taken have, or those left out the other way round.
    for bottom, top, taken, left in (
        (low, high, positive, negative),
        (-high, -low, negative, positive),
    ):
        lows = np.where(taken, bottom, np.where(left, 0.0, np.minimum(bottom, 0.0)))
        highs = np.where(taken, top, np.where(left, 0.0, np.maximum(top, 0.0)))
        rounded = float((np.abs(lows) + np.abs(highs)).sum()) * (len(low) + 8) * _UNIT
        if lows.sum() - rounded >= 0:
            return 1
        if highs.sum() + rounded <= 0:
            return -1
    return 0
