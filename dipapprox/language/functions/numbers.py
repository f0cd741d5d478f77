"""Numbers: Python's own functions of them, and those of `math` that stay exact."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dipapprox.language.functions import operators
from dipapprox.language.functions.arithmetic import combine
from dipapprox.language.functions.library import WORDS, call, follow, native
from dipapprox.language.functions.machine import Machine, Word
from dipapprox.language.functions.quantities import Condition, Quantity
from dipapprox.language.functions.symbols import Symbolic
from dipapprox.language.functions.values import items, kind_of, truth, whole


@follow("abs", "math.fabs")
def _abs(machine: Machine, node: ast.AST, value: Any, /) -> Any:
    if isinstance(value, Symbolic):
        machine.at(node)
        if isinstance(value, Condition):
            value = value.number()
        if not isinstance(value, Quantity):
            raise value.refusal("has no such operation")
        return abs(value)
    return abs(number_of(machine, node, value))


def number_of(machine: Machine, node: ast.AST, value: Any) -> Any:
    """Return the known number that a value is: of an input, that on the path."""
    if isinstance(value, Symbolic):
        machine.at(node)
        return value.value()
    if type(value) not in operators.NUMBERS:
        raise machine.refusal(node, f"a number must stand here, not {kind_of(value)}")
    return value


@follow("int", "math.trunc")
def _int(machine: Machine, node: ast.AST, value: Any = 0, /) -> Any:
    if type(value) is str:
        return native(node, int, value)
    return int(number_of(machine, node, value))


@follow("float")
def _float(machine: Machine, node: ast.AST, value: Any, /) -> Any:
    if type(value) is str and value.strip().lower().lstrip("+-") in ("inf", "infinity"):
        return float(value)
    if type(value) is float:
        return value
    message = "this is no float: numbers are exact"
    raise machine.refusal(node, message, "numbers are exact: leave float(…) out")


@follow("bool")
def _bool(machine: Machine, node: ast.AST, value: Any = False, /) -> Any:
    return truth(machine, node, value)


@follow("fractions.Fraction")
def _fraction(machine: Machine, node: ast.AST, above: Any = 0, below: Any = None, /) -> Any:
    for each in (above, below):
        if isinstance(each, Symbolic):
            message = "is asked for its type: a Fraction is made of numbers that are known"
            machine.at(node)
            raise each.refusal(message, "inputs and samples are exact numbers already")
    if type(above) is str and below is None:
        return native(node, Fraction, above)
    top = number_of(machine, node, above)
    return (
        Fraction(top)
        if below is None
        else native(node, Fraction, top, number_of(machine, node, below))
    )


@follow("round")
def _round(machine: Machine, node: ast.AST, number: Any, ndigits: Any = None) -> Any:
    value = number_of(machine, node, number)
    return round(value) if ndigits is None else round(value, whole(machine, node, ndigits))


@follow("pow")
def _pow(machine: Machine, node: ast.AST, base: Any, exp: Any, mod: Any = None) -> Any:
    if mod is None:
        return combine(machine, node, ast.Pow(), base, exp)
    return native(node, pow, *(whole(machine, node, each) for each in (base, exp, mod)))


@follow("divmod")
def _divmod(machine: Machine, node: ast.AST, left: Any, right: Any, /) -> Any:
    return native(node, divmod, *(number_of(machine, node, each) for each in (left, right)))


def _of_numbers(name: str, function: Callable[..., Any], most: int = 10_000) -> None:
    """Add a function of known whole numbers; `most` bounds them, so that the result is small."""

    def known(machine: Machine, node: ast.AST, /, *values: Any) -> Any:
        given = [whole(machine, node, each) for each in values]
        if any(abs(each) > most for each in given):
            raise machine.refusal(node, f"'{name}' of a number above {most}", kind="limit")
        try:
            return native(node, function, *given)
        except TypeError as error:
            raise machine.refusal(node, str(error)) from None

    WORDS[name] = known


for _name in ("factorial", "comb", "perm"):
    _of_numbers(f"math.{_name}", getattr(math, _name))
for _name in ("gcd", "lcm", "isqrt"):
    _of_numbers(f"math.{_name}", getattr(math, _name), 2**1000)


@follow("math.floor")
def _floor(machine: Machine, node: ast.AST, value: Any, /) -> Any:
    return math.floor(number_of(machine, node, value))


@follow("math.ceil")
def _ceil(machine: Machine, node: ast.AST, value: Any, /) -> Any:
    return math.ceil(number_of(machine, node, value))


@follow("math.isinf")
def _isinf(machine: Machine, node: ast.AST, value: Any, /) -> Any:
    return type(value) is float  # all others are finite


@follow("math.sqrt")
def _sqrt(machine: Machine, node: ast.AST, value: Any, /) -> Any:
    return call(machine, node, Word("dipapprox.sqrt"), [value], {})


@follow("math.exp")
def _exp(machine: Machine, node: ast.AST, value: Any, /) -> Any:
    return call(machine, node, Word("dipapprox.exp"), [value], {})


@follow("math.log")
def _log(machine: Machine, node: ast.AST, value: Any, base: Any = None, /) -> Any:
    found = call(machine, node, Word("dipapprox.log"), [value], {})
    if base is None:
        return found
    return found / call(machine, node, Word("dipapprox.log"), [base], {})


@follow("math.log2")
def _log2(machine: Machine, node: ast.AST, value: Any, /) -> Any:
    return _log(machine, node, value, 2)


@follow("math.log10")
def _log10(machine: Machine, node: ast.AST, value: Any, /) -> Any:
    return _log(machine, node, value, 10)


@follow("math.prod")
def _prod(machine: Machine, node: ast.AST, values: Any, /, *, start: Any = 1) -> Any:
    return folded(machine, node, ast.Mult(), values, start)


@follow("sum")
def _sum(machine: Machine, node: ast.AST, values: Any, /, start: Any = 0) -> Any:
    if type(start) is str:
        raise machine.refusal(node, "texts are not added up: ''.join(…) does")
    return folded(machine, node, ast.Add(), values, start)


def folded(machine: Machine, node: ast.AST, op: ast.operator, values: Any, start: Any) -> Any:
    found = start
    for each in items(machine, node, values):
        machine.step(node)
        found = combine(machine, node, op, found, each)
    return found
