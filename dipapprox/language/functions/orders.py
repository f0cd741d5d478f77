"""Sets, whose order and whose texts' hashes are others in each process.

In: the code of a function, its source and its globals. Out: the place where a set is used for more
than its elements: `x in s`, `len(s)`, `sorted(s)`, changing it and comparing it are known to
depend on these alone; a loop over it, `next(iter(s))`, `s.pop()`, or handing it to others are not.

A set is what a display, a comprehension, `set(…)`, `frozenset(…)` or an operator on views of
dictionaries makes, and what a name holds to which one is assigned anywhere in the file.
"""

from __future__ import annotations

import ast
import dis
import linecache
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any

from dipapprox.language.functions import places
from dipapprox.source import Span

MESSAGE = "the order of a set is another one in each process"
HINT = (
    "len(s), x in s and sorted(s) depend on its elements alone; lists and dictionaries keep order"
)

_MAKERS = frozenset(("set", "frozenset"))
_MERGING = frozenset(
    ("union", "intersection", "difference", "symmetric_difference", "copy", "keys", "items")
)
"""Methods that return a set, or a view that becomes one, of a set or a dictionary."""

_HARMLESS = frozenset(("add", "discard", "remove", "clear", "update", "isdisjoint")) | frozenset(
    ("issubset", "issuperset", "difference_update", "intersection_update")
)
_READING = frozenset(("len", "sorted", "min", "max", "any", "all", "bool", *_MAKERS))
"""Functions of all elements, if they have no key."""

_ALGEBRA = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)


@lru_cache(maxsize=64)
def _tree(text: str) -> _File | None:
    try:
        return _File(ast.parse(text))
    except SyntaxError:  # the source of a cell, or of nothing
        return None


def orders_asked_in(code: CodeType, named: Mapping[str, Any]) -> Iterator[Span | None]:
    """Yield where a function asks for the order of a set; None for a place without source."""
    text = "".join(linecache.getlines(code.co_filename))
    file = _tree(text) if text else None
    if file is None:
        if _makes_sets(code):
            yield None
        return
    known = set(_sets_among(code.co_names, named))
    lines = [line for _, _, line in code.co_lines() if line is not None]
    for node in file.asking(frozenset(known)):
        if min(lines) <= node.lineno <= max(lines):
            yield places.span_of_node(code.co_filename, node)


