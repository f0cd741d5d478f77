"""Covers of a function by boxes, examined again in balls.

G = Σ c ε^n e^(-jρε) is expanded around the middle of a box by flint's polynomials; the last term of
Taylor's formula is taken on the whole box. Where that does not tell the sign, the box is bisected.
"""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from flint import arb, arb_poly

from dipapprox.certificates.proofs import Argument, Box, Cover, Factor, FarAway, NearZero
from dipapprox.checking.claims import Interval
from dipapprox.checking.values import Stuck
from dipapprox.digits import brief_text
from dipapprox.exponentials import power
from dipapprox.limits import Limits
from dipapprox.numerics.precision import precision, to_ball

Terms = dict[tuple[int, int], int]
"""(n, j) -> c != 0."""

_ORDERS = (3, 12)
"""Of Taylor's formula."""

_MOST_PIECES = 400
"""Of one box, before the precision is raised."""

_MOST_BITS = 2**14
_EVEN, _ODD = arb(0.5, 0.5), arb(0, 1)


class Refuted(Exception):
    """Something that is recorded is false; the message says what."""


def examine(part: Factor, cover: Cover, interval: Interval, limits: Limits) -> tuple[int, bool]:
    """Go through a cover of an interval that is no point.

    Returns:
        (the sign of G at the lower end of the interval, or just above 0; whether G has a zero).

    Raises:
        Refuted: If the cover says something false, or does not cover the interval.
        Stuck: If its truth cannot be told.
        LimitReached: If `limits` run out.
    """
    terms = terms_of(part)
    signs: list[int] = []
    position = interval.lower
    if not position:
        if cover.near_zero is None:
            raise Refuted("nothing is said of ε near 0")
        _near_zero(terms, part.rate, cover.near_zero, limits)
        position = cover.near_zero.upper
        signs.append(cover.near_zero.sign)
    for box in cover.boxes:
        if box.lower != position or box.upper <= position:
            raise Refuted(f"a box begins at {brief_text(box.lower)}, not at {brief_text(position)}")
        _box(terms, part.rate, box, limits)
        position = box.upper
        signs.append(box.sign)
    if interval.upper is None:
        if cover.far_away is None or cover.far_away.lower != position:
            raise Refuted(f"nothing is said of ε beyond {brief_text(position)}")
        _far_away(terms, part.rate, cover.far_away)
        signs.append(cover.far_away.sign)
    elif position != interval.upper:
        raise Refuted(
            f"the boxes end at {brief_text(position)}, not at {brief_text(interval.upper)}"
        )
    return signs[0], any(box.argument is Argument.CROSSING for box in cover.boxes)


def terms_of(part: Factor) -> Terms:
    """Return the terms of a factor.

    Raises:
        Refuted: If they are not in order: an exponent twice, a coefficient 0, a rate <= 0.
    """
    terms = {(n, j): c.numerator for c, n, j in part.terms}
    if len(terms) < len(part.terms) or not all(terms.values()) or not terms or part.rate <= 0:
        raise Refuted("a factor is malformed")
    return terms


def _near_zero(terms: Terms, rate: Fraction, near: NearZero, limits: Limits) -> None:
    if near.upper <= 0:
        raise Refuted("the range near 0 is empty")
    for _ in range(near.order):
        limits.check()
        if _at_zero(terms):
            raise Refuted(f"a derivative below order {near.order} is not 0 at 0")
        terms = _derivative(terms, rate)
        if not terms:
            raise Refuted("all derivatives are 0")
    value = _at_zero(terms)
    if (value > 0) - (value < 0) != near.sign or not value:
        raise Refuted("the sign near 0 is another one")
    _constant_sign(terms, rate, Fraction(0), near.upper, near.sign, limits)


def _box(terms: Terms, rate: Fraction, box: Box, limits: Limits) -> None:
    if box.argument is Argument.CONSTANT:
        _constant_sign(terms, rate, box.lower, box.upper, box.sign, limits)
        return
    ends = [sign_at(terms, rate, end, limits) for end in (box.lower, box.upper)]
    match box.argument:
        case Argument.MONOTONE:
            expected = [box.sign, box.sign]
        case Argument.CROSSING:
            expected = [box.sign, -box.sign]
        case _:
            assert_never(box.argument)
    if ends != expected:
        where = f"{brief_text(box.lower)} and {brief_text(box.upper)}"
        raise Refuted(f"the signs at {where} are {ends[0]} and {ends[1]}")
    slope = _derivative(terms, rate)
    middle = (box.lower + box.upper) / 2
    _constant_sign(slope, rate, box.lower, box.upper, sign_at(slope, rate, middle, limits), limits)


