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
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import Refused

Ball = Any

Number = Fraction | int

Term = tuple[tuple[Number, int], Number]
"""((q, n), c): c * eps ** n * e ** (q * eps)."""

MOST_TERMS = 20_000
"""Most terms of a sum, or of products of two sums."""

MOST_BITS = 1 << 16
"""Most bits of a coefficient and its rate."""


def power(base: Fraction, exponent: int) -> Fraction:
    """Return base ** exponent."""
    if _bits(base) * abs(exponent) > MOST_BITS:
        raise Refused("a power that is too long")
    return base**exponent


def _bits(value: Number) -> int:
    above, below = value.as_integer_ratio()
    return above.bit_length() + below.bit_length()


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of c * eps ** n * e ** (q * eps).

    Attributes:
        terms: ((q, n), c), ascending, c != 0.
    """

    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        bits = [_bits(q) + _bits(c) for (q, _), c in self.terms]
        if max(bits, default=0) > MOST_BITS:
            raise Refused("an exponential polynomial with numbers that are too long")
        spend(4 * len(bits) + sum(bits) // 64)

    @classmethod
    def of(cls, terms: Iterable[Term]) -> Sum:
        """Collect terms."""
        found: dict[tuple[int, ...], Term] = {}
        for key, c in terms:
            spend(8)
            # Quotients of integers are found faster than fractions.
            place = *key[0].as_integer_ratio(), key[1]
            before = found.get(place)
            found[place] = key, (c if before is None else before[1] + c)
            if len(found) > MOST_TERMS:
                raise Refused(f"an exponential polynomial of more than {MOST_TERMS} terms")
        return cls(tuple(sorted([term for term in found.values() if term[1]])))

    @classmethod
    def constant(cls, value: Number) -> Sum:
        """Return a number."""
        return cls.of([((Fraction(0), 0), value)])

    @classmethod
    def exponential(cls, rate: Number) -> Sum:
        """Return e ** (rate * eps)."""
        return cls.of([((rate, 0), Fraction(1))])

    def __add__(self, other: Sum) -> Sum:
        return Sum.of((*self.terms, *other.terms))

    def __mul__(self, other: Sum) -> Sum:
        if len(self.terms) * len(other.terms) > MOST_TERMS:
            raise Refused(f"a product of more than {MOST_TERMS} terms")
        found = [((q + r, n + m), c * d) for (q, n), c in self.terms for (r, m), d in other.terms]
        # Those of one term ascend, as before.
        return Sum(tuple(found)) if 1 in map(len, (self.terms, other.terms)) else Sum.of(found)

    def scaled(self, factor: Number) -> Sum:
        """Return factor * self."""
        return Sum(tuple([(key, factor * c) for key, c in self.terms if factor]))

    def parts(self) -> tuple[Sum, Sum]:
        """Return m = c * eps ** n * e ** (q * eps), c > 0, and f, whose product is self, not 0.

        Coefficients of f are integers without a common divisor; its least n and least q are 0.
        """
        (q, n), below = self.terms[0][0], lcm(*(c.denominator for _, c in self.terms))
        n = min(n for (_, n), _ in self.terms)
        whole = [int(c * below) for _, c in self.terms]
        divisor = gcd(*whole)
        terms = zip(self.terms, whole, strict=True)
        return Sum.of([((q, n), Fraction(divisor, below))]), Sum.of(
            ((r - q, m - n), c // divisor) for ((r, m), _), c in terms
        )

    def is_zero(self) -> bool:
        """Whether it is 0 for every eps."""
        return not self.terms

    def has_positive_terms(self) -> bool:
        """Whether there are terms, and all coefficients are > 0: then it is > 0 for every eps."""
        return bool(self.terms) and all(c > 0 for _, c in self.terms)

    def derivative(self) -> Sum:
        """Return the derivative."""
        found = [((q, n), c * q) for (q, n), c in self.terms]
        return Sum.of(found + [((q, n - 1), c * n) for (q, n), c in self.terms])

    def at(self, eps: Fraction) -> Sum:
        """Return a sum without powers of eps that has the same value there; at 0 no n is < 0."""
        if not eps:
            return Sum.constant(sum(c for (_, n), c in self.terms if not n))
        return Sum.of(((q, 0), c * power(eps, n)) for (q, n), c in self.terms)

    def ball(self, eps: Ball) -> Ball:
        """Enclose the values at all members of a ball, at the precision of the enclosing block."""
        found = to_ball(0)
        for (q, n), c in self.terms:
            spend_balls(4)
            found += to_ball(c) * eps**n * (to_ball(q) * eps).exp()
        return found

    def sign(self, eps: Fraction) -> int:
        """Return -1, 0 or 1: the sign of the value at a rational eps >= 0, as `at` has it."""
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
        if not self.numerator.terms:
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
        monomial, factor = self.numerator.parts()
        (((rate, exponent), c),) = monomial.terms
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
                raise Refused("the exponent of a weight is no rational multiple of eps")

    def ball(self, eps: Fraction) -> Ball:
        """Enclose the value at `eps`, at the precision of the enclosing block."""
        point = to_ball(eps)
        return self.numerator.ball(point) / _missing((), self.denominator).ball(point)


def total(ratios: Iterable[Ratio]) -> Ratio:
    """Add up, those with one denominator at once."""
    found: dict[Denominator, list[Sum]] = {}
    for each in ratios:
        found.setdefault(each.denominator, []).append(each.numerator)
    sums = [Ratio(_whole(own), below) for below, own in found.items()]
    return reduce(Ratio.__add__, sums, Ratio(Sum(())))


def _whole(sums: Sequence[Sum]) -> Sum:
    return sums[0] if len(sums) == 1 else Sum.of(term for each in sums for term in each.terms)


def _ordered(factors: Mapping[Sum, int]) -> Denominator:
    return tuple(sorted(factors.items(), key=lambda each: each[0].terms))


_ONE = Sum.constant(Fraction(1))
