"""Runs of a statement about divergences, each of any mechanism that keeps it, chosen by what came.

In: a statement, the rate of a sample, and H of all later runs on a grid. Out: H with one run more,
bounded from above; and pairs that keep the statement, some of which cost nearly as much.

Theorem. Let κ be any number but 0 and 1, φ_κ(y) = (y^κ - 1 - κ (y - 1)) / (κ (κ - 1)), which is
convex, and 0 at 1. For a pair (P, Q) of a statement, y = dP/dQ,

    E_Q φ_κ(y) <= D_κ = (e^((λ - 1) d) - 1) / (λ (λ - 1)),                                      (1)

where λ = κ and d is its divergence of the order λ, if κ > 1; λ = 1 - κ, if κ < 0: that is the pair
turned round. On a sample of rate r let outputs with and without the record have the ratio
z^-1 = 1 + r (y - 1), and φ_κ be a function of z,

    W(z) = z φ_κ(y) if the record is removed, φ_κ(y) with z = 1 + r (y - 1) if it is added,      (2)

convex, and with no bound asked for where y < 0: no pair has such outcomes. Given, with C_k >= 0,
H(x) <= B + A x / α + Σ_k C_k W_k(x / α) for all other x >= 0, the run before has, at α,

    H'(α) = sup E H(α z) <= B + A + Σ_k C_k D_k,                                                 (3)

E of its first law: E z = 1, as neither law has mass where the other one has none; and E W_k(z) is
(1). So any A, B, C_k are right which are on the right side at all x.

At all x. H is convex, H(0) = 1: below chords between any places of a grid e^(ih), the first one and
0, and not above its last one's beyond. W_k is above its tangents, one for each stretch, in its
middle. So on each stretch all is linear, and ends are enough: at each place the lower one of two
tangents, at 0 that of the first place, and beyond the last place the slope of its tangent.

Which ones. Worst are nearly always two outcomes, or three: α z is at or about x_1 < α < x_2. So
rows of places are looked at that are dense about these, those of the best pair, and else few. With
two κ next to each other, between whose φ others nearly lie, the best A, B, C are those of a linear
programme (`law_programmes`), whose solution is a guess.

Where. As H' is convex, at most 1, and does not increase, it is bounded at any places by bounds at
any others. Where it is about (1 - α)₊, which two outcomes tell, the ends of a stretch are enough.

Rounding. Tables of W are lower bounds, z is within 2^-49 of itself. A sum of four terms in doubles
errs by less than 2^-48 of the sum of their sizes; that much is added, or taken from A.

Source: Csiszár, Information-type measures of difference of probability distributions, 1967 (φ_κ);
Zhu, Dong, Wang, Optimal accounting of differential privacy via characteristic function, 2022; the
programme is that of moments, Karlin, Studden, Tchebycheff systems, 1966.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import groupby
from math import ceil, expm1, inf, sqrt

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.double_functions import exponential
from dipapprox.arithmetic.precision import enclosure_of, precision, to_ball
from dipapprox.composition.adaptive import (
    AdaptiveProfile,
    Stage,
    adaptive_profile,
    likely_loss,
    likely_mass,
)
from dipapprox.composition.divergences import Divergences, Statement, WorstOutcomes, lower_hull
from dipapprox.composition.law_programmes import best_factors, smoothed
from dipapprox.composition.mechanisms import ConcentratedStatement, RenyiStatement
from dipapprox.composition.statements import allowed, summed, within
from dipapprox.data_classes import replace
from dipapprox.limits import check_limits

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]
Told = tuple[Fraction, Fraction]

_STEP = 0.1  # λ times how far outcomes of two neighbouring pairs are apart
_RARE, _MOST_PAIRS = 1e-16, 1_500
_ONE = 2.0**-10  # λ - 1 of the least order of zCDP
_NEAR, _FAR, _GROWTH = 0.03, 6.0, 0.1  # how far other orders are apart, in noise of all runs
_STEEP = 60.0  # (λ - 1) d of the last one
_STRIDE, _SPARSE, _ABOUT = 16, 128, 96
"""Few places are so far apart, and farther beyond; as many as that about x_1 and x_2 are dense."""

_APART = 16  # numbers of pairs that are looked at first, at all places
_SMALL = 0.25  # samples where κ of neighbouring places are not noisy
_ROWS = 128  # rows at a time
_NOTHING = 1e-12
_GREATEST, _TINY = 600.0, 1e-300  # exponents, and y
_MOST = 1e100  # what is known of W: it may be more
_FREE = inf  # in its place where no bound is asked for
_BIT = 2.0**-48
_BITS, _REACH = 128, 1024

_NEGLIGIBLE = 1e-8  # of a δ, for where grids end

MOST_STATED, _GROUPS = 32, 16  # runs: more are not gone through one by one, but in groups

_LEAST_RHO = Fraction(1, 100)  # of all runs: less takes ever more pairs


def is_gone_through(statement: Statement, times: int) -> bool:
    """Whether φ of its orders are of a size for doubles, and the noise of all runs is not as
    large as to take very many pairs.
    """
    match statement:
        case ConcentratedStatement(rho):
            return rho * times >= _LEAST_RHO
        case RenyiStatement(orders):
            return all(a - 1 >= _ONE and (a - 1) * d <= _STEEP for a, d in orders)


class WorstPairs:
    """Pairs that keep a statement, from those for the least α to those for the greatest.

    Args:
        times: How many runs there will be.
    """

    def __init__(self, statement: Statement, times: int) -> None:
        known = Divergences.of([(statement, 1)])
        dense = inf
        if isinstance(statement, ConcentratedStatement):
            noise, less, several = sqrt(statement.rho * times), 0.0, [Fraction(_ONE)]
            while float(statement.rho) * less * (1 + less) < _STEEP:
                less += _NEAR / noise if less < _FAR / noise else _GROWTH * less
                several.append(Fraction(less))
            dense = 3 * _NEAR / noise
        else:
            several = [order - 1 for order, _ in known.points[1:]]
        orders = [1 + less for less in several]
        self.kappas = [float(1 - each) for each in reversed(orders)] + [*map(float, orders)]
        with precision(128):
            costs = [
                (to_ball((a - 1) * known.divergence(a)).exp() - 1) / to_ball(a * (a - 1))
                for a in orders
            ]
            above = [rounding.above(enclosure_of(each).upper) for each in costs]
            told = _pairs(statement, known, dense)
        self.costs: Doubles = np.array([*reversed(above), *above])  # D_κ
        turned = [((1 - q, 1 - p), -less) for (p, q), less in reversed(told[1:])]
        self.pairs: list[Told] = [pair for pair, _ in (*turned, *told)]
        own = [less for _, less in turned] + [1 + less for _, less in told]
        self.levels = _levels(own, self.kappas)  # of each pair the first one of its two κ


def _pairs(statement: Statement, known: Divergences, dense: float) -> list[tuple[Told, float]]:
    """Return pairs (P(S), Q(S)) for factors e^t, t from about 0 on, and λ - 1 of each.

    Args:
        dense: By how much λ may grow from one to the next; more, if it is great.
    """
    worst, found = WorstOutcomes(known), list[tuple[Told, float]]()
    tangent, step = worst.at(0.0)[0], 1.0
    place = tangent.place
    while len(found) < _MOST_PAIRS:
        check_limits()
        near = within(tangent, statement)
        told = None if near is None else allowed(near, statement)
        if told is not None:
            found.append(((told[0], told[1]), tangent.less))
        if tangent.masses[0] < _RARE:
            break
        step = min(2 * step, _STEP / (1 + tangent.less) * min(1.0, tangent.gap))
        most = tangent.less + max(dense, _STEP * dense * tangent.less)
        while (after := worst.at(place + step)[0]).less > most and step > _NOTHING:
            step /= 2
        place, tangent = place + step, after
    return found


def _levels(own: Sequence[float], kappas: Sequence[float]) -> Integers:
    """Those whose κ are around its own; half of many pairs of one κ, and the other half."""
    found = list[float]()
    for kappa, several in groupby(own):
        count = len(list(several))
        place = float(np.interp(kappa, kappas, np.arange(len(kappas))))
        found += (place + (np.arange(count) + 0.5) / count - 0.5).tolist()
    return np.clip(np.floor(found), 0, len(kappas) - 2).astype(np.int64)


worst_pairs = lru_cache(maxsize=16)(WorstPairs)


class StatedRun:
    """What one run of a statement does to H at e^(ih), |i| <= reach.

    Args:
        worst: Pairs of the statement.
        size: h, dyadic, so that multiples are doubles.
        rate: Of the sample.
        added: Whether a record is added, not removed.
        least: What does not count, of H.
    """

    def __init__(
        self,
        worst: WorstPairs,
        size: Fraction,
        reach: int,
        *,
        rate: Fraction,
        added: bool,
        least: float = 0.0,
    ) -> None:
        self._worst, self._size, self._reach, self._least = worst, float(size), reach, least
        self._rate, self._sign = float(rate), 1 if added else -1
        several = [0]
        while several[-1] <= 2 * reach:
            several.append(several[-1] + _STRIDE * max(several[-1] // _SPARSE, 1))
        self._few = np.array([-each for each in reversed(several[1:])] + several)
        self._tables: dict[int, tuple[Doubles, Doubles, float, float]] = {}
        first, second = (
            np.array([[each[k], 1 - each[k]] for each in worst.pairs], float).T for k in (0, 1)
        )
        sampled = self._rate * first + (1 - self._rate) * second
        self._masses = second if added else sampled
        losses = self._sign * np.log(sampled / second)
        self._places = losses / self._size  # of α z, from α on
        self._near = np.sort(np.rint(self._places), axis=0).astype(np.int64).T

    def __call__(self, upper: Doubles) -> tuple[Doubles, Integers]:
        """Bound H' at all places, and say which pairs are best, about.

        Args:
            upper: Bounds of H.
        """
        reach, far = self._reach, int(self._few[-1])
        first = reach if self._rate == 1 else 0  # of all data H is that of the pair turned round
        losses: Doubles = np.multiply(self._size, np.arange(-far, far + 1))
        places = exponential(losses[far - reach : far + reach + 1])
        before = exponential(losses[:far]) * ((1 - upper[0]) * (1 - _BIT))
        wide = np.concatenate([1 - before + _BIT, upper, np.full(far, upper[-1])])
        best, likely = self._best(wide, far)
        (more,) = np.nonzero(likely[first:] > np.maximum(1 - places[first:], 0) + self._least)
        start, stop = (first + more[0], first + more[-1] + 1) if len(more) else (first, first)
        start, stop = max(start - 1, first), min(stop + 1, len(upper))
        found, levels = np.ones_like(upper), self._worst.levels[best[start:stop]]
        if self._rate > _SMALL:
            levels = smoothed(levels)
        for row in range(start, stop, _ROWS):
            check_limits()
            rows = slice(row, min(row + _ROWS, stop))
            near = self._near[best[rows]]
            found[rows] = self._rows(wide, row, levels[row - start :][: len(near)], near)
        if first:
            np.minimum.accumulate(found, out=found)
            mirrored = 1 - places[:reach] * (1 - _BIT) * (1 - found[:reach:-1])
            found[:reach] = mirrored + _BIT
        return _convex(places, found), best

    def _best(self, wide: Doubles, far: int) -> tuple[Integers, Doubles]:
        """The numbers of pairs that are best at all places, about, and what they have."""
        own = np.arange(far, far + 2 * self._reach + 1)
        most, best = np.zeros(len(own)), np.zeros(len(own), np.int64)
        lefts = np.clip(np.floor(self._places).astype(np.int64), 1 - far, far - 1)
        step = expm1(self._size)
        rights = self._masses * np.expm1(np.clip(self._places - lefts, 0, 1) * self._size) / step

        def look(numbers: int | Integers) -> None:
            values = np.zeros(len(own))
            for left, right, mass in zip(lefts, rights, self._masses, strict=True):
                place, share = own + left[numbers], right[numbers]
                values += wide[place] * (mass[numbers] - share) + wide[place + 1] * share
            np.copyto(best, numbers, where=values > most)
            np.maximum(most, values, out=most)

        last = len(self._worst.pairs) - 1
        for number in range(0, last + 1, _APART):
            look(number)
        about = best.copy()
        for further in range(1 - _APART, _APART):
            look(np.clip(about + further, 0, last))
        return best, most

    def _rows(self, wide: Doubles, start: int, levels: Integers, near: Integers) -> Doubles:
        """Bounds of H' at places next to each other, with one pair of κ each."""
        far = int(self._few[-1])
        first = int(np.searchsorted(self._few, max(near.min() - _ABOUT, -far), "right")) - 1
        last = int(np.searchsorted(self._few, min(near.max() + _ABOUT, far)))
        low, high = int(self._few[first]), int(self._few[last])
        fine = np.arange(low, high + 1)
        places = np.concatenate([self._few[:first], fine, self._few[last + 1 :]])
        own = np.arange(start, start + len(levels))[:, None]
        values = np.ones((len(own), len(places) + 1))
        values[:, :-1] = wide[own + (places + far)]
        ratios = np.append(exponential(self._size * places), 0.0)
        columns, costs, slopes = list[Doubles](), list[Doubles](), list[Doubles]()
        for each in (levels, levels + 1):
            numbers, back = np.unique(each, return_inverse=True)
            tables = [self._table(number) for number in numbers.tolist()]
            rows = np.empty((len(tables), len(places) + 1))
            for row, (many, few, at_zero, _) in zip(rows, tables, strict=True):
                row[:first], row[first + len(fine) : -1] = few[:first], few[last + 1 :]
                row[first : first + len(fine)] = many[low + far : high + far + 1]
                row[-1] = at_zero
            columns.append(rows[back])
            costs.append(self._worst.costs[each])
            slopes.append(np.array([slope for *_, slope in tables])[back])
        free = columns[0] == _FREE
        columns = [np.minimum(each, _MOST) for each in columns]
        slope, *shares = best_factors(values, ratios, columns, costs, np.searchsorted(places, near))
        shares = [np.maximum(each, 0.0) for each in shares]
        falls = np.array([c * s for c, s in zip(shares, slopes, strict=True)])
        slope = np.maximum(slope, -falls.sum(axis=0) + _BIT * np.abs(falls).sum(axis=0))
        over = values * (1 + _BIT)
        for factor, own in ((slope, ratios), *zip(shares, columns, strict=True)):
            terms = factor[:, None] * own
            over += _BIT * np.abs(terms) - terms
        over[free] = -np.inf
        parts = [c * cost for c, cost in zip(shares, costs, strict=True)]
        sizes = np.array([over.max(axis=1), slope, *parts])
        bound: Doubles = sizes.sum(axis=0) + _BIT * np.abs(sizes).sum(axis=0)
        return np.where(np.isfinite(bound), np.minimum(bound, 1.0), 1.0)

    def _table(self, number: int) -> tuple[Doubles, Doubles, float, float]:
        """What is linear between the places of a grid, or of few, and below W; at 0, and beyond.

        Returns:
            Its values at places and at few ones, at 0, and its slope beyond all places.
        """
        if number not in self._tables:
            kappa, last = self._worst.kappas[number], int(self._few[-1])
            many = self._below(kappa, np.arange(-last, last + 1), 0.5)
            few = self._below(kappa, self._few, 1.0)
            places = np.add(*self._outcomes(self._size * np.array([-last, last])))
            slope, rest, *errors = _tangents(kappa, np.maximum(places, _TINY))
            # y z is (1 - (1 - r) z) / r, or y is (z - (1 - r)) / r.
            share = (1 - self._rate) / self._rate
            steep = (slope - errors[0]) / self._rate - _BIT * np.abs(slope) / self._rate
            flat = rest - errors[1] - share * (slope + errors[0] + _BIT * np.abs(slope))
            lower = np.where([True, False], *((steep, flat) if self._sign < 0 else (flat, steep)))
            lower -= 4 * _BIT * np.abs(lower)
            lower = np.minimum(lower, _MOST)
            start = float(lower[0]) if places[0] > 0 else _FREE
            self._tables[number] = many, few, start, float(lower[1]) if places[1] > 0 else _MOST
        return self._tables[number]

    def _outcomes(self, losses: Doubles) -> tuple[Doubles, Doubles]:
        """y at z = e^loss, and how far off it may be; y < 0 where no bound is asked for."""
        ratios = exponential(self._sign * losses)
        return (ratios - (1 - self._rate)) / self._rate, (ratios + 1) * (_BIT / self._rate)

    @np.errstate(over="ignore", invalid="ignore")  # who asks bounds nothing with infinities
    def _below(self, kappa: float, places: Integers, inward: float) -> Doubles:
        """What is below W on each stretch, at its ends: the lower one of two tangents.

        Args:
            inward: How far from one end to the other, which is nearer to 1, W is touched; if it is
                too steep, or there is no W, it is touched at that one.
        """
        losses: Doubles = np.multiply(self._size, places)
        outcomes, errors = self._outcomes(losses)
        right = places[1:] > 0
        share = np.where(right, 1 - inward, inward)
        touched, _ = self._outcomes(losses[:-1] + share * (losses[1:] - losses[:-1]))
        inner = np.where(right, (outcomes + errors)[:-1], (outcomes + errors)[1:])
        touched, near = np.maximum(touched, _TINY), np.maximum(inner, _TINY)
        steep = np.abs(np.log(touched / near)) * (abs(kappa) + 1) > 1
        slope, rest, *error = _tangents(kappa, np.where(steep, near, touched))
        found = np.full(len(losses), _FREE)
        for own in (slice(1, None), slice(None, -1)):
            value = slope * outcomes[own] + rest
            value -= error[0] * np.abs(outcomes[own]) + error[1] + np.abs(slope) * errors[own]
            if self._sign < 0:
                value *= exponential(losses[own])
            known = np.where(inner > 0, np.minimum(value, _MOST), _FREE)
            found[own] = np.minimum(found[own], known)
        return found


