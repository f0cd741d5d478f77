"""Signs of functions of eps, found by the exact engine and written as steps of the kernel.

The kernel asks for signs while it runs; whoever writes a proof runs it with a `Finder`, which
answers by looking for a proof. What it finds are the steps that the kernel will need.

    rational zeros split off      factors eps - a, or a - eps
    squarefree parts              factors; even exponents need nothing more
    covers (`exact.signs.cover`)  pieces: rises near 0 and far away, boxes in between
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from dipapprox.errors import LimitReached
from dipapprox.exact.signs.cover import Cover
from dipapprox.exact.signs.interval import EpsilonInterval, split_point
from dipapprox.exact.signs.nonnegative import Nonnegative, is_nonnegative
from dipapprox.exact.signs.normal_form import NormalForm
from dipapprox.exact.signs.positive import Positive, positive_on
from dipapprox.exact.signs.zero import Zero
from dipapprox.exact.signs.zeros import Factors, zeros
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.exponentials import Sum
from dipapprox.kernel.signs import Epsilons, Piece, Sign, Signs, is_positive_on, product_is_signed
from dipapprox.limits import Limits
from dipapprox.proof_steps.machines import Json, number_json

_ORDERS = (2, 6, 16)
_MOST_BITS = 4096
_DEEPEST = 60
"""Bisections of one box, and steps towards 0 or infinity."""

_MOST_BOXES = 500
"""That are tried for one box of a cover: where a function nearly touches 0 no number is enough."""

_Factor = tuple[Sum, int, tuple[Piece, ...]]


class Finder(Signs):
    """Signs that are looked for.

    Args:
        epsilons: All that are meant.
        limits: Asked while they are looked for.

    Attributes:
        used: What was found and asked for, with its step; in the order of being asked for.
    """

    def __init__(self, epsilons: Epsilons, limits: Limits) -> None:
        super().__init__(epsilons)
        self.limits = limits
        self.used: dict[Sign, Json] = {}
        self._steps: dict[Sum, dict[Sign, Json]] = {}
        self._ranges: dict[Sum, list[Epsilons]] = {}

    def look_up(self, function: Sum, on: Epsilons, positive: bool) -> bool:
        """Find a proof, and note its step."""
        known = self._steps.setdefault(function, {})
        for sign, step in known.items():
            if sign.epsilons.holds(on.lower, on.upper) and (sign.positive or not positive):
                self.used[sign] = step
                return True
        wide = [each for each in self._ranges.get(function, ()) if each.holds(on.lower, on.upper)]
        for each in (*wide, on):
            found = self._found_on(function, each, positive)
            if found is not None:
                sign, step = found
                known[sign] = self.used[sign] = step
                return True
        return False

    def zeros(self, function: Sum) -> tuple[Zero, ...]:
        """Return where a function changes its sign."""
        _, part = function.parts()
        found = zeros(_polynomial(part), interval_of(self.epsilons), self.limits)
        return tuple(zero for zero in found.zeros if zero.changes_sign)

    def prefer(self, function: Sum, ranges: Sequence[Epsilons]) -> None:
        """Note where a function has one sign: proofs are looked for on all of such a range."""
        _, part = function.parts()
        for each in (part, part.scaled(Fraction(-1))):
            self._ranges[each] = list(ranges)

    def _found_on(self, function: Sum, on: Epsilons, positive: bool) -> tuple[Sign, Json] | None:
        polynomial, interval = _polynomial(function), interval_of(on)
        decide = positive_on if positive else is_nonnegative
        try:
            found = decide(polynomial, interval, self.limits)
            if not isinstance(found, Positive | Nonnegative) or found.factors is None:
                self.limits.check()
                return None
            factors = list(self._factors(found.factors, on))
            sign = product_is_signed(on, factors)
        except (NotProved, LimitReached, _Lost):
            self.limits.check()
            return None
        if sign.function != function or (positive and not sign.positive):
            return None
        return sign, sign_step(on, factors)

    def _factors(self, found: Factors, on: Epsilons) -> Iterator[_Factor]:
        negative = found.sign < 0
        for zero, multiplicity in found.rational_zeros:
            above = on.upper is not None and zero >= on.upper
            inside = on.lower < zero and not above
            slope = Fraction(-1 if above else 1)
            linear = Sum.of([((Fraction(0), 1), slope), ((Fraction(0), 0), -slope * zero)])
            negative ^= above and multiplicity % 2 == 1
            pieces: tuple[Piece, ...] = ()
            if zero > on.lower and not inside and zero != on.upper:
                pieces = tuple(_boxes(linear, on.lower, on.upper or zero, self.limits))
            elif zero <= on.lower:
                pieces = ((None, 1, 2),)
            yield linear, multiplicity, pieces
        for part in found.parts:
            function = _sum(part.form)
            if part.cover is None:
                yield function, part.exponent, ()
                continue
            if part.cover.first_sign < 0:
                function = function.scaled(Fraction(-1))
                negative ^= part.exponent % 2 == 1
            if part.cover.crossings:
                yield function, part.exponent, ()
                continue
            yield function, part.exponent, tuple(_pieces(function, part.cover, on, self.limits))
        if negative:
            raise _Lost


class _Lost(Exception):
    """No pieces that the kernel accepts are found."""


def interval_of(on: Epsilons) -> EpsilonInterval:
    """Return the same epsilons, as the exact engine knows them."""
    return EpsilonInterval(on.lower, on.upper, on.lower > 0, on.upper is not None)


def epsilons_json(on: Epsilons) -> Json:
    """Write an interval."""
    upper = None if on.upper is None else number_json(on.upper)
    return {"from": number_json(on.lower), "to": upper}


def sign_step(on: Epsilons, factors: Iterable[_Factor]) -> Json:
    """Write the step that concludes a sign."""
    written: list[Json] = []
    for factor, exponent, pieces in factors:
        powers = [(Fraction(c), n, Fraction(q)) for (q, n), c in factor.terms]
        terms: list[Json] = [[number_json(c), n, number_json(q)] for c, n, q in powers]
        listed: list[Json] = [
            [None if to is None else number_json(to), *numbers] for to, *numbers in pieces
        ]
        written.append({"terms": terms, "exponent": exponent, "pieces": listed})
    return {"rule": "sign", "from": [], "eps": epsilons_json(on), "factors": written}


def _polynomial(function: Sum) -> ExponentialPolynomial:
    return ExponentialPolynomial.of({(n, Fraction(q)): Fraction(c) for (q, n), c in function.terms})


def _sum(form: NormalForm) -> Sum:
    terms = form.function().terms
    return Sum.of(((q, n), c) for (n, q), c in terms)


def _pieces(function: Sum, cover: Cover, on: Epsilons, limits: Limits) -> Iterator[Piece]:
    """Turn a cover without crossings into pieces for a function that is > 0."""
    _, whole = function.parts()
    lower = on.lower
    if cover.near is not None:
        piece = _first_piece(whole, cover.near.upper, limits)
        yield piece
        assert piece[0] is not None
        yield from _boxes(whole, piece[0], cover.near.upper, limits)
        lower = cover.near.upper
    for box in cover.boxes:
        yield from _boxes(whole, box.lower, box.upper, limits)
        lower = box.upper
    if on.upper is None:
        start = _far(whole, lower, limits)
        yield from _boxes(whole, lower, start, limits)
        yield None, 1, 2


def _first_piece(whole: Sum, upper: Fraction, limits: Limits) -> Piece:
    for _ in range(_DEEPEST):
        found = _one_piece(whole, Fraction(0), upper, limits)
        if found is not None:
            return found
        upper /= 2
    raise _Lost


def _one_piece(whole: Sum, lower: Fraction, upper: Fraction, limits: Limits) -> Piece | None:
    longest = max(int(c).bit_length() for _, c in whole.terms)
    for order in _ORDERS:
        bits = 64 + longest
        while bits <= _MOST_BITS:
            limits.check()
            if is_positive_on(whole, Epsilons(lower, upper), order, bits):
                return upper, order, bits
            bits *= 8
    return None


def _boxes(whole: Sum, lower: Fraction, upper: Fraction, limits: Limits) -> Iterator[Piece]:
    waiting, tried = [(lower, upper, 0)] if lower < upper else [], 0
    while waiting:
        left, right, depth = waiting.pop()
        tried += 1
        if depth > _DEEPEST or tried > _MOST_BOXES:
            raise _Lost
        found = _one_piece(whole, left, right, limits)
        if found is not None:
            yield found
            continue
        middle = split_point(left, right)
        waiting += [(middle, right, depth + 1), (left, middle, depth + 1)]


def _far(whole: Sum, start: Fraction, limits: Limits) -> Fraction:
    """Return from where on rises show that a function is > 0."""
    for _ in range(_DEEPEST):
        limits.check()
        if is_positive_on(whole, Epsilons(start, None)) is not None:
            return start
        start = 2 * start if start else Fraction(1)
    raise _Lost
