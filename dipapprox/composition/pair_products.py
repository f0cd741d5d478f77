"""Independent pairs of measures in, the divergence of their products at one factor out.

In: pairs with a profile in closed form, and pairs of measures on the line, each a number of times.
Out: an enclosure of sup over S of (⊗ f_k)(S) - α (⊗ g_k)(S), on finer and finer grids of losses:

    closed form -> knots -> losses from above and from below ─┐
    densities -> cells   -> losses from above and from below ─┤ powers, product -> the value at α

Measures on the line may have any masses: `losses` asks for no more. What is wrong with the measures
f'_k, g'_k that cells stand for adds up. Let f'_k lack a mass of λ_k at most and g'_k one of μ_k,
and let masses of sets have errors of e_k and d_k besides, where Σ e_k < 1 and Σ d_k < 1. Changing
one factor after the other, f_1 ⊗ … ⊗ f_(k-1) ⊗ (f_k - f'_k) ⊗ f'_(k+1) ⊗ …, what a set has under
the k-th of these is the mean of (f_k - f'_k)(section) under the others, times their mass: f_j has
mass at most 1, but f'_j may have 1 + e_j. As Π (1 + e_j) <= Π 1 / (1 - e_j) <= 1 / (1 - Σ e_j),
the first measure of a set is too small by Σ (λ_k + e_k) / (1 - Σ e_j) at most, and too great by
Σ e_k / (1 - Σ e_j); the second by Σ (μ_k + d_k) / (1 - Σ d_j) and by Σ d_k / (1 - Σ d_j). What
cells lend counts like μ_k.

Cell losses. Cells of two measures in, their privacy losses on a grid out: bounds from above and
from below.

A cell has masses p and q, and its density ratios f / g lie between a and b.

From above. Let α_i <= a and b <= α_j for steps of the grid. As a function of α, what the cell adds
to the profile, ∫ (f - α g)₊, is convex, p at 0, p - α q up to α_i, and 0 from α_j on. Masses m_i,
m_j >= 0 at these losses with

    m_j (1 - α_i / α_j) >= p - α_i q,     m_i + m_j >= p

are at least that at 0, at α_i and at α_j, and so everywhere, being linear in between. Where a is
below all steps, mass p at α_j will do, as f - α g <= f (1 - α / α_j). Where b is above all steps
the mass goes to infinity. Where b is a trifle more than α_j, at most α_j (1 + t), the cell is one
of ratios a / (1 + t) to α_j and mass p / (1 + t), and the rest of f, less than t p, is at infinity;
where a is hardly less than α_j, all of it is taken for α_j.

From below. Joining outcomes loses only: the cells whose ratios of masses are about that of a step
are joined, and put there with both of their masses (`losses`). Any joining will do, so doubles say
which cells these are. Where there is next to nothing of g, that is taken from g and counted as
`lent`: with g' <= g and (g - g')(everything) = lent,

    sup over S of f(S) - α g(S)  >=  sup over S of f(S) - α g'(S)  -  α lent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, isqrt

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed, enclosing, sure
from dipapprox.arithmetic.precision import enclosure_of, precision, to_ball, to_enclosure
from dipapprox.arithmetic.rounding import (
    SAFE,
    above,
    below,
    product_above,
    product_below,
    sum_below,
    total_above,
)
from dipapprox.cache import Cache
from dipapprox.composition.grid import COARSEST, GridStep, first_step, refined
from dipapprox.composition.losses import BoundSide, GridLosses, deltas, rounded
from dipapprox.composition.mechanisms import Mechanism
from dipapprox.composition.powers import LossGrid, product, share_of
from dipapprox.composition.products import Factor, RepeatedRun, factors_of, pieces_of, working_bits
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.limits import check_atoms
from dipapprox.numerics.real_outputs.coordinates import Line
from dipapprox.numerics.real_outputs.hockey_stick import Discretised, HockeyStick
from dipapprox.numerics.real_outputs.panel_polynomials import Cells

Array = NDArray[np.float64]
_UNIT = 60  # bits of the whole numbers that masses become; sums below 8 fit into 64 bits
_NEARLY = 2.0**-36  # ratios that differ by no more, relatively, are one
_TRIFLE = 2.0**-27
"""By how much bounds of ratios may exceed a step: they are not quite as narrow as could be."""

_FARTHEST = 40.0  # losses beyond ± this are not told from infinite ones


class CellLosses(Record):
    """Two measures on a grid of losses."""

    above: GridLosses  # bounds their profile from above
    below: GridLosses  # from below, if from the second measure a mass `lent` is taken
    lent: Fraction  # >= 0


def losses_of_cells(cells: Cells, step: GridStep, bits: int, cut: int) -> CellLosses | NotEnclosed:
    """Put cells on a grid.

    Args:
        cells: Of two measures of mass 2 at most.
        cut: Most mass, in the unit, that may be cut off at either end.
    """
    if max(float(each.sum()) for each in (*cells.first, *cells.second)) > 2:
        return NotEnclosed("bounds of masses are too wide")
    first, last = _range(cells, float(step.loss(1)), 2.0**-bits * max(cut, 1))
    check_atoms(last - first + 1)
    knots = _Knots.of(step, first, last)
    masses, infinite = _from_above(cells, knots)
    *dense, rest = (_unit(mass, bits, BoundSide.ABOVE) for mass in (*masses.tolist(), infinite))
    places = range(first, first + len(dense))
    high = GridLosses(step, BoundSide.ABOVE, bits, places, dense, dense, rest)
    return CellLosses(high, *_from_below(cells, knots, step, bits))


def _unit(mass: int, bits: int, side: BoundSide) -> int:
    return mass << bits - _UNIT if bits >= _UNIT else rounded(mass, _UNIT - bits, side)


def _range(cells: Cells, size: float, negligible: float) -> tuple[int, int]:
    """The whole steps between which nearly all of the first measure has its losses; a guess."""
    masses = cells.first[1]
    with np.errstate(divide="ignore"):
        places = np.log(cells.first[0] + 1e-300) - np.log(cells.second[1] + 1e-300)
    order = np.argsort(places)
    total = np.cumsum(masses[order])
    many = (total > negligible) & (total - masses[order] < total[-1] - negligible)
    kept = places[order[many]]
    kept = kept[np.abs(kept) < _FARTHEST]
    if not len(kept):
        return -1, 1
    return ceil(kept.min() / size) - 3, ceil(kept.max() / size) + 2


class _Knots(Record, eq=False):
    """e to the losses of consecutive whole steps, ascending."""

    first: int  # of the steps
    lower: Array
    upper: Array
    gaps: Array  # lower bounds of 1 - e^(-k h) for k = 0, 1, …, h the step

    @classmethod
    def of(cls, step: GridStep, first: int, last: int) -> _Knots:
        many = isqrt(last - first) + 1
        with precision(96):
            low, high = _bounds(step.factor(first + many * k) for k in range(many + 1))
            own, other = _bounds(step.factor(k) for k in range(many))
            rest, _ = _bounds(1 - step.factor(-many * k) for k in range(many + 1))
            fall, _ = _bounds(step.factor(-many * k) for k in range(many + 1))
            near, _ = _bounds(1 - step.factor(-k) for k in range(many))
        lower, upper = product_below(low[:, None], own), product_above(high[:, None], other)
        # 1 - a b = (1 - a) + a (1 - b)
        gaps = sum_below(rest[:, None], product_below(fall[:, None], near))
        size = last - first + 1
        return cls(first, lower.ravel()[:size], upper.ravel()[:size], gaps.ravel()[:size])


def _bounds(balls: Iterable[arb]) -> tuple[Array, Array]:
    """Bounds of numbers >= 0."""
    found = [enclosure_of(each).positive() for each in balls]
    return np.array([below(e.lower) for e in found]), np.array([above(e.upper) for e in found])


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _from_above(cells: Cells, knots: _Knots) -> tuple[NDArray[np.int64], int]:
    """Masses at the knots, and at infinity, in units of 2^-_UNIT."""
    count = len(knots.lower)
    mass = cells.first[1]
    low = np.searchsorted(knots.upper, cells.least * (1 - 2 * _TRIFLE), side="right") - 1
    high = np.searchsorted(knots.lower, cells.most * (1 - _TRIFLE), side="left")
    beyond = high == count
    high = np.minimum(high, count - 1)
    excess = np.maximum(np.nextafter(cells.most / knots.lower[high], np.inf) - 1, 0.0)
    excess[beyond] = 0.0
    single = ~beyond & (cells.least >= knots.upper[high] * (1 - 2 * _NEARLY))
    lowest = ~single & ~beyond & (low < 0)
    low = np.where(single | lowest, high, np.maximum(low, 0))
    two = ~single & ~beyond & ~lowest & (low < high)
    difference = mass - product_below(knots.lower[low], cells.second[0])
    share = np.nextafter(difference, np.inf) / knots.gaps[np.where(two, high - low, 1)]
    upper = np.where(two, np.clip(share * _SAFE_DIVISION, 0.0, mass), mass)
    lower = np.where(two, np.maximum(np.nextafter(mass - upper, np.inf), 0.0), 0.0)
    masses = np.zeros(count, np.int64)
    np.add.at(masses, high[~beyond], _ceiling(upper[~beyond]))
    np.add.at(masses, low[two], _ceiling(lower[two]))
    infinite = _ceiling(mass[beyond]).sum() + _ceiling(mass * excess * SAFE).sum()
    return masses, int(infinite)


_SAFE_DIVISION = 1 + 2.0**-50  # makes good two roundings


def _ceiling(masses: Array) -> NDArray[np.int64]:
    return np.ceil(masses * 2.0**_UNIT).astype(np.int64)


def _from_below(
    cells: Cells, knots: _Knots, step: GridStep, bits: int
) -> tuple[GridLosses, Fraction]:
    """Join the cells of each step; also return what is lent."""
    p, q, size, first = cells.first[0], cells.second[1], float(step.loss(1)), knots.first
    last = first + len(knots.lower) - 1
    with np.errstate(divide="ignore"):
        losses = np.log(p / q)  # q is positive: bounds are
    beyond = losses > max(_FARTHEST / 2, last * size)
    certain = int(np.floor(p[beyond] * 2.0**_UNIT).astype(np.int64).sum())
    lent = Fraction(float(total_above(q[beyond])))
    at = np.clip(np.rint(losses[~beyond] / size), first, last).astype(np.int64) - first
    masses, others = np.zeros(len(knots.lower), np.int64), np.zeros(len(knots.lower))
    np.add.at(masses, at, np.floor(p[~beyond] * 2.0**_UNIT).astype(np.int64))
    np.add.at(others, at, q[~beyond])
    most = int(np.bincount(at).max(initial=0))
    turned = product_above(knots.upper, others * (1 + (most + 4) * 2.0**-52))
    *kept, rest = (_unit(mass, bits, BoundSide.BELOW) for mass in (*masses.tolist(), certain))
    beside = [ceil(mass) for mass in np.ldexp(turned, bits).tolist()]
    places = range(first, first + len(kept))
    return GridLosses(step, BoundSide.BELOW, bits, places, kept, beside, rest), lent


_MOST_LOSSES = 2**15  # most losses of a composition of pairs in closed form: seconds
_MOST_CELL_LOSSES = 2**12, 2**16
"""The same with cells: as a rule, and for those who want more than `_FEW` bits."""

_FEW = 32
_PARTS = Fraction(4)  # by how much a grid of losses gets finer: widths go like its square
_ACCURATE = 60  # bits of accuracy beyond which no composition goes
_ACCURATE_CELLS = 48, 36, 20  # bits of accuracy of cells, which are cut in doubles
_REMEMBERED = 200
_CELLS = 2.0  # cells for each loss


Outcomes = tuple[tuple[Line, Line, int], ...]
"""A pair of measures that are sums over disjoint outcomes, each a measure on the line or a point:
both, and how many outcomes are like this."""


_Ends = tuple[Fraction, Fraction]
_Lossy = tuple[CellLosses, _Ends, _Ends]


class LinePair(Record):
    outcomes: Outcomes
    times: int  # how many independent ones there are


class LineLosses:
    """Losses of pairs of measures, on grids; remembered, as products have factors in common."""

    def __init__(self, line: HockeyStick) -> None:
        self._line = line
        self._known: Cache[tuple[Outcomes, GridStep, int, int], _Lossy | NotEnclosed] = Cache(
            _REMEMBERED
        )

    def of(self, outcomes: Outcomes, step: GridStep, bits: int, cut: int) -> _Lossy | NotEnclosed:
        """Put a pair on a grid: its losses, and the cells' `lost` and `errors`."""
        key = outcomes, step, bits, cut
        return self._known.find(key, lambda: self._made(*key))

    @enclosing
    def _made(self, outcomes: Outcomes, step: GridStep, bits: int, cut: int) -> _Lossy:
        each = []
        for first, second, times in outcomes:
            each += [sure(self._cells(first, second, step))] * times
        found = Discretised.joined(each)
        losses = sure(losses_of_cells(found.cells, step, bits, cut))
        return losses, found.lost, found.errors

    def _cells(self, first: Line, second: Line, step: GridStep) -> Discretised | NotEnclosed:
        """Cut one outcome into cells, about `_CELLS` for each loss of the grid: as accurate as
        panels are few enough."""
        spread = float(step.loss(1)) / _CELLS
        for accurate in _ACCURATE_CELLS:
            found = self._line.discretised(first, second, accurate, spread, 2.0 ** -(accurate + 12))
            if isinstance(found, Discretised):
                break
        return found


