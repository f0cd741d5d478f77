"""Core programs without loops of equal turns: in, a body; out, the same with all turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import assert_never

from dipapprox.data_classes import replace
from dipapprox.language import core

Names = Mapping[str, str]
"""Cells of a turn, by those of the first one."""


def written_out(body: core.Body) -> core.Block:
    """Return the body of a program with every turn of its loops in their place."""
    return tuple(_turns(body))


def _turns(body: core.Body) -> Iterator[core.Statement]:
    for each in body:
        if not isinstance(each, core.Repeat):
            yield each
            continue
        yield from each.body
        for turn in range(1, each.turns):
            names = {
                f"{array}[{each.first}]": f"{array}[{each.first + turn}]" for array in each.arrays
            }
            yield from _renamed(each.body, names, turn * each.sites)


def _renamed(block: core.Block, names: Names, sites: int) -> core.Block:
    return tuple([_statement(each, names, sites) for each in block])


def _statement(statement: core.Statement, names: Names, sites: int) -> core.Statement:
    match statement:
        case core.Assign(target, value):
            return replace(statement, target=_place(target, names), value=_expression(value, names))
        case core.Draw(target, _, mean, _, site):
            return replace(
                statement,
                target=_place(target, names),
                mean=_expression(mean, names),
                site=site + sites,
            )
        case core.If(condition, then, otherwise):
            return replace(
                statement,
                condition=_condition(condition, names),
                then=_renamed(then, names, sites),
                otherwise=_renamed(otherwise, names, sites),
            )
        case core.Exit():
            return statement
        case core.Choose() | core.While():
            raise AssertionError("equal turns assign, draw, branch and exit only")
        case _:
            assert_never(statement)


def _condition(condition: core.Condition, names: Names) -> core.Condition:
    match condition:
        case core.Comparison(left, _, right):
            return replace(
                condition, left=_expression(left, names), right=_expression(right, names)
            )
        case core.All(parts) | core.Any(parts):
            return replace(condition, parts=tuple([_condition(part, names) for part in parts]))
        case _:
            assert_never(condition)


def _expression(expression: core.Expression, names: Names) -> core.Expression:
    match expression:
        case core.Constant():
            return expression
        case core.Variable() | core.Element():
            return _place(expression, names)
        case core.Sum(left, right) | core.Product(left, right):
            return replace(
                expression, left=_expression(left, names), right=_expression(right, names)
            )
        case _:
            assert_never(expression)


def _place(place: core.Variable | core.Element, names: Names) -> core.Variable | core.Element:
    """Rename a cell; an element with a computed index is of no array of the loop."""
    if isinstance(place, core.Variable):
        name = names.get(place.name)
        return place if name is None else replace(place, name=name)
    return replace(place, index=_expression(place.index, names))
