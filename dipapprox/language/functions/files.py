"""Files of Python, read and never run: their functions, classes and known values.

The statements of a file are evaluated one after the other. One that is not followed (it prints, or
calls an installed package) leaves what it binds unread, and what it may change: whoever uses such a
name hears why. One that may reach names of a file by other ways (`globals`, frames) makes the whole
file an error.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import linecache
import sys
from collections.abc import Iterable, Iterator
from dataclasses import Field
from fractions import Fraction
from functools import lru_cache, partial
from inspect import Signature, signature
from math import isinf
from pathlib import Path
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, get_args, get_origin

from dipapprox.data_classes import field
from dipapprox.errors import SourceError, UserError
from dipapprox.language.functions import expressions, library, objects, places, statements
from dipapprox.language.functions.expressions import bind
from dipapprox.language.functions.machine import (
    ERRORS,
    HOME,
    Function,
    ImportedName,
    Machine,
    NameScope,
    Raised,
    Stream,
    Text,
    Unread,
    followed,
    is_object,
    rule,
)
from dipapprox.language.functions.places import facts_of
from dipapprox.language.functions.symbols import refusal, running_as
from dipapprox.language.functions.words import of_unknown
from dipapprox.language.traversal import reachable
from dipapprox.source import SourceFile

_FILLED = [each.__doc__ for each in (expressions, library, objects, statements)]
"""Looked at, and so loaded: the modules that fill the tables of `machine`."""


class Files:
    """The files that one mechanism needs, each read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._modules: dict[Path, NameScope] = {}

    def load(self, machine: Machine, name: str, folder: Path | None = None) -> NameScope | None:
        """Return the file that a name imports; None if it is none of the user's.

        Args:
            name: With dots; what a package does at its head is done before.
            folder: Where the name is looked for, if that is said by dots before it.
        """
        home = name.rpartition(".")[0]
        if home:
            self.load(machine, home, folder)
        path = (folder or self._folder).joinpath(*name.split("."))
        head = path / "__init__.py"
        path = (head if head.is_file() else path.with_suffix(".py")).resolve()
        top = name.partition(".")[0]
        known = self._modules.get(path)
        if known is None:
            if top == "dipapprox" or not path.is_file():
                if machine.tries and top not in {"dipapprox", *sys.stdlib_module_names}:
                    raise machine.refusal(f"whether '{top}' is installed is not known")
                return None
            if folder is None and top in sys.stdlib_module_names:
                raise machine.refusal(f"'{name}' is here, and in Python itself: which is not known")
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise machine.refusal(f"'{path}' cannot be read: {error}") from None
            known = self.read(path, text)
        if not known.fixed:
            raise machine.refusal(f"'{name}' imports itself")
        if machine.draws:  # a function that imports it changes nothing of it
            machine.outside |= reached([known])
        return known

    def read(self, path: Path, text: str) -> NameScope:
        tree = places.tree_of(SourceFile(str(path), text))
        scope = NameScope(facts_of(tree).local | {"__name__"}, None, kind="module", tree=tree)
        scope.values["__name__"] = path.stem
        self._modules[path.resolve()] = scope
        machine = Machine(self.load)
        machine.leave = partial(leave, scope=scope, modules=self._modules.values())
        for statement in tree.body:
            try:
                with running_as(machine):
                    machine.evaluate(statement, scope)
            except SourceError as error:
                machine.leave(statement, error)
            except Raised as error:
                raise failed(error) from None
            except RecursionError:
                deep = refusal("limit", "this is too deep", "", places.span_of(statement))
                machine.leave(statement, deep)
        scope.fixed = True
        return scope


def failed(error: Raised, hint: str = "") -> SourceError:
    """Return the error for an exception that nobody handles."""
    given = (each.said if type(each) is Text else each for each in error.value.args)
    said = ", ".join(str(each) for each in given if type(each) in (str, int))
    message = f"the function fails: {type(error.value).__name__}: {said}".rstrip(": ")
    return refusal("error", message, hint, places.span_of(error.node))


# --- imports: files beside this one are read, all else is a name that the prelude may know --------


