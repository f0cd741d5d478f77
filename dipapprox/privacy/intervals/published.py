"""Programs with real outputs over an interval of epsilons: divergences of pairs at its points.

Of pairs that look alike one is followed. What makes measures look alike (`normal_form`,
`canonical`) are shifts, reflections, changes of units, sums of Gaussian samples, other names: they
go along when all scales are multiplied by one number. So pairs that look alike at one eps do at all
of them if the scales of all samples are multiples of one power of eps. A pair is settled on a cell

    by a coupling      what moves of the noise cost is convex in eps: a chord below eps_prv
    by both ends       the chord between them (below)

With couplings below eps_prv at both ends, a cell is halved rather than looked at closely.

Chords. Fix two inputs, and for every eps in [lo, hi], w = hi - lo, a set S of outputs out of one
family (`derivative_bounds`). Let p and q be its probabilities at u and u', as functions of eps: the
rates bound |p'| by f(p) and |p''| by s(p), f and s affine and non-decreasing, and those of q
likewise. Let L be affine and 0 < L <= E = e^eps_prv on the interval, and at an end e for some G_e

    D_e = sup over S of p_e(S) - G_e q_e(S),

so that p_e(S) - L_e q_e(S) <= D_e + (G_e - L_e)+ q_e(S). Let S be a set with p >= E q at some eps,
such as the one that attains the supremum of p - E q there, if that is not 0.

1. q(eps) <= p(eps) / L. On the interval p is at most P and q at most Q, where by |p'| <= f(P)
   P <= p(eps) + w f(P), so with f(p) = a p + c, w a < 1, P = (p(eps) + w c) / (1 - w a).
2. p and q are at most r_p and r_q off their chords, r_p = min(w/2 f(P), w²/8 s(P)) (`tables`), so

       p - E q  <=  p - L q  <=  chord of (p - L q)  +  r_p  +  max(L) r_q  +  |dL dq| / 4,

   differences being those from lo to hi, |dq| <= w f(Q). The chord is below that of the values
   D_e + (G_e - L_e)+ Q at the ends. All that is added is of second order in w.
3. p(eps) is at most 1. It is about as small as the divergence at a lesser factor α: at either end,
   with D(α) = sup p_e - α q_e,

       p(eps) - w f(P)  <=  p_e  <=  D(α) + α q_e  <=  D(α) + α (q(eps) + w f(Q)),

   and as f(P) <= (a p(eps) + c) / (1 - w a), f(Q) <= (a p(eps) / L + c) / (1 - w a), with
   k = w / (1 - w a) and ρ = α / L

       p(eps) (1 - ρ - k a (1 + ρ))  <=  D(α) + k c (1 + α).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, TypeVar

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.cache import Cache
from dipapprox.data_classes import Record
from dipapprox.errors import LimitReached
from dipapprox.limits import check_limits
from dipapprox.numerics.formula_values import Undefined
from dipapprox.pairs.boxes.vertices import pairs_between
from dipapprox.pairs.divergence import Factor
from dipapprox.pairs.published.couplings import Couplings
from dipapprox.pairs.published.divergences import PublishedDivergences, Terms
from dipapprox.pairs.published.together import COUPLING, MANY_PAIRS, MOST_PAIRS, PublishedPairs
from dipapprox.pairs.selections import AllPairs, Pair, PairSelection
from dipapprox.privacy.intervals import verdict as claims
from dipapprox.privacy.intervals.derivative_bounds import DerivativeBounds, Rates, SlopeBound
from dipapprox.privacy.intervals.search import EpsilonCell, EpsilonPoint
from dipapprox.privacy.run import Options
from dipapprox.privacy.subjects import open_method, open_published
from dipapprox.semantics.state import FinalStates

_MOST_PAIRS = 2_000  # more pairs that do not look alike are not followed
_RESOLVED = Fraction(1, 2**30)
_LESSER = Fraction(3, 4)  # of the factor: where a divergence bounds how likely the worst sets are
_OPEN = 8  # epsilons whose densities are kept

_ZERO, _ONE = Fraction(0), Fraction(1)
_N = TypeVar("_N", Fraction, float)  # exactly, or about


def pairs_for_many(states: FinalStates, selection: PairSelection, count: int | None) -> list[Pair]:
    """Return pairs that stand for more than are gone through; none if they are few, or listed, or
    it is not known which do."""
    few = count is not None and count <= MOST_PAIRS
    if not few and isinstance(selection, AllPairs):
        with suppress(LimitReached):
            return pairs_between(states)
    return []


class KnownAtEps(Record, eq=False):
    eps_prv: Enclosure
    bits: int
    deltas: tuple[Enclosure, ...]  # enclose delta_{u,u'}, pair by pair
    # What couplings cost, pair by pair; None where there is none.
    prices: tuple[Fraction | None, ...]


class PublishedOverInterval:
    """Pairs of a program with real outputs, on an interval with `eps`; see `Subdivided`."""

    def __init__(
        self,
        states: FinalStates,
        pairs: Sequence[Pair],
        claim: claims.FormulaClaim,
        eps: Fraction,
        options: Options,
    ) -> None:
        self._states = states
        self._claim = claim
        self._options = options
        self._method = open_method(options)
        self._sources: Cache[Fraction, PublishedDivergences] = Cache(_OPEN)
        self._lesser: dict[tuple[Fraction, int], tuple[Fraction, Fraction]] = {}
        self.name = options.engine.value
        couplings = Couplings(states, eps) if options.compares_exactly else None
        self._couplings = couplings
        self.pairs = self._different(pairs, eps)
        self._moves = [None if couplings is None else couplings.moves(p) for p in self.pairs]
        self._bounds = [DerivativeBounds(states, pair) for pair in self.pairs]

    def __len__(self) -> int:
        return len(self.pairs)

    def _different(self, pairs: Sequence[Pair], eps: Fraction) -> Sequence[Pair]:
        """Return a pair of each kind of those that publish different things."""
        if len({sample.scale.power for sample in self._states.samples}) <= 1:
            if len(pairs) > MOST_PAIRS:
                raise LimitReached(MANY_PAIRS)
            source = self._source(eps)
            alike = PublishedPairs(source, lambda: pairs, len(pairs), self._couplings)
            pairs = [pair for terms, pair in alike.classes() if not _are_equal(terms)]
        if len(pairs) > _MOST_PAIRS:
            raise LimitReached(
                f"pair limit: more than {_MOST_PAIRS} pairs that do not look alike; use --pairs"
            )
        return pairs

    def _source(self, eps: Fraction) -> PublishedDivergences:
        return self._sources.find(
            eps, lambda: open_published(self._states, eps, self._options, self._method)
        )

    def point(self, eps: Fraction, bits: int) -> EpsilonPoint[KnownAtEps]:
        eps_prv, claimed = self._claim.at(eps, claims.BITS)
        factor = claims.growth_at(eps_prv)
        source = self._source(eps)
        deltas: list[Enclosure] = []
        prices: list[Fraction | None] = []
        obstacle: str | None = None
        for pair, moves in zip(self.pairs, self._moves, strict=True):
            check_limits()
            price = None
            if self._couplings is not None and moves is not None:
                price = self._couplings.price(moves, eps)
            prices.append(price)
            delta: Enclosure | NotEnclosed = Enclosure.exact(0)
            if price is None or price > eps_prv.lower:
                delta = self._divergence(source, pair, factor, bits)
            if isinstance(delta, NotEnclosed):
                obstacle = obstacle or delta.reason
                delta = UNIT
            deltas.append(delta)
        if any(price is not None and price <= eps_prv.lower for price in prices):
            source.note(COUPLING)
        self.name = source.name
        lower = max((delta.lower for delta in deltas), default=Fraction(0))
        upper = max((delta.upper for delta in deltas), default=Fraction(0))
        worst = next((p for p, d in zip(self.pairs, deltas, strict=True) if d.lower == lower), None)
        known = KnownAtEps(eps_prv, bits, tuple(deltas), tuple(prices))
        resolved = upper - lower <= upper * _RESOLVED
        largest = Enclosure(lower, upper)
        return EpsilonPoint(eps, known, factor, claimed, largest, worst, resolved, obstacle)

    def _divergence(
        self, source: PublishedDivergences, pair: Pair, factor: Factor, bits: int
    ) -> Enclosure | NotEnclosed:
        if factor.lower < 1:
            return NotEnclosed("eps_prv may be negative")
        terms = source.terms(pair)
        if isinstance(terms, NotEnclosed):
            return NotEnclosed(terms.reason)
        return source.divergence(terms, factor, bits)

    def cell(
        self, lower: EpsilonPoint[KnownAtEps], upper: EpsilonPoint[KnownAtEps]
    ) -> EpsilonCell[KnownAtEps]:
        width = upper.eps - lower.eps
        try:
            eps_prv, delta = self._claim.over(lower.eps, upper.eps)
        except Undefined:
            return EpsilonCell(lower, upper, Fraction(2), Fraction(1))
        claimed = claims.below(lower.delta, upper.delta, delta, width)
        budget = claims.below(lower.known.eps_prv, upper.known.eps_prv, eps_prv, width)
        factors = tuple(claims.growths_below(lower.factor, upper.factor, eps_prv, width))
        # A coupling shows that a budget is enough, and nothing about a delta below 0.
        least = Fraction(0) if delta.value.lower >= 0 else min(claimed.at_lower, claimed.at_upper)
        excess, largest = max(-least, Fraction(0)), Fraction(0)
        for number in range(len(self.pairs)):
            check_limits()
            # Prices are a convex function of ε, which is below its chord.
            prices = lower.known.prices[number], upper.known.prices[number]
            most_of = zip(prices, (budget.at_lower, budget.at_upper), strict=True)
            if all(price is not None and price <= most for price, most in most_of):
                continue
            own, most = self._spread(number, lower, upper, claimed, factors)
            excess, largest = max(excess, own), max(largest, most)
        return EpsilonCell(lower, upper, excess, largest)

    def _spread(
        self,
        number: int,
        lower: EpsilonPoint[KnownAtEps],
        upper: EpsilonPoint[KnownAtEps],
        claimed: claims.Minorant,
        factors: Sequence[claims.Minorant],
    ) -> tuple[Fraction, Fraction]:
        """Bound how far a pair's divergence exceeds the claim between two points, and itself."""
        width = upper.eps - lower.eps
        known = [point.known.deltas[number].upper for point in (lower, upper)]
        missing = max(known[0] - claimed.at_lower, known[1] - claimed.at_upper)
        if missing > 0:
            return missing, Fraction(1)  # whatever is between
        families = self._bounds[number].families(lower.eps)
        least, most = Fraction(2), Fraction(1)
        # Chords come closer to prices as cells get smaller; other divergences cost far more.
        narrow = not all(_is_coupled(end, number) for end in (lower, upper))
        ends = [self._end(point, number, narrow) for point in (lower, upper)]
        for rates in families:
            for factor in factors:
                found = highest(ends[0], ends[1], factor, width, rates)
                excess = max(found[0] - claimed.at_lower, found[1] - claimed.at_upper)
                if excess < least:
                    least, most = excess, min(max(found), Fraction(1))
        return least, most

    def _end(self, point: EpsilonPoint[KnownAtEps], number: int, narrow: bool) -> SpreadEnd:
        lesser = self._at_lesser_factor(point, number) if narrow else None
        growth, divergence = point.factor.lower, point.known.deltas[number].upper
        if _is_coupled(point, number):
            # A coupling tells of e^eps_prv, and nothing of what is a hair less.
            above = point.factor.upper
            growth, divergence = (growth, Fraction(1)) if above is None else (above, divergence)
        return SpreadEnd(growth, divergence, lesser)

    def _at_lesser_factor(
        self, point: EpsilonPoint[KnownAtEps], number: int
    ) -> tuple[Fraction, Fraction]:
        key = point.eps, number
        if key not in self._lesser:
            factor = max(point.factor.lower * _LESSER, Fraction(1))
            source, pair = self._source(point.eps), self.pairs[number]
            found = self._divergence(source, pair, Factor(factor, factor), point.known.bits)
            upper = Fraction(1) if isinstance(found, NotEnclosed) else found.upper
            self._lesser[key] = factor, upper
        return self._lesser[key]


