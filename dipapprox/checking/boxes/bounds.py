"""The largest δ on a set of pairs from models of all outputs, and along what it never falls.

With e <= e^eps_prv a double, δ is at most Σ_o max(0, h_o), h_o(u, u') = P_o(u) - e P_o(u'); that is
what is bounded here. Models give h_o as a quadratic form and a rest. For shares s_o in [0, 1]

    Σ s_o h_o  =  1 - e - Σ (1 - s_o) h_o                                      as Σ h_o = 1 - e

and each side is at most a constant, the largest of a linear form over the polygons, and what
second derivatives can add, after all outputs are summed. max(0, h) is h or 0 where its sign is
known, else at most m (h - l) / (m - l) on [l, m]; or each such output is taken or left.
Where distances have a budget B, the linear form is at most λB + Σ max (L_i - λ |d_i|) for λ >= 0.

A derivative of δ is that of Σ h_o over the outputs of positive sign, and of any among those of
unknown sign.

**Rounding.** All sums are of at most N terms that are themselves sums of products of few doubles;
they are off by at most (N + 64) 2^-51 times the sum of the absolute values, which is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from dipapprox.checking.boxes.models import Array, Models
from dipapprox.checking.boxes.sets import Direction, Pairs, clipped

_ULP = 2.0**-51
_MOST_UNDECIDED = 5

_ZERO = Fraction(0)

Signs = NDArray[np.bool_]
"""By output."""


class SetBounds:
    """What models say of a set of pairs.

    Args:
        pairs: The set.
        first: Models on the least box that holds all u.
        second: On that of u'.
        e: At most e^eps_prv.
    """

    def __init__(self, pairs: Pairs, first: Models, second: Models, e: float) -> None:
        self._pairs, self._first, self._second, self._e = pairs, first, second, e
        self._offsets = [
            _offsets(polygon, first.centre[axis], second.centre[axis], pairs.is_tied)
            for axis, polygon in enumerate(pairs.polygons)
        ]
        self._terms = len(first.values) + 4 * len(pairs.polygons) ** 2 + 64
        self._prepare()
        count = len(first.values)
        ends = self._sums(np.vstack((np.eye(count), -np.eye(count))))
        self.most, self.least = ends[:count], -ends[count:]

    def _prepare(self) -> None:
        """Join what is known of u and of u', and its sizes, by output."""
        first, second, e = self._first, self._second, self._e
        count = len(first.values)
        self._values = first.values - e * second.values
        self._gradients = np.hstack((first.gradients, -e * second.gradients))
        self._halves = np.concatenate((first.halves, second.halves))
        widths = [np.outer(models.halves, models.halves) / 2 for models in (first, second)]
        curved = (first.hessians * widths[0], -e * second.hessians * widths[1])
        axes = len(first.halves)
        self._diagonals = np.hstack([np.diagonal(each, 0, 1, 2) for each in curved])
        off = ~np.eye(axes, dtype=np.bool_)
        self._others = np.hstack([each[:, off].reshape(count, -1) for each in curved])
        sizes = np.abs(first.values) + e * np.abs(second.values)
        sizes += np.abs(self._gradients) @ self._halves
        sizes += np.abs(self._diagonals).sum(axis=1) + np.abs(self._others).sum(axis=1)
        rests = (first.rests + e * second.rests) * (1 + self._terms * _ULP)
        self._slack = rests + sizes * self._terms * _ULP

    def largest(self) -> float:
        """Bound the largest δ from above."""
        certain = self.least >= 0
        undecided = np.flatnonzero(~certain & (self.most > 0))
        terms = np.maximum(self.most, 0.0)
        found = float(terms.sum()) * (1 + self._terms * _ULP)
        shares, rise = certain.astype(np.float64), 0.0
        for k in undecided:
            shares[k] = self.most[k] / (self.most[k] - self.least[k])
            rise -= float(shares[k] * self.least[k])
        found = min(found, self._either(shares) + rise * (1 + self._terms * _ULP))
        if 0 < len(undecided) <= _MOST_UNDECIDED:
            largest = -np.inf
            for taken in product((0.0, 1.0), repeat=len(undecided)):
                shares[undecided] = taken
                largest = max(largest, self._either(shares))
                if largest >= found:
                    break
            found = min(found, largest)
        return max(found, 0.0)

    def directions(self) -> list[list[Direction]]:
        """Return for each polygon directions along which δ never falls, on one side of a line."""
        positive, negative = self.least >= 0, self.most <= 0
        found = []
        for axis in range(len(self._pairs.polygons)):
            x = self._slopes(self._first, axis)
            y = self._slopes(self._second, axis)
            own, other = (x[0], x[1]), _wider(-self._e * y[1], -self._e * y[0])
            both = own[0] + other[0], own[1] + other[1]
            signs = [_sign(*_wider(*each), positive, negative) for each in (own, other, both)]
            found.append(_directions(*signs, tied=self._pairs.is_tied))
        return found

    def falls(self, axis: int, direction: Direction, excess: float) -> bool:
        """Say whether δ is proved to fall along a direction, for all factors in e + [0, excess].

        Args:
            axis: Of the polygon.
            direction: A move in it.
            excess: At least 0; nothing is proved if it is infinite.
        """
        if not isfinite(excess):
            return False
        a, b = direction
        x = np.sort([-a * each for each in self._slopes(self._first, axis)], axis=0)
        slopes = np.array(self._slopes(self._second, axis))
        y = np.sort(b * self._e * slopes, axis=0)
        more = abs(b) * excess * np.abs(slopes).max(axis=0) * (1 + 8 * _ULP)
        (own_low, own_high), (low, high) = _wider(*x), _wider(*y)
        low, high = _wider(own_low + low - more, own_high + high + more)
        # P_o(u') is at most 1.
        positive, negative = self.least - excess > 0, self.most <= 0
        return _least_slope(low, high, positive, negative) > 0

    def _slopes(self, models: Models, axis: int) -> tuple[Array, Array]:
        """Bound the derivatives of the outputs in one input, for all of the box."""
        middle = models.gradients[:, axis]
        spread = np.abs(models.hessians[:, axis]) @ models.halves + models.slope_rests[:, axis]
        spread = (spread + np.abs(middle) * _ULP) * (1 + self._terms * _ULP)
        grows = models.growth[:, axis]
        low = np.where(grows > 0, np.maximum(middle - spread, 0.0), middle - spread)
        high = np.where(grows < 0, np.minimum(middle + spread, 0.0), middle + spread)
        return low, high

    def _either(self, shares: Array) -> float:
        """Bound Σ shares h from above, as it stands and by all other shares."""
        constant = 1 - self._e
        own, others = self._sums(np.vstack((shares, shares - 1)))
        slack = (abs(constant) + 1) * self._terms * _ULP
        return min(float(own), float(others) + constant + slack)

    def _sums(self, shares: Array) -> Array:
        """Bound Σ shares h from above, for each row of shares, which may be negative."""
        total = shares @ self._values + np.abs(shares) @ self._slack
        total += np.maximum(shares @ self._diagonals, 0.0).sum(axis=1)
        total += np.abs(shares @ self._others).sum(axis=1)
        return total + self._linear(shares @ self._gradients)

    def _linear(self, gradients: Array) -> Array:
        """Bound the largest values of linear forms on the set; one form a row."""
        axes = len(self._offsets)
        forms = [
            np.outer(gradients[:, k], x) + np.outer(gradients[:, axes + k], y)
            for k, (x, y, _) in enumerate(self._offsets)
        ]
        free = np.zeros(len(gradients))
        for form in forms:
            free += form.max(axis=1)
        budget = self._pairs.budget
        if budget is None or not self._pairs.is_tied:
            return free
        for row in range(len(gradients)):
            own = [form[row] for form in forms]
            for price in self._prices(own):
                paid = price * float(budget)
                size = paid
                for form, (_, _, lengths) in zip(own, self._offsets, strict=True):
                    paid += float((form - price * lengths).max())
                    size += price * float(lengths.max())
                free[row] = min(free[row], paid + size * self._terms * _ULP)
        return free

    def _prices(self, forms: Sequence[Array]) -> list[float]:
        """Return prices of distance that may do; nothing about them has to be true."""
        found = []
        for form, (_, _, lengths) in zip(forms, self._offsets, strict=True):
            far, near = int(lengths.argmax()), int(lengths.argmin())
            if lengths[far] > lengths[near]:
                slope = float((form[far] - form[near]) / (lengths[far] - lengths[near]))
                found.append(max(slope, 0.0))
        return found


