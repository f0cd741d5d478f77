"""What Rényi divergences allow: the worst P(S) - a Q(S), and two outcomes that have it.

Statements. Those of runs add up, whatever is chosen by what came before: of all together, either
way round, (λ - 1) D_λ <= κ(λ). With K(λ) = ln E_Q y^λ = (λ - 1) D_λ(P, Q), y = dP/dQ, which is
convex and 0 at 1, a statement of some orders holds on chords between (1, 0) and its points as well.

From above. y^λ is above its tangents: at y_2 on S and at y_1 < y_2 off S,

    M = e^κ >= E_Q y^λ >= λ y_2^(λ-1) P(S) - (λ-1) y_2^λ Q(S)
                          + λ y_1^(λ-1) (1 - P(S)) - (λ-1) y_1^λ (1 - Q(S)),

so that P(S) <= c + a Q(S) for all S, that is H(a) <= c, with u = y_1 / y_2 = e^-w:

    a = y_2 (λ-1)/λ (1 - u^λ) / (1 - u^(λ-1)),
    c = (M y_2^(1-λ) - u^(λ-1) (λ - (λ-1) y_1)) / (λ (1 - u^(λ-1))).                            (1)

That holds for any λ and w, which are guessed in doubles; w = ∞ is the bound of Markov's inequality.
It is least where E_Q y^λ = M for two outcomes of the quotients y_1 and y_2, P(S) = p = (1 - y_1) /
(1 - u) and Q(S) = q = p / y_2; so these attain it if all other orders allow them. Where they do
not, two orders bind, or one either way round, which is so about a = 1, for p = 1 - q. There H is
below the chord of (1) at two factors, for which the best sets are the same.

From below. Of lists of orders two outcomes are asked for each. They are rho-zCDP if, for them and
turned round, with g(λ) = rho λ (λ-1) - K(λ), π = p^λ q^(1-λ) / e^K, w = ln(y_2 / y_1),

    g'(λ) = rho (2 λ - 1) - π ln y_2 - (1 - π) ln y_1,    g''(λ) = 2 rho - w² π (1 - π),

g' >= 0 at 1, and there is a λ >= 1 where π >= 1/2, m = g'' >= 0, and

    λ = 1,   or   0 <= (λ - 1) g' <= g,   or   g' <= 0 and g'² <= 2 m g.                       (2)

For π grows with λ, so that g is concave at most between some λ' and λ'' where π (1 - π) is large,
and from λ'' on, as π >= 1/2 grows, g is convex and g'' grows. λ is there, and so g >= 0 on all of
it from 1 on: in the second case by the tangent at λ, which is least at 1, in the third before λ by
the tangent, and behind it by g + g' d + m d²/2. Before λ'' it is concave between numbers >= 0, the
first of which is g(1) = 0, or g(λ'), and up to λ' it is above its tangent at 1.

Source: Bun, Steinke, Concentrated differential privacy, 2016; Mironov, Rényi differential privacy,
2017; Canonne, Kamath, Steinke, The discrete Gaussian for differential privacy, 2020 (u = 0).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import exp, expm1, inf, log, log1p

from flint import arb

from dipapprox.arithmetic.precision import to_ball
from dipapprox.composition.mechanisms import ConcentratedStatement, RenyiStatement
from dipapprox.composition.profile import NO_ENDS, BallProfile, Ends, ProfilePoint
from dipapprox.data_classes import dataclass

Statement = RenyiStatement | ConcentratedStatement

_LEAST = 2.0**-40
"""Of λ - 1; orders that bind at 1 are taken there, which is a part of 2**-40 off."""

_DOUBTFUL, _MOST = 2.0**-20, 2.0**30
"""Below the first, doubles do not tell whether a greater order allows less."""

_TURNS, _NEWTON = 100, 8
_FAR = 700.0
"""Of logarithms, where exponentials are still numbers."""

_INWARD = 2.0**-30
"""By this part outcomes are moved to what surely is allowed."""

_CLOSE, _BEYOND = 1e-10, 50.0
"""What is no more counts as allowed; and how far away orders are thought to change."""

_Point = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Divergences:
    """κ(λ) = rho λ (λ-1) and what is straight between points.

    Attributes:
        rho: Of zCDP, of all runs.
        points: (λ, κ of lists), ascending from (1, 0) to the last λ that is known of; if there is
            no other point, all orders are known of.
    """

    rho: Fraction
    points: tuple[_Point, ...]

    @classmethod
    def of(cls, statements: Sequence[tuple[Statement, int]]) -> Divergences:
        """Add up statements, each so often."""
        rho, chains = Fraction(0), list[tuple[list[_Point], int]]()
        for statement, times in statements:
            match statement:
                case ConcentratedStatement(own):
                    rho += own * times
                case RenyiStatement(orders):
                    chains.append((_convex((a, (a - 1) * d) for a, d in orders), times))
        last = min((chain[-1][0] for chain, _ in chains), default=Fraction(1))
        places = sorted({a for chain, _ in chains for a, _ in chain if a <= last} | {last})
        return cls(
            rho, tuple((a, sum((n * _at(c, a) for c, n in chains), Fraction(0))) for a in places)
        )

    def divergence(self, order: Fraction) -> Fraction:
        """κ(λ) / (λ - 1), for an order that is known of."""
        return self.rho * order + _at(self.points, order) / (order - 1)


def _convex(points: Iterator[_Point]) -> list[_Point]:
    """Return (1, 0) and those points between which chords are below all of them."""
    kept = [(Fraction(1), Fraction(0))]
    for a, k in sorted(points):
        while len(kept) > 1:
            (b, m), (c, n) = kept[-2:]
            if (n - m) * (a - b) < (k - m) * (c - b):
                break
            kept.pop()
        if a > kept[-1][0]:
            kept.append((a, k))
    return kept


def _at(points: Sequence[_Point], order: Fraction) -> Fraction:
    """Return the value between points."""
    if len(points) == 1:
        return Fraction(0)
    after = max(bisect_left(points, (order,)), 1)
    (a, k), (b, m) = points[after - 1 : after + 1]
    return k + (m - k) * (order - a) / (b - a)


@dataclass(frozen=True, slots=True)
class Tangent:
    """(1) at a factor, in doubles, and the two outcomes that it is best for.

    Attributes:
        place: ln a >= 0.
        less: λ - 1.
        upper, lower: ln y_2 and ln y_1.
        value: ln c, about.
        lean: K' - κ' at λ: that a greater order allows less, if it is > 0.
    """

    place: float
    less: float
    upper: float
    lower: float
    value: float = 0.0
    lean: float = 0.0

    @property
    def gap(self) -> float:
        """The w of (1)."""
        return self.upper - self.lower

    @property
    def masses(self) -> tuple[float, float]:
        """The masses p and 1 - p."""
        within = -expm1(-self.gap)
        return -expm1(self.lower) / within, exp(self.lower) * -expm1(-self.upper) / within

    def moment(self, less: float) -> float:
        """Return ln(E_Q y^λ - 1), of 1 + less."""
        (first, off), grown = self.masses, less * self.upper
        if grown > _FAR / 2:
            return log(first) + grown
        found = first * expm1(grown) + off * expm1(less * self.lower)
        return log(found) if found > 0 else -inf


class WorstOutcomes:
    """Looks for the best tangents, in doubles.

    Args:
        known: What is allowed.
    """

    def __init__(self, known: Divergences) -> None:
        self._rho = float(known.rho)
        self._points = [(float(a) - 1, float(k)) for a, k in known.points]
        self._knots = [less for less, _ in self._points[1:]]
        self._aims = [_growth(self._kappa(less)[0]) for less in self._knots]
        self._pairs: dict[tuple[float, float], tuple[Tangent, Tangent]] = {}
        self._corner = self._about_one()

    def at(self, place: float) -> tuple[Tangent, ...]:
        """Return the best tangent at ln a >= 0; or two, below whose chord H is there.

        Where the first one's place is beyond, the other one is that of the reversed pair.
        """
        if place < self._corner.place:
            return self._corner, self._corner
        best = self._best(place)
        if not self._rho:
            pair = self._where_two_bind(best)
            if pair is not None and pair[0].place < place < pair[1].place:
                return pair
        return (best,)

    def _kappa(self, less: float) -> tuple[float, float]:
        """κ at 1 + less, and its slope there, of the left side."""
        value, slope = self._rho * (1 + less) * less, self._rho * (1 + 2 * less)
        for (a, k), (b, m) in pairwise(self._points):
            if less <= b:
                rise = (m - k) / (b - a)
                return value + k + rise * (less - a), slope + rise
        return value, slope

    def _best(self, place: float) -> Tangent:
        ends = self._knots
        if not ends:
            return self._turning(place, _LEAST, _MOST)
        found = [self._tangent(place, less) for less in ends]
        best = min(range(len(found)), key=lambda k: found[k].value)
        if not self._rho:
            return found[best]
        for k in (best, best + 1):
            if k < len(ends):
                low = ends[k - 1] if k else _LEAST
                found.append(self._turning(place, low, ends[k]))
        return min(found, key=lambda each: each.value)

    def _turning(self, place: float, low: float, high: float) -> Tangent:
        """Return the best one of orders between which κ is smooth."""

        def lean(place_of_less: float) -> float:
            less = exp(place_of_less)
            return self._tangent(place, less).lean / less

        if low == _LEAST and lean(log(_DOUBTFUL)) <= 0:
            return self._tangent(place, _LEAST)
        less = exp(_root(lean, log(max(low, _DOUBTFUL)), log(high), 1e-10))
        return self._tangent(place, float(f"{less:.9g}"))

    def _tangent(self, place: float, less: float) -> Tangent:
        """Return the best one of an order: where E_Q y^λ is M."""
        kappa, slope = self._kappa(less)
        aim = _growth(kappa)

        def excess(far: float) -> float:
            return _through(place, less, far).moment(less) - aim

        found = _through(place, less, _root(excess, -_FAR, log(_FAR)))
        (first, off), upper, lower = found.masses, found.upper, found.lower
        # Of p and 1 - p, tilted.
        one, two = first * exp(min(less * upper, _FAR)), off * exp(less * lower)
        lean = (one * upper + two * lower) / (one + two) - slope
        value = exp(min(kappa - less * upper, _FAR))
        value -= exp(-less * found.gap) * (1 - less * expm1(lower))
        scale = log1p(less) + log(-expm1(-less * found.gap))
        value = log(value) - scale if value > 0 else -inf
        return Tangent(place, less, upper, lower, value, lean)

    def _about_one(self) -> Tangent:
        """Return what is best for p = 1 - q = e^l / (1 + e^l), either way round."""
        found = []
        for less in [_LEAST] * (self._rho > 0) + self._knots:
            aim = _growth(self._kappa(less)[0])

            def excess(far: float, less: float = less, aim: float = aim) -> float:
                return Tangent(0.0, less, exp(far), -exp(far)).moment(less) - aim

            found.append((exp(_root(excess, -_FAR / 2, log(_FAR / 2))), less))
        loss, less = min(found)
        place = loss - _span(less) + log(expm1(-2 * (1 + less) * loss) / expm1(-2 * less * loss))
        return Tangent(place, less, loss, -loss)

    def _where_two_bind(self, tangent: Tangent) -> tuple[Tangent, Tangent] | None:
        """Return tangents of its order and of the one that its outcomes break most, if any.

        They are at outcomes for which both orders bind, the first place first.
        """
        broken = [tangent.moment(k) - aim for k, aim in zip(self._knots, self._aims, strict=True)]
        worst = max(range(len(broken)), key=broken.__getitem__)
        if broken[worst] < _CLOSE:
            return None
        key = tangent.less, self._knots[worst]
        if key not in self._pairs:
            ends = (self._leaving(tangent.place, *pair) for pair in (key, key[::-1]))
            one, two = sorted(ends, key=lambda each: each.place)
            self._pairs[key] = one, two
        return self._pairs[key]

    def _leaving(self, place: float, less: float, other: float) -> Tangent:
        """Return that of an order near a place where another order binds as well."""
        aim = _growth(self._kappa(other)[0])

        def excess(place: float) -> float:
            return self._tangent(place, less).moment(other) - aim

        ends = (self._corner.place, place) if less < other else (place, place + _BEYOND)
        return self._tangent(_root(excess, *ends), less)


def _through(place: float, less: float, far: float) -> Tangent:
    """Return that with ln y_1 = -e^far."""
    lower, order = -exp(far), 1 + less
    gap = place - lower
    for _ in range(_NEWTON):
        one, two = expm1(-less * gap), expm1(-order * gap)
        upper = place + _span(less) + log(one / two)
        slope = 1 + less * (1 + 1 / one) - order * (1 + 1 / two)
        step = (upper - lower - gap) / slope
        gap += step
        if abs(step) <= 1e-13 * gap:
            break
    return Tangent(place, less, upper, lower)


def _span(less: float) -> float:
    """ln λ / (λ - 1)."""
    return log1p(less) - log(less)


def _growth(kappa: float) -> float:
    """ln(e^κ - 1)."""
    if kappa <= 0:
        return -inf
    return kappa + log1p(-exp(-kappa)) if kappa > 1 else log(expm1(kappa))


def _root(
    function: Callable[[float], float], low: float, high: float, close: float = 1e-14
) -> float:
    """Return about where a function changes its sign, by false positions (Illinois); or an end."""
    at_low, at_high, kept = function(low), function(high), 0
    if (at_low > 0) == (at_high > 0):
        return low if abs(at_low) < abs(at_high) else high
    place = low
    for count in range(_TURNS):
        before, place = place, (low + high) / 2
        if count % 8 < 7 and abs(at_low) < inf and abs(at_high) < inf:
            place = low - at_low * (high - low) / (at_high - at_low)
        if abs(place - before) <= close * abs(place) or not low < place < high:
            break
        value = function(place)
        if (value > 0) == (at_low > 0):
            low, at_low, at_high, kept = place, value, at_high / (1 + (kept < 0)), -1
        else:
            high, at_high, at_low, kept = place, value, at_low / (1 + (kept > 0)), 1
    return place


class StatementProfile:
    """The most that divergences allow.

    Args:
        known: Of all runs together.
        below: What is had.
        single: The statement of a single run whose outcomes may be chosen by α; then lines are of
            the worst two.
    """

    def __init__(
        self, known: Divergences, below: BallProfile, single: Statement | None = None
    ) -> None:
        self._known, self._single, self._worst = known, single, WorstOutcomes(known)
        self._below = below

    @property
    def ends(self) -> Ends:
        """None is known."""
        return NO_ENDS

    def at(self, alpha: arb) -> ProfilePoint:
        """Evaluate at α > 0."""
        turned = alpha.mid() < 1
        factor = 1 / alpha if turned else alpha
        tangents = self._worst.at(max(float(factor.log().mid()), 0.0))
        if len(tangents) == 1:
            bound = self._above(tangents[0], factor)
        else:
            ends = [to_ball(Fraction(each.place)).exp() for each in tangents]
            values = [self._above(*each) for each in zip(tangents, ends, strict=True)]
            if tangents[0] is tangents[1]:
                ends[0], values[0] = 1 / ends[1], 1 - (1 - values[1]) / ends[1]
            share = (factor - ends[0]) / (ends[1] - ends[0])
            bound = values[0] + share * (values[1] - values[0])
        bound = min(1 - alpha + alpha * bound if turned else bound, arb(1), key=arb.upper)
        had = None if self._single is None else self._had(tangents[0], self._single)
        if had is None:
            point = self._below.at(alpha)
            return ProfilePoint(bound, point.first, point.second)
        p, q = had
        return ProfilePoint(bound, *((1 - q, 1 - p) if turned else (p, q)))

    def _above(self, tangent: Tangent, factor: arb) -> arb:
        """(1), at every number of a ball."""
        less, gap = to_ball(Fraction(tangent.less)), to_ball(Fraction(tangent.gap))
        kappa = less * to_ball(self._known.divergence(1 + Fraction(tangent.less)))
        part = -(-less * gap).expm1()
        upper = (factor * (1 + less) / less * part / -(-(1 + less) * gap).expm1()).log()
        own = (kappa - less * upper).exp() - (-less * gap).exp() * (
            1 - less * (upper - gap).expm1()
        )
        return own / ((1 + less) * part)

    def _had(self, tangent: Tangent, single: Statement) -> tuple[arb, arb] | None:
        """Two outcomes, by P(S) and Q(S), that a statement surely allows; None: it is not sure."""
        first, _ = tangent.masses
        p, turn = to_ball(Fraction(first)), to_ball(Fraction(tangent.upper))
        q = p * (-turn).exp()
        p -= to_ball(Fraction(_INWARD)) * (p - q)
        for pair in (((p, q), (1 - p, 1 - q)), ((1 - q, 1 - p), (q, p))):
            match single:
                case RenyiStatement(listed):
                    holds = all(
                        _tilted(pair, to_ball(a))[0] <= to_ball((a - 1) * d) for a, d in listed
                    )
                case ConcentratedStatement(rho):
                    holds = are_concentrated(pair, rho, 1 + Fraction(tangent.less))
            if not holds:
                return None
        return p, q


_Pair = tuple[tuple[arb, arb], tuple[arb, arb]]
"""(p, q) of the outcome of the greater loss, then of the other one."""


def are_concentrated(pair: _Pair, rho: Fraction, order: Fraction) -> bool:
    """Whether (2) surely holds, one way round, at 1 or where g' is 0, next to an order."""
    twice, half = 2 * to_ball(rho), arb(1) / 2

    def bent(place: arb) -> tuple[arb, arb, arb, arb]:
        """Return g, g', m and π."""
        value, slope, share, gap = _tilted(pair, place)
        grown, rise = twice * half * place * (place - 1) - value, twice * (place - half) - slope
        return grown, rise, twice - gap * gap * share * (1 - share), share

    _, start, bend, share = bent(arb(1))
    if not start >= 0:
        return False
    if share >= half and bend >= 0:
        return True
    _, rise, bend, _ = bent(to_ball(order))
    place = (to_ball(order) - rise / bend).mid()
    grown, rise, bend, share = bent(place)
    if not (place >= 1 and share >= half and bend >= 0):
        return False
    falls = bool(rise <= 0 and 2 * bend * grown >= rise * rise)
    return falls or bool(rise >= 0 and grown >= (place - 1) * rise)


def _tilted(pair: _Pair, order: arb) -> tuple[arb, arb, arb, arb]:
    """K, K', π and w of two outcomes at an order."""
    (upper, one), (lower, two) = (
        (loss, p * ((order - 1) * loss).exp()) for p, q in pair for loss in [(p / q).log()]
    )
    share = one / (one + two)
    return (one + two).log(), share * upper + (1 - share) * lower, share, upper - lower
