"""What sorts: Python's own sorting, heaps and bisection, with our comparisons."""

from __future__ import annotations

import ast
import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dipapprox.language.functions.arithmetic import combine
from dipapprox.language.functions.comparisons import ordered
from dipapprox.language.functions.library import WORDS, Library, follow, native
from dipapprox.language.functions.machine import Machine, raised
from dipapprox.language.functions.numbers import folded
from dipapprox.language.functions.symbols import Symbolic
from dipapprox.language.functions.values import kind_of, listed, truth, whole


class Ranked:
    """A value that Python's own sorting compares by our rules."""

    __slots__ = ("key", "machine", "node", "value")

    def __init__(self, machine: Machine, node: ast.AST, value: Any, key: Any) -> None:
        """Hold a value, with its key."""
        self.machine, self.node, self.value, self.key = machine, node, value, key

    def __lt__(self, other: Ranked) -> bool:
        found = ordered(self.machine, self.node, ast.Lt, self.key, other.key)
        return truth(self.machine, self.node, found)


def ranked(machine: Machine, node: ast.AST, value: Any, key: Any) -> Ranked:
    """Return a value as one that is compared."""
    by = value if key is None else machine.call(node, key, [value], {})
    return Ranked(machine, node, value, by)


def arranged(machine: Machine, node: ast.AST, values: list[Any], key: Any, down: bool) -> list[Any]:
    """Sort values."""
    found = sorted((ranked(machine, node, each, key) for each in values), reverse=down)
    return [each.value for each in found]


@follow("sorted")
def _sorted(
    machine: Machine, node: ast.AST, values: Any, /, *, key: Any = None, reverse: Any = False
) -> Any:
    # The elements of a set are sorted whatever order they come in, if none has a key of its own.
    given = list(values) if type(values) is set and key is None else listed(machine, node, values)
    return arranged(machine, node, given, key, truth(machine, node, reverse))


_MISSING = object()


def _extreme(op: type[ast.cmpop], name: str) -> Library:
    def best(
        machine: Machine, node: ast.AST, /, *values: Any, key: Any = None, default: Any = _MISSING
    ) -> Any:
        if len(values) == 1 and type(values[0]) is set and key is None:
            values = (arranged(machine, node, list(values[0]), None, False),)
        given = listed(machine, node, values[0]) if len(values) == 1 else list(values)
        if not given:
            if default is _MISSING:
                raise raised(node, "ValueError", f"{name}() iterable argument is empty")
            return default
        held = ranked(machine, node, given[0], key)
        for each in given[1:]:
            other = ranked(machine, node, each, key)
            if truth(machine, node, ordered(machine, node, op, other.key, held.key)):
                held = other
        return held.value

    return best


WORDS["max"] = _extreme(ast.Gt, "max")
WORDS["min"] = _extreme(ast.Lt, "min")


def _heap(name: str, function: Callable[..., Any]) -> None:
    def known(machine: Machine, node: ast.AST, heap: Any, /, *values: Any) -> Any:
        if type(heap) is not list:
            raise machine.refusal(node, f"a heap is a list, not {kind_of(heap)}")
        machine.change(node, heap)
        held = [ranked(machine, node, each, None) for each in heap]
        try:
            found = native(
                node, function, held, *(ranked(machine, node, each, None) for each in values)
            )
        except TypeError as error:
            raise machine.refusal(node, str(error)) from None
        heap[:] = [each.value for each in held]
        return found.value if isinstance(found, Ranked) else found

    WORDS[f"heapq.{name}"] = known


for _name in ("heappush", "heappop", "heapify", "heappushpop", "heapreplace"):
    _heap(_name, getattr(heapq, _name))


@follow("heapq.nlargest")
def _nlargest(machine: Machine, node: ast.AST, n: Any, iterable: Any, key: Any = None) -> Any:
    values = arranged(machine, node, listed(machine, node, iterable), key, True)
    return values[: max(whole(machine, node, n), 0)]


@follow("heapq.nsmallest")
def _nsmallest(machine: Machine, node: ast.AST, n: Any, iterable: Any, key: Any = None) -> Any:
    values = arranged(machine, node, listed(machine, node, iterable), key, False)
    return values[: max(whole(machine, node, n), 0)]


def _bisection(*names: str, function: Callable[..., Any], inserts: bool) -> None:
    def known(machine: Machine, node: ast.AST, a: Any, x: Any, lo: Any = 0, hi: Any = None) -> Any:
        if type(a) is not list:
            raise machine.refusal(node, f"a list must stand here, not {kind_of(a)}")
        held = [ranked(machine, node, each, None) for each in a]
        end = None if hi is None else whole(machine, node, hi)
        start = whole(machine, node, lo)
        place = native(node, function, held, ranked(machine, node, x, None), start, end)
        if not inserts:
            return place
        machine.change(node, a)
        a.insert(place, x)
        return None

    for name in names:
        WORDS[f"bisect.{name}"] = known


_bisection("bisect_left", function=bisect_left, inserts=False)
_bisection("bisect", "bisect_right", function=bisect_right, inserts=False)
_bisection("insort_left", function=bisect_left, inserts=True)
_bisection("insort", "insort_right", function=bisect_right, inserts=True)


@follow("statistics.median")
def _median(machine: Machine, node: ast.AST, data: Any) -> Any:
    ranked = arranged(machine, node, listed(machine, node, data), None, False)
    if not ranked:
        raise machine.refusal(node, "the median of nothing")
    middle = len(ranked) // 2
    if len(ranked) % 2:
        return ranked[middle]
    both = combine(machine, node, ast.Add(), ranked[middle - 1], ranked[middle])
    return combine(machine, node, ast.Div(), both, 2)


@follow("statistics.mean", "statistics.fmean")
def _mean(machine: Machine, node: ast.AST, data: Any) -> Any:
    values = listed(machine, node, data)
    if not values:
        raise machine.refusal(node, "the mean of nothing")
    total = folded(machine, node, ast.Add(), values, 0)
    if not isinstance(total, Symbolic | Fraction):
        raise machine.refusal(
            node, "the mean of whole numbers may be a float", "write Fraction(sum(v), n)"
        )
    return combine(machine, node, ast.Div(), total, len(values))
