"""Derivatives of exponential polynomials and ratios, and their limits at 0 and at infinity."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from math import factorial

from dipapprox.exact.signs.values import Function, as_ratio
from dipapprox.exponentials import Exponent, ExponentialPolynomial, ExponentialRatio


class Infinity(Enum):
    """A limit that is no number."""

    PLUS = "inf"
    MINUS = "-inf"


_ONE = ExponentialPolynomial.constant(1)


def derivative(function: Function) -> Function:
    """The derivative with respect to ε.

    For n / Π f_i^(e_i) it is (n' Π f_i - n Σ_i e_i f_i' Π_(j != i) f_j) / Π f_i^(e_i + 1).
    """
    if isinstance(function, ExponentialPolynomial):
        return _derivative(function)
    factors = [factor for factor, _ in function.denominator]
    numerator = _product((_derivative(function.numerator), *factors))
    for place, (factor, exponent) in enumerate(function.denominator):
        others = factors[:place] + factors[place + 1 :]
        term = _product((function.numerator, _derivative(factor), *others))
        numerator = numerator - term.scaled(exponent)
    below = {factor: exponent + 1 for factor, exponent in function.denominator}
    return ExponentialRatio.of(numerator, below)


def limit_at_zero(function: Function) -> Fraction | Infinity:
    """The limit for ε -> 0, exact if it is finite."""
    ratio = as_ratio(function)
    if not ratio.numerator:
        return Fraction(0)
    order, value = _leading_at_zero(ratio.numerator)
    for factor, exponent in ratio.denominator:
        below, divisor = _leading_at_zero(factor)
        order, value = order - below * exponent, value / divisor**exponent
    return _limit(-order, value)


def limit_at_infinity(function: Function) -> Fraction | Infinity:
    """The limit for ε -> ∞, exact if it is finite."""
    ratio = as_ratio(function)
    if not ratio.numerator:
        return Fraction(0)
    power, rate, value = _leading_at_infinity(ratio.numerator)
    for factor, exponent in ratio.denominator:
        n, q, c = _leading_at_infinity(factor)
        power, rate = power - n * exponent, rate - q * exponent
        value /= c**exponent
    return _limit(rate or power, value)


def _limit(growth: Fraction | int, value: Fraction) -> Fraction | Infinity:
    """The limit of something like value * x^growth, x -> infinity."""
    if growth > 0:
        return Infinity.PLUS if value > 0 else Infinity.MINUS
    return Fraction(0) if growth < 0 else value


def _leading_at_zero(function: ExponentialPolynomial) -> tuple[int, Fraction]:
    """(k, a) with f(ε) = a ε^k + O(ε^(k+1)), a != 0; ends for every f but the zero function."""
    order = 0
    while True:
        value = sum(
            (
                c * q ** (order - n) / factorial(order - n)
                for (n, q), c in function.terms
                if n <= order
            ),
            Fraction(0),
        )
        if value:
            return order, value
        order += 1


def _leading_at_infinity(function: ExponentialPolynomial) -> tuple[int, Fraction, Fraction]:
    """(n, q, c) of the term c ε^n e^(qε) that outgrows the others."""
    (n, q), c = max(function.terms, key=lambda term: (term[0][1], term[0][0]))
    return n, q, c


def _derivative(function: ExponentialPolynomial) -> ExponentialPolynomial:
    total: dict[Exponent, Fraction] = {}
    for (n, q), c in function.terms:
        total[n, q] = total.get((n, q), Fraction(0)) + c * q
        if n:
            total[n - 1, q] = total.get((n - 1, q), Fraction(0)) + c * n
    return ExponentialPolynomial.of(total)


def _product(functions: tuple[ExponentialPolynomial, ...]) -> ExponentialPolynomial:
    total = _ONE
    for function in functions:
        total = total * function
    return total