def _offsets(
    polygon: Sequence[tuple[Fraction, Fraction]], x: Fraction, y: Fraction, tied: bool
) -> tuple[Array, Array, Array]:
    """Return corners as offsets, and distances there; with corners where the distance is 0."""
    corners = tuple(polygon)
    if tied:
        # |d| is linear on either side of x = y.
        corners = (*clipped(corners, 1, -1, _ZERO), *clipped(corners, -1, 1, _ZERO))
    rows = [(float(a - x), float(b - y), float(abs(a - b))) for a, b in corners]
    table = np.array(rows).T
    return table[0], table[1], table[2]


def _wider(low: Array, high: Array) -> tuple[Array, Array]:
    """Widen bounds by more than one rounding of each; what is exactly 0 stays."""
    return low - np.abs(low) * (8 * _ULP), high + np.abs(high) * (8 * _ULP)


def _sign(low: Array, high: Array, positive: Signs, negative: Signs) -> int:
    """Say where a slope of δ lies, by bounds for those of the h_o: 1 for >= 0, -1 for <= 0."""
    if _least_slope(low, high, positive, negative) >= 0:
        return 1
    return -1 if _least_slope(-high, -low, positive, negative) >= 0 else 0


def _least_slope(low: Array, high: Array, positive: Signs, negative: Signs) -> float:
    """Bound a slope of δ from below."""
    found = []
    # The others' slopes add up to minus those of the outputs taken.
    for bottom, taken, left in ((low, positive, negative), (-high, negative, positive)):
        lows = np.where(taken, bottom, np.where(left, 0.0, np.minimum(bottom, 0.0)))
        rounded = float(np.abs(lows).sum()) * (len(low) + 8) * _ULP
        found.append(float(lows.sum()) - rounded)
    return max(found)


def _directions(x: int, y: int, both: int, *, tied: bool) -> list[Direction]:
    if tied:
        return [(both, both)] if both else []
    if x and x == y:
        both = x
    return [each for each in ((x, 0), (0, y), (both, both)) if any(each)]