def _tangents(kappa: float, places: Doubles) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    """a, b, e, f: φ(y) >= a y + b - e |y| - f, by tangents at or about places > 0."""
    most = _GREATEST / (abs(kappa) + 1)
    logarithm = np.clip(np.log(places), -most, most)
    power, less = exponential(kappa * logarithm), exponential((kappa - 1) * logarithm)
    share = 2.0**-46 + np.abs(logarithm) * ((abs(kappa) + 1) * 2.0**-51)
    errors = share * (less + 1) / abs(kappa - 1), share * (power + 1) / abs(kappa)
    return (less - 1) / (kappa - 1), (1 - power) / kappa, *errors


@lru_cache(maxsize=32)
def stated_profile(
    runs: tuple[tuple[Statement, int], ...],
    rate: Fraction,
    asked: tuple[float | None, float | None],
    *,
    added: bool,
) -> AdaptiveProfile:
    """Bound the profile of runs of which each may depend on what came.

    Args:
        runs: Statements, and how often each is run: at most `MOST_STATED` in all.
        rate: Of the Poisson sample of every run.
        asked: ε, or δ, if that alone is asked, of nothing but these.
        added: Whether a record is added, not removed.
    """
    times = sum(count for _, count in runs)
    with precision(_BITS):
        stages = [_stage(each, count, times, rate, added=added) for each, count in runs]
        budget, mass = asked
        if budget is not None:
            mass = likely_mass(stages, budget)
        negligible = max(_NEGLIGIBLE * mass, _TINY) if mass else _NEGLIGIBLE**2
        size = Fraction(ceil(likely_loss(stages, negligible) / _REACH * 2**30), 2**30)
        run = partial(StatedRun, rate=rate, added=added, least=negligible)
        own = [partial(run, worst_pairs(each, times)) for each, _ in runs]
        stages = [replace(a, bound=b) for a, b in zip(stages, own, strict=True)]
        return adaptive_profile(stages, size, _REACH)