def _far_away(terms: Terms, rate: Fraction, far: FarAway) -> None:
    leading = max((n for n, j in terms if j == 0), default=None)
    if leading is None or min(j for _, j in terms) < 0:
        raise Refuted("a factor has no leading term")
    c = terms[leading, 0]
    if (1 if c > 0 else -1) != far.sign or far.lower <= 0:
        raise Refuted("the sign far away is another one")
    against = {(n - leading, j): abs(d) for (n, j), d in terms.items() if d * c < 0}
    # ε^i e^(-jρε) does not increase from i / (jρ) on.
    if any(far.lower * j * rate < i for i, j in against):
        raise Refuted(f"some term still grows at {brief_text(far.lower)}")
    bits = 64
    while True:
        with precision(bits):
            x = to_ball(far.lower)
            total = to_ball(-abs(c))
            for (i, j), d in against.items():
                total += x**i * (-x * to_ball(rate * j)).exp() * d
            if total < 0:
                return
            if total > 0:
                raise Refuted(
                    f"the leading term does not outweigh the others at {brief_text(far.lower)}"
                )
        bits = _more(bits)


def sign_at(terms: Terms, rate: Fraction, point: Fraction, limits: Limits) -> int:
    """The sign at a rational ε > 0: 0 exactly if the coefficient of each exponential is 0 there."""
    rows: dict[int, Fraction] = {}
    for (n, j), c in terms.items():
        rows[j] = rows.get(j, Fraction(0)) + c * power(point, n)
    bits = 64
    while any(rows.values()):
        limits.check()
        with precision(bits):
            x = to_ball(point)
            total = arb(0)
            for j, row in rows.items():
                total += to_ball(row) * (-x * to_ball(rate * j)).exp()
            if total > 0:
                return 1
            if total < 0:
                return -1
        bits = _more(bits)
    return 0


def _constant_sign(
    terms: Terms, rate: Fraction, lower: Fraction, upper: Fraction, sign: int, limits: Limits
) -> None:
    """Make sure that G has the sign on all of [lower, upper].

    Raises:
        Refuted: If it has another one somewhere.
        Stuck: If that cannot be told.
    """
    ends = f"[{brief_text(lower)}, {brief_text(upper)}]"
    expected = f"a function does not have the sign {sign} on {ends}"
    if not sign:
        raise Refuted(expected)
    bits, pieces = 64 + max(map(abs, terms.values())).bit_length(), 0
    waiting = [(lower, upper)]
    while waiting:
        limits.check()
        left, right = waiting.pop()
        found = 0
        for order in _ORDERS:
            found = found or _sign_on(terms, rate, left, right, order, bits)
        if found == -sign:
            raise Refuted(expected)
        if found:
            continue
        pieces += 1
        if pieces > _MOST_PIECES:
            bits, pieces = _more(bits), 0
        middle = (left + right) / 2
        if middle and sign_at(terms, rate, middle, limits) != sign:
            raise Refuted(expected)
        waiting += [(middle, right), (left, middle)]


def _sign_on(
    terms: Terms, rate: Fraction, lower: Fraction, upper: Fraction, order: int, bits: int
) -> int:
    """The sign of G on [lower, upper] if Taylor's formula shows that it is constant; else 0."""
    with precision(bits):
        radius = to_ball((upper - lower) / 2)
        near = _taylor(terms, rate, to_ball((lower + upper) / 2), order - 1)
        far = _taylor(terms, rate, to_ball(lower).union(to_ball(upper)), order)
        total = near[0]
        for i, coefficient in enumerate([*near[1:], far[order]], start=1):
            total += coefficient * radius**i * (_ODD if i % 2 else _EVEN)
        return 1 if total > 0 else -1 if total < 0 else 0


def _taylor(terms: Terms, rate: Fraction, x: arb, order: int) -> list[arb]:
    """G^(i)(x) / i! for i = 0, …, order."""
    rows: dict[int, dict[int, int]] = {}
    for (n, j), c in terms.items():
        rows.setdefault(j, {})[n] = c
    shift = arb_poly([x, 1])
    total = [arb(0)] * (order + 1)
    for j, row in rows.items():
        polynomial = arb_poly([row.get(n, 0) for n in range(max(row) + 1)])(shift)
        step = -j * to_ball(rate)
        exponential = [(step * x).exp()]
        for i in range(1, order + 1):
            exponential.append(exponential[-1] * step / i)
        product = polynomial * arb_poly(exponential)
        total = [total[i] + product[i] for i in range(order + 1)]
    return total


def _derivative(terms: Terms, rate: Fraction) -> Terms:
    """G' times the denominator of the rate."""
    total: Terms = {}
    for (n, j), c in terms.items():
        total[n, j] = total.get((n, j), 0) - j * rate.numerator * c
        if n:
            total[n - 1, j] = total.get((n - 1, j), 0) + n * rate.denominator * c
    return {key: c for key, c in total.items() if c}


def _at_zero(terms: Terms) -> int:
    return sum(c for (n, _), c in terms.items() if not n)


def _more(bits: int) -> int:
    if bits > _MOST_BITS:
        raise Stuck(f"{bits} bits do not tell the sign of a function")
    return 4 * bits
