"""Formulas in `eps` with irrational constants, between two exponential ratios.

exp(-2)*eps, eps/100 + sqrt(2)/10, exp(-eps - 1)/3: sums of c ε^n e^{qε} whose coefficients are
known by enclosures, over denominators that are exact. As ε^n e^{qε} > 0, the lower ends of all
coefficients make a lower bound for every ε, the upper ends an upper one.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, floor
from typing import assert_never

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import dataclass
from dipapprox.exponentials import Exponent, ExponentialPolynomial, ExponentialRatio
from dipapprox.language.ast import Name, Number
from dipapprox.language.formula import (
    Call,
    Formula,
    Function,
    Negation,
    Operation,
    Operator,
    mentions_epsilon,
)
from dipapprox.numerics import intervals
from dipapprox.numerics.formula_values import evaluate

LARGEST_POWER = 100

MOST_PRODUCTS = 5_000
"""Of terms, in one product of a formula: nobody could use a longer one."""

MOST_BELOW = 1_000
"""Terms of the factors in a denominator, repeated ones included: sums multiply them out."""

TOO_LONG = "too long a function of eps when it is multiplied out"
_CONSTANT: Exponent = (0, Fraction(0))
_LINEAR: Exponent = (1, Fraction(0))

_Terms = Mapping[Exponent, Enclosure]


class OutsideClass(Exception):
    """A formula has no such bounds; `place` is the part that is to blame."""

    def __init__(self, reason: str, place: Formula) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place


class _TooLong(Exception):
    """A product has too many terms."""


@dataclass(frozen=True, slots=True)
class _Enclosed:
    """Σ c ε^n e^{qε} over Π factor^exponent, all factors > 0 for every ε > 0."""

    terms: _Terms
    denominator: Mapping[ExponentialPolynomial, int]


def enclosing_ratios(formula: Formula, bits: int) -> tuple[ExponentialRatio, ExponentialRatio]:
    """Return functions at most, and at least, a formula for every ε > 0.

    Args:
        formula: In `eps`.
        bits: Of the enclosures of constants.

    Raises:
        OutsideClass: If it is no such sum.
        Undefined: If a constant in it has no value.
    """
    try:
        found = _enclosed(formula, bits)
    except _TooLong:
        raise OutsideClass(TOO_LONG, formula) from None
    terms = found.terms.items()
    low = ExponentialPolynomial.of({e: rounded(c.lower, bits, up=False) for e, c in terms})
    high = ExponentialPolynomial.of({e: rounded(c.upper, bits) for e, c in terms})
    return (
        ExponentialRatio.of(low, found.denominator),
        ExponentialRatio.of(high, found.denominator),
    )


def rounded(value: Fraction, bits: int, *, up: bool = True) -> Fraction:
    """Round outward to few bits: denominators of thousands of digits slow every sign down."""
    scale = 2 ** (bits + 2)
    if scale % value.denominator == 0:
        return value
    return Fraction((ceil if up else floor)(value * scale), scale)


def _enclosed(formula: Formula, bits: int) -> _Enclosed:
    if not mentions_epsilon(formula):
        return _Enclosed({_CONSTANT: evaluate(formula, {}, bits).value}, {})
    match formula:
        case Number():
            raise AssertionError("a number does not mention eps")
        case Name():
            return _Enclosed({_LINEAR: Enclosure.exact(1)}, {})
        case Negation(operand):
            found = _enclosed(operand, bits)
            return _Enclosed(_scaled(found.terms, Enclosure.exact(-1)), found.denominator)
        case Operation(left, operator, right):
            return _operation(left, operator, right, bits)
        case Call(Function.EXP, argument):
            return _exponential(argument, bits)
        case Call(function, argument):
            raise OutsideClass(
                f"'{function.value}' of eps is outside the decidable class", argument
            )
        case _:
            assert_never(formula)


def _operation(left: Formula, operator: Operator, right: Formula, bits: int) -> _Enclosed:
    first = _enclosed(left, bits)
    match operator:
        case Operator.ADD:
            return _sum(first, _enclosed(right, bits))
        case Operator.SUBTRACT:
            return _sum(first, _enclosed(Negation(right), bits))
        case Operator.MULTIPLY:
            return _product(first, _enclosed(right, bits))
        case Operator.DIVIDE:
            return _product(first, _inverse(_enclosed(right, bits), right))
        case Operator.POWER:
            power = None if mentions_epsilon(right) else evaluate(right, {}, bits).value
            if power is None or power.width or power.lower.denominator != 1:
                raise OutsideClass("an exponent must be a whole number", right)
            if abs(power.lower) > LARGEST_POWER:
                raise OutsideClass(f"an exponent beyond {LARGEST_POWER}", right)
            base = first if power.lower >= 0 else _inverse(first, left)
            result = _Enclosed({_CONSTANT: Enclosure.exact(1)}, {})
            for _ in range(abs(int(power.lower))):
                result = _product(result, base)
            return result
        case _:
            assert_never(operator)


def _exponential(argument: Formula, bits: int) -> _Enclosed:
    """e^(c + q ε), c any constant."""
    found = _enclosed(argument, bits)
    rate = found.terms.get(_LINEAR, Enclosure.exact(0))
    if found.denominator or found.terms.keys() - {_CONSTANT, _LINEAR} or rate.width:
        raise OutsideClass("an exponent must be a rational multiple of eps", argument)
    constant = found.terms.get(_CONSTANT, Enclosure.exact(0))
    try:
        return _Enclosed({(0, rate.lower): intervals.exponentiate(constant, bits)}, {})
    except (ValueError, OverflowError):
        raise OutsideClass("a constant exponent is too large", argument) from None


def _sum(first: _Enclosed, second: _Enclosed) -> _Enclosed:
    common = {
        factor: max(each.denominator.get(factor, 0) for each in (first, second))
        for factor in {**first.denominator, **second.denominator}
    }
    total: dict[Exponent, Enclosure] = {}
    for each in (first, second):
        terms = each.terms
        for factor, exponent in common.items():
            for _ in range(exponent - each.denominator.get(factor, 0)):
                terms = _multiplied(terms, {e: Enclosure.exact(c) for e, c in factor.terms})
        for exponent_, c in terms.items():
            total[exponent_] = total[exponent_] + c if exponent_ in total else c
    return _Enclosed(total, common)


def _product(first: _Enclosed, second: _Enclosed) -> _Enclosed:
    factors = dict(first.denominator)
    for factor, exponent in second.denominator.items():
        factors[factor] = factors.get(factor, 0) + exponent
    if sum(len(factor.terms) * exponent for factor, exponent in factors.items()) > MOST_BELOW:
        raise _TooLong
    return _Enclosed(_multiplied(first.terms, second.terms), factors)


def _multiplied(first: _Terms, second: _Terms) -> _Terms:
    if len(first) * len(second) > MOST_PRODUCTS:
        raise _TooLong
    total: dict[Exponent, Enclosure] = {}
    for (n, q), c in first.items():
        for (m, r), d in second.items():
            exponent, product = (n + m, q + r), _times(c, d)
            total[exponent] = total[exponent] + product if exponent in total else product
    return total


def _scaled(terms: _Terms, factor: Enclosure) -> _Terms:
    return {exponent: _times(c, factor) for exponent, c in terms.items()}


def _times(x: Enclosure, y: Enclosure) -> Enclosure:
    """The product without rounding: a few digits more do not matter for one formula."""
    ends = [a * b for a in (x.lower, x.upper) for b in (y.lower, y.upper)]
    return Enclosure(min(ends), max(ends))


def _inverse(found: _Enclosed, place: Formula) -> _Enclosed:
    """1 / what has one sign for certain."""
    one = ExponentialPolynomial.constant(1)
    for factor, exponent in found.denominator.items():
        one = one * factor**exponent
    top: _Terms = {e: Enclosure.exact(c) for e, c in one.terms}
    match tuple(found.terms.items()):
        case (((0, rate), c),) if 0 not in c:
            shifted = {(n, q - rate): value for (n, q), value in top.items()}
            return _Enclosed(_scaled(shifted, Enclosure(1 / c.upper, 1 / c.lower)), {})
        case _:
            pass
    if any(c.width for c in found.terms.values()):
        raise OutsideClass("a denominator must not mix eps with irrational constants", place)
    bottom = ExponentialPolynomial.of({e: c.lower for e, c in found.terms.items()})
    signs = {c > 0 for _, c in bottom.terms}
    if len(signs) != 1:
        raise OutsideClass("a denominator must be of one sign term by term", place)
    if False in signs:
        bottom, top = -bottom, _scaled(top, Enclosure.exact(-1))
    return _Enclosed(top, {bottom: 1})
