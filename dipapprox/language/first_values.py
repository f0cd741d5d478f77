"""Loops that give all entries of outputs a first value, before anything else is done with them.

`for i in 1..N do out[i] <- 0 end`, for an output of N entries, is no loop over rounds: it says what
every round begins with, and what the entries remain where none comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dipapprox.data_classes import Record
from dipapprox.language import ast
from dipapprox.language.constants import Wrong, evaluate
from dipapprox.language.declarations import evaluate_value
from dipapprox.language.traversal import nodes_in


def first_values(
    loop: ast.For,
    before: Sequence[ast.Statement],
    outputs: Mapping[str, ast.Output],
    parameter: str,
    constants: Mapping[str, Fraction],
) -> dict[str, ast.Expression] | None:
    """Return the outputs to which a loop gives first values, and these; None if it does more.

    Args:
        loop: Up to the parameter, or what depends on it.
        before: What precedes it: it has nothing to do with these outputs, and does not end.
        outputs: By their names.
        parameter: That may be any number.
        constants: Values of the others.
    """
    found = dict[str, ast.Expression]()
    for statement in loop.body:
        if not isinstance(statement, ast.Assign):
            return None
        for target in statement.targets:
            if not isinstance(target, ast.Index) or target.index != ast.Name(loop.variable):
                return None
            output = outputs.get(target.name)
            if output is None or not _is_whole(loop, output, target.name, parameter, constants):
                return None
            found[target.name] = statement.value
        try:
            evaluate_value(statement.value, constants)
        except Wrong:
            return None
    for node in nodes_in(tuple(before)):
        if isinstance(node, ast.Exit) or getattr(node, "name", None) in found:
            return None
    return found


def _is_whole(
    loop: ast.For, output: ast.Output, array: str, parameter: str, constants: Mapping[str, Fraction]
) -> bool:
    size = next(variable.size for variable in output.variables if variable.name == array)
    if size is None:
        return False
    ends = [affine(each, parameter, constants) for each in (loop.first, loop.last, size)]
    return (
        ends[0] == Affine(Fraction(0), Fraction(1)) and ends[1] is not None and ends[1] == ends[2]
    )


# --- entries that a loop goes through -------------------------------------------------------------


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
