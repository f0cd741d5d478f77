"""Signs and enclosures of exponential polynomials at one rational ε.

The value is Σ c e^r with distinct rational r. It is 0 exactly if the sum is empty (Lindemann and
Weierstrass); otherwise balls of enough bits tell its sign. The largest exponential is divided out
first, so that no intermediate number is large.

A `NormalForm`, its derivatives and their ranges are evaluated in balls of as many bits as it takes.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, arb_poly, fmpz

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed, short
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.errors import LimitReached
from dipapprox.exact.signs.normal_form import NormalForm
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.limits import check_limits

Powers = dict[int, arb]  # j -> e^(-jρx)
START_BITS = 64
MOST_BITS = 2**18  # values that need more are given up ("precision-budget")
_ACCURATE = 12  # relative bits wanted of the value at the middle of a box, where it is never 0


class Evaluator:
    """G and its derivatives at balls. Derivatives are made when first used, then kept."""

    __slots__ = ("_derivatives", "_rows", "denominator", "form")

    def __init__(self, form: NormalForm) -> None:
        self.form = form
        self.denominator = form.rate.denominator
        self._derivatives = [form]
        self._rows = [_rows(form)]

    def derivative(self, order: int) -> NormalForm:
        """G^(order) times denominator^order, exact."""
        while len(self._derivatives) <= order:
            self._derivatives.append(self._derivatives[-1].derivative())
            self._rows.append(_rows(self._derivatives[-1]))
        return self._derivatives[order]

    def powers(self, x: arb) -> Powers:
        """The exponentials at a point or on an interval, at the current precision."""
        rate = self.form.rate
        exponent = x * -rate.numerator
        if rate.denominator != 1:
            exponent = exponent / rate.denominator
        return {j: (exponent * j).exp() for j, _ in self._rows[0]}

    def value(self, order: int, x: arb, powers: Powers) -> arb:
        """Enclose G^(order) * denominator^order at x, at the current precision."""
        self.derivative(order)
        total = arb(0)
        for j, row in self._rows[order]:
            total += powers[j] * (row(x) if isinstance(row, arb_poly) else row)
        return total

    def sign(self, point: Fraction) -> int:
        """The sign at a rational point where G is not 0."""
        bits = START_BITS
        while True:
            with precision(bits):
                x = to_ball(point)
                value = self.value(0, x, self.powers(x))
                if value > 0:
                    return 1
                if value < 0:
                    return -1
            bits = more_bits(bits, point)

    def on_box(self, lower: Fraction, upper: Fraction, order: int) -> tuple[int, int]:
        """The signs of G and of G' on [lower, upper], each 0 if not shown to be constant.

        With m the middle, r half the width, |h| <= r and K the order, Taylor's formula says
        G(m + h) = Σ_(i<K) G^(i)(m) h^i / i! + G^(K)(ξ) h^K / K!, likewise for G' with K - 1, and
        h^i lies in [-r^i, r^i], in [0, r^i] if i is even. The second sign is only looked for when
        the first is 0.

        Args:
            lower: > 0; the middle of the box is not a zero of G.
            upper: > `lower`.
            order: >= 2. High orders help where large terms cancel.
        """
        middle, radius = (lower + upper) / 2, (upper - lower) / 2
        bits = START_BITS
        while True:
            with precision(bits):
                x, step = to_ball(middle), to_ball(radius) / self.denominator
                powers = self.powers(x)
                total = self.value(0, x, powers)
                if total.rel_accuracy_bits() >= _ACCURATE:
                    slope, scale = arb(0), arb(1)
                    for i in range(1, order + 1):
                        if i == order:
                            x = _hull(lower, upper)
                            powers = self.powers(x)
                        scale = scale * step / i
                        term = self.value(i, x, powers) * scale
                        total += term * (_ODD if i % 2 else _EVEN)
                        slope += term if i == 1 else term * i * (_EVEN if i % 2 else _ODD)
                    sign = _sign(total)
                    return (sign, 0) if sign else (0, _sign(slope))
            bits = more_bits(bits, middle)

    def constant_near_zero(self, order: int, upper: Fraction) -> bool:
        """Whether G^(order) is shown to have no zero in [0, upper], by its mean value form.

        If it is not 0 at 0 this succeeds for small `upper`: its value is an integer there, and
        the bits are enough for the terms, however large, to leave an error below 1.
        """
        largest = sum(map(abs, self.derivative(order).polynomial.coeffs()))
        with precision(START_BITS + int(largest).bit_length()):
            step = to_ball(upper / 2)
            box = _hull(Fraction(0), upper)
            slope = self.value(order + 1, box, self.powers(box)) * step / self.denominator
            middle = self.value(order, step, self.powers(step))
            return _sign(middle + slope * _ODD) != 0


_ODD = arb(0, 1)  # h^i for |h| <= 1 and odd i
_EVEN = arb(0.5, 0.5)  # and for even i > 0


def more_bits(bits: int, point: Fraction) -> int:
    check_limits()
    if 2 * bits > MOST_BITS:
        near, _ = short(Enclosure.exact(point))
        raise LimitReached(f"precision-budget: {bits} bits do not decide near eps = {near}")
    return 2 * bits


def _hull(lower: Fraction, upper: Fraction) -> arb:
    return to_ball(lower).union(to_ball(upper))


def _sign(ball: arb) -> int:
    return 1 if ball > 0 else -1 if ball < 0 else 0


def _rows(form: NormalForm) -> list[tuple[int, arb_poly | fmpz]]:
    rows = ((j, row.coeffs()) for j, row in sorted(form.rows().items()))
    return [(j, row[0] if len(row) == 1 else arb_poly(row)) for j, row in rows]


Function = ExponentialPolynomial | ExponentialRatio


def sign_at(function: Function, eps: Fraction) -> int:
    """Return the exact sign at `eps` > 0, 0 included; ZeroDivisionError at a pole."""
    if isinstance(function, ExponentialRatio):
        sign = sign_at(function.numerator, eps)
        for factor, exponent in function.denominator:
            below = sign_at(factor, eps)
            if not below:
                raise ZeroDivisionError(f"the denominator is 0 at {eps}")
            sign *= below if exponent % 2 else 1
        return sign
    value = function.at(eps)
    if all(c > 0 for _, c in value.terms):
        return 1 if value else 0
    bits = START_BITS
    while True:
        with precision(bits):
            total, _ = _scaled_sum(value)
            if total > 0:
                return 1
            if total < 0:
                return -1
        bits = more_bits(bits, eps)


def compare_at(left: Function, right: Function, eps: Fraction) -> int:
    """Return the exact sign of left - right at `eps` > 0."""
    return sign_at(difference(left, right), eps)


def enclose_at(function: Function, eps: Fraction, bits: int) -> Enclosure | NotEnclosed:
    """Enclose the value at `eps` > 0, with relative width at most 2^-bits.

    Values beyond 2^±65536 are the exception: they have a wide enclosure or none. ZeroDivisionError
    where a denominator is 0.
    """
    value = as_ratio(function).at(eps)
    exact = value.numerator.as_constant()
    if exact is not None and (not exact or not value.denominator):
        return Enclosure.exact(exact)
    working = max(START_BITS, bits + 32)
    while True:
        with precision(working):
            total = ball_at(value)
            if total.rel_accuracy_bits() >= bits + 2:
                return to_enclosure(total)
        working = more_bits(working, eps)


def ball_at(value: ExponentialRatio) -> arb:
    """Return a ball around a value without powers, at ε' = 1, at the current precision."""
    if not value.numerator:
        return arb(0)
    total, exponent = _scaled_sum(value.numerator)
    for factor, power in value.denominator:
        below, shift = _scaled_sum(factor)
        total, exponent = total / below**power, exponent - shift * power
    return total * to_ball(exponent).exp()


