"""Statements: a rule for each kind of node; what has none is refused."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import partial
from typing import Any

from dipapprox.errors import SourceError
from dipapprox.language.functions import library, objects, places
from dipapprox.language.functions.expressions import (
    access,
    around_star,
    assign,
    bind,
    loop_values,
    turns,
)
from dipapprox.language.functions.machine import (
    SCALARS,
    Array,
    Broke,
    Continued,
    Function,
    ImportedName,
    Machine,
    NameScope,
    Raised,
    Returned,
    Unread,
    is_object,
    kind_of,
    plain,
    refill,
    rule,
)
from dipapprox.language.functions.objects import function_of
from dipapprox.language.functions.operators import combine, equal, is_same, truth
from dipapprox.language.functions.symbols import Symbolic
from dipapprox.language.functions.words import INSTEAD


def _block(machine: Machine, body: list[ast.stmt], scope: NameScope) -> Iterable[Any]:
    for statement in body:
        machine.evaluate(statement, scope)
    return ()


# --- what has no statements inside ----------------------------------------------------------------


@rule(*(ast.Expr, ast.Pass, ast.Nonlocal), *(ast.Break, ast.Continue, ast.Return, ast.Assert))
def _simple(machine: Machine, node: Any, scope: NameScope) -> None:
    match node:
        case ast.Expr(value=value) if not isinstance(value, ast.Constant):
            machine.evaluate(value, scope)
        case ast.Break():
            raise Broke
        case ast.Continue():
            raise Continued
        case ast.Return(value=value):
            raise Returned(value and machine.evaluate(value, scope), machine.node)
        case ast.Assert(test=test, msg=message) if not machine.evaluate(test, scope, truth):
            said = () if message is None else (machine.evaluate(message, scope),)
            raise Raised(AssertionError(*said), machine.node)


@rule(ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete)
def _assign(machine: Machine, node: Any, scope: NameScope) -> None:
    match node:
        case ast.Assign(targets=targets):
            value = machine.evaluate(node.value, scope)
            for target in targets:
                assign(machine, target, value, scope)
        case ast.AnnAssign(value=value):
            if value is not None:
                assign(machine, node.target, machine.evaluate(value, scope), scope)
            elif not isinstance(node.target, ast.Name):
                access(machine, node.target, scope)  # computed, and not read
            if scope.kind in ("module", "class"):
                _annotate(machine, node, scope)
        case ast.AugAssign():  # what stands before the sign is evaluated once
            read, write, *_ = access(machine, node.target, scope)
            before, value = read(), machine.evaluate(node.value, scope)
            if type(before) is list and isinstance(node.op, ast.Add) and type(value) is not Array:
                machine.call(library.method(machine, before, "extend"), value)
                after = before
            else:
                after = combine(machine, type(node.op), before, value)
                if type(before) in (list, set, dict) and type(after) is type(before):
                    after = refill(machine.change(before), after)
            write(after)
        case ast.Delete(targets=targets):
            for target in targets:
                if isinstance(target, ast.Tuple | ast.List):
                    _assign(machine, ast.Delete(target.elts), scope)
                    continue
                _, _, *delete = access(machine, target, scope)
                if not delete:
                    raise machine.refusal("this is nothing to delete")
                delete[0]()


# --- control --------------------------------------------------------------------------------------


@rule(ast.If)
def _if(machine: Machine, node: ast.If, scope: NameScope) -> None:
    ways = {True: node.body, False: node.orelse}

    def decide(machine: Machine, value: Any) -> bool | None:
        if not any(map(places.returns, ways.values())):
            both = {way: partial(_block, machine, body, scope) for way, body in ways.items()}
            if machine.joined(value, both):
                return None
        if machine.depth == 1 and not machine.tries and hasattr(node, "text"):
            for way, body in ways.items():
                if places.returns(body):
                    machine.branches[way] = partial(_block, machine, body, scope)
        try:
            return truth(machine, value)
        finally:
            machine.branches = {}

    way = machine.evaluate(node.test, scope, decide)
    _block(machine, [] if way is None else ways[way], scope)


@rule(ast.For, ast.While)
def _loop(machine: Machine, node: Any, scope: NameScope) -> None:
    endless, values = loop_values(machine, node, scope)
    machine.unbounded += endless
    try:
        list(turns(machine, node, values, scope, _block))
    finally:
        machine.unbounded -= endless


# --- match ----------------------------------------------------------------------------------------


@rule(ast.Match)
def _match(machine: Machine, node: ast.Match, scope: NameScope) -> None:
    subject = machine.evaluate(node.subject, scope)
    for case in node.cases:
        found: dict[str, Any] = {}
        if not _fits(machine, case.pattern, subject, scope, found):
            continue
        for name, value in found.items():
            bind(machine, name, value, scope)
        if case.guard is None or machine.evaluate(case.guard, scope, truth):
            _block(machine, case.body, scope)
            return


def _fits(
    machine: Machine, pattern: ast.pattern, subject: Any, scope: NameScope, found: dict[str, Any]
) -> bool:
    """Whether a value fits a pattern; the names that it gets are collected."""
    machine.node = pattern
    match pattern:
        case ast.MatchValue(value=value):
            return truth(machine, equal(machine, subject, machine.evaluate(value, scope)))
        case ast.MatchSingleton(value=value):
            known = not isinstance(subject, Symbolic | ImportedName)
            return subject is value if known else is_same(machine, subject, value)
        case ast.MatchAs(name=name) | ast.MatchStar(name=name):
            inner = getattr(pattern, "pattern", None)
            if inner is not None and not _fits(machine, inner, subject, scope, found):
                return False
            if name is not None:
                found[name] = subject
            return True
        case ast.MatchOr(patterns=patterns):
            return any(_fits(machine, each, subject, scope, found) for each in patterns)
        case ast.MatchSequence(patterns=patterns):
            value = plain(subject)
            if type(value) not in (list, tuple):
                others = isinstance(value, Symbolic) or is_object(value)
                if others or type(value) in (*SCALARS, dict, set):
                    return False
                raise machine.refusal(f"whether {kind_of(value)} is a sequence is not followed")
            cells = around_star(patterns, ast.MatchStar, list(value))
            return len(cells) == len(patterns) and all(
                _fits(machine, each, cell, scope, found)
                for each, cell in zip(patterns, cells, strict=True)
            )
        case ast.MatchMapping(keys=keys, patterns=patterns, rest=rest):
            names = [machine.evaluate(each, scope) for each in keys]
            if rest is not None and type(subject) is dict:
                found[rest] = {name: v for name, v in subject.items() if name not in names}
            return type(subject) is dict and all(
                name in subject and _fits(machine, inner, subject[name], scope, found)
                for name, inner in zip(names, patterns, strict=True)
            )
        case ast.MatchClass():
            return _fits_class(machine, pattern, subject, scope, found)
        case _:
            raise machine.refusal("such a case is not followed")


def _fits_class(
    machine: Machine, pattern: ast.MatchClass, value: Any, scope: NameScope, found: dict[str, Any]
) -> bool:
    kind = machine.evaluate(pattern.cls, scope)
    if not machine.call(library.word("isinstance"), value, kind):
        return False
    if not isinstance(kind, type):  # int(n): the value itself
        several = len(pattern.patterns) > 1 or pattern.kwd_patterns
        if several or (pattern.patterns and kind.name == "fractions.Fraction"):
            raise machine.refusal("such a case is not followed")
        return all(_fits(machine, each, value, scope, found) for each in pattern.patterns)
    fields = getattr(kind, "__match_args__", ())
    names = [*fields[: len(pattern.patterns)], *pattern.kwd_attrs]
    patterns = [*pattern.patterns, *pattern.kwd_patterns]
    if len(names) < len(patterns):
        raise machine.refusal("such a case is not followed")
    return all(
        _fits(machine, each, objects.attribute(machine, value, name), scope, found)
        for each, name in zip(patterns, names, strict=True)
    )


# --- exceptions -----------------------------------------------------------------------------------


@rule(ast.Raise)
def _raise(machine: Machine, node: ast.Raise, scope: NameScope) -> None:
    if node.exc is None:
        if not machine.handled:
            raise machine.refusal("there is no exception to raise again")
        raise machine.handled[-1]
    value = machine.evaluate(node.exc, scope)
    if node.cause is not None:
        cause = machine.evaluate(node.cause, scope)
        is_class = isinstance(cause, type) and issubclass(cause, BaseException)
        if cause is not None and not is_class and not isinstance(cause, BaseException):
            raise machine.refusal(f"{kind_of(cause)} is no exception")
    if isinstance(value, type) and issubclass(value, BaseException):
        value = machine.call(value)
    if not isinstance(value, BaseException):
        raise machine.refusal(f"{kind_of(value)} is no exception")
    raise Raised(value, machine.node) if hasattr(node, "text") else machine.raised(value)


@rule(ast.Try)
def _try(machine: Machine, node: ast.Try, scope: NameScope) -> None:
    machine.tries += 1
    try:
        try:
            _block(machine, node.body, scope)
        except Raised as error:
            caught = (each for each in node.handlers if _catches(machine, each, error, scope))
            if (handler := next(caught, None)) is None:
                raise
            _handle(machine, handler, error, scope)
        else:
            _block(machine, node.orelse, scope)
    except (Raised, Returned, Broke, Continued) as way:
        _block_after(machine, node.finalbody, way, scope)
        raise
    else:
        _block(machine, node.finalbody, scope)
    finally:
        machine.tries -= 1


def _catches(machine: Machine, handler: ast.ExceptHandler, error: Raised, scope: NameScope) -> bool:
    kinds = BaseException if handler.type is None else machine.evaluate(handler.type, scope)
    for kind in kinds if type(kinds) is tuple else (kinds,):
        if not isinstance(kind, type) or not issubclass(kind, BaseException):
            raise machine.refusal(f"{kind_of(kind)} is no exception")
        if isinstance(error.value, kind):
            return True
    return False


def _handle(machine: Machine, handler: ast.ExceptHandler, error: Raised, scope: NameScope) -> None:
    if handler.name is not None:
        if handler.name not in scope.local:
            raise machine.refusal(f"'{handler.name}' is not of this function")
        bind(machine, handler.name, error.value, scope)
    try:
        _block_after(machine, handler.body, error, scope)
    finally:
        if handler.name is not None:
            scope.values.pop(handler.name, None)


def _block_after(machine: Machine, body: list[ast.stmt], way: Exception, scope: NameScope) -> None:
    """Do what follows an exception, which `raise` alone raises again, or another way out."""
    before = machine.handled
    machine.handled = [*before, way] if isinstance(way, Raised) else before
    try:
        _block(machine, body, scope)
    finally:
        machine.handled = before


# --- definitions ----------------------------------------------------------------------------------


_METHODS: dict[str, Any] = {each.__name__: each for each in (staticmethod, classmethod, property)}


@rule(ast.FunctionDef)
def _define(machine: Machine, node: ast.FunctionDef, scope: NameScope) -> None:
    function: Any = function_of(machine, node, node.name, scope)
    for decorator in reversed(node.decorator_list):
        match decorator:
            case ast.Attribute(of, "setter" | "getter" as part):
                held = machine.evaluate(of, scope)
                if isinstance(held, property) and isinstance(function, Function):
                    function = getattr(held, part)(function)
                    continue
        name = _decorator(machine, decorator, scope)
        called = isinstance(decorator, ast.Call)
        if name in _METHODS and isinstance(function, Function) and not called:
            function = _METHODS[name](function)
        elif name == "dipapprox.mechanism":
            function.adjacent = decorator
        else:
            machine.node = decorator
            short = name.rpartition(".")[2]
            hint = INSTEAD.get(short, "call what it does in the function itself")
            raise machine.refusal(f"the decorator '{name}' is not followed", hint)
    _annotate(machine, node, scope)
    bind(machine, node.name, function, scope)


def _annotate(machine: Machine, node: ast.stmt, scope: NameScope) -> None:
    """Evaluate the annotations of a statement: before a function has its name, and after a variable
    has its value. One that is not followed is left where it stands if the file consists of
    these statements."""
    for each in places.annotations_of(node):
        try:
            found = _annotated(machine, each, scope)
        except SourceError as error:
            if not isinstance(scope.tree, ast.Module) or node not in scope.tree.body:
                raise
            machine.leave(each, error)
            continue
        if (
            machine.tries
            and isinstance(found, ImportedName | Unread)
            and not isinstance(each, ast.Name)
        ):
            machine.node = each
            raise machine.refusal("whether Python has this type is not known, and 'try' catches it")


def _annotated(machine: Machine, annotation: ast.expr, scope: NameScope) -> Any:
    """Evaluate an annotation; a plain type of names that are not read is one of these."""
    for each in () if places.acts(annotation) else ast.walk(annotation):
        holder = scope.holder(each.id) if isinstance(each, ast.Name) else None
        found = holder and holder.values.get(each.id)  # type: ignore[attr-defined]  # of a name
        if isinstance(found, Unread):
            return found
    return machine.evaluate(annotation, scope)


def _decorator(machine: Machine, node: ast.expr, scope: NameScope) -> str:
    found = machine.evaluate(node.func if isinstance(node, ast.Call) else node, scope)
    known = isinstance(found, ImportedName) or getattr(found, "standard", False)
    return found.name if known else kind_of(found)


@rule(ast.ClassDef)
def _class(machine: Machine, node: ast.ClassDef, scope: NameScope) -> None:
    for each in ast.walk(node):
        names = (getattr(each, field, None) for field in ("id", "arg", "attr", "name"))
        if any(isinstance(n, str) and n.startswith("__") and not n.endswith("__") for n in names):
            machine.node = each
            raise machine.refusal("in a class, such a name is another one", "begin it with one _")
    options: dict[str, bool] | None = None
    for decorator in node.decorator_list:
        if options is not None or _decorator(machine, decorator, scope) != "dataclasses.dataclass":
            raise machine.refusal("this decorator of a class is not followed")
        options = {}
        for each in decorator.keywords if isinstance(decorator, ast.Call) else ():
            value = machine.evaluate(each.value, scope)
            if each.arg in ("frozen", "order", "slots", "kw_only") and type(value) is bool:
                options[each.arg] = value
            elif (each.arg, value) != ("eq", True):
                raise machine.refusal(f"a data class with '{each.arg}' is not followed")
    bases = [machine.evaluate(each, scope) for each in node.bases]
    base = objects.base_of(machine, node, bases)
    inner = NameScope(places.facts_of(node).local, scope, kind="class")
    for statement in node.body:
        if not isinstance(statement, _IN_CLASSES):
            raise machine.refusal("in a class stand methods, and what its objects share")
        machine.evaluate(statement, inner)
    bind(machine, node.name, objects.define(machine, node, base, inner, options), scope)


_IN_CLASSES = (ast.FunctionDef, ast.Assign, ast.AnnAssign, ast.Pass, ast.Expr)
