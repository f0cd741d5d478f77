"""Python's own functions, called with values that are known: how each argument is taken.

A stub of `prelude` (`def gcd(*values: whole): ...`) names Python's own function, and says of each
argument what becomes of it (`TAKEN`). Where values are compared, they are `Ranked`: by our rules.
"""

from __future__ import annotations

import ast
import bisect
import builtins
import heapq
import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import reduce
from typing import Any

from dipapprox.language.functions import operators
from dipapprox.language.functions.arithmetic import combine
from dipapprox.language.functions.comparisons import ordered
from dipapprox.language.functions.machine import (
    MOST_CELLS,
    SCALARS,
    Function,
    Machine,
    Stream,
    native,
    raised,
)
from dipapprox.language.functions.symbols import Symbolic
from dipapprox.language.functions.values import items, key, kind_of, listed, truth, whole

_HOMES: dict[str, Any] = {
    each.__name__: each
    for each in (list, tuple, dict, set, str, int, Fraction, math, itertools, heapq, bisect)
}
_ENDLESS = ("itertools.count", "itertools.cycle")
_LARGEST = 10_000
"""Of a whole number that says how large a result is."""


class Ranked:
    """A value that Python's own sorting compares by our rules."""

    __slots__ = ("key", "machine", "node", "value")

    def __init__(self, machine: Machine, node: ast.AST, value: Any, by: Any = None) -> None:
        """Hold a value, with its key; `by` makes one."""
        self.machine, self.node, self.value = machine, node, value
        self.key = value if by is None else machine.call(node, by, [value], {})

    def __lt__(self, other: Ranked) -> bool:
        found = ordered(self.machine, self.node, ast.Lt, self.key, other.key)
        return truth(self.machine, self.node, found)


def number(machine: Machine, node: ast.AST, value: Any) -> Any:
    """Return the known number that a value is: of an input, that on the path."""
    if isinstance(value, Symbolic):
        machine.at(node)
        return value.value()
    if type(value) not in operators.NUMBERS:
        raise machine.refusal(node, f"a number must stand here, not {kind_of(value)}")
    return value


def _called(machine: Machine, node: ast.AST, function: Any) -> Callable[..., Any]:
    return lambda *given: machine.call(node, function, list(given), {})


def _test(machine: Machine, node: ast.AST, function: Any) -> Callable[[Any], bool]:
    return lambda value: truth(machine, node, machine.call(node, function, [value], {}))


def _filtering(machine: Machine, node: ast.AST, function: Any) -> Callable[[Any], bool]:
    if function is None:
        return lambda value: truth(machine, node, value)
    return _test(machine, node, function)


def _joining(machine: Machine, node: ast.AST, function: Any) -> Callable[..., Any]:
    if function is None:
        return lambda left, right: combine(machine, node, ast.Add(), left, right)
    return _called(machine, node, function)


def _changed(machine: Machine, node: ast.AST, value: Any) -> Any:
    machine.change(node, value)
    return value


def _end(machine: Machine, node: ast.AST, value: Any) -> int | None:
    return None if value is None else whole(machine, node, value)


def _bound(machine: Machine, node: ast.AST, value: Any) -> int | None:
    found = _end(machine, node, value)
    if found is not None and found > MOST_CELLS:
        raise machine.refusal(node, "this goes on for ever", kind="limit")
    return found


def _small(machine: Machine, node: ast.AST, value: Any) -> int:
    found = whole(machine, node, value)
    if abs(found) > _LARGEST:
        raise machine.refusal(node, f"a number above {_LARGEST}", kind="limit")
    return found


def _keys(machine: Machine, node: ast.AST, values: Any) -> set[Any]:
    given = values if type(values) is set else listed(machine, node, values)
    return {key(machine, node, each) for each in given}


def _text(machine: Machine, node: ast.AST, value: Any) -> Any:
    if type(value) is int:
        return _small(machine, node, value)
    if type(value) not in SCALARS and type(value) is not tuple:
        raise machine.refusal(node, f"a text that is known must stand here, not {kind_of(value)}")
    return value


def _sequence(machine: Machine, node: ast.AST, value: Any) -> Any:
    if type(value) not in (list, tuple, range, str, dict):
        raise machine.refusal(node, f"{kind_of(value)} is not read from its end here")
    return value