@rule(ast.Import)
def _import(machine: Machine, node: ast.Import, scope: NameScope) -> None:
    for each in node.names:
        top = each.name if each.asname else each.name.partition(".")[0]
        found = machine.load(machine, top)
        if isinstance(found, NameScope) and "." in each.name:
            raise machine.refusal("a file is imported by one name: from a import b")
        if machine.tries and found is None and each.name not in sys.modules:
            raise machine.refusal(f"whether '{each.name}' is installed is not known")
        bind(machine, each.asname or top, library.word(top) if found is None else found, scope)


@rule(ast.ImportFrom)
def _import_from(machine: Machine, node: ast.ImportFrom, scope: NameScope) -> None:
    name, folder = node.module or "", None
    if node.level:
        folder = Path(node.text.source.name).resolve().parents[node.level - 1]  # type: ignore[attr-defined]  # nodes know their text
    module = machine.load(machine, name, folder) if name else None
    if module is None and name and node.level:
        raise machine.refusal(f"there is no file '{name}.py' beside this one")
    for each in node.names:
        if each.name == "*":
            _import_all(machine, name, module, scope)
            continue
        if module is not None:
            value = module.values.get(each.name, library.MISSING)
            if value is library.MISSING:
                value = objects.attribute(machine, module, each.name)
        elif not name:
            value = machine.load(machine, each.name, folder)
            if value is None:
                raise machine.refusal(f"there is no file '{each.name}.py' beside this one")
        else:
            if name == "dipapprox" and not hasattr(sys.modules["dipapprox"], each.name):
                message = f"cannot import name '{each.name}' from 'dipapprox' into a mechanism"
                raise machine.refusal(message, of_unknown(each.name))
            value = library.found(machine, f"{name}.{each.name}")
        bind(machine, each.asname or each.name, value, scope)


def _import_all(machine: Machine, name: str, module: NameScope | None, scope: NameScope) -> None:
    if scope.kind != "module":
        raise machine.refusal("'import *' stands at the top of a file")
    held = module.values if module else dict.fromkeys(library.names_in(name))
    names = followed(held.get("__all__", [each for each in held if not each.startswith("_")]))
    if not names or (module and not held.keys() >= set(names)):
        raise machine.refusal(f"what 'from {name} import *' brings is not known")
    scope.local |= set(names)
    for each in names:
        scope.values[each] = held[each] if module else library.word(f"{name}.{each}")


# --- statements that are not followed -------------------------------------------------------------

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
    parts = ("decorator_list", "bases")
    calls = any(isinstance(n, ast.Call) or any(getattr(n, p, ()) for p in parts) for n in nodes)
    if calls and any(map(_is_own, values)):
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
    if isinstance(value, Function):
        return not value.standard
    return isinstance(value, type | Unread | MethodType | NameScope) or is_object(value)


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
            waiting += [getattr(each, part, None) for part in ("fget", "fset", "default_factory")]
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


# --- functions of running programs ----------------------------------------------------------------


