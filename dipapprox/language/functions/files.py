"""Files of Python, read and never run: their functions, classes and known values.

The statements of a file are evaluated one after the other. One that is not followed (it prints, or
calls an installed package) leaves what it binds unread, and what it may change: whoever uses such a
name hears why.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from dipapprox.errors import SourceError
from dipapprox.language.functions import places
from dipapprox.language.functions.evaluator import evaluator
from dipapprox.language.functions.machine import (
    Bound,
    Class,
    Function,
    Machine,
    Module,
    Object,
    Raised,
    Scope,
    Stream,
    Word,
)
from dipapprox.language.functions.symbols import refusal
from dipapprox.language.functions.variables import Unread, facts_of
from dipapprox.source import SourceFile

_REACHING = frozenset(
    ("exec", "eval", "globals", "vars", "locals", "setattr", "delattr", "__import__", "sys", "gc")
)
"""What may change any name of a file."""


class Files:
    """The files that one mechanism needs, each read once."""

    def __init__(self, folder: Path) -> None:
        """Look for files in a folder."""
        self._folder = folder
        self._modules: dict[str, Module | None] = {}

    def load(self, machine: Machine, node: ast.AST, name: str) -> Module | None:
        """Return the file that a name imports; None if it is none of the user's.

        Raises:
            SourceError: If it is no Python, or imports itself.
        """
        if name in self._modules:
            known = self._modules[name]
            if known is not None and not known.scope.fixed:
                raise machine.refusal(node, f"'{name}' imports itself")
            return _kept(machine, known)
        path = self._folder.joinpath(*name.split(".")).with_suffix(".py")
        if name.partition(".")[0] == "dipapprox" or not path.is_file():
            self._modules[name] = None
            return None
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise machine.refusal(node, f"'{path}' cannot be read: {error}") from None
        return _kept(machine, self.read(name, str(path), text))

    def read(self, name: str, path: str, text: str) -> Module:
        """Read a file.

        Raises:
            SourceError: If it is no Python.
        """
        tree = places.tree_of(SourceFile(path, text))
        scope = Scope(facts_of(tree).local | {"__name__"}, None, is_module=True)
        scope.values["__name__"] = Path(path).stem
        module = self._modules[name] = Module(name, scope)
        machine = evaluator(None, self.load)
        for statement in tree.body:
            try:
                machine.evaluate(statement, scope)
            except SourceError as error:
                _leave(statement, error, tree, scope)
            except Raised as error:
                _leave(statement, failed(error), tree, scope)
            except RecursionError:
                deep = refusal("limit", "this is too deep", "", places.span_of(statement))
                _leave(statement, deep, tree, scope)
        scope.fixed = True
        return module


def _kept(machine: Machine, module: Module | None) -> Module | None:
    """Return a file of which a function, that imports it, changes nothing."""
    if module is not None and machine.run is not None:
        machine.outside |= reached([module])
    return module


def failed(error: Raised, hint: str = "") -> SourceError:
    """Return the error for an exception that nobody handles."""
    said = [str(each) for each in error.value.values["args"] if type(each) in (str, int)]
    message = f"the function fails: {error.value.kind.name}: {', '.join(said)}".rstrip(": ")
    return refusal("error", message, hint, places.span_of(error.node))


def _leave(statement: ast.stmt, error: SourceError, tree: ast.Module, scope: Scope) -> None:
    """Leave unread what a statement binds, and what it may have changed.

    Raises:
        SourceError: The same, if that may be anything.
    """
    unread = Unread(error)
    nodes = list(ast.walk(statement))
    defines = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    if not defines and not isinstance(statement, ast.Import | ast.ImportFrom):
        named = {each.id for each in nodes if isinstance(each, ast.Name)}
        values = [scope.values[name] for name in named if name in scope.values]
        stores = [each for each in nodes if isinstance(each, ast.Attribute | ast.Subscript)]
        if any(isinstance(each.ctx, ast.Store | ast.Del) for each in stores) and any(
            isinstance(value, Word | Module | Class) for value in values
        ):
            raise error
        calls = any(isinstance(each, ast.Call) for each in nodes)
        own = (Function, Class, Unread, Bound, Object, Module)
        anything = named & _REACHING or any(isinstance(value, own) for value in values)
        if calls and anything:
            named = set(scope.values)
            for each in ast.walk(tree):
                if isinstance(each, ast.Global):
                    scope.values.update(dict.fromkeys(each.names, unread))
        for name in named & scope.values.keys():
            if _changes(scope.values[name]):
                scope.values[name] = unread
    decorators = getattr(statement, "decorator_list", ())
    if any("mechanism" in ast.unparse(each) for each in decorators):
        unread = Unread(error, mechanism=True)
    whole = ast.Module([statement], [])
    scope.values.update(dict.fromkeys(facts_of(whole).local, unread))


def _changes(value: Any) -> bool:
    """Whether a value is, or has, what may be changed."""
    if type(value) is tuple:
        return any(map(_changes, value))
    return type(value) in (list, dict, set) or isinstance(value, Object | Stream | Class | Bound)


def reached(values: list[Any]) -> frozenset[int]:
    """Return the identities of all that can be changed, and is reached from some values."""
    seen: dict[int, Any] = {}
    waiting = list(values)
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen[id(each)] = each
        if type(each) in (list, tuple, set):
            waiting += each
        elif type(each) is dict:
            waiting += each.values()
        elif isinstance(each, Object):
            waiting += [each.kind, *each.values.values()]
        elif isinstance(each, Class):
            waiting += [*each.bases, *each.values.values()]
        elif isinstance(each, Module):
            waiting.append(each.scope)
        elif isinstance(each, Bound):
            waiting += [each.function, each.receiver]
        elif isinstance(each, Function):
            waiting += [each.scope, *each.defaults.values()]
        elif isinstance(each, Scope):
            waiting += [each.outer, *each.values.values()]
    kinds = (list, dict, set, Object, Stream, Class)
    return frozenset(key for key, each in seen.items() if isinstance(each, kinds))
