"""Surface trees with some of their parts replaced, and names by expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, assert_never

from dipapprox.data_classes import replace
from dipapprox.language import ast
from dipapprox.source import SourceFile, Span

Change = Callable[[Any], Any]
"""Returns what stands for a node; None: the node with its parts changed."""

Node = TypeVar("Node")

_LEAVES = (str, Span, SourceFile, int)


def rewrite(node: Node, change: Change) -> Node:
    """Return a tree, or a tuple of trees, with nodes replaced from the outside in."""
    if isinstance(node, tuple):
        parts = tuple(rewrite(part, change) for part in node)
        same = all(new is old for new, old in zip(parts, node, strict=True))
        return node if same else parts  # type: ignore[return-value]  # of the same type
    slots: tuple[str, ...] | None = getattr(node, "__slots__", None)
    if isinstance(node, _LEAVES) or not slots or not _is_tree(node):
        return node
    found = change(node)
    if found is not None:
        return found  # type: ignore[no-any-return]  # the caller's
    changed = {}
    for name in slots:
        old = getattr(node, name)
        new = rewrite(old, change)
        if new is not old:
            changed[name] = new
    return replace(node, **changed) if changed else node  # type: ignore[type-var]  # data classes


def nodes_in(tree: Any) -> Iterator[Any]:
    """Yield the nodes of a tree, or of a tuple of trees, outer ones first, in source order."""
    if isinstance(tree, tuple):
        for part in tree:
            yield from nodes_in(part)
    elif _is_tree(tree):
        yield tree
        for name in tree.__slots__:
            yield from nodes_in(getattr(tree, name))


def with_names(tree: Node, values: dict[str, ast.Expression]) -> Node:
    """Return a tree with expressions in the place of some names."""
    return rewrite(tree, lambda node: values.get(node.name) if isinstance(node, ast.Name) else None)


def _is_tree(node: object) -> bool:
    return type(node).__module__ in _MODULES


_MODULES = (ast.__name__, ast.Number.__module__)


def substituted(block: ast.Block, names: Mapping[str, ast.Expression]) -> ast.Block:
    """Replace names by expressions; loop variables hide them."""
    return tuple(_statement(statement, names) for statement in block)


def _statement(node: ast.Statement, names: Mapping[str, ast.Expression]) -> ast.Statement:
    match node:
        case ast.Assign(targets, value):
            places = tuple(_target(target, names) for target in targets)
            return replace(node, targets=places, value=_expression(value, names))
        case ast.If(branches, otherwise):
            inner = tuple(
                replace(
                    branch,
                    condition=_expression(branch.condition, names),
                    body=substituted(branch.body, names),
                )
                for branch in branches
            )
            return replace(node, branches=inner, otherwise=substituted(otherwise, names))
        case ast.For(variable, first, last, body):
            inside = {name: value for name, value in names.items() if name != variable}
            ends = _expression(first, names), _expression(last, names)
            return replace(node, first=ends[0], last=ends[1], body=substituted(body, inside))
        case ast.While(condition, body):
            return replace(
                node, condition=_expression(condition, names), body=substituted(body, names)
            )
        case _:
            return node


def _target(node: ast.Target, names: Mapping[str, ast.Expression]) -> ast.Target:
    found = _expression(node, names)
    return found if isinstance(found, ast.Name | ast.Index) else node


def _expression(node: ast.Expression, names: Mapping[str, ast.Expression]) -> ast.Expression:
    match node:
        case ast.Number() | ast.Truth():
            return node
        case ast.Name(name):
            return names.get(name, node)
        case ast.Index(name, index):
            whole = names.get(name)
            renamed = whole.name if isinstance(whole, ast.Name) else name
            return replace(node, name=renamed, index=_expression(index, names))
        case ast.Call(_, arguments):
            return replace(node, arguments=_all(arguments, names))
        case ast.Choose(options):
            return replace(node, options=tuple(_option(option, names) for option in options))
        case ast.Disc(value, points):
            return replace(node, value=_expression(value, names), points=_all(points, names))
        case ast.Negative(operand) | ast.Not(operand):
            return replace(node, operand=_expression(operand, names))
        case ast.Power(base, exponent):
            return replace(
                node, base=_expression(base, names), exponent=_expression(exponent, names)
            )
        case ast.Sum(operands) | ast.Product(operands) | ast.Comparison(operands):
            return replace(node, operands=_all(operands, names))
        case ast.And(operands) | ast.Or(operands):
            return replace(node, operands=_all(operands, names))
        case _:
            assert_never(node)


def _option(node: ast.Option, names: Mapping[str, ast.Expression]) -> ast.Option:
    turns = node.turns
    if turns is not None:
        ends = _expression(turns.first, names), _expression(turns.last, names)
        names = {name: value for name, value in names.items() if name != turns.variable}
        turns = replace(turns, first=ends[0], last=ends[1])
    value = node.value
    if isinstance(value, ast.Range):
        first, last = _expression(value.first, names), _expression(value.last, names)
        value = replace(value, first=first, last=last)
    else:
        value = _expression(value, names)
    weight = None if node.weight is None else _expression(node.weight, names)
    return replace(node, value=value, weight=weight, turns=turns)


def _all(
    nodes: tuple[ast.Expression, ...], names: Mapping[str, ast.Expression]
) -> tuple[ast.Expression, ...]:
    return tuple(_expression(node, names) for node in nodes)