def grouped(statement: Statement, times: int) -> tuple[tuple[Statement, int], ...]:
    """Return runs, fewer if they are many, that cost no less: divergences of groups add up."""
    size = 1 if times <= MOST_STATED else -(-times // _GROUPS)
    parts = (size, times // size), (times % size, 1)
    return tuple((summed(statement, count), runs) for count, runs in parts if count and runs)


def _stage(statement: Statement, times: int, most: int, rate: Fraction, *, added: bool) -> Stage:
    worst, share, pairs = worst_pairs(statement, most), to_ball(rate), []
    for several in worst.pairs:
        p, q = map(to_ball, several)
        both = [(share * a + (1 - share) * b, b) for a, b in ((p, q), (1 - p, 1 - q))]
        pairs.append([(b, a) for a, b in both] if added else both)
    return Stage(pairs, pairs, times)


def _convex(places: Doubles, upper: Doubles) -> Doubles:
    """What follows as H is convex, 1 at 0, and does not increase.

    Args:
        places: Within 2^-49 of where H is.
        upper: Bounds of H there.
    """
    falling = np.minimum.accumulate(upper)
    points = [(0.0, 1.0), *zip(places.tolist(), falling.tolist(), strict=True)]
    ends, values = np.array(lower_hull(points)).T
    after = np.clip(np.searchsorted(ends, places), 1, len(ends) - 1)
    width = ends[after] - ends[after - 1]
    share = (places * (1 - 4 * _BIT) - ends[after - 1]) / width
    fall = (values[after - 1] - values[after]) * np.maximum(share, 0) * (1 - _BIT)
    found = (values[after - 1] - fall) * (1 + _BIT)
    lower: Doubles = np.maximum(np.minimum(found, falling), rounding.FLOOR)
    return lower
