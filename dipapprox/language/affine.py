"""Expressions that are affine in one variable."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dipapprox.data_classes import Record
from dipapprox.language import ast
from dipapprox.language.constants import Wrong, evaluate


class Affine(Record):
    """slope · variable + start."""

    slope: Fraction
    start: Fraction


def affine(
    node: ast.Expression, variable: str | None, constants: Mapping[str, Fraction]
) -> Affine | None:
    """Read an expression as slope · variable + start; None if it is not of that form.

    Args:
        variable: Its variable; None for none.
        constants: Values of all other names.
    """
    match node:
        case ast.Name(name) if name == variable:
            return Affine(Fraction(1), Fraction(0))
        case ast.Negative(operand):
            return _scaled(affine(operand, variable, constants), Fraction(-1))
        case ast.Sum(operands, operators):
            total = affine(operands[0], variable, constants)
            for operator, operand in zip(operators, operands[1:], strict=True):
                sign = Fraction(1 if operator == "+" else -1)
                part = _scaled(affine(operand, variable, constants), sign)
                if total is None or part is None:
                    return None
                total = Affine(total.slope + part.slope, total.start + part.start)
            return total
        case ast.Product(operands, operators):
            total = affine(operands[0], variable, constants)
            for operator, operand in zip(operators, operands[1:], strict=True):
                part = affine(operand, variable, constants)
                if total is None or part is None or (operator == "/" and part.slope):
                    return None
                if operator == "/":
                    if not part.start:
                        return None
                    total = _scaled(total, 1 / part.start)
                elif part.slope and total.slope:
                    return None
                elif part.slope:
                    total = _scaled(part, total.start)
                else:
                    total = _scaled(total, part.start)
            return total
        case _:
            try:
                return Affine(Fraction(0), evaluate(node, constants))
            except Wrong:
                return None


def _scaled(form: Affine | None, factor: Fraction) -> Affine | None:
    return None if form is None else Affine(form.slope * factor, form.start * factor)
