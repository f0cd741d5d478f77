"""Iterators without end that C code would use up: nothing interrupts it.

In: the code of a function that is called while a mechanism runs. Out: the place of a call such as
sum(iter(int, 1)) or list(itertools.count()). What goes through a loop of Python's is not meant:
its lines are counted.
"""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache
from types import CodeType

from dipapprox.language.functions import places
from dipapprox.source import Span

_CONSUMERS = frozenset(
    [
        "all",
        "any",
        "deque",
        "dict",
        "extend",
        "frozenset",
        "join",
        "list",
        "max",
        "min",
        "set",
        "sorted",
        "sum",
        "tuple",
        "update",
    ]
)
_UNARY = ("cycle", "repeat")
"""Iterators without end if they have one argument."""

Nodes = tuple[ast.Call, ...]


@lru_cache(maxsize=1024)
def endless_in(code: CodeType) -> Span | None:
    """Return the first such call in the lines of a function; None if there is none."""
    lines = [line for _, _, line in code.co_lines() if line is not None]
    for call in _endless_calls("".join(linecache.getlines(code.co_filename))):
        if min(lines) <= call.lineno <= max(lines):
            return places.span_of_node(code.co_filename, call)
    return None


@lru_cache(maxsize=16)
def _endless_calls(text: str) -> Nodes:
    try:
        tree = ast.parse(text)
    except SyntaxError:  # the source of a cell, or of nothing
        return ()
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return tuple(call for call in calls if _uses_up(call))


def _uses_up(call: ast.Call) -> bool:
    return _name(call) in _CONSUMERS and any(map(_is_endless, call.args))


def _is_endless(node: ast.expr) -> bool:
    match node:
        case ast.Call(args=arguments):
            name, count = _name(node), len(arguments) + len(node.keywords)
            unary = name in _UNARY and count == 1
            return unary or name == "count" or (name == "iter" and count == 2)
        case ast.Starred(value=inner):
            return _is_endless(inner)
        case _:
            return False


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""