class LiveScope(NameScope, frozen=False, eq=False, kw_only=True):
    """What a function of a running program finds around it; `UserError` if it has no text."""

    function: Any
    # What is known of values by identity, with these: containers stay the same ones.
    seen: dict[int, Any] = field(default_factory=dict)
    held: dict[str, Any] = field(default_factory=dict)  # by its closure
    node: Any = None
    read: Any = None  # the function

    def __post_init__(self) -> None:
        self.fixed, self.kind = True, "module"
        self.node, function = _definition(self.function), self.function
        if function.__builtins__ is not vars(builtins):
            raise UserError(f"'{function.__name__}' has other built-in functions than Python's")
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self.held = {name: cell.cell_contents for name, cell in cells if cell != CellType()}
        self.read = Function(function.__name__, self.node, self, Signature())
        self.seen[id(function)] = function, self.read
        for each in ast.walk(self.node):
            if isinstance(each, ast.Name):
                self.holder(each.id)
        given = signature(function, follow_wrapped=False).parameters.values()
        held = iter([(p.default, p.name) for p in given if p.default is not p.empty])
        self.read.signature = library.signature_of(
            self.node.args, lambda _: followed(self.known(*next(held)))
        )

    def holder(self, name: str, *, inside: bool = True) -> NameScope | None:
        free = name in self.function.__code__.co_freevars
        space = self.held if free else self.function.__globals__
        if name in space and name not in self.values:
            self.values[name] = self.known(space[name], name)
        return self

    def known(self, value: Any, name: str) -> Any:
        """Return what the evaluator knows of a value of Python."""
        kind = type(value)
        if kind in (int, bool, str, Fraction, type(None), range) or (
            kind is float and isinf(value)
        ):
            return value
        if id(value) in self.seen:
            return self.seen[id(value)][1]
        if kind is list:
            cells: list[Any] = []
            self.seen[id(value)] = value, cells
            cells.extend(self.known(each, name) for each in value)
            made: Any = cells
        elif kind in (tuple, set):
            made = kind(self.known(each, name) for each in value)
        elif kind is dict:
            made = {self.known(k, name): self.known(v, name) for k, v in value.items()}
        else:
            made = self._other(value, name)
        held = [*made, *made.values()] if type(made) is dict else made
        held = held if type(made) in (list, tuple, set, dict) else ()
        made = next((each for each in held if isinstance(each, Unread)), made)
        self.seen[id(value)] = value, made
        return made

    def _other(self, value: Any, name: str) -> Any:
        if (origin := get_origin(value)) is not None:  # a type of `typing`
            if (said := getattr(value, "__metadata__", None)) is not None:
                return ImportedName("typing.Annotated", (None, *said))
            short = getattr(origin, "_name", None) or getattr(value, "_name", None)
            short = "Literal" if str(origin) == "typing.Literal" else short
            return ImportedName(f"typing.{short}", get_args(value))
        if isinstance(value, ModuleType):
            return ImportedName(value.__name__)
        module = str(getattr(value, "__module__", "") or "").lstrip("_")
        called = str(getattr(value, "__qualname__", getattr(value, "__name__", "")))
        top = module.partition(".")[0]
        if module == "builtins" and getattr(builtins, called, None) is value:
            word = ERRORS.get(called) or library.builtin(called)
            return word or library.word(f"builtins.{called}")
        if module == "typing" and getattr(value, "_name", None):
            return ImportedName(f"typing.{value._name}")
        followed = top == "dipapprox" or top in sys.stdlib_module_names
        if followed and called and isinstance(value, type | FunctionType | BuiltinFunctionType):
            return library.word(f"{top if top == 'dipapprox' else module}.{called}")
        if type(value).__module__ == "dipapprox.language.mechanism":
            value = getattr(value, "__wrapped__", value)
        if isinstance(value, FunctionType):
            if id(value) in self.seen:
                return self.seen[id(value)][1]
            try:
                return LiveScope(frozenset(), None, function=value, seen=self.seen).read
            except UserError as error:
                span = places.span_of(self.node)
                return Unread(refusal("error", error.message, error.hint, span))
        span = places.span_of(self.node)
        message = f"'{name}' is of the class {type(value).__name__}, which is not followed"
        hint = "numbers, texts, lists of these, functions and modules are known"
        return Unread(refusal("type error", message, hint, span))


@lru_cache(maxsize=64)
def _tree_and_codes(file: str, text: str, flags: int) -> tuple[ast.Module, set[CodeType]]:
    """Read a file, and what Python makes of its functions."""
    whole = compile(text, file, "exec", flags, dont_inherit=True)  # nothing runs

    def inside(code: CodeType) -> Iterator[CodeType]:
        return (each for each in code.co_consts if isinstance(each, CodeType))

    return places.tree_of(SourceFile(file, text)), reachable([whole], inside)


_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
"""What `from __future__` may have changed for a function."""


def _definition(function: FunctionType) -> Any:
    """Return the text of a function as a tree; `UserError` if it is not known, or has changed."""
    code = function.__code__
    file = code.co_filename
    lines = linecache.getlines(file, function.__globals__)
    if not lines:
        message = f"the text of '{function.__name__}' is not known: it is read, and not run"
        raise UserError(message, "functions stand in files, or in cells of a notebook")
    text = "".join(lines).replace("\r\n", "\n")
    tree, codes = _tree_and_codes(file, text, code.co_flags & _FUTURE)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            name = getattr(node, "name", "<lambda>")
            if (name, first) == (code.co_name, code.co_firstlineno):
                found.append(node)
    if len(found) != 1 or code not in codes:
        message = f"the text of '{function.__name__}' is another one than when it was made"
        raise UserError(message, "run the file again; one line has one lambda")
    return found[0]
