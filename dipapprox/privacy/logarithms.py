"""Budgets such as log(3), eps + log(9/8), 2*log(5) - 1: e^eps_prv is known exactly.

A mechanism is often tight at the logarithm of a rational number: randomised response with 3/4 at
log(3). As a rational number times a rational power of e, e^eps_prv can be compared with
probabilities exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.errors import UserError, shorten
from dipapprox.language.formula import (
    Formula,
    FormulaCall,
    FormulaFunction,
    Negation,
    Operation,
    Operator,
    parse_formula,
)
from dipapprox.numerics.formula_values import Jet, Undefined, evaluate
from dipapprox.pairs.divergence import Growth

_BITS = 64
_LARGEST_POWER = 1_000


def read_growth(text: str) -> Growth:
    """Read an eps_prv without names, which may be negative; a `UserError` if it is no formula, or
    e^eps_prv is not obviously of the kind."""
    growth = growth_of(parse_formula(text, "eps_prv", ()), {})
    if growth is None:
        raise UserError(
            f"eps_prv must be a number or made of logarithms, got '{shorten(text)}'",
            "for example log(3), 2*log(5) or 1/2 + log(9/8)",
        )
    return growth


def growth_of(formula: Formula, values: Mapping[str, Fraction]) -> Growth | None:
    """Return e^formula, at least 1, if it is a rational times a rational power of e, obviously."""
    try:
        return Growth(*_exponential(formula, values))
    except _OtherNumber:
        return None


class _OtherNumber(Exception):
    """Not obviously of the kind."""


_Power = tuple[Fraction, Fraction]  # (q, r) of r e^q, r > 0


def _exponential(formula: Formula, values: Mapping[str, Fraction]) -> _Power:
    """e^formula."""
    number = _rational(formula, values)
    if number is not None:
        return number, Fraction(1)
    match formula:
        case Negation(operand):
            return _raised(_exponential(operand, values), Fraction(-1))
        case Operation(left, Operator.ADD | Operator.SUBTRACT as operator, right):
            sign = Fraction(1 if operator is Operator.ADD else -1)
            second = _raised(_exponential(right, values), sign)
            return _times(_exponential(left, values), second)
        case Operation(left, Operator.MULTIPLY, right):
            factor = _rational(left, values)
            if factor is not None:
                return _raised(_exponential(right, values), factor)
            return _raised(_exponential(left, values), _rational(right, values))
        case Operation(left, Operator.DIVIDE, right):
            divisor = _rational(right, values)
            return _raised(_exponential(left, values), 1 / divisor if divisor else None)
        case FormulaCall(FormulaFunction.LOG, argument):
            return _positive(argument, values)
        case _:
            raise _OtherNumber


def _positive(formula: Formula, values: Mapping[str, Fraction]) -> _Power:
    """A formula itself, if it is > 0."""
    number = _rational(formula, values)
    if number is not None and number > 0:
        return Fraction(0), number
    match formula:
        case _ if number is not None:
            raise _OtherNumber
        case FormulaCall(FormulaFunction.EXP, argument):
            return _exponential(argument, values)
        case FormulaCall(FormulaFunction.SQRT, argument):
            return _raised(_positive(argument, values), Fraction(1, 2))
        case Operation(left, Operator.MULTIPLY | Operator.DIVIDE as operator, right):
            sign = Fraction(1 if operator is Operator.MULTIPLY else -1)
            return _times(_positive(left, values), _raised(_positive(right, values), sign))
        case Operation(left, Operator.POWER, right):
            return _raised(_positive(left, values), _rational(right, values))
        case _:
            raise _OtherNumber


def _rational(formula: Formula, values: Mapping[str, Fraction]) -> Fraction | None:
    """A formula's value, if it is made of rational numbers by rational operations."""
    jets = {name: Jet(Enclosure.exact(value)) for name, value in values.items()}
    try:
        value = evaluate(formula, jets, _BITS).value
    except (Undefined, KeyError):
        return None
    return value.lower if not value.width else None


def _times(left: _Power, right: _Power) -> _Power:
    return left[0] + right[0], left[1] * right[1]


def _raised(base: _Power, power: Fraction | None) -> _Power:
    if power is None or abs(power.numerator) > _LARGEST_POWER:
        raise _OtherNumber
    top, bottom = (_integer_root(part, power.denominator) for part in base[1].as_integer_ratio())
    return base[0] * power, Fraction(top, bottom) ** power.numerator


def _integer_root(value: int, degree: int) -> int:
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**degree < value:
            low = middle + 1
        else:
            high = middle
    if low**degree != value:
        raise _OtherNumber
    return low
