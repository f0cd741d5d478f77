"""Balls around values, derivatives and ranges of a `NormalForm`, with as many bits as it takes."""

from __future__ import annotations

from fractions import Fraction

from flint import arb, arb_poly, fmpz

from dipapprox.arithmetic.decimals import short
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.errors import LimitReached
from dipapprox.exact.signs.normal_form import NormalForm
from dipapprox.limits import Limits

Powers = dict[int, arb]
"""j -> e^(-jρx)."""

START_BITS = 64
MOST_BITS = 2**18
"""Values that need more are given up ("precision-budget")."""

_ACCURATE = 12
"""Relative bits wanted of the value at the middle of a box, where it is never 0."""


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
        return {j: (exponent * j).exp() for j, _ in self.form.groups}

    def value(self, order: int, x: arb, powers: Powers) -> arb:
        """Enclose G^(order) * denominator^order at x, at the current precision."""
        self.derivative(order)
        total = arb(0)
        for j, row in self._rows[order]:
            total += powers[j] * (row(x) if isinstance(row, arb_poly) else row)
        return total

    def sign(self, point: Fraction, limits: Limits) -> int:
        """The sign at a rational point where G is not 0.

        Raises:
            LimitReached: If the bits or the time are used up.
        """
        bits = START_BITS
        while True:
            with precision(bits):
                x = to_ball(point)
                value = self.value(0, x, self.powers(x))
                if value > 0:
                    return 1
                if value < 0:
                    return -1
            bits = more_bits(bits, point, limits)

    def on_box(
        self, lower: Fraction, upper: Fraction, order: int, limits: Limits
    ) -> tuple[int, int]:
        """The signs of G and of G' on [lower, upper], each 0 if not shown to be constant.

        With m the middle, r half the width, |h| <= r and K the order, Taylor's formula says
        G(m + h) = Σ_(i<K) G^(i)(m) h^i / i! + G^(K)(ξ) h^K / K!, likewise for G' with K - 1, and
        h^i lies in [-r^i, r^i], in [0, r^i] if i is even. The second sign is only looked for when
        the first is 0.

        Args:
            lower: > 0; the middle of the box is not a zero of G.
            upper: > `lower`.
            order: >= 2. High orders help where large terms cancel.
            limits: Asked before the precision is raised.
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
            bits = more_bits(bits, middle, limits)

    def constant_near_zero(self, order: int, upper: Fraction) -> bool:
        """Whether G^(order) is shown to have no zero in [0, upper], by its mean value form.

        If it is not 0 at 0 this succeeds for small `upper`: its value is an integer there, and
        the bits are enough for the terms, however large, to leave an error below 1.
        """
        terms = self.derivative(order).groups
        largest = sum(abs(c) for _, row in terms for c in row)
        with precision(START_BITS + largest.bit_length()):
            step = to_ball(upper / 2)
            box = _hull(Fraction(0), upper)
            slope = self.value(order + 1, box, self.powers(box)) * step / self.denominator
            middle = self.value(order, step, self.powers(step))
            return _sign(middle + slope * _ODD) != 0


_ODD = arb(0, 1)  # h^i for |h| <= 1 and odd i
_EVEN = arb(0.5, 0.5)  # and for even i > 0


def more_bits(bits: int, point: Fraction, limits: Limits) -> int:
    """Double the precision.

    Raises:
        LimitReached: If the bits or the time are used up.
    """
    limits.check()
    if 2 * bits > MOST_BITS:
        near, _ = short(Enclosure.exact(point))
        raise LimitReached(f"precision-budget: {bits} bits do not decide near eps = {near}")
    return 2 * bits


def _hull(lower: Fraction, upper: Fraction) -> arb:
    return to_ball(lower).union(to_ball(upper))


def _sign(ball: arb) -> int:
    return 1 if ball > 0 else -1 if ball < 0 else 0


def _rows(form: NormalForm) -> list[tuple[int, arb_poly | fmpz]]:
    return [(j, fmpz(row[0]) if len(row) == 1 else arb_poly(list(row))) for j, row in form.groups]