def _sets_among(names: tuple[str, ...], named: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a function names that holds a set: globals, and attributes of these."""
    values = [named[name] for name in names if name in named]
    for name in names:
        spaces = [vars(each) for each in values if isinstance(each, type | ModuleType)]
        held = [space[name] for space in (named, *spaces) if name in space]
        if any(map(_holds_set, held)):
            yield name


def _holds_set(value: object, depth: int = 3) -> bool:
    """Whether a value is a set, or a container that has one."""
    if isinstance(value, set | frozenset):
        return True
    if depth == 0 or not isinstance(value, dict | list | tuple):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return any(_holds_set(each, depth - 1) for each in inside)


@lru_cache(maxsize=1024)
def _makes_sets(code: CodeType) -> bool:
    """Whether a function makes sets, by its instructions: for code whose source nobody has."""
    displays = any(step.opname == "BUILD_SET" for step in dis.get_instructions(code))
    return displays or not _MAKERS.isdisjoint(code.co_names)


class _File:
    """The expressions of a file, and what each stands in."""

    def __init__(self, tree: ast.Module) -> None:
        self._declared = {
            word
            for node in ast.walk(tree)
            if isinstance(node, ast.arg | ast.AnnAssign) and _is_of_sets(node.annotation)
            if (word := node.arg if isinstance(node, ast.arg) else _word(node.target))
        }
        self._above: dict[ast.AST, ast.AST] = {}
        self._nodes: list[ast.expr] = []
        waiting: list[ast.AST] = [tree]
        while waiting:
            node = waiting.pop()
            for child in _values_in(node):
                self._above[child] = node
                waiting.append(child)
            if isinstance(node, ast.expr):
                self._nodes.append(node)
        self._asking: dict[frozenset[str], tuple[ast.expr, ...]] = {}

    def asking(self, known: frozenset[str]) -> tuple[ast.expr, ...]:
        """Return the sets that are used for more than their elements.

        Args:
            known: Global names that hold sets.
        """
        if known not in self._asking:
            names = {*known, *self._declared}
            while more := {*self._assigned(names)} - names:
                names |= more
            found = [node for node in self._nodes if not self._is_fine(node, names)]
            self._asking[known] = tuple(sorted(found, key=lambda n: (n.lineno, n.col_offset)))
        return self._asking[known]

    def _assigned(self, names: set[str]) -> Iterator[str]:
        """Yield what sets are assigned to, or may be."""
        for node in self._nodes:
            if not _is_set(node, names):
                continue
            match self._above[node]:
                case ast.Assign(targets=targets):
                    yield from (word for each in targets if (word := _word(each)))
                case ast.AnnAssign(target=target) | ast.NamedExpr(target=target):
                    if word := _word(target):
                        yield word

    def _is_fine(self, node: ast.expr, names: set[str]) -> bool:
        """Whether an expression is no set, or stands where only its elements matter."""
        above = self._above[node]
        if isinstance(node, ast.Name) and node.id in _MAKERS:
            return isinstance(above, ast.Call) and above.func is node
        if not _is_set(node, names):
            return True
        if isinstance(node, ast.Set) and all(map(_is_number, node.elts)):
            return True  # numbers are their own hashes
        match above:
            case ast.Assign(targets=targets):
                return all(_word(each) for each in targets)
            case ast.AnnAssign() | ast.AugAssign() | ast.NamedExpr() | ast.Expr():
                return True
            case ast.If() | ast.While() | ast.Assert() | ast.UnaryOp(op=ast.Not()):
                return True
            case ast.IfExp(test=test):
                return test is node
            case ast.Compare():
                return True
            case ast.BinOp(op=operator):
                return isinstance(operator, _ALGEBRA)
            case ast.Call(func=ast.Name(id=name), args=given, keywords=[]):
                return name in _READING and given == [node]
            case ast.Call(func=ast.Attribute(value=of, attr=name)):
                return node in above.args and _is_set(of, names) and name in (_HARMLESS | _MERGING)
            case ast.Subscript(value=of):
                return of is node
            case ast.Attribute(attr=name):
                call = self._above[above]
                called = isinstance(call, ast.Call) and call.func is above
                return called and name in (_HARMLESS | _MERGING)
            case _:
                return False


def _values_in(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in a node, but no annotations."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_params"):
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST):
                yield each


def _word(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=word) | ast.Attribute(attr=word):
            return word
        case _:
            return None


def _is_set(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression makes a set, or reads a name that holds one."""
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Name(id=word, ctx=ast.Load()) | ast.Attribute(attr=word, ctx=ast.Load()):
            return word in names
        case ast.Call(func=ast.Name(id=word)):
            return word in _MAKERS
        case ast.Call(func=ast.Attribute(value=of, attr=word)):
            return word in _MERGING and _is_set(of, names)
        case ast.BinOp(left=left, op=operator, right=right):
            sides = (left, right)
            return isinstance(operator, _ALGEBRA) and any(
                _is_set(side, names) or _is_view(side) for side in sides
            )
        case ast.NamedExpr(value=value) | ast.Subscript(value=value):
            return _is_set(value, names)  # a container may hold it
        case ast.IfExp(body=one, orelse=other):
            return _is_set(one, names) or _is_set(other, names)
        case _:
            return False


def _is_of_sets(annotation: ast.expr | None) -> bool:
    match annotation:
        case ast.Name(id=word) | ast.Subscript(value=ast.Name(id=word)):
            return word in _MAKERS
        case _:
            return False


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _is_view(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="keys" | "items"), args=[], keywords=[]):
            return True
        case _:
            return False
