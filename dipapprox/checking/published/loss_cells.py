"""What one published number loses between two inputs: masses at losses on a grid, by cells.

In: two sums of densities on panels of the line (`hockey_sticks.OnPanels`). Out: `Losses`, masses
m >= 0 at losses ℓ = origin + step k and at infinity, which stand for Σ m (1 - x e^-ℓ)₊ + m_∞: a
function of the factor x > 0 that is above, or below, H(x) = ∫ max(0, f - x g).

Panels are cut into cells where ln f/g is about half a step of the grid, in floating point, and
these are halved until f/g surely hardly varies. With F and G the polynomials of f and
g on a panel, f/g at c + t, |t| <= r, is F(c)/G(c) + t W/G² at some place between, W = F' G - F G';
errors of at most E and E' move it by (E + E' f/g) / G. Let f have mass P on a cell, and g mass Q.

From above. If a <= f/g <= b on a cell, its part of H is P - x Q for x <= a, 0 for x >= b, and is
convex: it is below the chord, that is below masses at a and b that add up to P and Q:

    m_b = (P - a Q) / (1 - a/b),   m_a = (b Q - P) / (b/a - 1).

From below. Cells of nearly one ratio are merged, which is post-processing: one outcome of masses P
and Q, of loss ln(P/Q). It is rounded to the nearest place, and all places are moved by `slack`;
outcomes that lose less than that are rounded down.

Both are off by the order of step². Where polynomials are negative they are taken for 0, which is
nearer to densities; what panels leave out is bounded by whoever asks (`OnPanels.lacks`).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import log

import numpy as np
from flint import arb, arb_poly
from numpy.polynomial.polynomial import polyval

from dipapprox.checking.distributions import NoBounds
from dipapprox.checking.panels import Piece
from dipapprox.checking.published.hockey_sticks import OnPanels
from dipapprox.data_classes import dataclass
from dipapprox.limits import Limits
from dipapprox.numerics.precision import give_way, to_ball

_NOTHING = arb(0)
_DEEPEST = 24
_SPARE = arb(2) ** -60
"""Cells of less mass are not halved."""

_SAMPLES, _MOST_SAMPLES = 65, 2**17
"""Of a ratio on a panel, to cut it."""

_LIKELY = 2.0**-38
"""Of panels with less mass, losses may be beyond the grid."""


@dataclass(frozen=True, slots=True)
class LossGrid:
    """Losses origin + step k, for -count <= k <= 0."""

    origin: Fraction
    step: Fraction
    count: int


@dataclass(frozen=True, slots=True)
class Losses:
    """Masses on a grid.

    Attributes:
        masses: By k, from -count on.
        infinite: At infinity.
        slack: True losses are at least this more than those on the grid.
    """

    masses: list[arb]
    infinite: arb
    slack: Fraction


@dataclass(frozen=True, slots=True)
class _Cell:
    """Masses of f and g, and bounds of f/g; the upper one is None if there is none."""

    p: arb
    q: arb
    low: arb
    high: arb | None


def extent(panels: OnPanels) -> tuple[float, float]:
    """Return about which losses are likely; to be used at the panels' precision.

    Raises:
        NoBounds: If none is.
    """
    found = [
        log(float(p) / float(q))
        for f, g in zip(panels.first, panels.second, strict=True)
        if f is not None and g is not None and float(_integral(f).mid()) > _LIKELY
        for p, q in ((f.polynomial(arb(s)).mid(), g.polynomial(arb(s)).mid()) for s in (-1, 0, 1))
        if p > f.error and q > g.error
    ]
    if not found:
        raise NoBounds("the ratio of two densities is bounded nowhere")
    return min(found), max(found)


class LossCells:
    """The cells of two densities; to be used at their precision.

    Args:
        panels: Of the densities.
        grid: How fine cells shall be.
        limits: Asked throughout.

    Raises:
        LimitReached: If the limits run out.
    """

    def __init__(self, panels: OnPanels, grid: LossGrid, limits: Limits) -> None:
        self._grid = grid
        self._origin, self._step = to_ball(grid.origin), to_ball(grid.step)
        self._alphas = [(self._origin + self._step * k).exp() for k in range(-grid.count, 1)]
        self._cells = [
            cell
            for f, g in zip(panels.first, panels.second, strict=True)
            if f is not None
            for cell in _cells(f, g, grid, limits)
        ]

    def above(self) -> Losses:
        """Return masses above H."""
        count = self._grid.count
        masses = [_NOTHING] * (count + 1)
        infinite = _NOTHING
        for cell in self._cells:
            last = count + 1 if cell.high is None else self._place(cell.high.upper(), up=True)
            last = max(last, 0)
            if last > count:
                infinite += cell.p
                continue
            first = self._place(cell.low.lower(), up=False) if cell.low > 0 else -1
            if first < 0 or first == last:
                masses[last] += cell.p
                continue
            a, b = self._alphas[first], self._alphas[last]
            masses[first] += ((b * cell.q - cell.p) / (b / a - 1)).max(_NOTHING)
            masses[last] += ((cell.p - a * cell.q) / (1 - a / b)).max(_NOTHING)
        return Losses([mass.upper() for mass in masses], infinite.upper(), Fraction(0))

    def below(self) -> Losses:
        """Return masses below H."""
        count = self._grid.count
        merged: dict[int, tuple[arb, arb]] = {}
        infinite = _NOTHING
        for cell in self._cells:
            p, q = cell.p.lower(), cell.q.upper()
            if not p > 0:
                continue
            if not q > 0:
                infinite += p
                continue
            near = ((p / q).log() - self._origin) / self._step
            place = min(round(float(near.mid())) + count, count)
            if place >= 0:
                known = merged.get(place, (_NOTHING, _NOTHING))
                merged[place] = known[0] + p, known[1] + q
        found = []
        for place, (p, q) in sorted(merged.items()):
            more = (p / q).log() - self._origin - self._step * (place - count)
            found.append((more.lower(), place, p.lower()))
        slack = _slack([(float(more), float(p)) for more, _, p in found], self._grid.step)
        moved = to_ball(slack)
        masses = [_NOTHING] * (count + 1)
        for more, place, p in found:
            own = place
            if not more >= moved:
                own += _floor((more - moved) / self._step)
            if own >= 0:
                masses[own] += p
        return Losses([mass.lower() for mass in masses], infinite.lower(), slack)

    def _place(self, ratio: arb, *, up: bool) -> int:
        """The next place with a factor of at least, or at most, a ratio; -1: below the grid."""
        if not ratio > 0:
            return -1
        steps = (ratio.log() - self._origin) / self._step + self._grid.count
        place = -_floor(-steps) if up else _floor(steps)
        return max(place, -1)


def _floor(value: arb) -> int:
    """A whole number <= every one of a ball."""
    found = value.lower().floor().unique_fmpz()
    if found is None:
        raise NoBounds("a ratio of densities is too large")
    return int(found)


def _slack(found: list[tuple[float, float]], step: Fraction) -> Fraction:
    """By how much to move places, up to half a step: what mass is rounded down by a step for it,
    and what all lose by it, are about least. Any value is right."""
    whole, size = sum(p for _, p in found), float(step)
    best, least, down = -size / 2, whole * size, 0.0
    for more, p in sorted(found):
        cost = down * size - more * whole
        if cost < least and abs(more) <= size / 2:
            best, least = more, cost
        down += p
    # What is about there shall not be rounded down.
    return Fraction(best) - step / 2**30


def _cells(f: Piece, g: Piece | None, grid: LossGrid, limits: Limits) -> Iterator[_Cell]:
    if g is None:
        mass = _mass(f.polynomial.integral(), f.error, _NOTHING, arb(1))
        yield _Cell(mass.max(_NOTHING), _NOTHING, arb(1), None)
        return
    step = to_ball(grid.step)
    above, below = f.polynomial, g.polynomial
    slopes = above.derivative(), below.derivative()
    slope = slopes[0] * below - above * slopes[1]
    sums = above.integral(), below.integral()
    waiting = [
        (0, (arb(a) + arb(b)) / 2, (arb(b) - arb(a)) / 2) for a, b in pairwise(_cuts(f, g, grid))
    ]
    while waiting:
        limits.check()
        give_way()
        depth, middle, half = waiting.pop()
        around = middle + arb(0, half)
        at_middle = above(middle), below(middle)
        p, q = (
            value + slope_of(around) * arb(0, half) + arb(0, error)
            for value, slope_of, error in zip(at_middle, slopes, (f.error, g.error), strict=True)
        )
        halves = [(depth + 1, middle + half * s / 2, half / 2) for s in (-1, 1)]
        small = depth == _DEEPEST or p.abs_upper() * half <= _SPARE
        if not q > 0:
            if not small and q.abs_upper() > 4 * g.error:
                waiting += halves
                continue
            low, high = _NOTHING, None
        else:
            bare = q + arb(0, g.error)
            at = at_middle[0] / at_middle[1]
            if not bare > 0 or not at.is_finite():
                ratio, noise = p / q, arb(0)
            else:
                ratio = at + slope(around) / (bare * bare) * arb(0, half)
                doubt = ((f.error + g.error * ratio.abs_upper()) / q.lower()).upper()
                ratio += arb(0, doubt)
                noise = doubt + at.rad()
            width = 2 * ratio.rad()
            if not small and not (width <= step * ratio.mid() or width <= 8 * noise):
                waiting += halves
                continue
            low, high = ratio.lower().max(_NOTHING), ratio.upper().max(_NOTHING)
        yield _Cell(
            _part(sums[0], f.error, p, middle, half),
            _part(sums[1], g.error, q, middle, half),
            low,
            high,
        )


def _cuts(f: Piece, g: Piece, grid: LossGrid) -> list[float]:
    """Where ln f/g is about a half step of the grid, with both ends of the panel; any cuts do."""
    both = [np.array([float(c.mid()) for c in each.polynomial.coeffs()]) for each in (f, g)]
    count = _SAMPLES
    while True:
        places = np.linspace(-1, 1, count)
        with np.errstate(all="ignore"):
            one, two = (polyval(places, each) for each in both)
            losses = (np.log(one / two) - float(grid.origin)) / float(grid.step) * 2
        if not np.isfinite(losses).all():
            return [-1.0, 1.0]
        steps = np.diff(losses)
        needed = int(min(2 * np.abs(steps).sum(), _MOST_SAMPLES))
        if needed <= count:
            break
        count = needed + 1
    cuts = []
    for k in np.nonzero(np.diff(np.floor(losses)))[0]:
        start, end = losses[k], losses[k + 1]
        low, high = sorted((start, end))
        crossed = np.arange(np.floor(low) + 1, np.floor(high) + 1)
        found = places[k] + (crossed - start) / (end - start) * (places[k + 1] - places[k])
        cuts += [float(each) for each in found]
    return sorted({-1.0, *(cut for cut in cuts if -1 < cut < 1), 1.0})


def _part(primitive: arb_poly, error: arb, values: arb, middle: arb, half: arb) -> arb:
    """The mass of the positive part of a function, whose values on the part are in a ball."""
    found = _mass(primitive, error, middle, half)
    if values > 0:
        return found
    return found.lower().max(_NOTHING).union((2 * half * values.upper().max(_NOTHING)).upper())


def _mass(primitive: arb_poly, error: arb, middle: arb, half: arb) -> arb:
    found = primitive(middle + half) - primitive(middle - half)
    return found + arb(0, (2 * half * error).upper())


def _integral(piece: Piece) -> arb:
    return _mass(piece.polynomial.integral(), piece.error, _NOTHING, arb(1))
