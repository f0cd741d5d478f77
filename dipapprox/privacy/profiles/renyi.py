"""Rényi divergences of all pairs: D_a(P || Q) = ln(Σ p^a q^(1-a)) / (a - 1), orders a > 1.

Order 1 is the Kullback-Leibler divergence Σ p ln(p / q), order infinity the largest log-ratio. In
each sum the terms are products of a number that depends on u and one that depends on u' only:
powers and logarithms are taken once for each input, in balls, and pairs cost products and sums of
doubles. The pairs that may be the largest are then compared in balls.

    finite a     S(u, u') = Σ_o A_u(o) B_u'(o),  A = p^a, B = q^(1-a)
    order 1      KL(u, u') = Σ_o p ln p + Σ_o p (-ln q)

D_a does not fall with a, for a pair and so for the largest over pairs. A lower bound serves all
larger orders, with the same witness; an upper bound all smaller ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import inf

import numpy as np

from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed, if_enclosed, sure
from dipapprox.arithmetic.extended import BY_ENCLOSURES, INFINITE, Extended
from dipapprox.arithmetic.rounding import Array
from dipapprox.data_classes import Record, replace
from dipapprox.numerics.powers import logarithm, logarithms, power, powers
from dipapprox.pairs.divergence import Probabilities, refined
from dipapprox.pairs.maxima import MOST_CANDIDATES, ListedPairs
from dipapprox.pairs.maximum import all_about, first_largest
from dipapprox.pairs.selected import TabledPairs
from dipapprox.pairs.selections import Pair
from dipapprox.pairs.walk import Block
from dipapprox.privacy.details import PairsBounds
from dipapprox.privacy.profiles.profile_result import OrderResult

_IMPOSSIBLE = Extended(None, None, *BY_ENCLOSURES)


def largest_divergence(maxima: ListedPairs, order: Fraction, width: Fraction) -> PairsBounds:
    """Bound the largest Rényi divergence of a finite order >= 1 over all pairs, if possible to
    `width`.
    """
    arrays = maxima.gone_through()
    lower, attaining = -inf, None
    candidates: list[tuple[float, Pair]] = []
    overflow = False
    for tabled in arrays:
        terms = _Terms.of(tabled, order)
        for block in tabled.blocks():
            low, high = terms.sums(block)
            place = first_largest(low)
            if all_about(low[place]) > lower:
                lower, attaining = float(low[place]), tabled.pair(block, place)
                candidates = [each for each in candidates if each[0] >= lower]
            places = np.flatnonzero(high >= lower)
            if len(places) + len(candidates) > MOST_CANDIDATES:
                # Too many to compare one by one: from here on only the largest bound counts.
                overflow = True
                places = places[[int(np.argmax(high[places]))]]
            candidates += ((float(high[k]), tabled.pair(block, k)) for k in places.tolist())
    if attaining is None:
        return PairsBounds(
            Extended(Fraction(0), Fraction(0), *BY_ENCLOSURES), None, maxima.ladder[0]
        )
    if overflow:
        highest = max(high for high, _ in candidates)
        upper = None if highest == inf else divergence_of(Fraction(highest), order)[1]
        least = divergence_of(Fraction(lower), order)[0]
        divergence = Extended(least, upper, *BY_ENCLOSURES)
        limit = f"more than {MOST_CANDIDATES} pairs may be the largest of order {order}"
        return PairsBounds(divergence, attaining, maxima.ladder[0], limit=limit)
    return _sharpened(maxima, [pair for _, pair in candidates], order, width)


def _sharpened(
    maxima: ListedPairs, candidates: Sequence[Pair], order: Fraction, width: Fraction
) -> PairsBounds:
    remaining = candidates

    def again(bits: int, _before: PairsBounds) -> PairsBounds:
        nonlocal remaining
        known = [(pair, *_pair_divergence(maxima, pair, order, bits)) for pair in remaining]
        for pair, low, _ in known:
            if low is None:
                return PairsBounds(_IMPOSSIBLE, pair, bits)
        pair, best, _ = max(known, key=lambda each: each[1] or Fraction(0))
        assert best is not None
        tops = [high for _, _, high in known]
        upper = None if None in tops else max(high for high in tops if high is not None)
        remaining = [each for each, _, high in known if high is None or high >= best]
        return PairsBounds(Extended(best, upper, *BY_ENCLOSURES), pair, bits)

    def narrow(found: PairsBounds) -> bool:
        own = found.told.width
        return own is not None and own <= width

    start = PairsBounds(Extended(Fraction(0), None), candidates[0], maxima.ladder[0])
    return refined(maxima.ladder, again, narrow, start)


def _pair_divergence(
    maxima: ListedPairs, pair: Pair, order: Fraction, bits: int
) -> tuple[Fraction | None, Fraction | None]:
    """Bound one pair's divergence; (None, None) if it is infinite."""
    first, second = maxima.source.distributions(pair, bits)
    if isinstance(first, NotEnclosed) or isinstance(second, NotEnclosed):
        return Fraction(0), None
    if any(p.lower > 0 and not q.upper for p, q in zip(first, second, strict=True)):
        return None, None
    if order == 1:
        return relative_entropy(first, second, bits)
    lower, upper = _sum_over(first, second, partial(_moment, order, bits))
    most = None if upper is None else divergence_of(upper, order, bits)[1]
    return divergence_of(lower, order, bits)[0], most


