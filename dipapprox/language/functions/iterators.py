"""`itertools` and `operator`."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable
from typing import Any

from dipapprox.language.functions.arithmetic import combine
from dipapprox.language.functions.comparisons import equal, ordered
from dipapprox.language.functions.containers import test
from dipapprox.language.functions.library import WORDS, follow, native
from dipapprox.language.functions.machine import MOST_CELLS, Machine, Stream
from dipapprox.language.functions.numbers import number_of
from dipapprox.language.functions.values import items, listed, whole


def _streamed(name: str, function: Callable[..., Any], numbers: int = 0, least: int = 1) -> None:
    """Add an iterator of itertools: of iterables, then of so many whole numbers."""

    def known(machine: Machine, node: ast.AST, /, *values: Any) -> Any:
        ends = len(values) - numbers
        if ends < least:
            raise machine.refusal(node, f"'itertools.{name}' needs more arguments")
        given = [items(machine, node, each) for each in values[:ends]]
        if name in ("product", "combinations", "permutations", "combinations_with_replacement"):
            given = [iter(listed(machine, node, Stream(each))) for each in given]
        counts = [whole(machine, node, each) for each in values[ends:]]
        return Stream(native(node, function, *given, *counts))

    WORDS[f"itertools.{name}"] = known


_streamed("chain", itertools.chain, least=0)
_streamed("pairwise", itertools.pairwise)
_streamed("combinations", itertools.combinations, 1)
_streamed("combinations_with_replacement", itertools.combinations_with_replacement, 1)


@follow("itertools.permutations")
def _permutations(machine: Machine, node: ast.AST, iterable: Any, r: Any = None) -> Any:
    values = listed(machine, node, iterable)
    size = None if r is None else whole(machine, node, r)
    return Stream(native(node, itertools.permutations, values, size))


@follow("itertools.product")
def _product(machine: Machine, node: ast.AST, /, *values: Any, repeat: Any = 1) -> Any:
    given = [listed(machine, node, each) for each in values]
    times = whole(machine, node, repeat)
    if math.prod(map(len, given)) ** max(times, 0) > MOST_CELLS:
        raise machine.refusal(node, "this has too many combinations", kind="limit")
    return Stream(itertools.product(*given, repeat=max(times, 0)))


@follow("itertools.chain.from_iterable")
def _flattened(machine: Machine, node: ast.AST, values: Any, /) -> Any:
    outer = items(machine, node, values)
    return Stream(each for inner in outer for each in items(machine, node, inner))


@follow("itertools.islice")
def _islice(machine: Machine, node: ast.AST, values: Any, /, *ends: Any) -> Any:
    given = [None if each is None else whole(machine, node, each) for each in ends]
    if any(each is not None and each > MOST_CELLS for each in given):
        raise machine.refusal(node, "this goes on for ever", kind="limit")
    return Stream(native(node, itertools.islice, items(machine, node, values), *given))


@follow("itertools.repeat")
def _repeat(machine: Machine, node: ast.AST, value: Any, times: Any = None) -> Any:
    machine.endless = machine.endless or times is None
    count = () if times is None else (whole(machine, node, times),)
    return Stream(itertools.repeat(value, *count))


@follow("itertools.count")
def _count(machine: Machine, node: ast.AST, start: Any = 0, step: Any = 1) -> Any:
    machine.endless = True
    first, width = (number_of(machine, node, each) for each in (start, step))
    return Stream(itertools.count(first, width))


@follow("itertools.cycle")
def _cycle(machine: Machine, node: ast.AST, values: Any, /) -> Any:
    machine.endless = True
    return Stream(itertools.cycle(items(machine, node, values)))


@follow("itertools.zip_longest")
def _zip_longest(machine: Machine, node: ast.AST, /, *values: Any, fillvalue: Any = None) -> Any:
    streams = [items(machine, node, each) for each in values]
    return Stream(itertools.zip_longest(*streams, fillvalue=fillvalue))


@follow("itertools.accumulate")
def _accumulate(
    machine: Machine, node: ast.AST, iterable: Any, func: Any = None, *, initial: Any = None
) -> Any:
    def joined(left: Any, right: Any) -> Any:
        if func is None:
            return combine(machine, node, ast.Add(), left, right)
        return machine.call(node, func, [left, right], {})

    return Stream(itertools.accumulate(items(machine, node, iterable), joined, initial=initial))


@follow("itertools.takewhile")
def _takewhile(machine: Machine, node: ast.AST, function: Any, values: Any, /) -> Any:
    given = items(machine, node, values)
    return Stream(itertools.takewhile(lambda each: test(machine, node, function, each), given))


@follow("itertools.dropwhile")
def _dropwhile(machine: Machine, node: ast.AST, function: Any, values: Any, /) -> Any:
    given = items(machine, node, values)
    return Stream(itertools.dropwhile(lambda each: test(machine, node, function, each), given))


@follow("itertools.starmap")
def _starmap(machine: Machine, node: ast.AST, function: Any, values: Any, /) -> Any:
    given = items(machine, node, values)
    return Stream(machine.call(node, function, listed(machine, node, v), {}) for v in given)


def _operator(name: str, op: ast.operator) -> None:
    def known(machine: Machine, node: ast.AST, left: Any, right: Any, /) -> Any:
        return combine(machine, node, op, left, right)

    WORDS[f"operator.{name}"] = known


_OPERATORS: dict[str, ast.operator] = {
    "add": ast.Add(),
    "sub": ast.Sub(),
    "mul": ast.Mult(),
    "truediv": ast.Div(),
    "floordiv": ast.FloorDiv(),
    "mod": ast.Mod(),
}
for _name, _op in _OPERATORS.items():
    _operator(_name, _op)


def _comparison(name: str, op: type[ast.cmpop]) -> None:
    def known(machine: Machine, node: ast.AST, left: Any, right: Any, /) -> Any:
        return ordered(machine, node, op, left, right)

    WORDS[f"operator.{name}"] = known


for _name, _kind in (("lt", ast.Lt), ("le", ast.LtE), ("gt", ast.Gt), ("ge", ast.GtE)):
    _comparison(_name, _kind)


@follow("operator.eq")
def _eq(machine: Machine, node: ast.AST, left: Any, right: Any, /) -> Any:
    return equal(machine, node, left, right)
