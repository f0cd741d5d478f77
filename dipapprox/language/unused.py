"""What a program declares and does not use: nothing wrong, but often a slip.

In: a program, as parsed. Out: warnings about parameters and inputs that occur nowhere, and about
values of outputs that no assignment can give, where all assigned values are constants.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from dipapprox.language import ast, printer
from dipapprox.language.traversal import nodes_in, operands_of, statements_of
from dipapprox.source import Diagnostic

_KIND = "warning"


def unused(program: ast.Program) -> tuple[Diagnostic, ...]:
    """Return a warning for everything that is declared and not used, in source order."""
    if program.handlers:  # arguments and states are used in ways of their own
        return ()
    read = _names_read(program)
    assigned = {target.name for target, _ in _assignments(program)}
    found: list[Diagnostic] = []
    for declaration in program.declarations:
        match declaration:
            case ast.Parameter(name) if name not in read:
                message = f"the parameter '{name}' is not used"
                found.append(Diagnostic(_KIND, message, declaration.span))
            case ast.Input(variables):
                for each in variables:
                    if each.name not in read:
                        message = f"the input '{each.name}' is not used"
                        found.append(Diagnostic(_KIND, message, each.span))
            case ast.Output(variables, domain):
                for each in variables:
                    if each.name in assigned:
                        found += _never_given(program, each, domain)
    return tuple(found)


def _names_read(program: ast.Program) -> set[str]:
    """Return the names that stand anywhere but on the left of an assignment."""
    found: set[str] = set()
    for declaration in program.declarations:
        found |= _names_in(declaration)
    for statement in statements_of(program.body):
        if isinstance(statement, ast.Assign):
            indices = (each.index for each in statement.targets if isinstance(each, ast.Index))
            found |= _names_in((statement.value, *indices))
        else:
            found |= _names_in(operands_of(statement))
    return found


def _names_in(tree: object) -> set[str]:
    return {node.name for node in nodes_in(tree) if isinstance(node, ast.Name | ast.Index)}


def _assignments(program: ast.Program) -> Iterator[tuple[ast.Target, ast.Expression]]:
    for statement in statements_of(program.body):
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                yield target, statement.value


def _never_given(
    program: ast.Program, variable: ast.Declared, domain: ast.Domain
) -> Iterator[Diagnostic]:
    parameters = {d.name for d in program.declarations if isinstance(d, ast.Parameter)}
    values = [value for value in domain if _is_constant(value, parameters)]
    given = [value for target, value in _assignments(program) if target.name == variable.name]
    if len(values) < len(domain) or not all(_is_constant(v, parameters) for v in given):
        return
    if not all(value in values for value in given):
        return  # a local variable, or a mistake that others find
    for value in values:
        if value not in given:
            message = f"the output '{variable.name}' is never {printer.print_expression(value)}"
            yield Diagnostic(_KIND, message, variable.span)


def _is_constant(node: object, parameters: set[str]) -> TypeGuard[ast.Expression]:
    match node:
        case ast.Number() | ast.Truth() | ast.Negative(ast.Number()):
            return True
        case ast.Name(name):
            return name not in parameters
        case _:
            return False
