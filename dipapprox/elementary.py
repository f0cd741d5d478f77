"""Constants made of rational numbers, square roots and logarithms: 2 · sqrt(2 · log(125000)).

In: such constants, built by `rational`, `product`, `power`, `total`, `square_root`, `logarithm`.
Out: the number itself where that is rational, else rational bounds as close as one wants.

A constant is coefficient · Π factor^exponent, factors being square roots, logarithms and sums that
are no such product. Equal forms are equal numbers, so that two multiples of one constant have an
exact quotient; equal numbers may have different forms. All arithmetic is on integers: nothing is
rounded but outward.

References:
    log x = k log 2 + 2 artanh((m - 1) / (m + 1)) for x = m 2^k, and
    artanh t = t + t³/3 + t⁵/5 + …, whose rest after t^(n-2)/(n-2) is at most t^n / (n (1 - t²)).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import isqrt

from dipapprox.data_classes import dataclass

MOST_BITS = 8192

_LARGEST_PRIME = 100
"""Squares of smaller numbers are taken out of roots."""


class NoValue(Exception):
    """A constant has no value, or none that can be told from 0."""


@dataclass(frozen=True, slots=True)
class SquareRoot:
    """sqrt(radicand), the radicand > 0."""

    radicand: Elementary


@dataclass(frozen=True, slots=True)
class Logarithm:
    """log(argument), the argument > 0."""

    argument: Elementary


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of at least two terms that differ in their factors."""

    terms: tuple[Elementary, ...]


Factor = SquareRoot | Logarithm | Total


@dataclass(frozen=True, slots=True)
class Elementary:
    """coefficient · Π factor^exponent.

    Attributes:
        coefficient: If it is 0 there are no factors.
        factors: (factor, exponent), each factor once, in a fixed order, no exponent 0.
    """

    coefficient: Fraction
    factors: tuple[tuple[Factor, int], ...] = ()

    @property
    def is_rational(self) -> bool:
        """Whether it is written without irrational factors."""
        return not self.factors


# --- building ------------------------------------------------------------------------------------


def rational(value: Fraction) -> Elementary:
    """Return a rational number."""
    return Elementary(value)


