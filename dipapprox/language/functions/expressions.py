"""Expressions: a function for each node type; what is in no table is refused."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import isinf
from typing import Any

from dipapprox.language.functions import calls, objects, operators, places
from dipapprox.language.functions.arithmetic import combine
from dipapprox.language.functions.comparisons import compare
from dipapprox.language.functions.machine import (
    ERRORS,
    SCALARS,
    Machine,
    Raised,
    Scope,
    Stream,
    Text,
    Word,
)
from dipapprox.language.functions.quantities import Condition, Quantity
from dipapprox.language.functions.symbols import Symbolic
from dipapprox.language.functions.values import items, key, kind_of, listed, truth
from dipapprox.language.functions.variables import (
    assign,
    bind,
    index,
    item,
    look_up,
    targets_of,
)


def condition(machine: Machine, node: ast.expr, scope: Scope) -> bool:
    """Evaluate an expression, and decide whether it is true."""
    return truth(machine, node, machine.evaluate(node, scope))


# --- names and displays ---------------------------------------------------------------------------


def _constant(machine: Machine, node: ast.Constant, scope: Scope) -> Any:
    if type(node.value) is float and not isinf(node.value):
        simple = Fraction(str(node.value))
        shown = simple if simple.denominator == 1 else f'Fraction("{simple}")'
        message = f"a number must be an exact number, got the float {node.value!r}"
        raise machine.refusal(node, message, f"write {shown}")
    if node.value is ...:
        return Word("...")
    if type(node.value) not in SCALARS:
        raise machine.refusal(node, f"{type(node.value).__name__} is nothing to compute with")
    return node.value


def _name(machine: Machine, node: ast.Name, scope: Scope) -> Any:
    return look_up(machine, node, node.id, scope)


def _several(machine: Machine, nodes: list[ast.expr], scope: Scope) -> list[Any]:
    found: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            found.extend(items(machine, node.value, machine.evaluate(node.value, scope)))
        else:
            found.append(machine.evaluate(node, scope))
    return found


def _list(machine: Machine, node: ast.List, scope: Scope) -> Any:
    return _several(machine, node.elts, scope)


def _tuple(machine: Machine, node: ast.Tuple, scope: Scope) -> Any:
    return tuple(_several(machine, node.elts, scope))


def _set(machine: Machine, node: ast.Set, scope: Scope) -> Any:
    return {key(machine, node, each) for each in _several(machine, node.elts, scope)}


def _dict(machine: Machine, node: ast.Dict, scope: Scope) -> Any:
    found: dict[Any, Any] = {}
    for name, value in zip(node.keys, node.values, strict=True):
        if name is None:
            other = machine.evaluate(value, scope)
            if type(other) is not dict:
                raise machine.refusal(value, "only a dictionary is unpacked into one")
            found.update(other)
        else:
            held = key(machine, name, machine.evaluate(name, scope))
            found[held] = machine.evaluate(value, scope)
    return found


# --- operators ------------------------------------------------------------------------------------


def _unary(machine: Machine, node: ast.UnaryOp, scope: Scope) -> Any:
    value = machine.evaluate(node.operand, scope)
    if isinstance(node.op, ast.Not):
        return not truth(machine, node.operand, value)
    if isinstance(value, Symbolic):
        machine.at(node)
        if isinstance(node.op, ast.Invert):
            if type(value) is not Condition:
                raise value.refusal("has no such operation")
            return ~value
        if isinstance(value, Condition):
            value = value.number()
        if isinstance(node.op, ast.UAdd):
            return +value if isinstance(value, Quantity) else value
        return -value
    if isinstance(node.op, ast.Invert) and type(value) is bool:
        message = "'~' of what is no condition: of Python's truth values it makes a number"
        raise machine.refusal(node, message, "write not")
    operate, allowed = operators.UNARY[type(node.op)]
    if type(value) not in allowed:
        raise machine.refusal(node, f"this operator is not known for {kind_of(value)}")
    return operate(value)


def _binary(machine: Machine, node: ast.BinOp, scope: Scope) -> Any:
    left = machine.evaluate(node.left, scope)
    return combine(machine, node, node.op, left, machine.evaluate(node.right, scope))


def _boolean(machine: Machine, node: ast.BoolOp, scope: Scope) -> Any:
    ends = isinstance(node.op, ast.Or)
    for each in node.values[:-1]:
        value = machine.evaluate(each, scope)
        if truth(machine, each, value) == ends:
            return value
    return machine.evaluate(node.values[-1], scope)


# --- comparisons ----------------------------------------------------------------------------------


def _compare(machine: Machine, node: ast.Compare, scope: Scope) -> Any:
    left = machine.evaluate(node.left, scope)
    for place, (op, each) in enumerate(zip(node.ops, node.comparators, strict=True)):
        right = machine.evaluate(each, scope)
        found = compare(machine, node, op, left, right)
        if place == len(node.ops) - 1 or not truth(machine, node, found):
            return found
        left = right
    raise AssertionError("a comparison has two sides")


# --- parts ----------------------------------------------------------------------------------------


def _conditional(machine: Machine, node: ast.IfExp, scope: Scope) -> Any:
    holds = condition(machine, node.test, scope)
    return machine.evaluate(node.body if holds else node.orelse, scope)


def _subscript(machine: Machine, node: ast.Subscript, scope: Scope) -> Any:
    value = machine.evaluate(node.value, scope)
    return item(machine, node, value, index(machine, node, scope))


def _attribute(machine: Machine, node: ast.Attribute, scope: Scope) -> Any:
    return objects.attribute(machine, node, machine.evaluate(node.value, scope), node.attr)


def _walrus(machine: Machine, node: ast.NamedExpr, scope: Scope) -> Any:
    places.note_name(node.target, node.value)
    value = machine.evaluate(node.value, scope)
    while scope.comprehends and scope.outer is not None:
        scope = scope.outer
    bind(machine, node.target, node.target.id, value, scope)
    return value


def _joined(machine: Machine, node: ast.JoinedStr, scope: Scope) -> Any:
    parts: list[Any] = []
    for each in node.values:
        if isinstance(each, ast.Constant):
            parts.append(each.value)
            continue
        held: Any = each
        value = machine.evaluate(held.value, scope)
        plain = held.format_spec is None and type(value) in SCALARS
        parts.append(format(value) if plain and held.conversion == -1 else Text())
        if plain and held.conversion != -1:
            parts[-1] = repr(value) if held.conversion == ord("r") else format(value)
    return Text() if any(isinstance(each, Text) for each in parts) else "".join(parts)


# --- functions and comprehensions -----------------------------------------------------------------


def _lambda(machine: Machine, node: ast.Lambda, scope: Scope) -> Any:
    return calls.function_of(machine, node, "<lambda>", scope)


def _comprehended(
    machine: Machine, node: Any, scope: Scope, element: Callable[[Scope], Any]
) -> Iterator[Any]:
    """Yield the elements of a comprehension; the first iterable is evaluated at once."""
    generators: list[ast.comprehension] = node.generators
    if any(each.is_async for each in generators):
        raise machine.refusal(node, "the mechanism is async: it must return when it is called")
    first = items(machine, generators[0].iter, machine.evaluate(generators[0].iter, scope))
    names = frozenset(name for each in generators for name in targets_of(each.target))
    inner = Scope(names, scope, comprehends=True)

    def loop(depth: int, values: Iterator[Any] | None) -> Iterator[Any]:
        if depth == len(generators):
            try:
                yield element(inner)
            except Raised as error:
                if error.value.kind is ERRORS["StopIteration"]:
                    raise machine.refusal(
                        error.node, "an iterator has ended: next(values, default)"
                    ) from None
                raise
            return
        each = generators[depth]
        if values is None:
            values = items(machine, each.iter, machine.evaluate(each.iter, inner))
        for value in values:
            machine.step(node)
            assign(machine, each.target, value, inner)
            if all(condition(machine, test, inner) for test in each.ifs):
                yield from loop(depth + 1, None)

    return loop(0, first)


def _list_of(machine: Machine, node: ast.ListComp, scope: Scope) -> Any:
    stream = _stream_of(machine, node, scope)
    return listed(machine, node, stream)


def _stream_of(machine: Machine, node: Any, scope: Scope) -> Stream:
    return Stream(
        _comprehended(machine, node, scope, lambda inner: machine.evaluate(node.elt, inner))
    )


def _set_of(machine: Machine, node: ast.SetComp, scope: Scope) -> Any:
    return {key(machine, node, each) for each in _list_of(machine, node, scope)}  # type: ignore[arg-type]  # alike


def _dict_of(machine: Machine, node: ast.DictComp, scope: Scope) -> Any:
    def pair(inner: Scope) -> Any:
        name = key(machine, node.key, machine.evaluate(node.key, inner))
        return name, machine.evaluate(node.value, inner)

    return dict(listed(machine, node, Stream(_comprehended(machine, node, scope, pair))))


EXPRESSIONS: dict[type[ast.AST], Callable[[Machine, Any, Scope], Any]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.List: _list,
    ast.Tuple: _tuple,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.Subscript: _subscript,
    ast.Attribute: _attribute,
    ast.NamedExpr: _walrus,
    ast.JoinedStr: _joined,
    ast.Lambda: _lambda,
    ast.ListComp: _list_of,
    ast.SetComp: _set_of,
    ast.DictComp: _dict_of,
    ast.GeneratorExp: _stream_of,
    ast.Call: calls.evaluate_call,
}
