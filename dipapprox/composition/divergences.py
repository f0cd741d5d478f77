"""The best tangents for statements about divergences, and the two outcomes that have them.

In: what is allowed. Out: for factors a, the λ and w of (1) in `statements`, guessed in doubles: any
are right.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil, exp, expm1, floor, inf, log, log1p, prod
from typing import TypeVar

from dipapprox.composition.mechanisms import ConcentratedStatement, RenyiStatement
from dipapprox.data_classes import Record

Statement = RenyiStatement | ConcentratedStatement
_LEAST = 2.0**-40  # of λ - 1; orders that bind at 1 are taken there, which is a part of 2**-40 off

_DOUBTFUL, _MOST = 2.0**-20, 2.0**30
"""Below the first, doubles do not tell whether a greater order allows less."""

_TURNS, _NEWTON = 100, 8
_FAR = 700.0  # of logarithms, where exponentials are still numbers
_NODES = 16  # places of a factor of e between which the best order is smooth enough for doubles

_CLOSE, _BEYOND = 1e-10, 50.0
"""What is no more counts as allowed; and how far away orders are thought to change."""

Point = tuple[Fraction, Fraction]
Number = TypeVar("Number", int, float, Fraction)

_ORIGIN: Point = (Fraction(1), Fraction(0))


class Divergences(Record):
    """κ(λ) = rho λ (λ-1) and what is straight between points."""

    rho: Fraction  # of zCDP, of all runs
    # (λ, κ of lists), ascending from (1, 0) to the last λ that is known of; if there is no other
    # point, all orders are known of.
    points: tuple[Point, ...]

    @classmethod
    def of(cls, statements: Sequence[tuple[Statement, int]]) -> Divergences:
        """Add up statements, each so often."""
        rho, chains = Fraction(0), list[tuple[list[Point], int]]()
        for statement, times in statements:
            match statement:
                case ConcentratedStatement(own):
                    rho += own * times
                case RenyiStatement(orders):
                    chains.append(
                        (lower_hull([_ORIGIN, *((a, (a - 1) * d) for a, d in orders)]), times)
                    )
        last = min((chain[-1][0] for chain, _ in chains), default=Fraction(1))
        places = sorted({a for chain, _ in chains for a, _ in chain if a <= last} | {last})
        return cls(
            rho, tuple((a, sum((n * _at(c, a) for c, n in chains), Fraction(0))) for a in places)
        )

    def order(self, less: float) -> Fraction:
        """1 + less, or the order of a list that is so in doubles; at most the last one."""
        orders, own = [a for a, _ in self.points[1:]], 1 + Fraction(less)
        return next((a for a in orders if float(a) - 1 == less), min([own, *orders[-1:]]))

    def divergence(self, order: Fraction) -> Fraction:
        """κ(λ) / (λ - 1), for an order that is known of."""
        return self.rho * order + _at(self.points, order) / (order - 1)


def shift_of(statement: Statement) -> Fraction:
    """Return the square of a shift of Gaussian noise for which the statement is true.

    Its divergence of every order λ is λ m² / 2.
    """
    match statement:
        case ConcentratedStatement(rho):
            return 2 * rho
        case RenyiStatement(orders):
            return min(2 * divergence / order for order, divergence in orders)


def lower_hull(points: Iterable[tuple[Number, Number]]) -> list[tuple[Number, Number]]:
    """Return the greatest convex chain below points, ascending in their places."""
    chain: list[tuple[Number, Number]] = []
    for x, y in sorted(dict(sorted(points, reverse=True)).items()):  # of equal places the least
        while len(chain) > 1:
            (a, b), (c, d) = chain[-2:]
            if (d - b) * (x - a) < (y - b) * (c - a):
                break
            chain.pop()
        chain.append((x, y))
    return chain


def slope(one: Point, two: Point) -> Fraction:
    """Return that of the line through two points."""
    return (two[1] - one[1]) / (two[0] - one[0])


def _at(points: Sequence[Point], order: Fraction) -> Fraction:
    if len(points) == 1:
        return Fraction(0)
    after = max(bisect_left(points, (order,)), 1)
    (a, k), (b, m) = points[after - 1 : after + 1]
    return k + (m - k) * (order - a) / (b - a)


class Tangent(Record):
    """(1) at a factor, in doubles, and the two outcomes that it is best for."""

    place: float  # ln a >= 0
    less: float  # λ - 1
    # ln y_2 and ln y_1.
    upper: float
    lower: float
    value: float = 0.0  # ln c, about
    lean: float = 0.0  # k' - κ' at λ: that a greater order allows less, if it is > 0

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


@lru_cache(maxsize=64)
class WorstOutcomes:
    """Looks for the best tangents, in doubles."""

    def __init__(self, known: Divergences) -> None:
        self._rho = float(known.rho)
        self._points = [(float(a) - 1, float(k)) for a, k in known.points]
        self._knots = [less for less, _ in self._points[1:]]
        self._kappas = [self._kappa(less)[0] for less in self._knots]
        self._aims = [*map(_growth, self._kappas)]
        self._pairs: dict[tuple[float, float], tuple[Tangent, Tangent]] = {}
        self._nodes: dict[int, float] = {}
        try:
            self._corner = self._about_one()
        except (ArithmeticError, ValueError):
            self._corner = self._markov(0.0)

    def at(self, place: float) -> tuple[Tangent, ...]:
        """Return the best tangent at ln a >= 0; or two, below whose chord H is there.

        Where the first one's place is beyond, the other one is that of the reversed pair.
        """
        if place < self._corner.place:
            return self._corner, self._corner
        try:
            best = self._best(place)
            pair = None if self._rho else self._where_two_bind(best)
        except (ArithmeticError, ValueError):  # beyond doubles
            return (self._markov(place),)
        if pair is not None and pair[0].place < place < pair[1].place:
            return pair
        return (best,)

    def _markov(self, place: float) -> Tangent:
        """Return that for y_1 = 0, about, which is the bound of Markov's inequality."""
        less = (place - self._rho) / (2 * self._rho) if self._rho else 0.0
        if self._knots:
            several = zip(self._knots, self._kappas, strict=True)
            less = min(several, key=lambda each: _markov(place, *each))[0]
        less = max(less, _DOUBTFUL)
        return Tangent(place, less, place + _span(less), -_FAR)

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
            return self._tangent(place, self._turn(place))
        best = min(range(len(ends)), key=lambda k: _markov(place, ends[k], self._kappas[k]))
        found = {best: self._tangent(place, ends[best])}
        while True:  # to the neighbours, as long as one of them is better
            for k in (best - 1, best + 1):
                if 0 <= k < len(ends) and k not in found:
                    found[k] = self._tangent(place, ends[k])
            after = min(found, key=lambda k: found[k].value)
            if after == best:
                break
            best = after
        if not self._rho:
            return found[best]
        turning = [
            self._turning(place, ends[k - 1] if k else _LEAST, ends[k])
            for k in (best, best + 1)
            if k < len(ends)
        ]
        return min([found[best], *turning], key=lambda each: each.value)

    def _turn(self, place: float) -> float:
        """Return the best λ - 1 of zCDP: about that of four places around (Lagrange)."""
        far = (place - self._rho) / (2 * self._rho)
        if self._rho * far * far > _FAR - 100:  # of Markov's inequality, beyond doubles
            return far
        turn, first = (log(each) * _NODES for each in (place, self._corner.place))
        start = max(floor(turn) - 1, ceil(first))
        near = [self._node(start + k) for k in range(4)]
        if min(near) <= _DOUBTFUL:
            return self._turning(place, _LEAST, _MOST).less
        shares = (prod((turn - start - m) / (k - m) for m in range(4) if m != k) for k in range(4))
        found = sum(share * less for share, less in zip(shares, near, strict=True))
        return float(f"{max(found, _DOUBTFUL):.12g}")

    def _node(self, number: int) -> float:
        if number not in self._nodes:
            place = exp(number / _NODES)
            self._nodes[number] = self._turning(place, _LEAST, _MOST).less
        return self._nodes[number]

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
        value = kappa - less * upper
        if abs(value) < _FAR:
            rest = exp(value) - exp(-less * found.gap) * (1 - less * expm1(lower))
            value = log(rest) if rest > 0 else value
        value -= log1p(less) + log(-expm1(-less * found.gap))
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


def _markov(place: float, less: float, kappa: float) -> float:
    """ln c for w = ∞."""
    return kappa - less * (place + _span(less)) - log1p(less)


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
