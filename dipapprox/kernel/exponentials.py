"""Exponential polynomials: sums of c * eps ** n * e ** (q * eps), and quotients of two of them.

All c and q are rational, n an integer, eps > 0. The functions eps ** n * e ** (q * eps) are
linearly independent over the rationals, so such a sum is 0 for every eps exactly if it has no
terms. At a rational eps > 0 the numbers e ** (q * eps) of different q are linearly independent over
the rationals, too (Lindemann and Weierstrass): a sum is 0 there exactly if the rational factors of
all e ** (q * eps) are. So a sign is found by enclosures of growing precision, and the search ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import gcd, lcm
from typing import Any

from dipapprox.kernel.balls import MOST_BITS as MOST_PRECISION
from dipapprox.kernel.balls import precision, spend_balls, to_ball
from dipapprox.kernel.errors import Refused, spend

Ball = Any
Number = Fraction | int
Term = tuple[tuple[Number, int], Number]  # ((q, n), c): c * eps ** n * e ** (q * eps)
Whole = tuple[tuple[int, int], int]  # the same in integers
MOST_TERMS = 20_000  # most terms of a sum, or of products of two sums
MOST_BITS = 1 << 16  # most bits of a coefficient and its rate


def power(base: Fraction, exponent: int) -> Fraction:
    """Return base ** exponent."""
    above, below = base.as_integer_ratio()
    if (above.bit_length() + below.bit_length()) * abs(exponent) > MOST_BITS:
        raise Refused("a power that is too long")
    return base**exponent


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of c * eps ** n * e ** (q * eps), kept in integers, which are added fast."""

    whole: tuple[Whole, ...]  # ((q * unit, n), c * below), ascending, c != 0
    unit: int = 1  # the least integer > 0 of which all q are multiples of the inverse
    below: int = 1  # that of all c

    def __post_init__(self) -> None:
        bits = [q.bit_length() + c.bit_length() for (q, _), c in self.whole]
        common = self.unit.bit_length() + self.below.bit_length()
        if max(bits, default=0) + common > MOST_BITS:
            raise Refused("an exponential polynomial with numbers that are too long")
        spend(4 * len(bits) + (sum(bits) + common) // 64)

    @classmethod
    def of(cls, terms: Iterable[Term]) -> Sum:
        """Collect terms."""
        known = list(terms)
        unit = _multiple(q.denominator for (q, _), _ in known)
        below = _multiple(c.denominator for _, c in known)
        whole = [((int(q * unit), n), int(c * below)) for (q, n), c in known]
        return cls._collected(whole, unit, below)

    @classmethod
    def _collected(cls, terms: Sequence[Whole], unit: int, below: int) -> Sum:
        spend(2 * len(terms))
        found: dict[tuple[int, int], int] = {}
        for key, c in terms:
            found[key] = found.get(key, 0) + c
        if len(found) > MOST_TERMS:
            raise Refused(f"an exponential polynomial of more than {MOST_TERMS} terms")
        left = sorted([term for term in found.items() if term[1]])
        u, d = gcd(unit, *[q for (q, _), _ in left]), gcd(below, *[c for _, c in left])
        if u > 1 or d > 1:
            left = [((q // u, n), c // d) for (q, n), c in left]
        return cls(tuple(left), unit // u, below // d)

    @classmethod
    def total(cls, sums: Sequence[Sum]) -> Sum:
        """Add up."""
        if len(sums) == 1:
            return sums[0]
        unit, below = _multiple(each.unit for each in sums), _multiple(each.below for each in sums)
        factors = [(each.whole, unit // each.unit, below // each.below) for each in sums]
        terms = [((q * u, n), c * d) for whole, u, d in factors for (q, n), c in whole]
        return cls._collected(terms, unit, below)

    @property
    def terms(self) -> tuple[Term, ...]:
        """((q, n), c), ascending, c != 0."""
        unit, below = self.unit, self.below
        return tuple([((Fraction(q, unit), n), Fraction(c, below)) for (q, n), c in self.whole])

    @classmethod
    def constant(cls, value: Number) -> Sum:
        """Return a number."""
        return cls.of([((0, 0), value)])

    @classmethod
    def exponential(cls, rate: Number) -> Sum:
        """Return e ** (rate * eps)."""
        return cls.of([((rate, 0), 1)])

    def __add__(self, other: Sum) -> Sum:
        return Sum.total((self, other))

    def __mul__(self, other: Sum) -> Sum:
        if len(self.whole) * len(other.whole) > MOST_TERMS:
            raise Refused(f"a product of more than {MOST_TERMS} terms")
        unit = lcm(self.unit, other.unit)
        u, v = unit // self.unit, unit // other.unit
        theirs = [(r * v, m, d) for (r, m), d in other.whole]
        found = [((q * u + r, n + m), c * d) for (q, n), c in self.whole for r, m, d in theirs]
        return Sum._collected(found, unit, self.below * other.below)

    def scaled(self, factor: Number) -> Sum:
        """Return factor * self."""
        above, below = factor.as_integer_ratio()
        found = [(key, above * c) for key, c in self.whole]
        return Sum._collected(found, self.unit, self.below * below)

    def parts(self) -> tuple[Term, Sum]:
        """Return c * eps ** n * e ** (q * eps), c > 0, and f, whose product is self, not 0.

        Coefficients of f are integers without a common divisor; its least n and least q are 0.
        """
        q, n = self.whole[0][0][0], min([n for (_, n), _ in self.whole])
        divisor = gcd(*[c for _, c in self.whole])
        rest = [((r - q, m - n), c // divisor) for (r, m), c in self.whole]
        monomial = (Fraction(q, self.unit), n), Fraction(divisor, self.below)
        return monomial, Sum._collected(rest, self.unit, 1)

    def is_zero(self) -> bool:
        """Whether it is 0 for every eps."""
        return not self.whole

    def has_positive_terms(self) -> bool:
        """Whether there are terms, and all coefficients are > 0: then it is > 0 for every eps."""
        return bool(self.whole) and all(c > 0 for _, c in self.whole)

    def derivative(self) -> Sum:
        """Return the derivative."""
        unit, found = self.unit, [((q, n), c * q) for (q, n), c in self.whole]
        found += [((q, n - 1), c * n * unit) for (q, n), c in self.whole]
        return Sum._collected(found, unit, self.below * unit)

    def at(self, eps: Fraction) -> Sum:
        """Return a sum without powers of eps that has the same value there, at eps > 0."""
        if not any(n for (_, n), _ in self.whole):
            return self
        return Sum.of(((q, 0), c * power(eps, n)) for (q, n), c in self.terms)

    def ball(self, eps: Ball) -> Ball:
        """Enclose the values at all members of a ball, at the precision of the enclosing block."""
        found, step = to_ball(0), eps / self.unit
        for (q, n), c in self.whole:
            spend_balls(4)
            found += c * eps**n * (q * step).exp()
        return found / self.below

    def sign(self, eps: Fraction) -> int:
        """Return -1, 0 or 1: the sign of the value at a rational eps >= 0; at 0 no n is < 0."""
        if not eps:
            value = sum([c for (_, n), c in self.whole if not n])
            return (value > 0) - (value < 0)
        fixed, bits = self.at(eps), 64
        if fixed.is_zero():
            return 0
        while bits <= MOST_PRECISION:
            with precision(bits):
                found = fixed.ball(to_ball(eps))
                if found > 0:
                    return 1
                if found < 0:
                    return -1
            bits *= 2
        raise Refused(f"a sign that {MOST_PRECISION} bits do not tell")


Denominator = tuple[tuple[Sum, int], ...]
"""Factors, as `Sum.parts` leaves them, with exponents > 0; ascending."""


def _missing(own: Denominator, other: Denominator) -> Sum:
    """What `own` has to be multiplied by to become a common multiple of both."""
    found, known = _ONE, dict(own)
    for factor, exponent in other:
        for _ in range(exponent - known.get(factor, 0)):
            found = found * factor
    return found


@dataclass(frozen=True, slots=True)
class Ratio:
    """numerator / product of factor ** exponent.

    Whoever divides knows that the divisor is > 0 at every eps that matters: so ratios have the
    signs of their numerators.
    """

    numerator: Sum
    denominator: Denominator = ()

    @classmethod
    def constant(cls, value: Number) -> Ratio:
        """Return a number."""
        return cls(Sum.constant(value))

    def __add__(self, other: Ratio) -> Ratio:
        if not self.numerator.whole:
            return other
        if self.denominator == other.denominator:
            return Ratio(self.numerator + other.numerator, self.denominator)
        ours = _missing(self.denominator, other.denominator)
        theirs = _missing(other.denominator, self.denominator)
        known = dict(self.denominator)
        for factor, exponent in other.denominator:
            known[factor] = max(exponent, known.get(factor, 0))
        return Ratio(self.numerator * ours + other.numerator * theirs, _ordered(known))

    def __sub__(self, other: Ratio) -> Ratio:
        return self + other.scaled(-1)

    def __mul__(self, other: Ratio) -> Ratio:
        known = dict(self.denominator)
        for factor, exponent in other.denominator:
            known[factor] = known.get(factor, 0) + exponent
        return Ratio(self.numerator * other.numerator, _ordered(known))

    def scaled(self, factor: Number) -> Ratio:
        """Return factor * self."""
        return self if factor == 1 else Ratio(self.numerator.scaled(factor), self.denominator)

    def inverse(self) -> Ratio:
        """Return 1 / self, whose numerator is > 0."""
        ((rate, exponent), c), factor = self.numerator.parts()
        above = _missing((), self.denominator) * Sum.of([((-rate, -exponent), Fraction(1) / c)])
        return Ratio(above, () if factor == _ONE else ((factor, 1),))

    def at(self, eps: Fraction) -> Ratio:
        """Return a quotient of sums without powers of eps that has the same value at `eps`."""
        below = Ratio(_missing((), self.denominator).at(eps))
        return Ratio(self.numerator.at(eps)) * below.inverse()

    def exponential(self) -> Ratio:
        """Return e ** self, for a rational multiple of eps."""
        match self.numerator.terms, self.denominator:
            case (), ():
                return Ratio(_ONE)
            case (((q, 1), c),), () if not q:
                return Ratio(Sum.exponential(c))
            case _:
                raise Refused("an exponent is no rational multiple of eps")

    def ball(self, eps: Fraction) -> Ball:
        """Enclose the value at `eps`, at the precision of the enclosing block."""
        point = to_ball(eps)
        return self.numerator.ball(point) / _missing((), self.denominator).ball(point)


def total(ratios: Iterable[Ratio]) -> Ratio:
    """Add up, those with one denominator at once."""
    found: dict[Denominator, list[Sum]] = {}
    for each in ratios:
        found.setdefault(each.denominator, []).append(each.numerator)
    sums = [Ratio(Sum.total(own), below) for below, own in found.items()]
    return reduce(Ratio.__add__, sums, Ratio(Sum(())))


def _ordered(factors: Mapping[Sum, int]) -> Denominator:
    return tuple(sorted(factors.items(), key=lambda each: (each[0].whole, each[0].unit)))


def _multiple(numbers: Iterable[int]) -> int:
    found = 1
    for number in numbers:
        found = lcm(found, number)
        if found.bit_length() > MOST_BITS:
            raise Refused("an exponential polynomial with numbers that are too long")
    return found


_ONE = Sum.constant(Fraction(1))
