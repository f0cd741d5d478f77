"""Budgets such as log(3), eps + log(9/8), 2*log(5) - 1: e^eps_prv is known exactly.

A mechanism is often tight at the logarithm of a rational number: randomised response with 3/4 at
log(3). As a rational number times a rational power of e, e^eps_prv can be compared with
probabilities exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import assert_never

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.errors import UserError, shorten
from dipapprox.language.ast import Name, Number
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
    """Read an eps_prv without names; it may be negative.

    Raises:
        UserError: If it is no formula, or e^eps_prv is not obviously of the kind.
    """
    growth = growth_of(parse_formula(text, "eps_prv", ()), {})
    if growth is None:
        raise UserError(
            f"eps_prv must be a number or made of logarithms, got '{shorten(text)}'",
            "for example log(3), 2*log(5) or 1/2 + log(9/8)",
        )
    return growth


def growth_of(formula: Formula, values: Mapping[str, Fraction]) -> Growth | None:
    """Return e^formula, at least 1, if it is a rational times a rational power of e, obviously."""
    found = _exponential(formula, values)
    return None if found is None else Growth(*found)


_Power = tuple[Fraction, Fraction]  # (q, r) of r e^q, r > 0


def _exponential(formula: Formula, values: Mapping[str, Fraction]) -> _Power | None:
    """e^formula."""
    number = _rational(formula, values)
    if number is not None:
        return number, Fraction(1)
    match formula:
        case Number() | Name():
            return None
        case Negation(operand):
            return _raised(_exponential(operand, values), Fraction(-1))
        case Operation(left, Operator.ADD, right):
            return _times(_exponential(left, values), _exponential(right, values))
        case Operation(left, Operator.SUBTRACT, right):
            below = _raised(_exponential(right, values), Fraction(-1))
            return _times(_exponential(left, values), below)
        case Operation(left, Operator.MULTIPLY, right):
            factor = _rational(left, values)
            if factor is not None:
                return _raised(_exponential(right, values), factor)
            return _raised(_exponential(left, values), _rational(right, values))
        case Operation(left, Operator.DIVIDE, right):
            divisor = _rational(right, values)
            return _raised(_exponential(left, values), 1 / divisor if divisor else None)
        case Operation():
            return None
        case FormulaCall(FormulaFunction.LOG, argument):
            return _positive(argument, values)
        case FormulaCall():
            return None
        case _:
            assert_never(formula)


def _positive(formula: Formula, values: Mapping[str, Fraction]) -> _Power | None:
    """A formula itself, if it is > 0."""
    number = _rational(formula, values)
    if number is not None:
        return (Fraction(0), number) if number > 0 else None
    match formula:
        case FormulaCall(FormulaFunction.EXP, argument):
            return _exponential(argument, values)
        case FormulaCall(FormulaFunction.SQRT, argument):
            return _raised(_positive(argument, values), Fraction(1, 2))
        case Operation(left, Operator.MULTIPLY, right):
            return _times(_positive(left, values), _positive(right, values))
        case Operation(left, Operator.DIVIDE, right):
            below = _raised(_positive(right, values), Fraction(-1))
            return _times(_positive(left, values), below)
        case Operation(left, Operator.POWER, right):
            return _raised(_positive(left, values), _rational(right, values))
        case _:
            return None


def _rational(formula: Formula, values: Mapping[str, Fraction]) -> Fraction | None:
    """A formula's value, if it is made of rational numbers by rational operations."""
    jets = {name: Jet(Enclosure.exact(value)) for name, value in values.items()}
    try:
        value = evaluate(formula, jets, _BITS).value
    except (Undefined, KeyError):
        return None
    return value.lower if not value.width else None


def _times(left: _Power | None, right: _Power | None) -> _Power | None:
    if left is None or right is None:
        return None
    return left[0] + right[0], left[1] * right[1]


def _raised(base: _Power | None, power: Fraction | None) -> _Power | None:
    """base^power, if that is of the kind."""
    if base is None or power is None or abs(power.numerator) > _LARGEST_POWER:
        return None
    root = _root(base[1], power.denominator)
    return None if root is None else (base[0] * power, root**power.numerator)


def _root(value: Fraction, degree: int) -> Fraction | None:
    """The rational root of a number > 0, if it has one."""
    roots = [_integer_root(part, degree) for part in (value.numerator, value.denominator)]
    if roots[0] is None or roots[1] is None:
        return None
    return Fraction(roots[0], roots[1])


def _integer_root(value: int, degree: int) -> int | None:
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**degree < value:
            low = middle + 1
        else:
            high = middle
    return low if low**degree == value else None
