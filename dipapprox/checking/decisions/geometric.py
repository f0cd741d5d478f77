"""Trees of comparisons of integers in closed form: exact geometric sums, for every ε at once.

With scales a / ε and z = e^(-ε/R), R a multiple of all a, the probabilities of discrete Laplace
noise are (1 - z^r) / (1 + z^r) z^(r |x - mean|), r = R / a. Between marks, functions of x are sums
of

    c z^(q + b x) x^m / Π (1 - z^r)^k,

and sums over x are so again: S(x + 1) - S(x) = x^m w^x holds for

    S_m = (x^m w^x - w Σ_{i<m} C(m, i) S_i) / (w - 1)             w = z^b != 1
    S_m = (x^(m+1) - Σ_{i<m} C(m + 1, i) S_i) / (m + 1)           w = 1.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import ceil, comb, floor, lcm

from flint import fmpq

from dipapprox.checking.cycles import Sample
from dipapprox.checking.decisions.quotients import Quotient, constant, lowest_terms
from dipapprox.checking.values import Stuck
from dipapprox.data_classes import dataclass
from dipapprox.distributions import Distribution, Family
from dipapprox.exponentials import ONE, ZERO, ExponentialPolynomial

Below = tuple[tuple[int, int], ...]
"""Ascending (r, k): divided by Π (1 - z^r)^k."""

Terms = dict[tuple[int, int, int, Below], fmpq]
"""(q, b, m, below) -> c != 0."""

_ZERO = fmpq(0)


@dataclass(frozen=True, slots=True)
class Stepwise:
    """pieces[k] where marks[k - 1] <= x < marks[k], marks ascending."""

    marks: tuple[int, ...]
    pieces: tuple[Terms, ...]

    def at(self, point: int) -> Terms:
        """The piece that holds at a point."""
        return self.pieces[bisect_right(self.marks, point)]


class ExactSums:
    """Probabilities and sums, in a unit that fits all samples of a forest.

    Args:
        samples: Everything that will be summed over; what is continuous is left aside.
    """

    def __init__(self, samples: Iterable[Sample]) -> None:
        scales = [each.law.scale for each in samples if each.law.family.is_discrete]
        self._rates = lcm(*(scale.numerator for scale in scales))

    def density(
        self, law: Distribution, lower: Fraction | None, upper: Fraction | None
    ) -> Stepwise:
        """The probabilities of a law between two bounds, 0 elsewhere.

        Raises:
            Stuck: If the law is not discrete Laplace noise.
        """
        if law.family is not Family.DISCRETE_LAPLACE or law.mean.denominator > 1:
            raise Stuck(f"{law.family.value} noise among integers")
        rate, mean = int(self._rates / law.scale), int(law.mean)
        low = None if lower is None else ceil(lower)
        end = None if upper is None else floor(upper) + 1
        marks = tuple(sorted({mark for mark in (mean, low, end) if mark is not None}))
        pieces: list[Terms] = []
        for first in (marks[0] - 1, *marks):
            if (low is not None and first < low) or (end is not None and first >= end):
                pieces.append({})
                continue
            side = 1 if first >= mean else -1
            # (1 - z^r)^2 / (1 - z^2r)
            pieces.append(
                {
                    (k * rate - side * rate * mean, side * rate, 0, ((2 * rate, 1),)): fmpq(c)
                    for k, c in enumerate((1, -2, 1))
                }
            )
        return Stepwise(marks, tuple(pieces))

    def product(self, left: Stepwise, right: Stepwise) -> Stepwise:
        """left * right."""
        marks = tuple(sorted({*left.marks, *right.marks}))
        firsts = (marks[0] - 1, *marks)
        return Stepwise(marks, tuple(product(left.at(x), right.at(x)) for x in firsts))

    def difference(self, left: Stepwise, right: Stepwise) -> Stepwise:
        """left - right."""
        marks = tuple(sorted({*left.marks, *right.marks}))
        firsts = (marks[0] - 1, *marks)
        return Stepwise(marks, tuple(plus(left.at(x), right.at(x), -1) for x in firsts))

    def running(self, density: Stepwise, *, from_left: bool) -> Stepwise:
        """t -> the sum over x <= t, or over x >= t."""
        sums = [primitive(piece) for piece in density.pieces]
        require_decay(sums[0], -1)
        require_decay(sums[-1], 1)
        marks, found = density.marks, list[Terms]()
        if from_left:
            before: Terms = {}
            for place, own in enumerate(sums):
                if place:
                    before = plus(before, at(own, marks[place - 1]), -1)
                found.append(plus(before, shifted(own, 1)))
                if place < len(marks):
                    before = at(found[-1], marks[place] - 1)
            return Stepwise(marks, tuple(found))
        behind: Terms = {}
        for place in range(len(sums) - 1, -1, -1):
            own = sums[place]
            if place < len(marks):
                behind = plus(behind, at(own, marks[place]))
            found.append(plus(behind, own, -1))
            if place:
                behind = at(found[-1], marks[place - 1])
        return Stepwise(marks, tuple(reversed(found)))

    def total(self, density: Stepwise) -> Quotient:
        """The sum over all integers, as a function of ε."""
        whole = self.running(density, from_left=True).pieces[-1]
        left = {key: c for key, c in whole.items() if not key[1] and not key[2]}
        return function(left, Fraction(-1, self._rates))


def function(terms: Terms, rate: Fraction) -> Quotient:
    """Return terms without x as a function of ε, z = e^(rate ε)."""
    most: Counter[int] = Counter()
    for _, _, _, below in terms:
        most |= Counter(dict(below))
    groups: dict[Below, dict[tuple[int, Fraction], Fraction]] = {}
    for (q, _, _, below), c in terms.items():
        group = groups.setdefault(below, {})
        group[0, q * rate] = group.get((0, q * rate), Fraction(0)) + Fraction(int(c.p), int(c.q))
    top = ZERO
    for below, group in groups.items():
        top = top + ExponentialPolynomial.of(group) * _denominator(
            most - Counter(dict(below)), rate
        )
    return lowest_terms(top, _denominator(most, rate)) if top else constant(0)


def _denominator(powers: Counter[int], rate: Fraction) -> ExponentialPolynomial:
    result = ONE
    for r, k in powers.items():
        result = result * (ONE - ExponentialPolynomial.monomial(1, rate=r * rate)) ** k
    return result


def product(left: Terms, right: Terms) -> Terms:
    """left * right."""
    total: Terms = {}
    for (q, b, m, below), c in left.items():
        for (p, a, n, under), d in right.items():
            key = q + p, b + a, m + n, joined(below, under)
            total[key] = total.get(key, _ZERO) + c * d
    return {key: c for key, c in total.items() if c}


@lru_cache(maxsize=10_000)
def joined(left: Below, right: Below) -> Below:
    """The product of two denominators."""
    return tuple(sorted((Counter(dict(left)) + Counter(dict(right))).items()))


def plus(left: Terms, right: Terms, times: int = 1) -> Terms:
    """left + times * right."""
    total = dict(left)
    for key, c in right.items():
        total[key] = total.get(key, _ZERO) + times * c
    return {key: c for key, c in total.items() if c}


def primitive(piece: Terms) -> Terms:
    """S with S(x + 1) - S(x) = piece(x)."""
    total: Terms = {}
    for (q, b, m, below), c in piece.items():
        for (p, power, under), d in antidifference(b, m).items():
            key = q + p, b, power, joined(below, under)
            total[key] = total.get(key, _ZERO) + c * d
    return {key: c for key, c in total.items() if c}


@lru_cache(maxsize=10_000)
def antidifference(b: int, m: int) -> dict[tuple[int, int, Below], fmpq]:
    """S_m of the module's head over z^(b x): (q, power of x, below) -> c."""
    total: dict[tuple[int, int, Below], fmpq] = {}

    def add(q: int, power: int, below: Below, c: fmpq) -> None:
        key = q, power, below
        total[key] = total.get(key, _ZERO) + c

    if not b:
        add(0, m + 1, (), fmpq(1, m + 1))
        for i in range(m):
            for (q, power, below), c in antidifference(0, i).items():
                add(q, power, below, c * fmpq(-comb(m + 1, i), m + 1))
        return total
    # 1 / (w - 1) = -1 / (1 - z^b), or z^-b / (1 - z^-b) for b < 0
    sign, shift, under = (-1, 0, ((b, 1),)) if b > 0 else (1, -b, ((-b, 1),))
    add(shift, m, under, fmpq(sign))
    for i in range(m):
        for (q, power, below), c in antidifference(b, i).items():
            add(q + b + shift, power, joined(below, under), c * (-sign * comb(m, i)))
    return total


def shifted(piece: Terms, by: int) -> Terms:
    """x -> piece(x + by)."""
    total: Terms = {}
    for (q, b, m, below), c in piece.items():
        for power in range(m + 1):
            key = q + b * by, b, power, below
            total[key] = total.get(key, _ZERO) + c * comb(m, power) * by ** (m - power)
    return {key: c for key, c in total.items() if c}


def at(piece: Terms, point: int) -> Terms:
    """The value at a point."""
    total: Terms = {}
    for (q, b, m, below), c in piece.items():
        key = q + b * point, 0, 0, below
        total[key] = total.get(key, _ZERO) + c * point**m
    return {key: c for key, c in total.items() if c}


def require_decay(piece: Terms, side: int) -> None:
    """Make sure that a function vanishes at side * ∞."""
    if any(side * b <= 0 for _, b, _, _ in piece):
        raise Stuck("a sum of the check does not converge")
