"""Many runs on one grid: powers and products of loss distributions, in doubles or whole numbers.

Where losses are to be on the grid exactly, or be accurate beyond doubles, products are those of
whole numbers, by squaring; else `transforms` has all of them at once, of tilted masses. Tilted they
are by how much they matter where H is asked, at ε: as (1 - e^-x)₊ <= e^(λ x) λ^λ / (1 + λ)^(1 + λ)
for all λ > 0, with the moment M = Σ p e^(λ ℓ) of a run

    H(e^ε) <= M^T e^(-λ ε) λ^λ / (1 + λ)^(1 + λ).                                              (1)

With the best λ that is about as steep as H. No bound depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, exp, floor, inf, log, log1p, log2

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.precision import precision
from dipapprox.arithmetic.rounding import FLOOR, total_above
from dipapprox.composition.grid import GridStep
from dipapprox.composition.losses import (
    BoundSide,
    GridRow,
    LossRow,
    RunLosses,
    ceiling,
    multiplied,
    rounded,
)
from dipapprox.composition.spreads import Spread
from dipapprox.composition.transforms import least_place, transformed
from dipapprox.data_classes import Record
from dipapprox.limits import Limits

_DOUBLES, _HOPE = 2.0**-38, 7.0
"""About how accurate one of many runs is in doubles; and ln of by how much better it may be."""

_SPARE = 16  # losses that are kept below those that seem to matter
_PLACES = -7.0, 21.0
_SECTIONS = 16  # ln λ is looked for there, in so many steps
_STEEPEST = 700.0  # of exponents: more is no double
_LEAST = 1e-300  # least accuracy in doubles
_RANGE = 8  # of the losses of one run, about; at most that


class LossGrid(Record):
    """Where losses lie, how accurately masses are kept, and what products are made for."""

    step: GridStep  # the distance of losses
    # Mass of one run's share that may be cut off at either end of every product: of the composition
    # of t runs, t times that. In units of 1.
    share: Fraction
    budget: float | None = None
    delta: float | None = None
    accuracy: Fraction = Fraction(1)  # how accurate H is to be, besides what the grid costs
    exact: bool = False  # whether losses are to stay on the grid
    weight: Fraction = Fraction(1)  # the δ that matters, about
    steepness: float = 0.0  # about -d ln H(e^ε) / dε there; 0 if it is not known

    @property
    def bits(self) -> int:
        """Of the unit of masses: small enough for a cut to take masses of one unit each."""
        masses = min(max(ceil(log2(_RANGE / float(self.step.loss(1)))), 8), 20)
        return bits_of(self.share) + masses

    @property
    def logarithm(self) -> float:
        """ln of the accuracy."""
        return log(max(float(self.accuracy), _LEAST))

    def cut(self, count: int, bits: int) -> int:
        """What may be cut off of the composition of so many runs, in units of 2^-bits."""
        return int(self.share * (1 << bits) * count)


def share_of(accuracy: Fraction, times: Sequence[int]) -> Fraction:
    """Return what each cut of runs and the rounding of each may cost, of an accuracy of all."""
    return accuracy / (16 * sum(n.bit_length() for n in times) * sum(times))


def bits_of(size: Fraction) -> int:
    """About -log2 of a number > 0, at least that."""
    return size.denominator.bit_length() - size.numerator.bit_length() + 1


def product(factors: Sequence[tuple[RunLosses, int]], grid: LossGrid, limits: Limits) -> LossRow:
    """Return the composition of runs.

    Args:
        factors: At least one, each a number of times, on one grid, of one unit and side.
    """
    limits.check()
    size, times = float(grid.step.loss(1)), sum(times for _, times in factors)
    doubtful = grid.logarithm - log(times * _DOUBLES)
    steepness, tilt = _steepness([_Chances(one, size, n) for one, n in factors], grid, doubtful)
    powers = _Powers(factors[0][0], grid, steepness, limits)
    if tilt is not None and not grid.exact:
        spread = transformed(factors, grid.step, tilt, float(grid.share), limits)
        if spread is not None:
            return powers.read_off(spread)
    return LossRow(grid.step, *powers.product(factors), powers.bits, powers.side, steepness)


_Losses = tuple[GridRow, int]  # of a composition, and its mass at infinity


class _Powers:
    """Multiplies loss distributions of one unit and side, in whole numbers."""

    def __init__(self, one: RunLosses, grid: LossGrid, steepness: float, limits: Limits) -> None:
        self.bits, self.side = one.bits, one.side
        self._grid, self._steepness, self._limits = grid, steepness, limits

    def product(self, factors: Sequence[tuple[RunLosses, int]]) -> _Losses:
        found, count = None, 0
        for one, times in factors:
            several = self._power(one, times)
            count += times
            found = several if found is None else self._composed(found, several, count)
        assert found is not None, "a composition of no runs"
        return found

    def _power(self, one: RunLosses, times: int) -> _Losses:
        single = found = self.settled(self._dense(one), one.infinite, 1)
        count = 1
        for digit in bin(times)[3:]:
            for other in (found, single) if digit == "1" else (found,):
                count = count * 2 if other is found else count + 1
                found = self._composed(found, other, count)
        return found

    def _composed(self, first: _Losses, second: _Losses, count: int) -> _Losses:
        self._limits.check()
        (one, never), (two, other) = first, second
        self._limits.check_atoms(len(one.masses) + len(two.masses))
        finite, rest = sum(one.masses), sum(two.masses)
        infinite = never * (rest + other) + finite * other
        row = multiplied(one, two, self.bits, self.side)
        return self.settled(row, rounded(infinite, self.bits, self.side), count)

    def _dense(self, one: RunLosses) -> GridRow:
        if not one.masses:
            return GridRow(0, (), ())
        first, last = min(one.masses), max(one.masses)
        self._limits.check_atoms(last - first + 1)
        masses = [one.masses.get(place, 0) for place in range(first, last + 1)]
        if self.side is BoundSide.ABOVE:
            return GridRow(first, masses, masses)
        return GridRow(first, masses, [one.others.get(k, 0) for k in range(first, last + 1)])

    def read_off(self, found: Spread) -> LossRow:
        """Round what matters of a composition."""
        p, q, above = found.masses, found.others, self.side is BoundSide.ABOVE
        size, start = float(found.step.loss(1)), int(found.places[0])
        low = 0
        if self._grid.budget is not None:
            low = floor(self._grid.budget / size) - start
        elif self._grid.delta is not None:
            factors = np.exp(-np.minimum(size * np.arange(len(p)), _STEEPEST))
            tail, rest = (np.cumsum(m[::-1])[::-1] for m in (p, q * factors))
            low = int(np.count_nonzero(tail - rest / factors > self._grid.delta))
        low = max(min(low - _SPARE, len(p) - 1), 0)
        others = self._units(q[low:], up=True)
        (infinite,) = self._units(np.array([found.infinite]), up=above)
        if above:
            (before,) = self._units(np.array([float(total_above(p[:low]))]), up=True)
            others[0] += before if low else 0
            row = GridRow(start + low, others, others)
        else:
            row = GridRow(start + low, self._units(p[low:], up=False), others)
            row = self._centred(row, found.step)
        return LossRow(found.step, row, infinite, self.bits, self.side, self._steepness)

    def _units(self, masses: NDArray[np.float64], *, up: bool) -> list[int]:
        if up:
            return [ceil(m) for m in np.ldexp(np.maximum(masses, FLOOR), self.bits).tolist()]
        return [floor(m) for m in np.ldexp(masses, self.bits).tolist()]

    def settled(self, row: GridRow, infinite: int, count: int) -> _Losses:
        """Cut off what next to never happens."""
        cut, above = self._grid.cut(count, self.bits), self.side is BoundSide.ABOVE
        size = len(row.masses)
        high = size - _below(reversed(row.masses), cut)
        infinite += sum(row.masses[high:]) if above else 0
        low = max(min(_below(row.masses, cut), high - 1), 0)
        less = sum(row.masses[:low])
        row = row.part(low, high)
        if not above:
            return self._centred(row, self._grid.step), infinite
        if less:
            masses = [row.masses[0] + less, *row.masses[1:]]
            row = GridRow(row.start, masses, masses)
        return row, infinite

    def _centred(self, row: GridRow, step: GridStep) -> GridRow:
        """Move all outcomes of a row to where their losses are, in the mean: any place is right."""
        p, q = (_logarithms(values, self.bits) for values in (row.masses, row.others))
        known = (p > -inf) & (q > -inf)
        if not known.any():
            return row
        p, q = p[known], q[known]
        off = np.average(p - q, weights=np.exp(p - p.max()))
        move = round(float(off) / float(step.loss(1)))
        if not move:
            return row
        with precision(self.bits + 64):
            factor = ceiling(step.factor(move), self.bits)
        others = [-(-each * factor >> self.bits) for each in row.others]
        return GridRow(row.start + move, row.masses, others)


class _Chances:
    """The finite losses of one run, in doubles."""

    def __init__(self, one: RunLosses, size: float, times: int) -> None:
        self._losses = np.array([*one.masses], float) * size
        self._logarithms = _logarithms(one.masses.values(), one.bits)
        self.times = times

    def moment(self, steepness: float) -> float:
        """Return about ln Σ p e^(λ ℓ)."""
        if not len(self._losses):
            return 0.0
        exponents = self._logarithms + steepness * self._losses
        top = float(exponents.max())
        return top + log(np.exp(exponents - top).sum()) if top > -inf else 0.0


def _steepness(
    chances: Sequence[_Chances], grid: LossGrid, doubtful: float
) -> tuple[float, float | None]:
    """Return about -d ln H(e^ε) / dε where H is asked, 0 where it is not, and how to tilt.

    The first is the λ of the least bound of H; the other one the least λ for which what is lost to
    doubles, a part of the bound, is little enough, None if there is none.

    Args:
        doubtful: ln of the greatest bound for which that is so.
    """
    if grid.budget is None and grid.delta is None:
        return 0.0, 0.0 if doubtful >= 0 else None

    def whole(place: float) -> float:
        """(1) at ε = 0, of ln λ."""
        steepness = exp(place)
        found = sum(each.times * each.moment(steepness) for each in chances)
        return found + steepness * place - (1 + steepness) * log1p(steepness)

    def budget(place: float) -> float:
        """The ε for which (1) is δ."""
        return (whole(place) - log(grid.delta or 1.0)) / exp(place)

    known = grid.budget

    def bound(place: float) -> float:
        return whole(place) - exp(place) * (known or 0.0)

    def least(most: float, high: float) -> float:
        """The least λ for which (1) is so much."""
        low = _PLACES[0]
        for _ in range(_SECTIONS):
            middle = (low + high) / 2
            low, high = (low, middle) if bound(middle) <= most else (middle, high)
        return high

    place = least_place(budget if known is None else bound, *_PLACES, _SECTIONS)
    if known is None:
        known = budget(place)
    elif bound(place) < grid.logarithm:  # masses count for less far from there
        place = least(grid.logarithm, place)
    most = max(bound(place), doubtful)
    return exp(place), exp(least(most, place)) if most <= doubtful + _HOPE else None


def _logarithms(masses: Iterable[int], bits: int) -> NDArray[np.float64]:
    return np.array([log(mass) if mass > 0 else -inf for mass in masses]) - bits * log(2)


def _below(masses: Iterable[int], most: int) -> int:
    """How many of the first masses add up to at most so much."""
    count = total = 0
    for mass in masses:
        total += mass
        if total > most:
            break
        count += 1
    return count
