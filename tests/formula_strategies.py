"""Random formulas as text, with an evaluation of their own: exact fractions, or 60 decimals."""

import decimal
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

from hypothesis import strategies as st

from dipapprox.language.ast import Name, Number
from dipapprox.language.formula import (
    Formula,
    FormulaCall,
    FormulaFunction,
    Negation,
    Operation,
    Operator,
)

CONTEXT = decimal.Context(prec=60)
"""`Decimal.sqrt`, `.ln` and `.exp` are correctly rounded: an oracle that shares no code with us."""

ARITHMETIC = [Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY, Operator.DIVIDE]

decimals = st.integers(0, 999).map(lambda n: Number(Fraction(n, 100)))
leaves: st.SearchStrategy[Formula] = decimals | st.just(Name("eps"))


def _grow(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    exponents = st.integers(0, 4).map(lambda n: Number(Fraction(n)))
    return st.one_of(
        st.builds(Negation, inner),
        st.builds(Operation, inner, st.sampled_from(ARITHMETIC), inner),
        st.builds(Operation, inner, st.just(Operator.POWER), exponents),
    )


rational_formulas = st.recursive(leaves, _grow, max_leaves=8)

formulas = st.recursive(
    leaves,
    lambda inner: (
        _grow(inner) | st.builds(FormulaCall, st.sampled_from(list(FormulaFunction)), inner)
    ),
    max_leaves=6,
)


def write(formula: Formula) -> str:
    """Write a formula with a parenthesis around every operation."""
    match formula:
        case Number(value):
            return str(_decimal(value))
        case Name(name):
            return name
        case Negation(operand):
            return f"(-{write(operand)})"
        case Operation(left, operator, right):
            return f"({write(left)} {operator.value} {write(right)})"
        case FormulaCall(function, argument):
            return f"{function.value}({write(argument)})"


Real = TypeVar("Real", Fraction, Decimal)


def exact(formula: Formula, eps: Fraction) -> Fraction | None:
    """Evaluate a rational formula; None if it divides by 0."""
    try:
        return _evaluated(formula, eps, lambda value: value)
    except ZeroDivisionError:
        return None


def rounded(formula: Formula, eps: Fraction) -> Decimal:
    """Evaluate with 60 decimals.

    Raises:
        decimal.DecimalException: If there is no value.
    """
    with decimal.localcontext(CONTEXT) as context:
        context.traps[decimal.Overflow] = True
        return _evaluated(formula, _decimal(eps), _decimal)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _evaluated(formula: Formula, eps: Real, number: Callable[[Fraction], Real]) -> Real:
    match formula:
        case Number(value):
            return number(value)
        case Name():
            return eps
        case Negation(operand):
            return -_evaluated(operand, eps, number)
        case Operation(left, operator, right):
            x, y = (_evaluated(each, eps, number) for each in (left, right))
            return _operated(x, operator, y)
        case FormulaCall(function, argument):
            x = _evaluated(argument, eps, number)
            assert isinstance(x, Decimal), "not rational"
            match function:
                case FormulaFunction.SQRT:
                    return x.sqrt()
                case FormulaFunction.LOG:
                    return x.ln()
                case FormulaFunction.EXP:
                    return x.exp()


def _operated(x: Real, operator: Operator, y: Real) -> Real:
    match operator:
        case Operator.ADD:
            return x + y
        case Operator.SUBTRACT:
            return x - y
        case Operator.MULTIPLY:
            return x * y
        case Operator.DIVIDE:
            return x / y
        case Operator.POWER:
            return x**y if y else type(x)(1)
