"""Comparisons: what Python says of known values, and conditions where a symbol is compared."""

from __future__ import annotations

import ast
from typing import Any

from dipapprox.language.functions import operators
from dipapprox.language.functions.machine import (
    CONTAINERS,
    MOST_CALLS,
    SCALARS,
    Bound,
    Class,
    Function,
    Machine,
    Module,
    Object,
    Stream,
    Text,
)
from dipapprox.language.functions.symbols import Symbolic
from dipapprox.language.functions.values import items, key, kind_of, truth
from dipapprox.language.functions.weights import Weight


def compare(machine: Machine, node: ast.AST, op: ast.cmpop, left: Any, right: Any) -> Any:
    if isinstance(op, ast.Is | ast.IsNot):
        return _is(machine, node, left, right) == isinstance(op, ast.Is)
    if isinstance(op, ast.In | ast.NotIn):
        return is_in(machine, node, left, right) == isinstance(op, ast.In)
    if isinstance(op, ast.Eq | ast.NotEq):
        found = equal(machine, node, left, right)
        if isinstance(op, ast.Eq):
            return found
        if isinstance(found, Symbolic):
            machine.at(node)
            return ~found  # type: ignore[operator]  # a condition
        return not found
    return ordered(machine, node, type(op), left, right)


def ordered(machine: Machine, node: ast.AST, op: type[ast.cmpop], left: Any, right: Any) -> Any:
    """Compare by size: numbers, texts, and lists and tuples cell by cell."""
    operate = operators.ORDERINGS[op]
    if isinstance(left, Symbolic) or isinstance(right, Symbolic):
        machine.at(node)
        for side in (left, right):
            if type(side) is Weight:
                raise side.unknown()
        _refuse_others(machine, node, left, right)
        return operate(left, right)
    if type(left) in (list, tuple) and type(left) is type(right):
        for one, other in zip(left, right, strict=False):
            if one is not other and not truth(machine, node, equal(machine, node, one, other)):
                return ordered(machine, node, op, one, other)
        return operate(len(left), len(right))
    if (type(left), type(right)) not in operators.ORDERED:
        raise machine.refusal(node, f"{kind_of(left)} and {kind_of(right)} are not ordered")
    return operate(left, right)


def _refuse_others(machine: Machine, node: ast.AST, left: Any, right: Any) -> None:
    """Refuse what a symbol is not compared with."""
    for side in (left, right):
        if not isinstance(side, Symbolic) and type(side) not in SCALARS | CONTAINERS:
            raise machine.refusal(node, f"an input or a sample is compared with {kind_of(side)}")


def equal(machine: Machine, node: ast.AST, left: Any, right: Any) -> Any:
    """Compare values, and lists and tuples cell by cell, in Python's order.

    Returns:
        A truth value, or a condition.
    """
    if isinstance(left, Symbolic) or isinstance(right, Symbolic):
        machine.at(node)
        for side in (left, right):
            if type(side) is Weight:
                raise side.unknown()
            if isinstance(side, Object | Class | Function):
                return False  # none has operators of its own, and none is a number or a text
        _refuse_others(machine, node, left, right)
        return left == right
    machine.step(node)
    if left is right and type(left) is not float:
        return True  # as Python takes it, in containers, and all our values equal themselves
    if _is_tuple(left) and _is_tuple(right):
        return _all_equal(machine, node, _cells(left), _cells(right))
    if type(left) is list and type(right) is list:
        return _all_equal(machine, node, left, right)
    if isinstance(left, Object) and isinstance(right, Object):
        if left.kind is right.kind and left.kind.kind == "data":
            return _all_equal(machine, node, _cells(left), _cells(right))
        return False
    plain = SCALARS | {set, range}
    if type(left) in plain and type(right) in plain:
        return bool(left == right)
    if type(left) is dict and type(right) is dict:
        if list(left) != list(right) and set(left) != set(right):
            return False
        return _all_equal(machine, node, list(left.values()), [right[name] for name in left])
    if all(type(side) in _COMPARED for side in (left, right)):
        return False  # of different kinds, or equal to themselves alone
    raise machine.refusal(node, "these are not compared")


_COMPARED = SCALARS | CONTAINERS | {range, Object, Class, Function}


def _is_tuple(value: Any) -> bool:
    return type(value) is tuple or (isinstance(value, Object) and value.kind.kind == "named")


def _cells(value: Any) -> list[Any]:
    if isinstance(value, Object):
        return [value.values[name] for name in value.kind.fields]
    return list(value)


def _all_equal(machine: Machine, node: ast.AST, left: list[Any], right: list[Any]) -> bool:
    if len(left) != len(right):
        return False
    machine.depth += 1
    if machine.depth > MOST_CALLS:
        raise machine.refusal(node, "these hold each other too deeply to be compared", kind="limit")
    try:
        return all(
            one is other or truth(machine, node, equal(machine, node, one, other))
            for one, other in zip(left, right, strict=True)
        )
    finally:
        machine.depth -= 1


def _is(machine: Machine, node: ast.AST, left: Any, right: Any) -> bool:
    own = (Class, Function, Object, Module, type(None))
    for one, other in ((left, right), (right, left)):
        if isinstance(one, own) and not isinstance(other, Symbolic | Text | Stream | Bound):
            if isinstance(one, Object) and one.kind.kind == "named":
                break
            return one is other
        if one is None or isinstance(one, Class | Function):
            return False  # no input or sample is one of these
    raise machine.refusal(node, "'is' tells what is known of numbers, texts and lists", "write ==")


def is_in(machine: Machine, node: ast.AST, sought: Any, where: Any) -> bool:
    """Whether a value is in another."""
    if type(where) in (dict, set):
        return key(machine, node, sought) in where
    if type(where) is str:
        if type(sought) is not str:
            raise machine.refusal(node, f"{kind_of(sought)} is never in a text")
        return sought in where
    return any(
        each is sought or truth(machine, node, equal(machine, node, each, sought))
        for each in items(machine, node, where)
    )
