"""Formulas in eps as the weights that the kernel reads."""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from dipapprox.errors import NoCertificate
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language.ast import Name, Number
from dipapprox.language.formula import (
    Formula,
    FormulaCall,
    FormulaFunction,
    Negation,
    Operation,
    Operator,
    rational_value,
)
from dipapprox.proof_steps.machines import Json, number_json

_LARGEST_POWER = 100


def times_eps(multiple: Fraction) -> Json:
    """Write multiple * eps."""
    return ["eps"] if multiple == 1 else ["*", number_json(multiple), ["eps"]]


def formula_json(formula: Formula) -> Json:
    """Write a formula.

    Raises:
        NoCertificate: If the kernel has no such functions.
    """
    match formula:
        case Number(value):
            return number_json(value)
        case Name("eps"):
            return ["eps"]
        case Name(name):
            raise NoCertificate(f"'{name}' is no name that the kernel knows")
        case Negation(operand):
            return ["*", -1, formula_json(operand)]
        case FormulaCall(FormulaFunction.EXP, argument):
            return ["exp", formula_json(argument)]
        case FormulaCall(function):
            raise NoCertificate(f"the kernel has no rule for '{function.value}'")
        case Operation(left, Operator.POWER, right):
            return _power(left, right)
        case Operation(left, operator, right):
            return _operation(formula_json(left), operator, formula_json(right))
        case _:
            assert_never(formula)


def _operation(left: Json, operator: Operator, right: Json) -> Json:
    match operator:
        case Operator.ADD | Operator.MULTIPLY:
            return [operator.value, left, right]
        case Operator.SUBTRACT:
            return ["+", left, ["*", -1, right]]
        case Operator.DIVIDE:
            return ["*", left, ["inverse", right]]
        case Operator.POWER:
            raise NoCertificate("a power of a power")
        case _:
            assert_never(operator)


def _power(base: Formula, power: Formula) -> Json:
    exponent = rational_value(power, {})
    if exponent is None or exponent.denominator != 1 or abs(exponent) > _LARGEST_POWER:
        raise NoCertificate("the kernel has no rule for such a power")
    found: Json = 1
    for _ in range(abs(int(exponent))):
        found = ["*", found, formula_json(base)]
    return ["inverse", found] if exponent < 0 else found


def ratio_json(ratio: ExponentialRatio) -> Json:
    """Write an exponential ratio."""
    found = _sum_json(ratio.numerator)
    for factor, exponent in ratio.denominator:
        for _ in range(exponent):
            found = ["*", found, ["inverse", _sum_json(factor)]]
    return found


def _sum_json(function: ExponentialPolynomial) -> Json:
    found: Json = None
    for (power, rate), c in function.terms:
        term: Json = number_json(c)
        for _ in range(power):
            term = ["*", term, ["eps"]]
        if rate:
            term = ["*", term, ["exp", times_eps(rate)]]
        found = term if found is None else ["+", found, term]
    return 0 if found is None else found
