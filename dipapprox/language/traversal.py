"""Walks over surface trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from dipapprox.language import ast


def statements_of(block: ast.Block) -> Iterator[ast.Statement]:
    """Yield all statements of a block, outer ones before inner ones, in source order."""
    stack: list[Iterator[ast.Statement]] = [iter(block)]
    while stack:
        statement = next(stack[-1], None)
        if statement is None:
            stack.pop()
            continue
        yield statement
        match statement:
            case ast.If(branches, otherwise):
                stack.append(iter(otherwise))
                stack.extend(iter(branch.body) for branch in reversed(branches))
            case ast.For() | ast.While() | ast.Forever():
                stack.append(iter(statement.body))
            case _:
                pass


def computed_in(node: ast.Expression) -> Iterator[ast.Computed]:
    """Yield the outermost calls and choices of an expression, from left to right."""
    match node:
        case ast.Call() | ast.Choose() | ast.Disc():
            yield node
        case _:
            for operand in operands_of(node):
                yield from computed_in(operand)


def _parts_of(option: ast.Option) -> Iterator[ast.Expression]:
    for each in (option.value, option.weight, option.turns):
        match each:
            case ast.Range(first, last) | ast.Turns(_, first, last):
                yield first
                yield last
            case None:
                pass
            case _:
                yield each


def operands_of(node: ast.Expression) -> tuple[ast.Expression, ...]:
    """Return the direct parts of an expression."""
    match node:
        case ast.Number() | ast.Truth() | ast.Name():
            return ()
        case ast.Index(_, index):
            return (index,)
        case ast.Call(_, arguments):
            return arguments
        case ast.Choose(options):
            return tuple(part for option in options for part in _parts_of(option))
        case ast.Disc(value, points):
            return (value, *points)
        case ast.Negative(operand) | ast.Not(operand):
            return (operand,)
        case ast.Power(base, exponent):
            return (base, exponent)
        case (
            ast.Sum(operands)
            | ast.Product(operands)
            | ast.Comparison(operands)
            | ast.And(operands)
            | ast.Or(operands)
        ):
            return operands
        case _:
            assert_never(node)
