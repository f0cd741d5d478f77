"""Trees of comparisons in closed form: the checker's own integration, exact, for every ε at once.

A law of scale a / ε stands in the forest with the scale a (eps = 1). In the coordinate
u = ε x / R, with rates 1 / a = r / R and all marks multiples of 1 / D, and with η = ε / (R D), the
density of Laplace noise around k / D is r e^(-r |u - kη|) / 2. Between marks, functions of u are
sums of c e^(qη) e^(bu) η^n u^m with integer exponents; integrals are so again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import lcm

from flint import fmpq

from dipapprox.checking.cycles import Sample
from dipapprox.checking.values import Stuck
from dipapprox.data_classes import dataclass
from dipapprox.distributions import Distribution, Family
from dipapprox.exponentials import ExponentialPolynomial

_Piece = dict[tuple[int, int, int, int], fmpq]
"""(q, b, n, m) -> c != 0."""

LAPLACE_TYPE = {
    Family.LAPLACE: (True, True),
    Family.EXPONENTIAL: (False, True),
    Family.REFLECTED_EXPONENTIAL: (True, False),
}
"""Laws with closed forms: whether they have a density below their mean, and above."""


@dataclass(frozen=True, slots=True)
class Piecewise:
    """pieces[k] between marks[k - 1] and marks[k], ascending."""

    marks: tuple[int, ...]
    pieces: tuple[_Piece, ...]

    def at(self, point: Fraction) -> _Piece:
        """The piece that holds at a point that is no mark."""
        return self.pieces[bisect_right(self.marks, point)]


class ExactFunctions:
    """Densities and integrals, in units that fit all samples of a forest.

    Args:
        samples: Everything that will be integrated; integers are left aside.
    """

    def __init__(self, samples: Iterable[Sample]) -> None:
        every = tuple(each for each in samples if not each.law.family.is_discrete)
        points = [p for s in every for p in (s.law.mean, s.lower, s.upper) if p is not None]
        self._rates = lcm(*(sample.law.scale.numerator for sample in every))
        self._points = lcm(*(point.denominator for point in points))

    def density(
        self, law: Distribution, lower: Fraction | None, upper: Fraction | None
    ) -> Piecewise:
        """The density of a law between two bounds, 0 elsewhere.

        Raises:
            Stuck: If the law is not of Laplace type.
        """
        if law.family not in LAPLACE_TYPE:
            raise Stuck(f"{law.family.value} noise has no closed form that the check can derive")
        sides = LAPLACE_TYPE[law.family]
        rate, mean = int(self._rates / law.scale), int(law.mean * self._points)
        low = None if lower is None else int(lower * self._points)
        high = None if upper is None else int(upper * self._points)
        height = fmpq(rate, sum(sides))
        marks = tuple(sorted({mark for mark in (mean, low, high) if mark is not None}))
        pieces: list[_Piece] = []
        for middle in _middles(marks):
            inside = (low is None or middle > low) and (high is None or middle < high)
            if not inside or not sides[middle > mean]:
                pieces.append({})
            elif middle > mean:
                pieces.append({(rate * mean, -rate, 0, 0): height})
            else:
                pieces.append({(-rate * mean, rate, 0, 0): height})
        return Piecewise(marks, tuple(pieces))

    def product(self, left: Piecewise, right: Piecewise) -> Piecewise:
        """left * right."""
        marks = tuple(sorted({*left.marks, *right.marks}))
        found = [_product(left.at(p), right.at(p)) for p in _middles(marks)]
        return Piecewise(marks, tuple(found))

    def difference(self, left: Piecewise, right: Piecewise) -> Piecewise:
        """left - right."""
        marks = tuple(sorted({*left.marks, *right.marks}))
        found = [_difference(left.at(p), right.at(p)) for p in _middles(marks)]
        return Piecewise(marks, tuple(found))

    def within(
        self, density: Piecewise, lower: Fraction | None, upper: Fraction | None
    ) -> Piecewise:
        """The density between two bounds, 0 elsewhere."""
        low = None if lower is None else int(lower * self._points)
        high = None if upper is None else int(upper * self._points)
        cuts = {mark for mark in (low, high) if mark is not None}
        marks = tuple(sorted({*density.marks, *cuts}))
        found = [
            density.at(p) if (low is None or p > low) and (high is None or p < high) else {}
            for p in _middles(marks)
        ]
        return Piecewise(marks, tuple(found))

    def plus(self, density: Piecewise, law: Distribution) -> Piecewise:
        """The density of the sum with an independent sample of mean 0.

        Raises:
            Stuck: If the law is not of Laplace type.
        """
        if law.family not in LAPLACE_TYPE:
            raise Stuck(f"{law.family.value} noise has no closed form that the check can derive")
        rate = int(self._rates / law.scale)
        sides = LAPLACE_TYPE[law.family]
        total = Piecewise(density.marks, ({},) * len(density.pieces))
        for above, present in zip((False, True), sides, strict=True):
            if present:
                # The sample is above its mean: e^(-ru) times what is left of u.
                sign = 1 if above else -1
                raised = _tilted(density, sign * rate, fmpq(rate, sum(sides)))
                part = _tilted(self._integral(raised, from_left=above), -sign * rate, _ONE)
                total = self.difference(total, _tilted(part, 0, -_ONE))
        return total

    def running(self, density: Piecewise, *, from_left: bool) -> Piecewise:
        """t -> ∫ density over (-∞, t), or over (t, ∞)."""
        _require_decay(_primitive(density.pieces[-1 if from_left else 0]), -1 if from_left else 1)
        return self._integral(density, from_left=from_left)

    def _integral(self, density: Piecewise, *, from_left: bool) -> Piecewise:
        """The same where the integral need not converge at the other end."""
        primitives = [_primitive(piece) for piece in density.pieces]
        _require_decay(primitives[0 if from_left else -1], 1 if from_left else -1)
        marks = density.marks
        # What is added to each primitive, from the side where the integral begins.
        constant: _Piece = {}
        found: list[_Piece] = []
        order = range(len(primitives)) if from_left else range(len(primitives) - 1, -1, -1)
        sign = 1 if from_left else -1
        for place in order:
            begin = place - 1 if from_left else place
            own = _scaled(primitives[place], sign)
            if 0 <= begin < len(marks):
                constant = _difference(constant, _value(own, marks[begin]))
            found.append(_difference(own, _scaled(constant, -1)))
            end = place if from_left else place - 1
            if 0 <= end < len(marks):
                constant = _value(found[-1], marks[end])
        return Piecewise(marks, tuple(found if from_left else reversed(found)))

    def total(self, density: Piecewise) -> ExponentialPolynomial:
        """∫ density over the line, as a function of ε."""
        whole = self.running(density, from_left=True).pieces[-1]
        unit = self._rates * self._points
        terms: dict[tuple[int, Fraction], Fraction] = {}
        for (q, b, n, m), c in whole.items():
            if not b and not m:  # what is left decays far away
                terms[n, Fraction(q, unit)] = Fraction(int(c.p), int(c.q)) / unit**n
        return ExponentialPolynomial.of(terms)


def _tilted(function: Piecewise, rate: int, factor: fmpq) -> Piecewise:
    """u -> factor e^(rate u) function(u)."""
    found = (
        {(q, b + rate, n, m): factor * c for (q, b, n, m), c in piece.items()}
        for piece in function.pieces
    )
    return Piecewise(function.marks, tuple(found))


def _middles(marks: Sequence[int]) -> list[Fraction]:
    """A point between any two neighbouring marks, and outside of all."""
    if not marks:
        return [Fraction(0)]
    inner = [Fraction(a + b, 2) for a, b in pairwise(marks)]
    return [Fraction(marks[0] - 1), *inner, Fraction(marks[-1] + 1)]


def _product(left: _Piece, right: _Piece) -> _Piece:
    total: _Piece = {}
    for (q, b, n, m), c in left.items():
        for (p, a, k, j), d in right.items():
            key = q + p, b + a, n + k, m + j
            known = total.get(key)
            total[key] = c * d if known is None else known + c * d
    return {key: c for key, c in total.items() if c}


def _difference(left: _Piece, right: _Piece) -> _Piece:
    total = dict(left)
    for key, c in right.items():
        value = total.get(key, _ZERO) - c
        if value:
            total[key] = value
        else:
            total.pop(key, None)
    return total


def _scaled(piece: _Piece, factor: int) -> _Piece:
    return {key: factor * c for key, c in piece.items()}


def _primitive(piece: _Piece) -> _Piece:
    """∫ u^m e^(bu) = e^(bu) Σ_i (-1)^i m! / (m - i)! u^(m-i) / b^(i+1), or u^(m+1) / (m + 1)."""
    total: _Piece = {}
    for (q, b, n, m), c in piece.items():
        if not b:
            terms = [((q, 0, n, m + 1), c / (m + 1))]
        else:
            terms, factor = [], c / b
            for power in range(m, -1, -1):
                terms.append(((q, b, n, power), factor))
                factor = -factor * power / b
        for key, value in terms:
            total[key] = total.get(key, _ZERO) + value
    return {key: c for key, c in total.items() if c}


def _value(piece: _Piece, mark: int) -> _Piece:
    """The value at u = mark * η."""
    total: _Piece = {}
    for (q, b, n, m), c in piece.items():
        value = c * mark**m
        if value:
            key = q + b * mark, 0, n + m, 0
            total[key] = total.get(key, _ZERO) + value
    return {key: c for key, c in total.items() if c}


def _require_decay(primitive: _Piece, sign: int) -> None:
    """Make sure that a primitive vanishes at -sign * ∞."""
    if any(sign * b <= 0 for _, b, _, _ in primitive):
        raise Stuck("an integral of the check does not converge")


_ZERO, _ONE = fmpq(0), fmpq(1)
