"""Is an exponential polynomial of a real variable positive anywhere on an interval? Exactly.

A function h(u) = Σ C u^m e^(bu) has coefficients C that are values of exponential ratios, Σ c e^q
with rational q over such sums: whether such a number is 0 can be seen (Lindemann), so its sign is
decidable. That answers

    coefficients   none is left: h is identically 0
    ends           the first derivative that is not 0 at a rational end gives the sign next to it
    far away       the term with the greatest rate, and power, gives the sign beyond some number

Between the ends h < 0 is proved in balls, by bisection: h(X) lies in h(x) + h'(X) (X - x), x the
middle of X. Next to an end where the derivatives before the k-th vanish, h has the sign of the k-th
one (times that of (u - end)^k) as long as that has one sign, by Taylor's theorem.

Beyond t = T, T >= 1 measured from the last mark, the leading term C t^m e^(bt) exceeds all others
together if it does at T and T >= (m' - m) / (b - b') for each other term with m' > m: the quotients
t^(m' - m) e^((b' - b) t) do not grow there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import comb

from flint import arb

from dipapprox.arithmetic.precision import give_way, precision, to_ball
from dipapprox.errors import LimitReached
from dipapprox.events.event import Interval
from dipapprox.exact.signs.values import ball_at, sign_at
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.limits import check_limits

Coefficients = Mapping[tuple[int, int], ExponentialRatio]
"""(b, m) -> the coefficient of u^m e^(bu), a value at ε' = 1 without powers; none is 0."""

_ONE = Fraction(1)
_PRECISIONS = (128, 512)
_DEEPEST = 60
_MOST_BOXES = 20_000
_FARTHEST = Fraction(2**20)


def added(terms: Iterable[tuple[tuple[int, int], ExponentialRatio]]) -> Coefficients:
    """Add up the coefficients of equal terms, and leave out those that are 0."""
    found: dict[tuple[int, int], ExponentialRatio] = {}
    for key, c in terms:
        found[key] = found[key] + c if key in found else c
    return {key: c for key, c in found.items() if c.numerator}


def is_positive_somewhere(function: Coefficients, where: Interval) -> bool:
    """Decide whether h > 0 anywhere inside an interval; LimitReached near a double zero, say."""
    lower, upper = where
    if not function:
        return False
    if lower is None and upper is None:
        sides: tuple[Interval, ...] = (None, Fraction(0)), (Fraction(0), None)
        return any(is_positive_somewhere(function, side) for side in sides)
    if lower is None:
        assert upper is not None
        return is_positive_somewhere(_mirrored(function), (-upper, None))
    function = _shifted(function, lower)
    if upper is not None:
        return _is_positive_within(function, upper - lower)
    leading = max(function)
    if sign_at(function[leading], _ONE) > 0:
        return True
    return _is_positive_within(function, _far(function, leading))


def _mirrored(function: Coefficients) -> Coefficients:
    """u -> h(-u)."""
    return {(-b, m): -c if m % 2 else c for (b, m), c in function.items()}


def _shifted(function: Coefficients, by: Fraction) -> Coefficients:
    """t -> h(t + by)."""
    if not by:
        return function
    return added(
        ((b, j), c * _exponential(b * by, comb(m, j) * by ** (m - j)))
        for (b, m), c in function.items()
        for j in range(m + 1)
    )


def _exponential(rate: Fraction, factor: Fraction | int = 1) -> ExponentialRatio:
    return ExponentialRatio(ExponentialPolynomial.monomial(factor, rate=rate))


def _derivative(function: Coefficients) -> Coefficients:
    return added(
        (key, c * ExponentialRatio.constant(factor))
        for (b, m), c in function.items()
        for key, factor in (((b, m), b), ((b, m - 1), m))
        if factor
    )


def _at(function: Coefficients, place: Fraction) -> ExponentialRatio:
    total = ExponentialRatio.constant(0)
    for (b, m), c in function.items():
        if m and not place:
            continue
        total = total + c * _exponential(b * place, place**m)
    return total.at(_ONE)


def _far(function: Coefficients, leading: tuple[int, int]) -> Fraction:
    """A place beyond which the sign is that of the leading term."""
    b, m = leading
    place = max([_ONE, *(Fraction(n - m, b - a) for a, n in function if n > m and a < b)])
    while True:
        check_limits()
        with precision(_PRECISIONS[0]):
            t = to_ball(place)
            rest = arb(0)
            for (a, n), c in function.items():
                if (a, n) != leading:
                    rest += abs(ball_at(c)) * t ** (n - m) * (t * (a - b)).exp()
            if rest < abs(ball_at(function[leading])):
                return place
        place *= 2
        if place > _FARTHEST:
            raise LimitReached("precision-budget: a density has no sign far away that is seen")


def _is_positive_within(function: Coefficients, length: Fraction) -> bool:
    """Decide whether h > 0 anywhere on (0, length)."""
    # e^(-fastest u) > 0 moves no sign; no term grows then, so boxes where others fade are few.
    fastest = max(b for b, _ in function)
    derivatives: list[Coefficients] = [{(b - fastest, m): c for (b, m), c in function.items()}]
    orders = []
    for end in (Fraction(0), length):
        order = 0
        while not (sign := sign_at(_at(derivatives[order], end), _ONE)):
            order += 1
            if order == len(derivatives):
                derivatives.append(_derivative(derivatives[-1]))
        if (sign if not end or order % 2 == 0 else -sign) > 0:
            return True
        orders.append(order)
    for order in range(len(derivatives), max(orders) + 2):
        derivatives.append(_derivative(derivatives[order - 1]))
    for bits in _PRECISIONS:
        with precision(bits):
            found = _searched(derivatives, length, orders)
        if found is not None:
            return found
    raise LimitReached("precision-budget: two densities nearly touch, or do, at some number")


def _searched(derivatives: list[Coefficients], length: Fraction, orders: list[int]) -> bool | None:
    """Decide whether h is positive on (0, length) by bisection in balls; None if they do not tell.

    At either end the derivative of an order is the first that is not 0; h is negative next to it.
    """
    balls = [[(b, m, ball_at(c)) for (b, m), c in function.items()] for function in derivatives]

    def value(order: int, u: arb) -> arb:
        return sum((c * u**m * (u * b).exp() for b, m, c in balls[order]), arb(0))

    waiting = [(0, 0)]
    boxes = 0
    while waiting:
        check_limits()
        give_way()
        depth, place = waiting.pop()
        boxes += 1
        part = length / 2**depth
        low, high = place * part, (place + 1) * part
        middle = to_ball((low + high) / 2)
        at_start, at_end = place == 0, place + 1 == 1 << depth
        if not (at_start and at_end and any(orders)):
            order = orders[0] if at_start else orders[1] if at_end else 0
            whole = to_ball(low).union(to_ball(high))
            there = value(order, middle) + value(order + 1, whole) * (whole - middle)
            if -there > 0 if at_start or order % 2 == 0 else there > 0:
                continue  # h < 0 is proved inside
        if value(0, middle) > 0:
            return True
        if depth == _DEEPEST or boxes == _MOST_BOXES:
            return None
        waiting += [(depth + 1, 2 * place), (depth + 1, 2 * place + 1)]
    return False
