"""What a statement that is not followed may have changed: nobody reads that any more.

In: a statement of a file, why it is not followed, and the files that are read. Out: names in these
that are `Unread`. A statement that may reach names of a file by other ways (`globals`, frames)
makes the whole file an error.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import Field
from types import MethodType
from typing import Any

from dipapprox.errors import SourceError
from dipapprox.language.functions import places
from dipapprox.language.functions.machine import (
    HOME,
    Function,
    ImportedName,
    NameScope,
    Stream,
    Unread,
    is_object,
)
from dipapprox.language.functions.places import facts_of

_REACHING = frozenset(
    (
        *("exec", "eval", "globals", "vars", "locals", "setattr", "delattr", "__import__", "gc"),
        *("modules", "currentframe", "_getframe", "f_globals", "__globals__", "__dict__"),
        *("__builtins__", "__code__", "__defaults__", "__kwdefaults__", "mock", "patch"),
    )
)
"""What may change any name of a file."""


def leave(
    statement: ast.AST, error: SourceError, scope: NameScope, modules: Iterable[NameScope]
) -> None:
    """Leave unread what a statement binds, and what it may have changed, here or in other files."""
    unread = Unread(error)
    nodes, files = list(_running(statement)), list(modules)
    values = [scope.values[word] for word in _words(nodes) if word in scope.values]
    if _reaches(nodes, values):
        raise error
    told = [(nodes, scope)]
    if any(map(_calls, nodes)) and any(map(_is_own, values)):
        told = [(list(ast.walk(each.tree)), each) for each in files if each.tree]
        values = [value for each in files for value in each.values.values()]
    changed, reaching = reached(values, whole=False), False
    kept = (ImportedName, NameScope, Function, type)
    for nodes, names in told:
        if any(n == "*" or isinstance(names.values.get(n), kept) for n in map(_stored, nodes)):
            raise error
        for node in nodes:
            if isinstance(node, ast.Global):
                names.values.update(dict.fromkeys(node.names, unread))
        reaching = reaching or _reaches(nodes, list(names.values.values()))
    for each in files:
        for name, value in each.values.items():
            lost = reaching and not isinstance(value, kept)
            if lost or not changed.isdisjoint(reached([value], whole=False)):
                each.values[name] = unread
    decorators = getattr(statement, "decorator_list", ())
    if any("mechanism" in ast.unparse(each) for each in decorators):
        unread = Unread(error, mechanism=True)
    bound = facts_of(ast.Module([statement], [])).local  # type: ignore[list-item]  # or an expression
    if "*" in bound:
        raise error
    scope.values.update(dict.fromkeys(bound, unread))


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that are computed when a statement is."""
    yield node
    defines = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for each in places.seen_in(node) if defines else ast.iter_child_nodes(node):
        yield from _running(each)


def _words(nodes: list[ast.AST]) -> set[str]:
    return {getattr(each, "id", getattr(each, "attr", "")) for each in nodes}


def _reaches(nodes: list[ast.AST], values: list[Any]) -> bool:
    """Whether nodes, or what their names are, may change any name of the file."""
    imported = {each.name.rpartition(".")[2] for each in values if isinstance(each, ImportedName)}
    return not _REACHING.isdisjoint(_words(nodes) | imported)


def _is_own(value: Any) -> bool:
    """Whether a value runs functions of the file."""
    own = isinstance(value, type | Unread | MethodType | NameScope) or is_object(value)
    return own or (isinstance(value, Function) and not value.standard)


def _calls(node: Any) -> bool:
    """Whether a node may run functions: calls, and decorators and bases of what it defines."""
    named = getattr(node, "decorator_list", ()) or getattr(node, "bases", ())
    return bool(named) or isinstance(node, ast.Call)


def _stored(node: Any) -> str:
    """Return the name of what an assignment changes by its attributes or items: "*" for any."""
    part = isinstance(node, ast.Attribute | ast.Subscript)
    if not part or isinstance(node.ctx, ast.Load):
        return ""
    while hasattr(node, "value"):
        node = node.value
    return getattr(node, "id", "*")


def reached(values: list[Any], *, whole: bool = True) -> frozenset[int]:
    """Return the identities of all that can be changed, and is reached from some values; if
    `whole`, a function reaches all that its file has."""
    seen: dict[int, Any] = {}
    waiting = list(values)
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen[id(each)] = each
        if isinstance(each, list | tuple | set):
            waiting += each
        elif type(each) is dict:
            waiting += [*each, *each.values()]
        elif isinstance(each, type):
            waiting += [*each.__bases__, *vars(each).values()] if each.__module__ == HOME else ()
        elif isinstance(each, MethodType | staticmethod | classmethod):
            waiting += [each.__func__, getattr(each, "__self__", None)]
        elif isinstance(each, property | Field):
            waiting.append(each.fget if isinstance(each, property) else each.default_factory)
        elif isinstance(each, Function):
            defaults = (known.default for known in each.signature.parameters.values())
            waiting += [each.scope, *defaults]
        elif isinstance(each, NameScope) and (whole or each.kind != "module"):
            waiting += [each.outer, *each.values.values()]
        elif is_object(each):
            waiting += [type(each), *vars(each).values(), *getattr(each, "args", ())]
    kinds = (list, dict, set, Stream, BaseException)
    return frozenset(
        known
        for known, each in seen.items()
        if isinstance(each, kinds)
        or getattr(each, "__module__", "") == HOME
        or (isinstance(each, NameScope) and each.kind != "module")
    )