class _Level(Record, eq=False):
    """The losses of products on one grid, for all factors."""

    above: GridLosses
    below: GridLosses
    losts: Sequence[tuple[Fraction, Fraction]]  # λ and μ of every factor
    errors: Sequence[tuple[Fraction, Fraction]]  # e and d of every factor

    @enclosing
    def at(self, factor: Enclosure) -> Enclosure:
        """Enclose the divergence at a factor."""
        less, more = sure(slacks(self.losts, self.errors, factor.upper))
        with precision(self.above.bits + 64):
            ends = factor.lower, factor.upper
            low, high = (sure(to_enclosure(to_ball(end).log())) for end in ends)
        (upper,) = deltas(self.above, [low.lower])
        (lower,) = deltas(self.below, [high.upper])
        least, most = lower - less, min(upper + more, Fraction(1))
        if least > most:
            raise BrokenInvariant("bounds of a divergence from below and from above do not meet")
        return Enclosure(least, most).positive()


class PairProducts:
    """Products of pairs: their losses are put on a grid once, and asked at many factors.

    Args:
        line: Puts pairs of measures on grids.
        runs: Pairs in closed form, probability measures.
        hints: Mechanisms with losses near which atoms of the pairs may lie.
        bits: How accurate losses are kept: 2**-bits.
    """

    def __init__(
        self,
        line: LineLosses,
        runs: Sequence[RepeatedRun],
        lines: Sequence[LinePair],
        hints: Sequence[Mechanism],
        bits: int,
    ) -> None:
        self._line, self._runs, self._lines, self._hints = line, runs, lines, hints
        self._bits = bits
        self._step, exact = first_step(hints, COARSEST)
        self._exact = exact and not lines
        self._levels: list[_Level | NotEnclosed] = []

    def enclosure(self, factor: Enclosure, bits: int) -> Enclosure | NotEnclosed:
        """Enclose the divergence, >= 0, at a factor to 2**-bits if possible.

        Raises:
            LimitReached: If the limits run out before anything is known.
        """
        found, number, most = UNIT, max(len(self._levels) - 2, 0), _MOST_LOSSES
        if self._lines:
            # The next grid has so many times the losses of this one.
            most = int(_MOST_CELL_LOSSES[bits > _FEW] / _PARTS)
        while True:
            try:
                level = self._level(number)
            except LimitReached:
                if found == UNIT:
                    raise
                return found
            value = level if isinstance(level, NotEnclosed) else level.at(factor)
            if isinstance(level, NotEnclosed) or isinstance(value, NotEnclosed):
                return value if found == UNIT else found
            before = found.width
            found = found.intersect(value, "a finer grid", "a grid", "the δ of a product of pairs")
            enough = found.width <= Fraction(1, 2**bits)
            if enough or self._exact or level.above.atoms > most:
                return found
            if found.width > before / 2 and before < 1:
                return found
            number += 1

    def _level(self, number: int) -> _Level | NotEnclosed:
        if number == len(self._levels):
            if number:
                self._step = refined(self._hints, self._step, _PARTS)
            self._levels.append(self._on(self._step))
        return self._levels[number]

    @enclosing
    def _on(self, step: GridStep) -> _Level:
        """Compose losses on a grid."""
        accuracy = Fraction(1, 2 ** min(self._bits, _ACCURATE))
        times = [*(run.times for run in self._runs), *(pair.times for pair in self._lines)]
        share = share_of(accuracy, times)
        grid = LossGrid(step, share, accuracy=accuracy, exact=self._exact, weight=accuracy)
        above: list[Factor] = []
        below: list[Factor] = []
        if self._runs:
            with precision(working_bits(grid)):
                pieces = pieces_of(self._runs, grid, added=False)
                above, below = factors_of(pieces, grid, [*BoundSide]).values()
        losts: list[tuple[Fraction, Fraction]] = []
        errors: list[tuple[Fraction, Fraction]] = []
        for pair in self._lines:
            own = self._line.of(pair.outcomes, step, grid.bits, grid.cut(1, grid.bits))
            losses, lost, error = sure(own)
            above.append((losses.above, pair.times))
            below.append((losses.below, pair.times))
            losts.append((pair.times * lost[0], pair.times * (lost[1] + losses.lent)))
            errors.append((pair.times * error[0], pair.times * error[1]))
        high, low = (product(each, grid) for each in (above, below))
        return _Level(high, low, losts, errors)


def slacks(
    losts: Sequence[tuple[Fraction, Fraction]],
    errors: Sequence[tuple[Fraction, Fraction]],
    factor: Fraction,
) -> tuple[Fraction, Fraction] | NotEnclosed:
    """Bound by how much the divergence of products is less, and more, than that of their cells.

    Args:
        losts: λ and μ of every factor, >= 0.
        errors: e and d of every factor, >= 0.
        factor: α, or more.
    """
    (lost, other), (own, second) = (
        [sum(each, Fraction(0)) for each in zip(*many, strict=True)] or [Fraction(0)] * 2
        for many in (losts, errors)
    )
    if own >= 1 or second >= 1:
        return NotEnclosed("the masses of cells are too inexact")
    most, most_second = 1 / (1 - own), factor / (1 - second)
    return (own * most + (other + second) * most_second, (own + lost) * most + second * most_second)