def _summand(machine: Machine, node: ast.AST, value: Any) -> Any:
    if type(value) is str:
        raise machine.refusal(node, "texts are not added up: ''.join(…) does")
    return value


def _some(machine: Machine, node: ast.AST, values: Any) -> list[Any]:
    found = listed(machine, node, values)
    if not found:
        raise machine.refusal(node, "the middle of nothing")
    return found


class _Heap(list[Ranked]):
    """What becomes of a list of the function's, to be written back."""

    def __init__(self, machine: Machine, node: ast.AST, values: Any) -> None:
        machine.change(node, values)
        super().__init__(_ranks(machine, node, values))
        self.origin = values


def _ranks(machine: Machine, node: ast.AST, values: Any) -> list[Ranked]:
    if type(values) is not list:
        raise machine.refusal(node, f"a list must stand here, not {kind_of(values)}")
    return [Ranked(machine, node, each) for each in values]


TAKEN: dict[str, Callable[[Machine, ast.AST, Any], Any]] = {
    "whole": whole,
    "number": number,
    "small": _small,
    "end": _end,
    "bound": _bound,
    "truth": truth,
    "key": key,
    "keys": _keys,
    "text": _text,
    "summand": _summand,
    "items": items,
    "listed": listed,
    "some": _some,
    "sequence": _sequence,
    "streams": lambda machine, node, values: (
        items(machine, node, each) for each in items(machine, node, values)
    ),
    "truths": lambda machine, node, values: (
        truth(machine, node, each) for each in items(machine, node, values)
    ),
    "called": _called,
    "test": _test,
    "filtering": _filtering,
    "joining": _joining,
    "changed": _changed,
    "ranked": Ranked,
    "ranks": _ranks,
    "heap": _Heap,
}
"""What an annotation of the prelude makes of an argument."""


def take(machine: Machine, node: ast.AST, function: Function, given: dict[str, Any]) -> None:
    """Take the arguments of a function of the prelude as its annotations say."""
    arguments = function.node.args
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if each.annotation is not None:
            given[each.arg] = _taker(each)(machine, node, given[each.arg])
    several = arguments.vararg
    if several is not None and several.annotation is not None:
        taker = _taker(several)
        given[several.arg] = tuple(taker(machine, node, each) for each in given[several.arg])


def _taker(argument: ast.arg) -> Callable[[Machine, ast.AST, Any], Any]:
    return TAKEN[argument.annotation.id]  # type: ignore[union-attr]  # a name, in the prelude


def is_stub(function: Function) -> bool:
    """Whether a function of the prelude stands for Python's own."""
    match function.node.body:
        case [ast.Expr(ast.Constant(value))]:
            return value is ...
        case _:
            return False


def perform(machine: Machine, node: ast.AST, function: Function, given: dict[str, Any]) -> Any:
    """Call Python's own function for a stub, with arguments that are taken.

    Raises:
        Raised: As Python raises it.
        SourceError: If it may not be called so.
    """
    arguments = function.node.args
    placed = [given[each.arg] for each in (*arguments.posonlyargs, *arguments.args)]
    if arguments.vararg is not None:
        placed += given[arguments.vararg.arg]
    named = {each.arg: given[each.arg] for each in arguments.kwonlyargs}
    machine.endless = machine.endless or function.name in _ENDLESS
    home, *path = function.name.split(".")
    own = reduce(getattr, path, _HOMES[home]) if path else getattr(builtins, home)
    try:
        found = native(node, own, *placed, **named)
    except TypeError as error:
        raise machine.refusal(node, f"TypeError: {error}", kind="error") from None
    for each in placed:
        if isinstance(each, _Heap):
            each.origin[:] = [ranked.value for ranked in each]
    if isinstance(found, Ranked):
        return found.value
    return Stream(_guarded(node, found)) if isinstance(found, Iterator) else found


def _guarded(node: ast.AST, values: Iterator[Any]) -> Iterator[Any]:
    """Yield values; what Python raises meanwhile is the function's."""
    try:
        yield from values
    except ValueError as error:
        raise raised(node, "ValueError", *error.args) from None
