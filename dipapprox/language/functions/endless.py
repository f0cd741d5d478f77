"""What may go on for ever: iterators that C code would use up, and loops without a known bound.

In: the code of a function that is called while a mechanism runs. Out: the place of a call such as
sum(iter(int, 1)) or list(itertools.count()), which nothing interrupts; whether what runs is in a
loop that ends, as far as its words say.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Mapping
from functools import lru_cache
from types import CodeType, FrameType

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

_ENDLESS = (*_UNARY, "count")

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
    known = _iterators_in(tree)
    return tuple(call for call in calls if _uses_up(call, known))


def _iterators_in(tree: ast.Module) -> dict[str, str]:
    """Return what a file calls the iterators of `itertools`: {"it.count": "count"}."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for each in names:
                    if each.name == "itertools":
                        found |= {f"{each.asname or each.name}.{name}": name for name in _ENDLESS}
            case ast.ImportFrom(module="itertools", names=names):
                for each in names:
                    found |= {name: name for name in _ENDLESS if each.name == "*"}
                    found[each.asname or each.name] = each.name
            case _:
                pass
    return found


def is_bounded(frame: FrameType | None) -> bool:
    """Whether what runs is in a `for` of known length, and in no other loop.

    All functions are looked at that are running; who calls itself is in no loop.
    """
    found = False
    while frame is not None and not _is_run(frame):
        if not places.is_library(frame):
            text = "".join(linecache.getlines(frame.f_code.co_filename))
            for first, last, bounded in _loops(text):
                if first <= frame.f_lineno <= last and not bounded:
                    return False
                found = found or first <= frame.f_lineno <= last
        frame = frame.f_back
    return found


def _is_run(frame: FrameType) -> bool:
    """Whether a frame is the one that calls the mechanism; `mechanism` has it."""
    return frame.f_code.co_name == "run_once" and places.is_own(frame)


@lru_cache(maxsize=16)
def _loops(text: str) -> tuple[tuple[int, int, bool], ...]:
    """Return the lines of all loops, and whether they are bounded."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return ()
    found = []
    known = _iterators_in(tree)
    for node in ast.walk(tree):
        match node:
            case ast.While():
                found.append((node.lineno, node.end_lineno or node.lineno, False))
            case ast.For(iter=over):
                found.append(
                    (node.lineno, node.end_lineno or node.lineno, not _is_endless(over, known))
                )
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                ends = all(not _is_endless(each.iter, known) for each in node.generators)
                found.append((node.lineno, node.end_lineno or node.lineno, ends))
            case _:
                pass
    return tuple(found)


def _uses_up(call: ast.Call, known: Mapping[str, str]) -> bool:
    return _name(call) in _CONSUMERS and any(_is_endless(each, known) for each in call.args)


def _is_endless(node: ast.expr, known: Mapping[str, str]) -> bool:
    """Whether an expression makes an iterator without end, by the names that a file has for it."""
    match node:
        case ast.Call(func=function, args=arguments):
            name, count = known.get(ast.unparse(function)), len(arguments) + len(node.keywords)
            unary = name in _UNARY and count == 1
            return unary or name == "count" or (_name(node) == "iter" and count == 2)
        case ast.Starred(value=inner):
            return _is_endless(inner, known)
        case _:
            return False


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""