def _are_equal(terms: Terms | NotEnclosed) -> bool:
    if isinstance(terms, NotEnclosed):
        return False
    return all(sides.first == sides.second for sides, _ in terms)


def _is_coupled(point: EpsilonPoint[KnownAtEps], number: int) -> bool:
    price = point.known.prices[number]
    return price is not None and price <= point.known.eps_prv.lower


class SpreadEnd(Record):
    growth: Fraction  # g_e > 0
    divergence: Fraction  # at least D_e
    # Another factor, α > 0, and at least D(α); None if that is not known.
    lesser: tuple[Fraction, Fraction] | None = None


def highest(
    lower: SpreadEnd, upper: SpreadEnd, factor: claims.Minorant, width: Fraction, rates: Rates
) -> tuple[Fraction, Fraction]:
    """Return an affine bound of the divergence over an interval, by its values at the ends.

    The factor is L > 0; the rates are valid over the interval, for one family of sets.
    """
    least, greatest = sorted((factor.at_lower, factor.at_upper))
    first, second = _Lines(rates.first), _Lines(rates.second)
    p = _ONE
    for end in (lower, upper):
        if end.lesser is not None:
            p = min(p, first.least(_mass, least, width, *end.lesser))
    most_p, most_q = (first.least(_farther, each, width) for each in (p, min(_ONE, p / least)))
    added = _off(most_p, width, first, second) + greatest * _off(most_q, width, first, second)
    moved = first.least(lambda a, c, q, w: w * (a * q + c), most_q, width)
    added += (greatest - least) * moved / 4
    found = [
        end.divergence + max(end.growth - value, _ZERO) * most_q + added
        for end, value in ((lower, factor.at_lower), (upper, factor.at_upper))
    ]
    return found[0], found[1]


