"""Constants made of rational numbers, square roots and logarithms: 2 · sqrt(2 · log(125000)).

In: such constants, built of `Fraction`s by *, /, **, `total`, `square_root` and `logarithm`.
Out: the number itself where that is rational, else a rational number as close as one wants.

What is no rational number is coefficient · Π factor^exponent, factors being square roots,
logarithms and sums that are no such product. Equal forms are equal numbers, so that two multiples
of one constant have an exact quotient; equal numbers may have different forms. Coefficients are
exact, and what is said of sizes is read off balls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil, floor, isqrt
from typing import TypeAlias

from flint import arb

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.data_classes import Record

MOST_BITS = 8192
_LARGEST_PRIME = 100  # squares of smaller numbers are taken out of roots


class NoValue(Exception):
    """A constant has no value, or none that can be told from 0."""


class SquareRoot(Record):
    """sqrt(radicand), the radicand > 0."""

    radicand: Number


class Logarithm(Record):
    """log(argument), the argument > 0."""

    argument: Number


class Total(Record):
    """The sum of at least two terms that differ in their factors."""

    terms: tuple[Number, ...]


Factor = SquareRoot | Logarithm | Total
Factors = tuple[tuple[Factor, int], ...]


class Elementary(Record):
    """coefficient · Π factor^exponent; comparisons raise `NoValue` where they cannot tell."""

    coefficient: Fraction  # not 0
    factors: Factors  # (factor, exponent), at least one, each once, in a fixed order, no exponent 0

    def __neg__(self) -> Elementary:
        return Elementary(-self.coefficient, self.factors)

    def __mul__(self, other: Number) -> Number:
        coefficient, factors = _parts(other)
        exponents = dict(self.factors)
        for factor, exponent in factors:
            exponents[factor] = exponents.get(factor, 0) + exponent
        return _normal(self.coefficient * coefficient, exponents)

    __rmul__ = __mul__

    def __truediv__(self, other: Number) -> Number:
        return self * other**-1

    def __rtruediv__(self, other: Fraction) -> Number:
        return self**-1 * other

    def __pow__(self, exponent: int) -> Number:
        raised = {factor: own * exponent for factor, own in self.factors}
        return _normal(self.coefficient**exponent, raised)

    def __lt__(self, other: Number) -> bool:
        return _compared(self, other) < 0

    def __gt__(self, other: Number) -> bool:
        return _compared(self, other) > 0


Number: TypeAlias = Fraction | Elementary


def _parts(value: Number) -> tuple[Fraction, Factors]:
    if isinstance(value, Fraction):
        return value, ()
    return value.coefficient, value.factors


def _of(coefficient: Fraction, factors: Iterable[tuple[Factor, int]]) -> Number:
    ordered = tuple(sorted(factors, key=repr))
    return Elementary(coefficient, ordered) if coefficient and ordered else coefficient


def _normal(coefficient: Fraction, exponents: Mapping[Factor, int]) -> Number:
    """Return coefficient · Π factor^exponent; squares of roots are what stands under them."""
    outside: Number = Fraction(1)
    kept: list[tuple[Factor, int]] = []
    for factor, exponent in exponents.items():
        if isinstance(factor, SquareRoot):
            outside = outside * factor.radicand ** (exponent // 2)
            exponent %= 2
        if exponent:
            kept.append((factor, exponent))
    inside = _of(coefficient, kept)
    return inside if outside == 1 else inside * outside


def total(terms: Iterable[Number]) -> Number:
    """Return a sum; terms with the same factors are joined."""
    joined: dict[Factors, Fraction] = {}
    for coefficient, factors in map(_parts, terms):
        joined[factors] = joined.get(factors, Fraction(0)) + coefficient
    kept = sorted(((f, c) for f, c in joined.items() if c), key=lambda term: repr(term[0]))
    if len(kept) < 2:
        return _of(kept[0][1], kept[0][0]) if kept else Fraction(0)
    lead = kept[0][1]
    return Elementary(lead, ((Total(tuple(_of(c / lead, f) for f, c in kept)), 1),))


def square_root(radicand: Number) -> Number:
    """Return the square root of a number, or raise `NoValue` if it is not known to be >= 0."""
    if not radicand:
        return Fraction(0)
    check_positive(radicand, "the square root")
    coefficient, factors = _parts(radicand)
    numerator, over = coefficient.numerator, coefficient.denominator
    outside, inside = _without_squares(abs(numerator) * over)
    # Both may be < 0, the coefficient and the product of the factors: -2 log(1/2).
    rest = _of(Fraction(inside if numerator > 0 else -inside), factors)
    root = Fraction(outside, over)
    return root if rest == 1 else Elementary(root, ((SquareRoot(rest), 1),))


def logarithm(argument: Number) -> Number:
    """Return the natural logarithm of a number, or raise `NoValue` if it is not known to be > 0."""
    check_positive(argument, "the logarithm")
    if argument == 1:
        return Fraction(0)
    return Elementary(Fraction(1), ((Logarithm(argument), 1),))


def _without_squares(number: int) -> tuple[int, int]:
    """Return (a, b) with a² b = number > 0; no square of a small number divides b."""
    root = isqrt(number)
    if root * root == number:
        return root, 1
    outside = 1
    for prime in range(2, _LARGEST_PRIME):
        while number % (prime * prime) == 0:
            number //= prime * prime
            outside *= prime
    return outside, number


# --- sizes ---------------------------------------------------------------------------------------


def check_positive(value: Number, what: str) -> None:
    """Raise `NoValue` if a number is not > 0, or cannot be told from 0; `what` of it is taken."""
    if sign(value, f"{what} of a number that cannot be told from 0") < 0:
        raise NoValue(f"{what} of a negative number")
    if not value:
        raise NoValue(f"{what} of 0")


def _compared(left: Number, right: Number) -> int:
    """Return the sign of left - right."""
    return sign(total((left, -right)), "two numbers of which the larger cannot be told")


def sign(value: Number, unknown: str) -> int:
    """Return -1, 0 or 1, or raise `NoValue`, which says `unknown`, if it cannot be told from 0."""
    if isinstance(value, Fraction):
        return (value > 0) - (value < 0)
    bits = 64
    while bits <= MOST_BITS:
        found = _enclosed(value, bits)
        if found is not None and not found.lower <= 0 <= found.upper:
            return 1 if found.lower > 0 else -1
        bits *= 4
    raise NoValue(unknown)


def approximate(value: Number, bits: int) -> tuple[Fraction, Fraction]:
    """Approximate a number > 0 by a dyadic rational; `NoValue` if it is not known to be > 0.

    Returns:
        (r, e): r > 0, and |log(value / r)| <= e <= 2^-bits.
    """
    check_positive(value, "the size")
    working, error = bits + 16, Fraction(1, 2**bits)
    while working <= MOST_BITS:
        found = _enclosed(value, working)
        if found is not None and found.lower > 0:
            low = found.lower
            unit = Fraction(2) ** (low.numerator.bit_length() - low.denominator.bit_length())
            step = unit * error / 4
            near = floor(low / step) * step
            apart = found.upper / near - 1  # log(1 + x) <= x
            if apart <= error:
                return near, error * Fraction(ceil(apart / error * 2**16), 2**16)
        working *= 2
    raise NoValue("a number that cannot be told from 0")


def _enclosed(value: Number, bits: int) -> Enclosure | None:
    """Enclose a number by balls of `bits` bits; None if they tell nothing."""
    with precision(bits):
        found = to_enclosure(_ball(value))
    return found if isinstance(found, Enclosure) else None


def _ball(value: Number) -> arb:
    coefficient, factors = _parts(value)
    product = to_ball(coefficient)
    for factor, exponent in factors:
        product *= _factor_ball(factor) ** exponent
    return product


def _factor_ball(factor: Factor) -> arb:
    match factor:
        case SquareRoot(radicand):
            return _ball(radicand).sqrt()
        case Logarithm(argument):
            return _ball(argument).log()
        case Total(terms):
            return sum(map(_ball, terms), arb(0))
