"""Many runs on layers of grids: powers and products of loss distributions, and what they cost.

What one run adds to the variance of losses by being put on a step h is about h² / 6, if all of its
mass is; and m h² / 6 for a mass m that alone is. What so many runs are together is multiplied less
often than one of them, so it may lie on wider steps. With h_i the step of layer i, in units of h_0,
t the runs that a distribution is of and T all runs, a mass m moved to layer i costs

    m h_i² T / t of what T runs cost on h_0,   so it may be moved if   m <= c t / h_i².          (1)

So a layer keeps the losses between which all but that lies, and none if that is all: the first
layers go as runs add up. Masses are those of losses that lead to where H is asked, at ε: as
(1 - e^-x)₊ <= e^(λ x) λ^λ / (1 + λ)^(1 + λ) for all λ > 0, with the moment M = Σ p e^(λ ℓ) of a run

    H(e^ε) <= M^T e^(-λ ε) λ^λ / (1 + λ)^(1 + λ).                                              (2)

With the best λ that is about as steep as H, and a mass at ℓ counts for e^(λ ℓ) / M^t. All of this
is a guess about cost. No bound depends on it (`losses`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from math import exp, inf, log, log1p

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.precision import precision
from dipapprox.composition.grid import GridStep
from dipapprox.composition.losses import (
    COARSER,
    NO_ROW,
    BoundSide,
    Coarsening,
    GridRow,
    LossDistribution,
    LossRow,
    RunLosses,
    ceiling,
    multiplied,
    rounded,
)
from dipapprox.data_classes import dataclass
from dipapprox.limits import Limits

_TAIL, _FLOOR = 1 / 64, 1 / 8
"""c of (1): for what lies at the ends of a layer, and for all of it."""

_FEW = 2048
"""Runs that are multiplied on one layer: layers cost about as much as they save there."""

_WIDEST = 1 / 16
"""Most of a step."""

_PLACES = -7.0, 21.0
_SECTIONS = 16
_GOLDEN = (5**0.5 - 1) / 2
"""ln λ is looked for there, in so many steps, each of which leaves so much of it."""

_LOG_STEEPEST, _MOST_BITS = 700.0, 900
"""Of exponents and of masses: more is no double."""


@dataclass(frozen=True, slots=True)
class Layering:
    """What lies on which layer, and what is cut off.

    Attributes:
        step: h_0.
        runs: T.
        share: Mass of one run's share that may be cut off at either end of every product: of the
            composition of t runs, t times that. In units of 1.
        budget: ε, if that is asked.
        delta: δ, if that is.
        accuracy: How accurate H is to be.
        weight: Which part of all mass matters, about, if neither is asked.
        exact: Whether losses are to stay on the first grid, as where atoms of much mass lie on it.
    """

    step: GridStep
    runs: int
    share: Fraction
    budget: float | None = None
    delta: float | None = None
    accuracy: float = 1.0
    weight: float = 1.0
    exact: bool = False

    def cut(self, count: int, bits: int) -> int:
        """What may be cut off of the composition of so many runs, in units of 2^-bits."""
        return int(self.share * (1 << bits) * count)

    def steps(self, steepness: float) -> list[GridStep]:
        """The steps of all layers, where H is so steep."""
        found = [self.step]
        if self.exact or self.runs < _FEW:
            return found
        widest = min(_WIDEST, 1 / steepness if steepness else 1.0)
        while float(found[-1].loss(COARSER)) <= widest:
            found.append(found[-1].wider(COARSER))
        return found


def product(
    factors: Sequence[tuple[RunLosses, int]], layering: Layering, limits: Limits
) -> LossRow:
    """Return the composition of runs.

    Args:
        factors: At least one, each a number of times, on one grid, of one unit and side.
        layering: What lies on which layer.
        limits: What may be used.

    Raises:
        LimitReached: If time or memory is used up, or there are too many losses.
    """
    chances = [_Chances(one, float(layering.step.loss(1)), times) for one, times in factors]
    steepness, most = _steepness(chances, layering)
    return _Layers(factors[0][0], layering, steepness, most, limits).product(
        [
            (one, times, each.moment(steepness))
            for (one, times), each in zip(factors, chances, strict=True)
        ]
    )


class _Layers:
    """Multiplies loss distributions of one unit and side.

    Args:
        one: Of that unit and side.
        layering: What lies where.
        steepness: λ; 0 if it is not known.
        most: ln of (2).
        limits: Asked at every product.
    """

    def __init__(
        self, one: RunLosses, layering: Layering, steepness: float, most: float, limits: Limits
    ) -> None:
        self._layering = layering
        self._bits, self._side = one.bits, one.side
        self._limits = limits
        self._steepness, self._most = steepness, most
        self._steps = layering.steps(steepness)
        self._wider = [Coarsening(each, one.bits, one.side) for each in self._steps[:-1]]
        self._growths = [steepness * float(step.loss(1)) for step in self._steps]

    def product(self, factors: Sequence[tuple[RunLosses, int, float]]) -> LossRow:
        """Return the composition of runs, each a number of times, and of what ln M."""
        found, count, moment = None, 0, 0.0
        for one, times, own in factors:
            several = self._power(one, times, own)
            if found is None:
                found = several
            else:
                found = self._composed(found, several, count + times, moment + own * times, 1)
            count, moment = count + times, moment + own * times
        assert found is not None, "a composition of no runs"
        return self._flat(found)

    def _power(self, one: RunLosses, times: int, moment: float) -> LossDistribution:
        """Return the composition of a run with itself, by squaring."""
        single = found = self._layered(one, moment, times)
        count = 1
        for digit in bin(times)[3:]:
            for other in (found, single) if digit == "1" else (found,):
                count = count * 2 if other is found else count + 1
                found = self._composed(found, other, count, moment * count, times / count)
        return found

    def _composed(
        self,
        first: LossDistribution,
        second: LossDistribution,
        count: int,
        moment: float,
        often: float,
    ) -> LossDistribution:
        """Return the composition of two.

        Args:
            first: Of some runs.
            second: Of others.
            count: Of how many in all.
            moment: About ln of that of all of them.
            often: How often it is multiplied.
        """
        self._limits.check()
        bits, side = self._bits, self._side
        rows = []
        low = other = NO_ROW
        for level, (one, two) in enumerate(zip(first.rows, second.rows, strict=True)):
            self._limits.check_atoms(
                len(one.masses) + len(two.masses) + len(low.masses) + len(other.masses)
            )
            if first is second:
                both = one.plus(low).plus(low) if low.masses else one
                row = multiplied(one, both, bits, side)
            else:
                row = multiplied(one, two.plus(other), bits, side)
                row = row.plus(multiplied(low, two, bits, side))
            rows.append(row)
            if level < len(self._wider):
                wider = self._wider[level].row
                low = wider(low.plus(one)) if low.masses or one.masses else low
                if first is second:
                    other = low
                else:
                    other = wider(other.plus(two)) if other.masses or two.masses else other
        infinite = first.infinite * second.total + first.finite * second.infinite
        return self._settled(rows, rounded(infinite, bits, side), count, moment, often)

    def _layered(self, one: RunLosses, moment: float, times: int) -> LossDistribution:
        """Put one run on layers."""
        rows = []
        masses = {k: (p, one.others[k]) for k, p in one.masses.items()}
        for level in range(len(self._steps)):
            places = sorted(masses)
            low, high = (0, len(places))
            if level < len(self._wider):
                values = [masses[place][0] for place in places]
                tilted = self._tilted(np.array(places, float), values, level, moment)
                low, high = self._window(tilted, level, times)
            kept = places[low:high]
            rows.append(self._dense(kept, masses))
            rest = {place: masses[place] for place in (*places[:low], *places[high:])}
            if level < len(self._wider):
                masses = self._wider[level].run(rest)
        found = LossDistribution(tuple(rows), one.infinite, one.bits, one.side)
        return self._settled(list(found.rows), found.infinite, 1, moment, times)

    def _dense(self, places: Sequence[int], masses: dict[int, tuple[int, int]]) -> GridRow:
        if not places:
            return NO_ROW
        first, last = places[0], places[-1]
        self._limits.check_atoms(last - first + 1)
        pairs = [masses.get(place, (0, 0)) for place in range(first, last + 1)]
        p = [pair[0] for pair in pairs]
        above = self._side is BoundSide.ABOVE
        return GridRow(first, p, p if above else [pair[1] for pair in pairs])

    def _settled(
        self, rows: list[GridRow], infinite: int, count: int, moment: float, often: float
    ) -> LossDistribution:
        """Move what is rare to wider steps, and cut off what next to never happens."""
        cut = self._layering.cut(count, self._bits)
        for level, row in enumerate(rows):
            row, gone = self._without_end(row, cut)
            infinite += gone
            if self._side is BoundSide.BELOW:
                row = self._centred(row, level)
            if level < len(self._wider):
                row, rare = self._parted(row, level, moment, often)
                rows[level + 1] = reduce(GridRow.plus, rare, rows[level + 1])
            rows[level] = row
        rows[-1] = self._without_start(rows[-1], cut, count, moment)
        return LossDistribution(tuple(rows), infinite, self._bits, self._side)

    def _without_end(self, row: GridRow, cut: int) -> tuple[GridRow, int]:
        """Cut off the greatest losses; also return what is infinite of their mass."""
        high = _below(reversed(row.masses), cut)
        if not high:
            return row, 0
        size = len(row.masses)
        above = self._side is BoundSide.ABOVE
        return row.part(0, size - high), sum(row.masses[size - high :]) if above else 0

    def _without_start(self, row: GridRow, cut: int, count: int, moment: float) -> GridRow:
        """Cut off the least losses: those of little mass, or far below what is asked."""
        low = _below(row.masses, cut)
        if self._steepness and cut and row.masses:
            share = float(self._layering.share) * count * exp(min(-self._most, _LOG_STEEPEST))
            tilted = self._tilted(_places(row), row.masses, len(self._wider), moment)
            low = max(low, int(np.searchsorted(np.cumsum(tilted), share, side="right")))
        low = min(low, len(row.masses) - 1)
        if low <= 0:
            return row
        kept = row.part(low, len(row.masses))
        if self._side is BoundSide.BELOW:
            return kept
        masses = [kept.masses[0] + sum(row.masses[:low]), *kept.masses[1:]]
        return GridRow(kept.start, masses, masses)

    def _centred(self, row: GridRow, level: int) -> GridRow:
        """Move all outcomes of a row to where their losses are, in the mean: any place is right."""
        if not row.masses:
            return row
        p, q = (self._doubles(values) for values in (row.masses, row.others))
        known = (p > 0) & (q > 0)
        if not known.any():
            return row
        size = float(self._steps[level].loss(1))
        off = float(np.average(np.log(p[known] / q[known]), weights=p[known])) / size
        move = round(off)
        if not move:
            return row
        with precision(self._bits + 64):
            factor = ceiling(self._steps[level].factor(move), self._bits)
        others = [-(-each * factor >> self._bits) for each in row.others]
        return GridRow(row.start + move, row.masses, others)

    def _parted(
        self, row: GridRow, level: int, moment: float, often: float
    ) -> tuple[GridRow, list[GridRow]]:
        """Part a row from what is rare in it, on the next layer."""
        size = len(row.masses)
        tilted = self._tilted(_places(row), row.masses, level, moment)
        low, high = self._window(tilted, level, often)
        parts = (row.part(start, end) for start, end in ((0, low), (high, size)) if start < end)
        return row.part(low, high), [self._wider[level].row(part) for part in parts]

    def _tilted(
        self, places: NDArray[np.float64], masses: Sequence[int], level: int, moment: float
    ) -> NDArray[np.float64]:
        """Which part of what matters masses are."""
        exponents = np.clip(self._growths[level] * places - moment, -_LOG_STEEPEST, _LOG_STEEPEST)
        tilted: NDArray[np.float64] = self._doubles(masses) * np.exp(exponents)
        return tilted

    def _doubles(self, masses: Sequence[int]) -> NDArray[np.float64]:
        """About what masses are, in units of 1."""
        more = max(self._bits - _MOST_BITS, 0)
        values = np.array([mass >> more for mass in masses] if more else masses, float)
        found: NDArray[np.float64] = np.ldexp(values, more - self._bits)
        return found

    def _window(self, tilted: NDArray[np.float64], level: int, often: float) -> tuple[int, int]:
        """Between which places masses stay on a layer, by (1)."""
        most = self._layering.runs / often / COARSER ** (2 * level + 2)
        if not self._steepness:
            most *= self._layering.weight
        sums = np.cumsum(tilted)
        if not len(sums) or sums[-1] <= most * _FLOOR:
            return 0, 0
        low = int(np.searchsorted(sums, most * _TAIL, side="right"))
        back = np.cumsum(tilted[::-1])
        high = len(sums) - int(np.searchsorted(back, most * _TAIL, side="right"))
        return (low, high) if low < high else (0, 0)

    def _flat(self, found: LossDistribution) -> LossRow:
        """Put all layers on the first one that has any."""
        level = next((k for k, row in enumerate(found.rows) if row.masses), 0)
        whole = found.rows[level]
        factor = 1
        for row in found.rows[level + 1 :]:
            factor *= COARSER
            if row.masses:
                self._limits.check_atoms((len(row.masses) - 1) * factor + 1)
                whole = whole.plus(_spread(row, factor))
        bits, side = self._bits, self._side
        return LossRow(self._steps[level], whole, found.infinite, bits, side, self._steepness)


class _Chances:
    """The finite losses of one run, in doubles.

    Args:
        one: The run.
        size: Of a step.
        times: How often it is run.
    """

    def __init__(self, one: RunLosses, size: float, times: int) -> None:
        self._losses = np.array([*one.masses], float) * size
        more = max(one.bits - _MOST_BITS, 0)
        masses = np.array([mass >> more for mass in one.masses.values()], float)
        with np.errstate(divide="ignore"):
            self._logarithms = np.log(np.ldexp(masses, more - one.bits))
        self.times = times

    def moment(self, steepness: float) -> float:
        """Return about ln Σ p e^(λ ℓ)."""
        if not steepness or not len(self._losses):
            return 0.0
        exponents = self._logarithms + steepness * self._losses
        top = float(exponents.max())
        return top + log(np.exp(exponents - top).sum()) if top > -inf else 0.0


def _steepness(chances: Sequence[_Chances], layering: Layering) -> tuple[float, float]:
    """Return the λ of the least bound of H, and ln of that bound; 0 where nothing is asked."""
    if layering.budget is None and layering.delta is None:
        return 0.0, 0.0

    def whole(steepness: float) -> float:
        """(2) at ε = 0."""
        found = sum(each.times * each.moment(steepness) for each in chances)
        return found + steepness * log(steepness) - (1 + steepness) * log1p(steepness)

    def bound(place: float) -> float:
        steepness = exp(place)
        if layering.delta is None:
            return whole(steepness) - steepness * (layering.budget or 0.0)
        return (whole(steepness) - log(layering.delta)) / steepness

    low, high = _PLACES
    one, two = (low + share * (high - low) for share in (1 - _GOLDEN, _GOLDEN))
    left, right = bound(one), bound(two)
    for _ in range(_SECTIONS):
        if left < right:
            high, two, right = two, one, left
            one = high - _GOLDEN * (high - low)
            left = bound(one)
        else:
            low, one, left = one, two, right
            two = low + _GOLDEN * (high - low)
            right = bound(two)
    if layering.delta is not None:
        return exp(low), log(layering.delta)
    enough = log(layering.accuracy)
    if bound(low) < enough:  # masses count for less far from there, and no more is needed
        high, low = low, _PLACES[0]
        for _ in range(_SECTIONS):
            middle = (low + high) / 2
            low, high = (low, middle) if bound(middle) < enough else (middle, high)
    return exp(low), bound(low)


def _places(row: GridRow) -> NDArray[np.float64]:
    return np.arange(row.start, row.start + len(row.masses), dtype=float)


def _below(masses: Iterable[int], most: int) -> int:
    """How many of the first masses add up to at most so much."""
    count = total = 0
    for mass in masses:
        total += mass
        if total > most:
            break
        count += 1
    return count


def _spread(row: GridRow, factor: int) -> GridRow:
    """The same masses on a grid that is finer by a factor."""

    def spread(values: Sequence[int]) -> list[int]:
        found = [0] * ((len(values) - 1) * factor + 1)
        found[::factor] = values
        return found

    masses = spread(row.masses)
    others = masses if row.others is row.masses else spread(row.others)
    return GridRow(row.start * factor, masses, others)
