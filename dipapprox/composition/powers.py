"""Runs on one grid: their loss distributions, powers and products, in doubles or whole numbers.

Where losses are to be on the grid exactly, or be accurate beyond doubles, products are those of
whole numbers, by squaring; else `transforms` has all of them at once, of tilted masses. Tilted they
are by how much they matter where H is asked, at ε: as (1 - e^-x)₊ <= e^(λ x) λ^λ / (1 + λ)^(1 + λ)
for all λ > 0, with the moment M = Σ p e^(λ ℓ) of a run

    H(e^ε) <= M^T e^(-λ ε) λ^λ / (1 + λ)^(1 + λ).                                              (1)

With the best λ that is about as steep as H. No bound depends on it.

Discretise. From a profile at knots to masses on the grid: bounds from above and from below.

From above ("connect the dots"). A function F that is linear between knots a_0 < a_1 < … < a_n,
starts at F(0) = 1, and is constant F(a_n) beyond them, with slopes s_i from a_i to a_(i+1), s_(-1)
from (0, 1), s_n = 0, is

    F(α) = Σ_i m_i (1 - α / a_i)₊ + F(a_n),    m_i = a_i (s_i - s_(i-1)),                       (2)

for both sides have one slope in each piece and one limit. So masses m_i at the losses ln a_i, and
F(a_n) at infinity, stand for F. F goes through (a_i, H_i), H_i >= H(a_i) as found. H is convex, so
between knots it lies below its chords, these below F's; beyond a_n it does not increase. Where
bounds are not convex some m_i < 0; 0 in their place increases (2).

Of an outcome of mass p and ratio r = p/q <= a_(i+1), not below a_i, that is the mass
p (1 - a_i / r) / (1 - a_i / a_(i+1)) at the greater loss, and the rest of p at the other: outcomes
that are known need no H. Where r is below a_i, the first is taken for 0; so balls may choose i.

From below ("joined outcomes"). Lines P(S_i) - α Q(S_i), of sets S_i, lie below H, as do 1 - α
Q(P > 0) and P(Q = 0). The greatest of them is convex: with those that are the greatest somewhere in
the order of their slopes, it is the H of outcomes of P and Q masses

    P(S_i) - P(S_(i+1)),    Q(S_i) - Q(S_(i+1)),                                                (3)

P(Q = 0) at infinity. If one set is in the next, as the best ones are, these are outcomes of the
pair itself, joined. Whatever a line is, it stays below H if P(S) is rounded down and Q(S) up. Each
outcome is put on the step that is nearest to its loss, with both of its masses (`losses`).

Sources: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, Connect the dots, 2022 (from above).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from fractions import Fraction
from functools import reduce
from itertools import pairwise, starmap
from math import ceil, exp, floor, inf, log, log1p, log2

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dipapprox.arithmetic.precision import precision
from dipapprox.arithmetic.rounding import FLOOR, total_above
from dipapprox.composition.catalogue import DiscreteProfile
from dipapprox.composition.grid import GridStep, Knot
from dipapprox.composition.losses import (
    BoundSide,
    GridLosses,
    Spread,
    ceiling,
    floored,
    multiplied,
    raised,
)
from dipapprox.composition.profile import Ends
from dipapprox.composition.transforms import least_place, transformed
from dipapprox.data_classes import Record, replace
from dipapprox.limits import check_atoms, check_limits

_DOUBLES, _HOPE = 2.0**-38, 7.0
"""About how accurate one of many runs is in doubles; and ln of by how much better it may be."""

_LEAST_ASKED = -70.0  # ln of an H; of less it does not matter by which part it is off
_LIKELY = 2.0**-6  # of a bound (1), about what H is at least
_FAR_OFF = 8.0  # ln of by how much (1) is more than H where doubles are no better than they say
_LITTLE = 4.0  # ln of the part of what H may be off that doubles lose where a tilt can see to it

_STEEP = 4.0  # ln of a λ at which that is so
_SPARE = 16  # losses that are kept below those that seem to matter
_PLACES = -7.0, 21.0
_SECTIONS = 16  # ln λ is looked for there, in so many steps
_STEEPEST = 700.0  # of exponents: more is no double
_LEAST = 1e-300  # least accuracy in doubles
_FARTHEST, _LOWEST = 2.0**40, 2**20  # places: losses beyond are infinite, or raised to -_LOWEST
_RANGE = 8  # of the losses of one run, about; at most that


class PairWay(Enum):
    """What runs with many pairs are bounded by: each bound is true, and any may be the least."""

    PAIRS = "several worst pairs are chosen from by what came"
    RANGES = "pairs of bounded ranges, too"
    STATED = "runs of one statement are chosen by what came"
    HULLS = "one pair is above each, so that all divergences add up"


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
    weight: Fraction = Fraction(1)  # the δ that matters, about; if λ is known, of what (1) tells
    steepness: float = 0.0  # about -d ln H(e^ε) / dε there; 0 if it is not known
    way: PairWay = PairWay.PAIRS
    part: float = 0.0  # by which part H may be off, if that is less; for H that are not tiny
    most: float = inf  # of what is asked, as far as is known

    @property
    def bits(self) -> int:
        """Of the unit of masses: small enough for a cut to take masses of one unit each."""
        step = max(float(self.step.loss(1)), _RANGE / 2**20)
        return bits_of(self.share) + max(ceil(log2(_RANGE / step)), 8)

    @property
    def logarithm(self) -> float:
        """ln of the accuracy."""
        return log(max(float(self.accuracy), _LEAST))

    def cut(self, count: int, bits: int) -> int:
        """What may be cut off of the composition of so many runs, in units of 2^-bits."""
        return int(self.share * (1 << bits) * count)


class Steepness(Record):
    """About how steep H is where it is asked, and how great."""

    size: float  # -d ln H(e^ε) / dε: the λ of the least bound (1); 0 where it is not asked
    # The least λ for which what is lost to doubles is little enough; None if there is none.
    tilt: float | None
    likely: float  # H, roughly


def share_of(accuracy: Fraction, times: Sequence[int]) -> Fraction:
    """Return what each cut of runs and the rounding of each may cost, of an accuracy of all."""
    return accuracy / (16 * sum(n.bit_length() for n in times) * sum(times))


def bits_of(size: Fraction) -> int:
    """About -log2 of a number > 0, at least that."""
    return size.denominator.bit_length() - size.numerator.bit_length() + 1


def product(
    factors: Sequence[tuple[GridLosses, int]], grid: LossGrid, steep: Steepness | None = None
) -> GridLosses:
    """Return the composition of runs.

    Args:
        factors: At least one, each a number of times, on one grid, of one unit and side.
        steep: What is known of it: that from the other side is about as steep.
    """
    check_limits()
    steep = steep or steepness_of(factors, grid)
    if steep.tilt is not None and not grid.exact:
        spread = transformed(factors, steep.tilt, float(grid.share))
        if spread is not None:
            return _read_off(spread, grid, factors[0][0].bits)
    return _multiplied(factors, grid)


_Composed = tuple[GridLosses, int]  # of how many runs


def _multiplied(factors: Sequence[tuple[GridLosses, int]], grid: LossGrid) -> GridLosses:
    """The product in whole numbers, by squaring."""

    def composed(first: _Composed, second: _Composed) -> _Composed:
        (one, n), (two, m) = first, second
        check_limits()
        check_atoms(one.atoms + two.atoms)
        return _settled(multiplied(one, two), grid.cut(n + m, one.bits)), n + m

    def power(one: GridLosses, times: int) -> _Composed:
        single = _settled(_dense(one), grid.cut(1, one.bits)), 1
        return raised(single, times, composed)

    return reduce(composed, starmap(power, factors))[0]


def _dense(one: GridLosses) -> GridLosses:
    """The same with all losses between the least and the greatest one."""
    if not one.masses:
        return one
    places = range(one.places[0], one.places[-1] + 1)
    check_atoms(len(places))
    columns = (dict(zip(one.places, each, strict=True)) for each in (one.masses, one.others))
    masses, others = ([each.get(place, 0) for place in places] for each in columns)
    others = masses if one.side is BoundSide.ABOVE else others
    return replace(one, places=places, masses=masses, others=others)


def _read_off(found: Spread, grid: LossGrid, bits: int) -> GridLosses:
    """Round what matters of a composition."""
    p, q, above = found.masses, found.others, found.side is BoundSide.ABOVE
    size = float(found.step.loss(1))
    low = 0
    if grid.budget is not None:
        low = floor(grid.budget / size) - int(found.places[0])
    elif grid.delta is not None:
        factors = np.exp(-np.minimum(size * np.arange(len(p)), _STEEPEST))
        tail, rest = (np.cumsum(m[::-1])[::-1] for m in (p, q * factors))
        low = int(np.count_nonzero(tail - rest / factors > grid.delta))
    low = max(min(low - _SPARE, len(p) - 1), 0)

    def units(masses: NDArray[np.float64], *, up: bool) -> list[int]:
        if up:
            return [ceil(m) for m in np.ldexp(np.maximum(masses, FLOOR), bits).tolist()]
        return [floor(m) for m in np.ldexp(masses, bits).tolist()]

    masses = others = units(q[low:], up=True)
    (infinite,) = units(np.array([found.infinite]), up=above)
    if above:
        (before,) = units(np.array([float(total_above(p[:low]))]), up=True)
        others[0] += before if low else 0
    else:
        masses = units(p[low:], up=False)
    places = found.places[low:].tolist()
    return _centred(GridLosses(found.step, found.side, bits, places, masses, others, infinite))


def _settled(one: GridLosses, cut: int) -> GridLosses:
    """Cut off what next to never happens: at either end so much, in units."""
    above, size = one.side is BoundSide.ABOVE, len(one.masses)
    high = size - _below(reversed(one.masses), cut)
    infinite = one.infinite + (sum(one.masses[high:]) if above else 0)
    low = max(min(_below(one.masses, cut), high - 1), 0)
    less = sum(one.masses[:low])
    found = replace(one.part(low, high), infinite=infinite)
    if above and less:
        masses = [found.masses[0] + less, *found.masses[1:]]
        found = replace(found, masses=masses, others=masses)
    return _centred(found)


def _centred(one: GridLosses) -> GridLosses:
    """From below, move all to where losses are, in the mean: any place is right."""
    if one.side is BoundSide.ABOVE:
        return one
    p, q = (_logarithms(values, one.bits) for values in (one.masses, one.others))
    known = (p > -inf) & (q > -inf)
    if not known.any():
        return one
    p, q = p[known], q[known]
    off = np.average(p - q, weights=np.exp(p - p.max()))
    move = round(float(off) / float(one.step.loss(1)))
    if not move:
        return one
    with precision(one.bits + 64):
        factor = ceiling(one.step.factor(move), one.bits)
    others = [-(-each * factor >> one.bits) for each in one.others]
    start = one.places[0] + move
    return replace(one, places=range(start, start + one.atoms), others=others)


def _moment(one: GridLosses) -> Callable[[float], float]:
    """About ln Σ p e^(λ ℓ) of the finite losses of one run, of λ."""
    losses = np.array(one.places, float) * float(one.step.loss(1))
    logarithms = _logarithms(one.masses, one.bits)

    def moment(steepness: float) -> float:
        if not len(losses):
            return 0.0
        exponents = logarithms + steepness * losses
        top = float(exponents.max())
        return top + log(np.exp(exponents - top).sum()) if top > -inf else 0.0

    return moment


def steepness_of(factors: Sequence[tuple[GridLosses, int]], grid: LossGrid) -> Steepness:
    """Return how steep the composition of runs is where it is asked, by (1)."""
    # Of the bound, that part is lost to doubles.
    doubles = log(sum(times for _, times in factors) * _DOUBLES)
    moments = [(_moment(one), times) for one, times in factors]
    logarithm = grid.logarithm
    if grid.budget is None and grid.delta is None:
        return Steepness(0.0, 0.0 if logarithm >= doubles else None, 1.0)

    def whole(place: float) -> float:
        """(1) at ε = 0, of ln λ."""
        steepness = exp(place)
        found = sum(times * moment(steepness) for moment, times in moments)
        return found + steepness * place - (1 + steepness) * log1p(steepness)

    def budget(place: float) -> float:
        """The ε for which (1) is δ."""
        return (whole(place) - log(grid.delta or 1.0)) / exp(place)

    known, hope = grid.budget, _HOPE

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
        known = min(budget(place), grid.most)
        near = least_place(bound, *_PLACES, _SECTIONS)
        if bound(near) > log(grid.delta or 1.0) + _FAR_OFF:  # losses are large, but rare
            place, hope = near, 0.0
        else:
            known = budget(place)
    if grid.part:
        logarithm = min(logarithm, max(bound(place), _LEAST_ASKED) + log(grid.part))
    if grid.budget is not None and bound(place) < logarithm:  # masses count for less from there on
        place = least(logarithm, place)
    # Masses are what doubles lose; of these H is less than 1 / λ.
    doubles += max(place - _STEEP, 0.0)
    likely, doubtful = exp(min(bound(place), 0.0)) * _LIKELY, logarithm - doubles
    most = max(bound(place), doubtful - _LITTLE)
    tilt = exp(least(most, place)) if most <= doubtful + hope else None
    return Steepness(exp(place), tilt, likely)


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


_SMALLER = 64
"""Q masses are first kept to a unit that is 2^-64 of the least one that counts, or of the unit:
they are small at great losses."""

_MOST_SMALLER = 4_096  # more bits than that no unit is smaller for their sake


def from_above(knots: Sequence[Knot], step: GridStep, bits: int) -> GridLosses:
    """Bound a profile from above.

    Args:
        knots: At whole steps, ascending, at least one.
    """
    values = [knot.point.bound for knot in knots]
    masses = _masses([knot.alpha for knot in knots], values)
    whole, infinite = [[max(ceiling(x, bits), 0) for x in each] for each in (masses, values[-1:])]
    places = [int(knot.place) for knot in knots]
    return GridLosses(step, BoundSide.ABOVE, bits, places, whole, whole, *infinite)


def outcomes_above(known: DiscreteProfile, step: GridStep, bits: int) -> GridLosses:
    """Bound a profile from above by its outcomes, in units of 2^-bits."""
    unit = arb(2) ** bits
    size = float(step.loss(1))
    factors: dict[int, arb] = {}

    def factor(place: int) -> arb:
        if place not in factors:
            factors[place] = step.factor(place)
        return factors[place]

    masses: dict[int, int] = {}
    gap, beyond = 1 - step.factor(-1), known.infinite + known.missing
    for ratio, (first, after) in zip(known.ratios, pairwise(known.firsts), strict=True):
        ratio, mass = ratio.upper(), first - after
        if not ratio.log() < size * _FARTHEST:
            beyond += mass
            continue
        low = not ratio.log() > -size * _FARTHEST
        place = -_LOWEST if low else floor(float(ratio.log()) / size)
        while not ratio <= factor(place + 1):
            place += 1
        share = arb(0) if low else (1 - factor(place) / ratio) / gap
        for where, part in ((place + 1, share), (place, 1 - share)):
            if (number := ceiling(mass * part * unit, 0)) > 0:
                masses[where] = masses.get(where, 0) + number
    infinite = max(ceiling(beyond, bits), 0)
    places = sorted(masses)
    found = [masses[k] for k in places]
    return GridLosses(step, BoundSide.ABOVE, bits, places, found, found, infinite)


def from_below(
    lines: Iterable[tuple[arb, arb]], ends: Ends, step: GridStep, bits: int
) -> GridLosses:
    """Bound the profile of a pair that the mechanism has, from below.

    Args:
        lines: P(S) and Q(S) of sets, those likely under Q first, about.
        ends: What the pair has at infinite losses.
    """
    every = [
        (floored(p, bits), q) for p, q in ((arb(1), 1 - ends.lost), *lines, (ends.infinite, arb(0)))
    ]
    least = min((q.upper() for p, q in every if p > 0 and q > 0), default=arb(1))
    mantissa, exponent = map(int, least.man_exp())
    smaller = _SMALLER + min(max(-exponent - mantissa.bit_length() - bits, 0), _MOST_SMALLER)
    kept = greatest((p, max(ceiling(q, bits + smaller), 0)) for p, q in every)
    size, unit = float(step.loss(1)), smaller * log(2)
    masses: dict[int, int] = {}
    others: dict[int, int] = {}
    for (p, q), (less, fewer) in pairwise(kept):
        place = round((log(p - less) - log(q - fewer) + unit) / size)
        masses[place] = masses.get(place, 0) + p - less
        others[place] = others.get(place, 0) + q - fewer
    places = sorted(masses)
    found = [masses[k] for k in places]
    beside = [ceiling(step.factor(k) * others[k], -smaller) for k in places]
    return GridLosses(step, BoundSide.BELOW, bits, places, found, beside, max(kept[-1][0], 0))


def greatest(lines: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return those of lines p - α q, q >= 0, that are the greatest at some α >= 0, p falling."""
    kept: list[tuple[int, int]] = []
    for p, q in sorted(lines, key=lambda line: (-line[1], line[0])):
        while kept and kept[-1][0] <= p:
            kept.pop()
        while len(kept) > 1:
            (first, steep), (second, flat) = kept[-2:]
            # It is, where it has passed the one before and is not yet passed by the next one.
            if (first - second) * (flat - q) < (second - p) * (steep - flat):
                break
            kept.pop()
        kept.append((p, q))
    return kept


def _masses(alphas: Sequence[arb], values: Sequence[arb]) -> list[arb]:
    """(2): a_i (s_i - s_(i-1))."""
    slopes = [(values[0] - 1) / alphas[0]]
    for k in range(1, len(alphas)):
        slopes.append((values[k] - values[k - 1]) / (alphas[k] - alphas[k - 1]))
    slopes.append(arb(0))
    return [a * (t - s) for a, s, t in zip(alphas, slopes, slopes[1:], strict=False)]