def enclose_on(ratio: ExponentialRatio, lower: Fraction, upper: Fraction) -> Enclosure | None:
    """Enclose the values on [lower, upper], 0 < lower <= upper; None if the range is too wide.

    The bits follow the width of the range: shrinking ranges have shrinking enclosures.
    """
    width = upper - lower
    narrow = width.denominator.bit_length() - width.numerator.bit_length()
    with precision(START_BITS + 2 * max(narrow, 0)):
        x = to_ball(lower).union(to_ball(upper))
        value = _range(ratio.numerator, x)
        for factor, exponent in ratio.denominator:
            value = value / _range(factor, x) ** exponent
        enclosure = to_enclosure(value)
    return None if isinstance(enclosure, NotEnclosed) else enclosure


def _range(function: ExponentialPolynomial, x: arb) -> arb:
    total = arb(0)
    for (n, q), c in function.terms:
        total += to_ball(c) * x**n * (x * to_ball(q)).exp()
    return total


def difference(left: Function, right: Function) -> Function:
    """left - right; a polynomial if both are."""
    if isinstance(left, ExponentialPolynomial) and isinstance(right, ExponentialPolynomial):
        return left - right
    return as_ratio(left) - as_ratio(right)


def as_ratio(function: Function) -> ExponentialRatio:
    return function if isinstance(function, ExponentialRatio) else ExponentialRatio(function)


def _scaled_sum(value: ExponentialPolynomial) -> tuple[arb, Fraction]:
    """Σ c e^r as (ball, exponent): the sum is ball * e^exponent."""
    top = value.terms[-1][0][1]
    total = arb(0)
    for (_, rate), c in value.terms:
        total += to_ball(c) if rate == top else to_ball(c) * to_ball(rate - top).exp()
    return total, top