class _Lines:
    """Affine functions a p + c, each of which will do."""

    def __init__(self, lines: Sequence[SlopeBound]) -> None:
        self._lines = [(line.slope, line.constant) for line in lines]
        self._guesses = [(float(slope), float(constant)) for slope, constant in self._lines]

    def __len__(self) -> int:
        return len(self._lines)

    def least(self, bound: Callable[..., Any], *known: Fraction) -> Fraction:
        """Return about the least of bounds by a, c and what is known, at most 1; doubles guess
        which it is."""
        about = tuple(map(float, known))
        costs = [bound(*line, *about) for line in self._guesses]
        found: Fraction = min(_ONE, bound(*self._lines[costs.index(min(costs))], *known))
        return found


def _farther(a: _N, c: _N, p: _N, width: _N) -> _N | int:
    """Bound a probability on the interval that is at most p at one place of it (1)."""
    return (p + width * c) / (1 - width * a) if width * a < 1 else 1


def _mass(a: _N, c: _N, least: _N, width: _N, alpha: _N, divergence: _N) -> _N | int:
    """Bound p(eps) by a lesser factor at one end (3)."""
    if width * a >= 1:
        return 1
    reach, ratio = width / (1 - width * a), alpha / least
    left = 1 - ratio - reach * a * (1 + ratio)
    return (divergence + reach * c * (1 + alpha)) / left if left > 0 else 1


def _off(p: Fraction, width: Fraction, first: _Lines, second: _Lines) -> Fraction:
    """Bound how far a probability that is at most p is off its chord (2)."""
    found = first.least(lambda a, c, p, w: w / 2 * (a * p + c), p, width)
    if not second:
        return found
    return min(found, second.least(lambda a, c, p, w: w**2 / 8 * (a * p + c), p, width))