def product(left: Elementary, right: Elementary) -> Elementary:
    """Return left · right; squares of roots are what stands under them."""
    exponents = dict(left.factors)
    for factor, exponent in right.factors:
        exponents[factor] = exponents.get(factor, 0) + exponent
    whole = Elementary(Fraction(1))
    kept: list[tuple[Factor, int]] = []
    for factor, exponent in exponents.items():
        if isinstance(factor, SquareRoot):
            whole = product(whole, power(factor.radicand, exponent // 2))
            exponent %= 2
        if exponent:
            kept.append((factor, exponent))
    own = _of(left.coefficient * right.coefficient, kept)
    return own if whole == Elementary(Fraction(1)) else product(own, whole)


def power(base: Elementary, exponent: int) -> Elementary:
    """Return base ^ exponent.

    Raises:
        NoValue: If it is 1/0.
    """
    if exponent < 0 and not base.coefficient:
        raise NoValue("division by zero")
    raised = Elementary(base.coefficient**exponent)
    for factor, own in base.factors:
        raised = product(raised, _power_of(factor, own * exponent))
    return raised


def total(terms: Iterable[Elementary]) -> Elementary:
    """Return a sum; terms with the same factors are joined."""
    joined: dict[tuple[tuple[Factor, int], ...], Fraction] = {}
    for term in terms:
        joined[term.factors] = joined.get(term.factors, Fraction(0)) + term.coefficient
    kept = [Elementary(c, factors) for factors, c in joined.items() if c]
    kept.sort(key=lambda term: repr(term.factors))
    match kept:
        case []:
            return Elementary(Fraction(0))
        case [only]:
            return only
        case _:
            lead = kept[0].coefficient
            scaled = tuple(Elementary(each.coefficient / lead, each.factors) for each in kept)
            return Elementary(lead, ((Total(scaled), 1),))


def square_root(radicand: Elementary) -> Elementary:
    """Return the square root of a number >= 0.

    Raises:
        NoValue: If it is negative, or cannot be told from 0.
    """
    if not radicand.coefficient:
        return radicand
    check_positive(radicand, "the square root")
    numerator, over = radicand.coefficient.numerator, radicand.coefficient.denominator
    outside, inside = _without_squares(abs(numerator) * over)
    # Both may be < 0, the coefficient and the product of the factors: -2 log(1/2).
    rest = _of(Fraction(inside if numerator > 0 else -inside), radicand.factors)
    coefficient = Fraction(outside, over)
    if rest == Elementary(Fraction(1)):
        return Elementary(coefficient)
    return Elementary(coefficient, ((SquareRoot(rest), 1),))


def logarithm(argument: Elementary) -> Elementary:
    """Return the natural logarithm of a number > 0.

    Raises:
        NoValue: If it is not, or cannot be told from 0.
    """
    check_positive(argument, "the logarithm")
    if argument == Elementary(Fraction(1)):
        return Elementary(Fraction(0))
    return Elementary(Fraction(1), ((Logarithm(argument), 1),))


def check_positive(value: Elementary, what: str) -> None:
    """Make sure that a number is > 0.

    Raises:
        NoValue: If it is not, or cannot be told from 0; `what` of it is taken.
    """
    if sign(value, f"{what} of a number that cannot be told from 0") < 0:
        raise NoValue(f"{what} of a negative number")
    if not value.coefficient:
        raise NoValue(f"{what} of 0")


def sign(value: Elementary, unknown: str) -> int:
    """Return -1, 0 or 1.

    Raises:
        NoValue: If it cannot be told from 0; `unknown` says so.
    """
    if not value.coefficient:
        return 0
    bits = 64
    while True:
        low, high = enclose(value, bits)
        if low > 0:
            return 1
        if high < 0:
            return -1
        bits *= 4
        if bits > MOST_BITS:
            raise NoValue(unknown)


def absolute(value: Elementary) -> Elementary:
    """Return |value|.

    Raises:
        NoValue: If it cannot be told from 0.
    """
    negative = sign(value, "a number that cannot be told from 0") < 0
    return product(rational(Fraction(-1)), value) if negative else value


def largest(values: Iterable[Elementary]) -> Elementary:
    """Return the largest of at least one number.

    Raises:
        NoValue: If it cannot be told which that is.
    """
    first, *others = values
    for other in others:
        difference = total((other, product(rational(Fraction(-1)), first)))
        if sign(difference, "two numbers of which the larger cannot be told") > 0:
            first = other
    return first


def _of(coefficient: Fraction, factors: Iterable[tuple[Factor, int]]) -> Elementary:
    return Elementary(coefficient, tuple(sorted(factors, key=repr)) if coefficient else ())


def _power_of(factor: Factor, exponent: int) -> Elementary:
    if isinstance(factor, SquareRoot) and exponent not in (0, 1):
        even = power(factor.radicand, exponent // 2)
        return product(even, _power_of(factor, exponent % 2))
    return Elementary(Fraction(1), ((factor, exponent),) if exponent else ())


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


# --- enclosing -----------------------------------------------------------------------------------

Bounds = tuple[Fraction, Fraction]


def approximate(value: Elementary, bits: int) -> tuple[Fraction, Fraction]:
    """Approximate a number > 0 by a dyadic rational.

    Args:
        value: The number.
        bits: Wanted relative accuracy.

    Returns:
        (r, e): r > 0, and |log(value / r)| <= e <= 2^-bits.

    Raises:
        NoValue: If it is not > 0, or cannot be told from 0.
    """
    check_positive(value, "the size")
    working = bits + 16
    while True:
        low, high = enclose(value, working)
        if low > 0:
            near = _rounded(low, bits + 2, up=False)
            error = _rounded(high / near - 1, 16, up=True)  # log(1 + x) <= x
            if error <= Fraction(1, 2**bits):
                return near, error
        working *= 2
        if working > MOST_BITS:
            raise NoValue("a number that cannot be told from 0")


def enclose(value: Elementary, bits: int) -> Bounds:
    """Return rational bounds of a number, computed with `bits` bits; they may be far apart.

    Raises:
        NoValue: If the bounds of a divisor contain 0 at this precision.
    """
    found = (value.coefficient, value.coefficient)
    for factor, exponent in value.factors:
        for _ in range(abs(exponent)):
            bounds = _enclose(factor, bits)
            if exponent < 0:
                if bounds[0] <= 0 <= bounds[1]:
                    raise NoValue("division by a number that cannot be told from 0")
                bounds = 1 / bounds[1], 1 / bounds[0]
            ends = [a * b for a in found for b in bounds]
            found = _outward((min(ends), max(ends)), bits)
    return found


def _enclose(factor: Factor, bits: int) -> Bounds:
    match factor:
        case SquareRoot(radicand):
            low, high = enclose(radicand, bits)
            return _root(max(low, Fraction(0)), bits, up=False), _root(high, bits, up=True)
        case Logarithm(argument):
            low, high = enclose(argument, bits)
            if low <= 0:
                raise NoValue("the logarithm of a number that cannot be told from 0")
            return _logarithm(low, bits)[0], _logarithm(high, bits)[1]
        case Total(terms):
            each = [enclose(term, bits) for term in terms]
            low, high = (sum((b[k] for b in each), Fraction(0)) for k in (0, 1))
            return _outward((low, high), bits)


def _outward(bounds: Bounds, bits: int) -> Bounds:
    return _rounded(bounds[0], bits, up=False), _rounded(bounds[1], bits, up=True)


def _rounded(value: Fraction, bits: int, *, up: bool) -> Fraction:
    """Round to about `bits` significant bits."""
    if not value:
        return value
    size = value.numerator.bit_length() - value.denominator.bit_length()
    shift = bits - size
    scaled = value * Fraction(2) ** shift
    whole = -((-scaled.numerator) // scaled.denominator) if up else scaled.__floor__()
    return whole * Fraction(2) ** -shift


def _root(value: Fraction, bits: int, *, up: bool) -> Fraction:
    if not value:
        return value
    size = value.numerator.bit_length() - value.denominator.bit_length()
    shift = bits - size // 2
    scaled = value * Fraction(4) ** shift
    root = isqrt(scaled.__floor__())
    if up and root * root < scaled:
        root += 1
    return root * Fraction(2) ** -shift


def _logarithm(value: Fraction, bits: int) -> Bounds:
    """Enclose log(value), value > 0, to about 2^-bits."""
    places = bits + 16
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    mantissa = value * Fraction(2) ** -shift  # in 1/2..2
    if mantissa > Fraction(4, 3):
        mantissa, shift = mantissa / 2, shift + 1
    elif mantissa < Fraction(2, 3):
        mantissa, shift = mantissa * 2, shift - 1
    inner = (mantissa - 1) / (mantissa + 1)
    low, high = _artanh(abs(inner), places)
    if inner < 0:
        low, high = -high, -low
    two = _artanh(Fraction(1, 3), places)
    near, far = sorted((shift * two[0], shift * two[1]))
    return 2 * (low + near), 2 * (high + far)


def _artanh(value: Fraction, places: int) -> Bounds:
    """Enclose artanh(value), 0 <= value <= 1/3, in units of 2^-places."""
    unit = 1 << places
    least = (value * unit).__floor__()
    most = least + 1
    square_least, square_most = least * least >> places, -(-(most * most) >> places)
    low = high = 0
    order = 1
    while most > 1:
        low += least // order
        high += -(-most // order)
        least = least * square_least >> places
        most = -(-(most * square_most) >> places)
        order += 2
        # `most` stays at 1 when rounded up: then the rest is at most 9/8 units.
    return Fraction(low, unit), Fraction(high + 2, unit)
