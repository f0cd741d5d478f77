"""Balls around values, derivatives and ranges of a `NormalForm`, with as many bits as it takes."""

from __future__ import annotations

from fractions import Fraction

from flint import arb, arb_poly, fmpz

from dipapprox.errors import LimitReached
from dipapprox.exact.normal_form import NormalForm
from dipapprox.limits import Limits
from dipapprox.numerics.precision import precision, to_ball

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

    def on_box(self, lower: Fraction, upper: Fraction, limits: Limits) -> tuple[int, int]:
        """The signs of G and of G' on [lower, upper], each 0 if not shown to be constant.

        With m the middle, r half the width and |h| <= r,
        G(m + h) = G(m) + G'(m) h + G''(ξ) h²/2 and G'(m + h) = G'(m) + G''(ξ) h.
        The second sign is only looked for when the first is 0.

        Args:
            lower: > 0; the middle of the box is not a zero of G.
            upper: > `lower`.
            limits: Asked before the precision is raised.
        """
        middle, radius = (lower + upper) / 2, (upper - lower) / 2
        bits = START_BITS
        while True:
            with precision(bits):
                x, step = to_ball(middle), to_ball(radius) / self.denominator
                powers = self.powers(x)
                value = self.value(0, x, powers)
                if value.rel_accuracy_bits() >= _ACCURATE:
                    slope = self.value(1, x, powers) * step
                    box = _hull(lower, upper)
                    bend = self.value(2, box, self.powers(box)) * step * step
                    signs = arb(0, 1)
                    total = value + slope * signs + bend * _HALF_SQUARE
                    if sign := _sign(total):
                        return sign, 0
                    return 0, _sign(slope + bend * signs)
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
            return _sign(middle + slope * arb(0, 1)) != 0


_HALF_SQUARE = arb(0.25, 0.25)  # h²/2 for |h| <= 1


def more_bits(bits: int, point: Fraction, limits: Limits) -> int:
    """Double the precision.

    Raises:
        LimitReached: If the bits or the time are used up.
    """
    limits.check()
    if 2 * bits > MOST_BITS:
        raise LimitReached(f"precision-budget: {bits} bits do not decide near eps = {float(point)}")
    return 2 * bits


def _hull(lower: Fraction, upper: Fraction) -> arb:
    return to_ball(lower).union(to_ball(upper))


def _sign(ball: arb) -> int:
    return 1 if ball > 0 else -1 if ball < 0 else 0


def _rows(form: NormalForm) -> list[tuple[int, arb_poly | fmpz]]:
    return [(j, fmpz(row[0]) if len(row) == 1 else arb_poly(list(row))) for j, row in form.groups]