_Ends = tuple[Fraction, Fraction | None]  # no upper one: not bounded


def _sum_over(
    first: Probabilities, second: Probabilities, term: Callable[[Enclosure, Enclosure], _Ends]
) -> _Ends:
    """Bound a sum over the outputs that are possible under u."""
    terms = [term(p, q) for p, q in zip(first, second, strict=True) if p.upper]
    most = [high for _, high in terms if high is not None]
    upper = None if len(most) < len(terms) else sum(most, Fraction(0))
    return sum((low for low, _ in terms), Fraction(0)), upper


def _moment(order: Fraction, bits: int, p: Enclosure, q: Enclosure) -> _Ends:
    """Bound p^a q^(1-a)."""

    @if_enclosed
    def factors(p: Fraction, q: Fraction) -> tuple[Enclosure, Enclosure]:
        return sure(power(p, order, bits)), sure(power(q, 1 - order, bits))

    least = factors(p.lower, q.upper) if p.lower else None
    most = factors(p.upper, q.lower) if q.lower else None
    low = Fraction(0)
    if least is not None:
        low = max(least[0].lower, low) * max(least[1].lower, low)
    return low, None if most is None else most[0].upper * most[1].upper


def relative_entropy(first: Probabilities, second: Probabilities, bits: int) -> _Ends:
    """Bound the sum of p ln(p/q) >= 0, from above None where a q may be 0 and its p is not."""

    def term(p: Enclosure, q: Enclosure) -> _Ends:
        if not p.lower or not q.lower:
            return -q.upper, None  # p ln(p/q) >= -q/e > -q, and nothing is known from above
        low = logarithm(p.lower / q.upper, bits).lower
        high = logarithm(p.upper / q.lower, bits).upper
        return low * (p.lower if low >= 0 else p.upper), high * (p.upper if high >= 0 else p.lower)

    lower, upper = _sum_over(first, second, term)
    return max(lower, Fraction(0)), None if upper is None else max(upper, Fraction(0))


def divergence_of(moment: Fraction, order: Fraction, bits: int = 64) -> tuple[Fraction, Fraction]:
    """Bound ln(moment) / (order - 1), which is >= 0; order 1: the moment is the divergence."""
    if order == 1:
        return max(moment, Fraction(0)), max(moment, Fraction(0))
    if moment <= 1:
        return Fraction(0), Fraction(0)
    found = logarithm(moment, bits)
    return found.lower / (order - 1), found.upper / (order - 1)


