"""Operators of two sides where symbols may stand, or known values alone (`operators`)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from dipapprox.language.functions import operators
from dipapprox.language.functions.machine import (
    CONTAINERS,
    Annotation,
    Class,
    Machine,
    Word,
    raised,
)
from dipapprox.language.functions.quantities import Condition, Quantity
from dipapprox.language.functions.symbols import Symbolic
from dipapprox.language.functions.values import kind_of
from dipapprox.language.functions.weights import Weight

_SYMBOLIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
    ast.BitAnd: lambda left, right: left & right,
    ast.BitOr: lambda left, right: left | right,
    ast.BitXor: lambda left, right: left ^ right,
}
_REFLECTED: dict[type[ast.operator], str] = {
    ast.Add: "__radd__",
    ast.Sub: "__rsub__",
    ast.Mult: "__rmul__",
    ast.Div: "__rtruediv__",
}
_BY_VALUE = (ast.FloorDiv, ast.Mod, ast.Pow)


def combine(machine: Machine, node: Any, op: ast.operator, left: Any, right: Any) -> Any:
    """Apply an operator of two sides."""
    if isinstance(left, Symbolic) or isinstance(right, Symbolic):
        return _combine_symbols(machine, node, op, left, right)
    if isinstance(op, ast.BitOr) and all(isinstance(s, _TYPES) for s in (left, right)):
        return Annotation("|", (left, right))
    return _known(machine, node, op, left, right, operators.binary)


_TYPES = (Annotation, Class, Word, type(None))
"""What `|` joins in annotations."""


def _known(machine: Machine, node: Any, op: ast.operator, left: Any, right: Any, by: Any) -> Any:
    try:
        return machine.spend(by(type(op), left, right))
    except KeyError:
        kinds = f"{kind_of(left)} and {kind_of(right)}"
        hint = ""
        if isinstance(op, ast.Div | ast.Pow) and type(left) in operators.WHOLE:
            shown = f'Fraction("{left}/{right}")' if isinstance(op, ast.Div) else "Fraction(…)"
            raise machine.refusal(
                node, "a / b of two int is a float in Python", f"write {shown}"
            ) from None
        raise machine.refusal(node, f"this operator is not known for {kinds}", hint) from None
    except operators.TooLarge:
        raise machine.refusal(node, "the result is too large", kind="limit") from None
    except (ArithmeticError, ValueError) as error:
        raise raised(node, type(error).__name__, str(error)) from None


def _combine_symbols(machine: Machine, node: Any, op: ast.operator, left: Any, right: Any) -> Any:
    machine.at(node)
    for side in (left, right):
        if not isinstance(side, Symbolic) and type(side) not in operators.NUMBERS:
            other = left if side is right else right
            if (
                isinstance(op, ast.Mult)
                and type(side) in (list, tuple)
                and type(other)
                in (
                    Quantity,
                    Condition,
                )
            ):
                times = other.__index__()
                return _known(machine, node, op, side, times, operators.binary)
            if type(side) is float or type(side) in CONTAINERS or type(side) is str:
                message = f"an operation with what is no number: {type(side).__name__}"
            else:
                message = f"an input or a sample meets {kind_of(side)}"
            raise machine.refusal(node, message)
    if isinstance(op, _BY_VALUE) and not (type(left) is Weight and isinstance(op, ast.Pow)):
        first, second = (s.value() if isinstance(s, Symbolic) else s for s in (left, right))
        powers = isinstance(op, ast.Pow)
        by = (lambda _, a, b: operators.power(a, b)) if powers else operators.binary
        return _known(machine, node, op, first, second, by)
    if isinstance(op, ast.Pow):
        return left**right
    operate = _SYMBOLIC.get(type(op))
    logical = isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor)
    if operate is None or (logical and not _are_conditions(left, right)):
        symbol = left if isinstance(left, Symbolic) else right
        raise symbol.refusal("has no such operation")
    if isinstance(op, ast.Div) and type(left) is Condition:
        left = left.number()
    if type(right) is Weight and type(left) is not Weight and not logical:
        return getattr(right, _REFLECTED[type(op)])(left)
    return operate(left, right)


def _are_conditions(left: Any, right: Any) -> bool:
    return all(type(side) in (Condition, bool) for side in (left, right))
