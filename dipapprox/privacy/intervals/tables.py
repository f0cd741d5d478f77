"""Programs with finite outputs over an interval of epsilons: tables of probabilities at its points.

A point holds the output probabilities of all inputs; between two of them a tube (below) proves the
claim, or tells how much is missing.

Pairs whose distributions are equal for every eps are left out: nothing tells them apart. Two inputs
with the same canonical events at one eps have equal distributions there. What makes events
canonical (`events`) are permutations of samples, affine changes and sums of Gaussians, and all of
these go along when all scales are multiplied by one number. So if the scales of all samples that
are compared are multiples of one power of eps, and no weight of a choice depends on eps (what does
has no derivative bounds and ends before), the distributions are equal everywhere.

Tubes: chords between the ends of an interval, and how far off probabilities are. Let p be an
output's probability for one input as a function of eps in [lo, hi], w = hi - lo. The rates of
`derivative_bounds` bound |p'| <= f(p) and |p''| <= s(p) by affine, non-decreasing f and s.

1. p <= m := min over f of (max(p(lo), p(hi)) + c w/2) / (1 - a w/2), f(p) = a p + c: from the
   nearer end, at most w/2 away, Gronwall's inequality gives p <= (p_end + c w/2) exp(a w/2), and
   exp(x) <= 1/(1 - x). An output whose events are null sets, known from themselves and not from a
   bound of the probability, is impossible at every eps: m = 0.
2. |p - chord| <= r := min(w/2 f(m), w²/8 s(m)): a function with Lipschitz constant l is at most
   2 t (1 - t) w l off its chord at the place t in [0, 1], one whose derivative has Lipschitz
   constant l at most t (1 - t) w²/2 l.

Now let E >= L for a function L >= 0 that is affine in eps, E = e^eps_prv. For one pair and output

    p_u - E p_u' <= p_u - L p_u' <= chord(p_u) + r_u - L (chord(p_u') - r_u')
                 <= chord(p_u) + r_u - chord(L p_u') + (dL dp_u')+ / 4 + max(L) r_u',

since the chord of a product of affine functions exceeds it by t (1 - t) dL dp_u', the differences
d being those from lo to hi. The right-hand side is affine in eps, so the sum of the positive parts
over all outputs is convex, and below an affine minorant of delta if it is so at both ends. There
it is Lemma 2's sum, with p_u raised by r_u and the scaled L p_u' lowered by the last two terms.
Everything is second order in w as long as L and delta are.

A scaled probability is never negative, which may be used, but not at one end alone: the minorant
has to stay affine. All corrections are in truth 4 t (1 - t) c, with c their sum at t = 1/2 that is
used above. With A, B >= 0 the values of L p_u' at the ends:

    A >= c, B >= c   (1 - t) (A - c) + t (B - c)
    A < c, B < c     0
    A < c <= B       t max(B - 4 c, 0), since (1 - t) A + t B - 4 t (1 - t) c >= t (B - 4 c)
    B < c <= A       the same from the other end

Doubles: probabilities, scaled or not, are certified bounds as in `bounds`, 0 or at least the floor
of `rounding`; r is a sum of products of non-negative numbers with a relative error far below the
2^-40 it is raised by, and few that underflow, each by 2^-1022 at most, far below the 2^-1000 added
to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import Record
from dipapprox.events.catalogue import Catalogue
from dipapprox.exact.distributions import compared_samples
from dipapprox.language.core import Input
from dipapprox.limits import check_limits
from dipapprox.numerics.formula_values import Undefined
from dipapprox.numerics.probability import Bounds, BulkSource
from dipapprox.pairs import hockey_stick
from dipapprox.pairs.maximum import first_largest
from dipapprox.pairs.selections import Pair
from dipapprox.pairs.walk import Block
from dipapprox.privacy.intervals import verdict as claims
from dipapprox.privacy.intervals.derivative_bounds import DerivativeBounds, Rates, SlopeBound
from dipapprox.privacy.intervals.search import EpsilonCell, EpsilonPoint
from dipapprox.privacy.run import Options
from dipapprox.privacy.subjects import open_probabilities
from dipapprox.semantics.state import FinalStates

Array = NDArray[np.float64]
_RESOLVED = 2.0**-40
_BLOCK = 4_096  # inputs asked for at once
_MOST_TERMS = 2**20  # of sums, formed at once


class SubdividedPairs:
    """Pairs of a program with finite outputs; see `Subdivided`."""

    def __init__(
        self,
        states: FinalStates,
        pairs: Iterable[Pair],
        claim: claims.FormulaClaim,
        options: Options,
    ) -> None:
        self._states = states
        numbers: dict[Input, int] = {}
        places = (numbers.setdefault(each, len(numbers)) for pair in pairs for each in pair)
        listed = Block(*np.fromiter(places, np.int64).reshape(-1, 2).T)
        self._inputs = list(numbers)
        self._pairs = _different(states, listed, self._inputs)
        self._claim = claim
        self._options = options
        self._derivatives = DerivativeBounds(states)
        self._latest: tuple[Fraction, BulkSource] | None = None
        self.name = options.engine.value

    def __len__(self) -> int:
        return len(self._pairs)

    def point(self, eps: Fraction, bits: int) -> EpsilonPoint[Bounds]:
        table = self._table(eps, bits)
        eps_prv, delta = self._claim.at(eps, claims.BITS)
        factor = claims.growth_at(eps_prv)
        resolved = bool(np.all(table.upper - table.lower <= table.upper * _RESOLVED))
        largest, pair = Enclosure.exact(0), None
        if len(self._pairs):
            formed = hockey_stick.bounds_in_doubles(table.lower, table.upper, factor)
            lower = self._sums(table.lower, formed.high_scaled)
            upper = self._sums(table.upper, formed.low_scaled)
            worst = first_largest(lower)
            largest = hockey_stick.enclosure(lower[worst], upper.max(), table.lower.shape[1], None)
            first, second = self._pairs.first[worst], self._pairs.second[worst]
            pair = self._inputs[first], self._inputs[second]
        return EpsilonPoint(eps, table, factor, delta, largest, pair, resolved, table.obstacle)

    def _sums(self, raised: Array, scaled: Array) -> Array:
        """Return Σ_o max(raised[u, o] - scaled[u', o], 0) for every pair, rounded; both >= 0."""
        found, step = [], max(_MOST_TERMS // max(raised.shape[1], 1), 1)
        for start in range(0, len(self._pairs), step):
            check_limits()
            part = slice(start, start + step)
            first, second = self._pairs.first[part], self._pairs.second[part]
            found.append(
                hockey_stick.positive_differences(raised, first, scaled, second).sum(axis=1)
            )
        return np.concatenate(found)

    def cell(self, lower: EpsilonPoint[Bounds], upper: EpsilonPoint[Bounds]) -> EpsilonCell[Bounds]:
        width = upper.eps - lower.eps
        best = EpsilonCell(lower, upper, Fraction(2), Fraction(1))
        if not len(self._pairs):
            return EpsilonCell(lower, upper, Fraction(0), Fraction(0))
        try:
            eps_prv, delta = self._claim.over(lower.eps, upper.eps)
        except Undefined:
            return best
        radius = radii(lower.known, upper.known, width, self._derivatives.rates(lower.eps))
        error = hockey_stick.rounding_factor(lower.known.lower.shape[1])
        claimed = claims.below(lower.delta, upper.delta, delta, width)
        allowed = claimed.at_lower, claimed.at_upper
        for factor in claims.growths_below(lower.factor, upper.factor, eps_prv, width):
            most = [
                Fraction(float(self._sums(end.upper, end.scaled).max())) * error
                for end in ends(lower.known, upper.known, radius, factor)
            ]
            excess = max(found - limit for found, limit in zip(most, allowed, strict=True))
            if excess < best.excess:
                best = EpsilonCell(lower, upper, excess, min(max(most), Fraction(1)))
            if excess <= 0:
                break
        return best

    def _table(self, eps: Fraction, bits: int) -> Bounds:
        inputs = self._inputs
        if not inputs:
            return Bounds(np.empty((0, 0)), np.empty((0, 0)))
        source = self._source(eps)
        blocks = [
            source.table(inputs[start : start + _BLOCK], bits)
            for start in range(0, len(inputs), _BLOCK)
        ]
        known = [block.impossible for block in blocks if block.impossible is not None]
        return Bounds(
            np.concatenate([block.lower for block in blocks]),
            np.concatenate([block.upper for block in blocks]),
            next((block.obstacle for block in blocks if block.obstacle is not None), None),
            np.concatenate(known) if len(known) == len(blocks) else None,
        )

    def _source(self, eps: Fraction) -> BulkSource:
        """Open the probabilities at one eps; those of the latest one are kept."""
        if self._latest is None or self._latest[0] != eps:
            self._latest = eps, open_probabilities(self._states, eps, self._options)
            self.name = self._latest[1].name
        return self._latest[1]


def _different(states: FinalStates, pairs: Block, inputs: Sequence[Input]) -> Block:
    """Leave out pairs with equal distributions at every eps, as far as that is seen."""
    if len({sample.scale.power for sample in compared_samples(states)}) > 1:
        return pairs
    catalogue = Catalogue(states, Fraction(1))
    kinds: dict[object, int] = {}
    numbers: list[int] = []
    for start in range(0, len(inputs), _BLOCK):
        check_limits()
        for found in catalogue.states(inputs[start : start + _BLOCK]):
            numbers.append(kinds.setdefault(tuple(sorted(found)), len(kinds)))
    kind = np.array(numbers, np.int64)
    return pairs.take(np.flatnonzero(kind[pairs.first] != kind[pairs.second]))


_RAISED = 1 + 2.0**-40
_TINY = 2.0**-1000  # covers underflow, whether it leaves subnormal numbers or 0


class TubeEnd(Record, eq=False):
    """One end of a tube: what enters Lemma 2's sum there."""

    upper: Array  # p_u + r_u, at least
    scaled: Array  # L p_u' less the corrections, at most; never negative


def radii(lower: Bounds, upper: Bounds, width: Fraction, rates: Rates) -> Array:
    """Bound how far every probability is from its chord.

    Args:
        lower: Probabilities at the lower end: arrays (rows x outputs).
        upper: Probabilities at the upper end; what is impossible at one end is so at both.

    Returns:
        0 for the outputs that are impossible, and for no others.
    """
    half = rounding.above(width / 2)
    greatest = np.maximum(lower.upper, upper.upper)
    most = np.ones_like(greatest)
    for rate in rates.first:
        slope, constant = _above(rate)
        if slope * half < 0.5:
            bound = (greatest + constant * half) / (1 - slope * half)
            most = np.minimum(most, bound * _RAISED + _TINY)
    radius = np.ones_like(most)
    for rate in rates.first:
        slope, constant = _above(rate)
        radius = np.minimum(radius, half * (slope * most + constant))
    for rate in rates.second:
        slope, constant = _above(rate)
        # In this order: the square of a tiny width would underflow.
        radius = np.minimum(radius, half * (half * (slope * most + constant)) / 2)
    raised: Array = radius * _RAISED + _TINY
    for end in (lower, upper):
        if end.impossible is not None:
            raised[end.impossible] = 0.0
    return raised


def ends(
    lower: Bounds, upper: Bounds, radius: Array, factor: claims.Minorant
) -> tuple[TubeEnd, TubeEnd]:
    """Return both ends of the tube of all rows and outputs; L is in [0, 2**900] at both."""
    change = factor.at_upper - factor.at_lower
    # (dL dp)+ is largest for the largest dp if L rises, for the smallest if it falls.
    if change >= 0:
        product = np.maximum(upper.upper - lower.lower, 0.0) * rounding.above(change / 4)
    else:
        product = np.maximum(lower.upper - upper.lower, 0.0) * rounding.above(-change / 4)
    most = rounding.above(max(factor.at_lower, factor.at_upper))
    # What is impossible has the probability 0 at both ends and between.
    possible = radius > 0.0
    moved = (product + most * radius) * _RAISED + _TINY
    correction = np.where(possible, moved, 0.0)
    highs, values = [], []
    for table, value in ((lower, factor.at_lower), (upper, factor.at_upper)):
        raised = np.maximum(np.nextafter(table.upper + radius, np.inf), rounding.FLOOR)
        highs.append(np.where(possible, raised, 0.0))
        values.append(rounding.product_below(table.lower, rounding.below(value)))
    scaled = affine_scaled(values[0], values[1], correction)
    return TubeEnd(highs[0], scaled[0]), TubeEnd(highs[1], scaled[1])


def affine_scaled(start: Array, end: Array, correction: Array) -> tuple[Array, Array]:
    """Return the ends of an affine function below the scaled probability, >= 0 throughout.

    Args:
        start: At most L p_u' at the lower end, >= 0.
        end: The same at the upper end.
        correction: At least c.
    """
    lowered = [np.nextafter(value - correction, -np.inf) for value in (start, end)]
    # Four times a double is exact; where it overflows, the bound is 0.
    steep = [np.nextafter(value - 4 * correction, -np.inf) for value in (start, end)]
    reached = [value >= correction for value in (start, end)]
    found = []
    for mine, other in ((0, 1), (1, 0)):
        low = np.where(reached[other], lowered[mine], steep[mine])
        found.append(np.where(reached[mine] & (low >= rounding.FLOOR), low, 0.0))
    return found[0], found[1]


def _above(rate: SlopeBound) -> tuple[float, float]:
    return rounding.above(rate.slope), rounding.above(rate.constant)