class _Terms(Record, eq=False):
    """What inputs contribute to a sum: bounds of products' factors, and of a summand of u."""

    own_lower: Array
    own_upper: Array
    other_lower: Array
    other_upper: Array
    start_lower: Array
    start_upper: Array

    @classmethod
    def of(cls, tabled: TabledPairs, order: Fraction) -> _Terms:
        if order == 1:
            # p ln p, with 0 ln 0 = 0; it falls to -1/e and rises again, so no ends: p in [l, u].
            low, high = logarithms(tabled.lower, tabled.upper)
            with np.errstate(invalid="ignore"):
                least = np.where(tabled.upper == 0, 0.0, tabled.upper * low)
                most = np.where(tabled.lower == 0, 0.0, tabled.lower * high)
            least = np.where(np.isnan(least) | (least == -inf), -0.5, least)
            start = (_step(least.sum(axis=1), least, -inf), _step(most.sum(axis=1), most, inf))
            return cls(tabled.lower, tabled.upper, -high, -low, *start)
        own = powers(tabled.lower, tabled.upper, order)
        other = powers(tabled.lower, tabled.upper, 1 - order)
        zero = np.zeros(len(tabled.lower))
        return cls(*own, *other, zero, zero)

    def sums(self, block: Block) -> tuple[Array, Array]:
        u, v = block.first, block.second
        # An output that cannot occur under u contributes 0, whatever it does under u'.
        low = rounding.product_below(self.own_lower[u], self.other_lower[v])
        high = rounding.product_above(self.own_upper[u], self.other_upper[v])
        with np.errstate(over="ignore"):
            below = np.nextafter(rounding.total_below(low) + self.start_lower[u], -inf)
            above = np.nextafter(rounding.total_above(high) + self.start_upper[u], inf)
        return below, above


def _step(total: Array, terms: Array, towards: float) -> Array:
    """Move sums outward by all that rounding the products and adding them can have changed."""
    size = np.abs(terms).sum(axis=1) * (terms.shape[1] + 8) * 2.0**-51 + 2.0**-1000
    moved: Array = np.nextafter(total + np.copysign(size, towards), towards)
    return np.nextafter(moved, towards)


def clipped(results: Sequence[OrderResult]) -> list[OrderResult]:
    """Improve bounds of ascending orders by those of smaller and of larger ones."""
    found = list(results)
    for k in range(1, len(found)):
        below, here = found[k - 1], found[k]
        least = Extended(below.divergence.lower, None, below.divergence.least_by)
        met = here.divergence.meet(least, f"D_{here.order}")
        if met.lower != here.divergence.lower:
            found[k] = replace(here, divergence=met, witness=below.witness)
    for k in range(len(found) - 2, -1, -1):
        above, here = found[k + 1].divergence, found[k]
        most = Extended.at_most(above.upper, above.most_by)
        found[k] = replace(here, divergence=here.divergence.meet(most, f"D_{here.order}"))
    return found


def concentrated(results: Sequence[OrderResult], symmetric: bool) -> Extended:
    """Bound sup over a > 1 of D_a / a; see `RenyiProfile`.

    If the reverse of every pair is looked at, too, D_inf bounds both directions, and D_a is at most
    a D_inf² / 2 (Bun and Steinke 2016, proposition 3.3).
    """
    lower, upper = Fraction(0), Fraction(0)
    before = Fraction(1)
    bounded = False
    for each in results:
        found = each.divergence
        if not isinstance(each.order, str):
            if found.lower is None:
                return INFINITE
            lower = max(lower, found.lower / each.order)
        if found.upper is None:
            bounded = False
            break
        upper = max(upper, found.upper / before)
        bounded = isinstance(each.order, str)
        if isinstance(each.order, str):
            if symmetric:
                upper = min(upper, found.upper**2 / 2)
        else:
            before = each.order
    return Extended(lower, upper if bounded else None)
