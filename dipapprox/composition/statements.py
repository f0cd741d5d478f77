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

g' >= 0 at 1, and w² <= 8 rho, so that g is convex, or there is a λ >= 1 where π >= 1/2,
m = g'' >= 0, and

    λ = 1,   or   0 <= (λ - 1) g' <= g,   or   g' <= 0 <= g and g'² <= 2 m g.                  (2)

For π grows with λ, so that g is concave at most between some λ' and λ'' where π (1 - π) is large,
and from λ'' on, as π >= 1/2 grows, g is convex and g'' grows. λ is there, and so g >= 0 on all of
it from 1 on: in the second case by the tangent at λ, which is least at 1, in the third before λ by
the tangent, and behind it by g + g' d + m d²/2. Before λ'' it is concave between numbers >= 0, the
first of which is g(1) = 0, or g(λ'), and up to λ' it is above its tangent at 1.

Source: Bun, Steinke, Concentrated differential privacy, 2016; Mironov, Rényi differential privacy,
2017; Canonne, Kamath, Steinke, The discrete Gaussian for differential privacy, 2020 (u = 0).

Two outcomes that each of many runs of a statement may have, so that all cost much together.

In: a statement, how often it is run, and where H is asked. Out: outcomes that surely keep it, found
in doubles: any that keep it are right. Few runs cost much more with them than with noise: two of
1/4-zCDP 4.719 for δ = 10^-5, where noise costs 4.377 and nothing more than 4.729.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from math import erfc, exp, inf, lgamma, log, log1p, pi, sqrt
from typing import Any, ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dipapprox.arithmetic.precision import to_ball
from dipapprox.composition.divergences import (
    Divergences,
    Statement,
    Tangent,
    WorstOutcomes,
    shift_of,
)
from dipapprox.composition.mechanisms import ConcentratedStatement, RenyiStatement
from dipapprox.composition.profile import NO_ENDS, BallProfile, Ends, ProfilePoint, up_to
from dipapprox.data_classes import replace

_INWARD = 2.0**-30  # by this part outcomes are moved to what surely is allowed


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

    ends: ClassVar[Ends] = NO_ENDS

    def at(self, alpha: arb) -> ProfilePoint:
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
            # Of a ball some numbers may lie beyond, where H is not below the chord: it falls by at
            # most as much as they differ.
            for beyond in (ends[0] - factor, factor - ends[1]):
                bound += up_to(beyond.max(arb(0)).upper())
        bound = min(1 - alpha + alpha * bound if turned else bound, arb(1), key=arb.upper)
        told = None if self._single is None else allowed(tangents[0], self._single)
        if told is None:
            point = self._below.at(alpha)
            return ProfilePoint(bound, point.first, point.second)
        p, q = map(to_ball, told[:2])
        return ProfilePoint(bound, *((1 - q, 1 - p) if turned else (p, q)))

    def _above(self, tangent: Tangent, factor: arb) -> arb:
        """(1), at every number of a ball."""
        order = self._known.order(tangent.less)
        less, gap = to_ball(order - 1), to_ball(Fraction(tangent.gap))
        kappa = less * to_ball(self._known.divergence(order))
        part = -(-less * gap).expm1()
        upper = (factor * (1 + less) / less * part / -(-(1 + less) * gap).expm1()).log()
        own = (kappa - less * upper).exp() - (-less * gap).exp() * (
            1 - less * (upper - gap).expm1()
        )
        return own / ((1 + less) * part)


def allowed(tangent: Tangent, single: Statement) -> tuple[Fraction, ...] | None:
    """Return two outcomes, by P(S) and Q(S), that a statement surely allows; None: it is not sure.

    Of zCDP two orders follow, at which (2) holds for them, and turned round.
    """
    first = tangent.masses[0]
    p, q = Fraction(first), Fraction(first * exp(-tangent.upper))
    p -= Fraction(_INWARD) * (p - q)
    if not 0 < q < p < 1:
        return None
    orders: list[Fraction] = []
    one, two = (to_ball(p), to_ball(q)), (to_ball(1 - p), to_ball(1 - q))
    for pair in ((one, two), (two[::-1], one[::-1])):
        match single:
            case RenyiStatement(listed):
                if not all(_tilted(pair, a)[0] <= to_ball((a - 1) * d) for a, d in listed):
                    return None
            case ConcentratedStatement(rho):
                order = concentrated_at(pair, rho, 1 + Fraction(tangent.less))
                if order is None:
                    return None
                orders.append(order)
    return p, q, *orders


_Pair = tuple[tuple[arb, arb], tuple[arb, arb]]
"""(p, q) of the outcome of the greater loss, then of the other one."""


def concentrated_at(pair: _Pair, rho: Fraction, order: Fraction) -> Fraction | None:
    """Return an order at which (2) surely holds, one way round: 1, or where g' is 0 about there."""
    twice = 2 * to_ball(rho)

    def bent(place: Fraction) -> tuple[arb, arb, bool]:
        """Return g', m, and whether (2) holds but for g' at 1."""
        value, slope, share, gap = _tilted(pair, place)
        bend = twice - gap * gap * share * (1 - share)
        grown = to_ball(rho * place * (place - 1)) - value
        rise = to_ball(rho * (2 * place - 1)) - slope
        near = (rise >= 0 and grown >= to_ball(place - 1) * rise) or (
            rise <= 0 and grown >= 0 and 2 * bend * grown >= rise * rise
        )
        behind = bool(2 * share >= 1 and bend >= 0) and (place == 1 or near)
        return rise, bend, behind or bool(gap * gap <= 4 * twice)

    start, _, holds = bent(Fraction(1))
    if not start >= 0 or holds:
        return Fraction(1) if start >= 0 else None
    rise, bend, _ = bent(order)
    moved = (to_ball(order) - rise / bend).mid()
    if not (moved.is_finite() and moved >= 1):
        return None
    place = Fraction(float(moved))
    return place if bent(place)[2] else None


def _tilted(pair: _Pair, order: Fraction) -> tuple[arb, arb, arb, arb]:
    """K, K', π and w of two outcomes at an order."""
    (upper, one), (lower, two) = (
        (loss, p * (to_ball(order - 1) * loss).exp()) for p, q in pair for loss in [(p / q).log()]
    )
    share = one / (one + two)
    return (one + two).log(), share * upper + (1 - share) * lower, share, upper - lower


_MOST_RUNS = 1_000
_LIKELY = 1e-5  # A δ where nobody asks for one
_FAR = 256.0
_TRIED, _ROUNDS = 12, 3
"""Places that are looked at between two, again and again."""


_PLACES = 800  # on either side of 0, of a law that tells which outcomes cost most together
Law = NDArray[Any]
_Told = tuple[Fraction, ...] | None
Asked = tuple[float | None, float | None]  # ε, or δ, if one is given


def worst_of_all(
    statements: Sequence[tuple[Statement, int]],
    square: Fraction,
    asked: Asked,
    *,
    always: bool = False,
) -> list[tuple[Fraction, ...] | None]:
    """Return for each statement two outcomes (`statements.allowed`); None: noise costs more.

    Outcomes that cost most together are tilted by about one order: so each statement's may be those
    of as many runs of it as have all divergence there; or they cost most alone. What is best of all
    that is tried, a statement after the other.

    Args:
        statements: What is kept, in so many runs.
        square: Of the shift of noise beside them.
        always: Whether noise is no choice, unless runs are very many.
    """
    noise = [(ConcentratedStatement(square / 2), 1)] if square else []
    known = Divergences.of([*statements, *noise])
    whole, (place, delta) = WorstOutcomes(known), asked
    if place is None:
        place = _where(lambda t: whole.at(t)[0].value > log(delta or _LIKELY))
    order, options = known.order(whole.at(place)[0].less), list[list[_Told]]()
    for statement, times in statements:
        own = Divergences.of([(statement, 1)]).divergence(order)
        alike = max(times, round(known.divergence(order) / own)) if own else times
        few = {worst_of_many(statement, n, asked, always) for n in (times, alike)} - {None}
        options.append([*few, *[None] * (not always or not few)])
    chosen: list[_Told] = [each[0] for each in options]
    if len(statements) == 1:
        return chosen
    unit = 2 * max(place, 1.0) / _PLACES

    def cost(told: Sequence[_Told]) -> float:
        shift, law = float(square), np.ones(1)
        for (statement, times), each in zip(statements, told, strict=True):
            if each is None:
                shift += times * float(shift_of(statement))
            else:
                law = _convolved(law, _binomial(float(each[0]), float(each[1]), times, unit))
        if shift:
            law = _convolved(law, _normal(shift, unit))
        losses = unit * (np.arange(len(law)) - len(law) // 2)
        return _asked(partial(_excess, law, losses), asked)

    for k, tried in enumerate(options):
        chosen[k] = max(tried, key=lambda each: cost([*chosen[:k], each, *chosen[k + 1 :]]))
    return chosen


def _binomial(p: float, q: float, times: int, unit: float) -> Law:
    """How likely are losses of so many runs, about, at multiples of a unit."""
    weights, losses = _runs(p, log(p / q), log1p(-p) - log1p(-q), times)
    places = np.clip(np.rint(losses / unit), -_PLACES, _PLACES).astype(int) + _PLACES
    found: Law = np.bincount(places, weights, 2 * _PLACES + 1)
    return found


def _normal(square: float, unit: float) -> Law:
    losses = unit * np.arange(-_PLACES, _PLACES + 1)
    masses = np.exp(-((losses - square / 2) ** 2) / (2 * square))
    found: Law = masses / max(masses.sum(), sqrt(2 * pi * square) / unit)
    return found


def _convolved(one: Law, other: Law) -> Law:
    """What is beyond an end is put there."""
    whole = np.convolve(one, other)
    cut = max(len(whole) // 2 - _PLACES, 0)
    found = whole[cut : len(whole) - cut].copy()
    found[0] += whole[:cut].sum()
    found[-1] += whole[len(whole) - cut :].sum()
    return found


def _runs(p: float, upper: float, lower: float, times: int) -> tuple[Law, Law]:
    """The masses of how often the outcome of mass p comes, and their losses."""
    counts = np.arange(times + 1.0)
    ways = np.array([lgamma(times + 1) - lgamma(k + 1) - lgamma(times - k + 1) for k in counts])
    weights = np.exp(ways + counts * log(p) + (times - counts) * log1p(-p))
    return weights, upper * counts + lower * (times - counts)


def _excess(weights: Law, losses: Law, loss: float) -> float:
    """H at e^loss."""
    return float(weights @ np.maximum(-np.expm1(np.minimum(loss - losses, 0)), 0))


@lru_cache(maxsize=64)
def worst_of_many(statement: Statement, times: int, asked: Asked, always: bool = False) -> _Told:
    """Return two outcomes of each of so many runs; None: noise costs more."""
    if times > _MOST_RUNS:
        return None
    one = WorstOutcomes(Divergences.of([(statement, 1)]))

    def cost(tangent: Tangent) -> float:
        runs = _runs(tangent.masses[0], tangent.upper, tangent.lower, times)
        return _asked(partial(_excess, *runs), asked)

    shift = sqrt(times * float(shift_of(statement)))
    least = _asked(lambda t: _noise(t, shift), asked) if shift else 0.0
    low, high, best = 0.0, _FAR, (-inf, Tangent(0.0, 0.0, 0.0, 0.0), 0.0)
    for _ in range(_ROUNDS):
        ratio = (high / max(low, high / 2**_TRIED)) ** (1 / _TRIED)
        for k in range(_TRIED + 1):
            for each in dict.fromkeys(one.at(high / ratio**k)):
                tangent = within(each, statement)
                if tangent is not None and (value := cost(tangent)) > best[0]:
                    best = value, tangent, high / ratio**k
        if not best[2]:
            return None
        low, high = best[2] / ratio, best[2] * ratio
    return allowed(best[1], statement) if always or best[0] > least else None


def within(tangent: Tangent, statement: Statement) -> Tangent | None:
    """Return outcomes that all orders allow, about: nearer to each other, if they have to be."""
    p = tangent.masses[0]
    q = p * exp(-tangent.upper)
    if not 0 < q < p < 1:
        return None
    if isinstance(statement, ConcentratedStatement):
        return tangent
    orders, most = np.array([[float(a), float(a - 1) * float(d)] for a, d in statement.orders]).T

    def fits(share: float) -> bool:
        r = q + (1 - share) * (p - q)
        upper, lower = log(p / r), log1p(-p) - log1p(-r)
        ways = ((log(p), upper), (log1p(-p), lower)), ((log1p(-r), -lower), (log(r), -upper))
        sums = (np.logaddexp(*(own + (orders - 1) * loss for own, loss in way)) for way in ways)
        return all((each <= most).all() for each in sums)

    low, high = 0.0, 1.0
    for _ in range(0 if fits(1.0) else 40):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    r = q + (1 - (low or 1.0)) * (p - q)
    return replace(tangent, upper=log(p / r), lower=log1p(-p) - log1p(-r))


def summed(statement: Statement, times: int) -> Statement:
    """Return what so many runs keep together."""
    match statement:
        case ConcentratedStatement(rho):
            return replace(statement, rho=rho * times)
        case RenyiStatement(orders):
            return replace(statement, orders=tuple((a, d * times) for a, d in orders))


def _asked(value: Callable[[float], float], asked: Asked) -> float:
    budget, delta = asked
    if budget is not None:
        return value(budget)
    return _where(lambda t: value(t) > (delta or _LIKELY))


def _where(above: Callable[[float], bool]) -> float:
    """Return up to where that is so."""
    low, high = 0.0, _FAR
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle) else (low, middle)
    return low


def _noise(loss: float, shift: float) -> float:
    """H of Gaussian noise."""
    place = loss / shift - shift / 2
    beyond = erfc((place + shift) / sqrt(2)) / 2
    return erfc(place / sqrt(2)) / 2 - (exp(loss) * beyond if beyond else 0.0)
