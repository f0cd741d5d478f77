"""Statements: a function for each node type; what is in no table is refused."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from dipapprox.language.functions import calls, objects, places
from dipapprox.language.functions.arithmetic import combine
from dipapprox.language.functions.comparisons import equal
from dipapprox.language.functions.imports import import_from, import_module
from dipapprox.language.functions.machine import (
    Broke,
    Class,
    Continued,
    Machine,
    Object,
    Raised,
    Returned,
    Scope,
    Stream,
    Word,
    raised,
)
from dipapprox.language.functions.symbols import Symbolic
from dipapprox.language.functions.values import items, kind_of, listed, truth
from dipapprox.language.functions.variables import (
    assign,
    bind,
    delete,
    facts_of,
    index,
    item,
    look_up,
    set_item,
)


def _block(machine: Machine, body: list[ast.stmt], scope: Scope) -> None:
    for statement in body:
        machine.evaluate(statement, scope)


def _condition(machine: Machine, node: ast.expr, scope: Scope) -> bool:
    return truth(machine, node, machine.evaluate(node, scope))


def _expression(machine: Machine, node: ast.Expr, scope: Scope) -> None:
    if not isinstance(node.value, ast.Constant):
        machine.evaluate(node.value, scope)


# --- assignments ----------------------------------------------------------------------------------


def _assign(machine: Machine, node: ast.Assign, scope: Scope) -> None:
    places.note_name(node.targets[0], node.value)
    value = machine.evaluate(node.value, scope)
    for target in node.targets:
        assign(machine, target, value, scope)


def _annotated(machine: Machine, node: ast.AnnAssign, scope: Scope) -> None:
    if node.value is not None:
        places.note_name(node.target, node.value)
        assign(machine, node.target, machine.evaluate(node.value, scope), scope)


def _augmented(machine: Machine, node: ast.AugAssign, scope: Scope) -> None:
    """Do `a op= b`: what stands before the sign is evaluated once."""
    target: Any = node.target
    places.note_name(target, node)
    if isinstance(target, ast.Name):
        before = look_up(machine, target, target.id, scope)
        bind(machine, target, target.id, _in_place(machine, node, before, scope), scope)
    elif isinstance(target, ast.Attribute):
        of = machine.evaluate(target.value, scope)
        before = objects.attribute(machine, target, of, target.attr)
        after = _in_place(machine, node, before, scope)
        objects.set_attribute(machine, target, of, target.attr, after)
    else:
        where = machine.evaluate(target.value, scope)
        at = index(machine, target, scope)
        if type(at) is slice:
            raise machine.refusal(node, "a slice is changed by 'v[a:b] = …'")
        before = item(machine, target, where, at)
        after = _in_place(machine, node, before, scope)
        set_item(machine, target, where, at, after)


def _in_place(machine: Machine, node: ast.AugAssign, before: Any, scope: Scope) -> Any:
    value = machine.evaluate(node.value, scope)
    if type(before) is list and isinstance(node.op, ast.Add):
        machine.change(node, before)
        before.extend(listed(machine, node, value))
        return before
    after = combine(machine, node, node.op, before, value)
    if type(before) in (list, set, dict) and type(after) is type(before):
        machine.change(node, before)
        if type(before) is list:
            before[:] = after
        else:
            before.clear()
            before.update(after)
        return before
    return after


def _delete(machine: Machine, node: ast.Delete, scope: Scope) -> None:
    for target in node.targets:
        delete(machine, target, scope)


# --- control --------------------------------------------------------------------------------------


def _if(machine: Machine, node: ast.If, scope: Scope) -> None:
    _block(machine, node.body if _condition(machine, node.test, scope) else node.orelse, scope)


def _for(machine: Machine, node: ast.For, scope: Scope) -> None:
    given = machine.evaluate(node.iter, scope)
    endless = isinstance(given, Stream) and machine.endless
    if machine.run is not None:
        machine.run.unbounded += endless
    try:
        for value in items(machine, node.iter, given):
            machine.step(node)
            assign(machine, node.target, value, scope)
            try:
                _block(machine, node.body, scope)
            except Continued:
                continue
            except Broke:
                return
        _block(machine, node.orelse, scope)
    finally:
        if machine.run is not None:
            machine.run.unbounded -= endless


def _while(machine: Machine, node: ast.While, scope: Scope) -> None:
    if machine.run is not None:
        machine.run.unbounded += 1
    try:
        while _condition(machine, node.test, scope):
            machine.step(node)
            try:
                _block(machine, node.body, scope)
            except Continued:
                continue
            except Broke:
                return
        _block(machine, node.orelse, scope)
    finally:
        if machine.run is not None:
            machine.run.unbounded -= 1


def _break(machine: Machine, node: ast.Break, scope: Scope) -> None:
    raise Broke


def _continue(machine: Machine, node: ast.Continue, scope: Scope) -> None:
    raise Continued


def _pass(machine: Machine, node: ast.stmt, scope: Scope) -> None:
    """Do nothing."""


def _return(machine: Machine, node: ast.Return, scope: Scope) -> None:
    value = None if node.value is None else machine.evaluate(node.value, scope)
    raise Returned(value, node)


def _global(machine: Machine, node: ast.Global, scope: Scope) -> None:
    hint = "only what a mechanism returns is published; nothing else may leave it"
    names = ", ".join(node.names)
    raise machine.refusal(
        node, f"the mechanism assigns '{names}' outside itself", hint, kind="error"
    )


# --- match ----------------------------------------------------------------------------------------


def _match(machine: Machine, node: ast.Match, scope: Scope) -> None:
    subject = machine.evaluate(node.subject, scope)
    for case in node.cases:
        found: dict[str, Any] = {}
        if not _fits(machine, case.pattern, subject, scope, found):
            continue
        for name, value in found.items():
            bind(machine, case.pattern, name, value, scope)
        if case.guard is None or _condition(machine, case.guard, scope):
            _block(machine, case.body, scope)
            return


def _fits(
    machine: Machine, pattern: ast.pattern, subject: Any, scope: Scope, found: dict[str, Any]
) -> bool:
    """Whether a value fits a pattern; the names that it gets are collected."""
    match pattern:
        case ast.MatchValue(value=value):
            known = machine.evaluate(value, scope)
            return truth(machine, pattern, equal(machine, pattern, subject, known))
        case ast.MatchSingleton(value=None):
            return subject is None
        case ast.MatchAs(pattern=inner, name=name):
            if inner is not None and not _fits(machine, inner, subject, scope, found):
                return False
            if name is not None:
                found[name] = subject
            return True
        case ast.MatchOr(patterns=patterns):
            return any(_fits(machine, each, subject, scope, found) for each in patterns)
        case ast.MatchSequence(patterns=patterns) if type(subject) in (list, tuple):
            if any(isinstance(each, ast.MatchStar) for each in patterns):
                raise machine.refusal(pattern, "'*' in a case is not followed")
            return len(subject) == len(patterns) and all(
                _fits(machine, each, value, scope, found)
                for each, value in zip(patterns, subject, strict=True)
            )
        case ast.MatchSequence() if isinstance(subject, Symbolic) or type(subject) in _APART:
            return False
        case ast.MatchSingleton() if isinstance(subject, Symbolic):
            raise machine.refusal(
                pattern, "a comparison is a condition, and not the object True or False"
            )
        case ast.MatchSingleton(value=value):
            return subject is value
        case ast.MatchClass():
            raise machine.refusal(
                pattern, "a case with a class asks for a type: that is not followed"
            )
        case _:
            raise machine.refusal(pattern, "such a case is not followed")


_APART = (int, bool, str, type(None), dict, set)
"""Values that are no sequences for `match`."""


# --- exceptions -----------------------------------------------------------------------------------


def _raise(machine: Machine, node: ast.Raise, scope: Scope) -> None:
    if node.exc is None:
        if not machine.handled:
            raise machine.refusal(node, "there is no exception to raise again")
        raise machine.handled[-1]
    value = machine.evaluate(node.exc, scope)
    if isinstance(value, Class) and value.kind == "error":
        value = machine.call(node, value, [], {})
    if not isinstance(value, Object) or value.kind.kind != "error":
        raise machine.refusal(node, f"{kind_of(value)} is no exception")
    raise Raised(value, node)


def _try(machine: Machine, node: ast.Try, scope: Scope) -> None:
    try:
        try:
            _block(machine, node.body, scope)
        except Raised as error:
            handler = _handler(machine, node, error, scope)
            if handler is None:
                raise
            _handle(machine, handler, error, scope)
        else:
            _block(machine, node.orelse, scope)
    except (Raised, Returned, Broke, Continued):
        _block(machine, node.finalbody, scope)
        raise
    _block(machine, node.finalbody, scope)


def _handler(
    machine: Machine, node: ast.Try, error: Raised, scope: Scope
) -> ast.ExceptHandler | None:
    for handler in node.handlers:
        if handler.type is None:
            return handler
        kinds = machine.evaluate(handler.type, scope)
        for kind in kinds if type(kinds) is tuple else (kinds,):
            if not isinstance(kind, Class) or kind.kind != "error":
                raise machine.refusal(handler.type, f"{kind_of(kind)} is no exception")
            if error.value.kind.is_a(kind):
                return handler
    return None


def _handle(machine: Machine, handler: ast.ExceptHandler, error: Raised, scope: Scope) -> None:
    if handler.name is not None:
        if handler.name not in scope.local:
            raise machine.refusal(handler, f"'{handler.name}' is not of this function")
        bind(machine, handler, handler.name, error.value, scope)
    machine.handled.append(error)
    try:
        _block(machine, handler.body, scope)
    finally:
        machine.handled.pop()
        if handler.name is not None:
            scope.values.pop(handler.name, None)


def _assert(machine: Machine, node: ast.Assert, scope: Scope) -> None:
    if not _condition(machine, node.test, scope):
        said = () if node.msg is None else (machine.evaluate(node.msg, scope),)
        raise raised(node, "AssertionError", *said)


# --- definitions ----------------------------------------------------------------------------------


def _define(machine: Machine, node: ast.FunctionDef, scope: Scope) -> None:
    function: Any = calls.function_of(machine, node, node.name, scope)
    for decorator in reversed(node.decorator_list):
        name = _decorator(machine, decorator, scope)
        if name in ("staticmethod", "classmethod", "property"):
            function.kind = name
        elif name == "dipapprox.mechanism":
            function.adjacent = decorator
        else:
            hint = "call what it does in the function itself"
            raise machine.refusal(decorator, f"the decorator '{name}' is not followed", hint)
    bind(machine, node, node.name, function, scope)


def _decorator(machine: Machine, node: ast.expr, scope: Scope) -> str:
    found = machine.evaluate(node.func if isinstance(node, ast.Call) else node, scope)
    return found.name if isinstance(found, Word) else kind_of(found)


def _class(machine: Machine, node: ast.ClassDef, scope: Scope) -> None:
    bases = [machine.evaluate(each, scope) for each in node.bases]
    frozen: bool | None = None
    for decorator in node.decorator_list:
        if _decorator(machine, decorator, scope) != "dataclasses.dataclass":
            raise machine.refusal(decorator, "this decorator of a class is not followed")
        frozen = False
        for option in decorator.keywords if isinstance(decorator, ast.Call) else ():
            value = machine.evaluate(option.value, scope)
            if option.arg == "frozen" and type(value) is bool:
                frozen = value
            elif (option.arg, value) not in (("slots", True), ("slots", False), ("eq", True)):
                raise machine.refusal(option, f"a data class with '{option.arg}' is not followed")
    made = objects.define(machine, node, bases, frozen)
    inner = Scope(facts_of(node).local, scope, made.values, enclosed=False)
    for statement in node.body:
        if not isinstance(statement, _IN_CLASSES):
            raise machine.refusal(statement, "in a class stand methods, and what its objects share")
        machine.evaluate(statement, inner)
    objects.complete(machine, node, made, frozen is not None)
    bind(machine, node, node.name, made, scope)


_IN_CLASSES = (ast.FunctionDef, ast.Assign, ast.AnnAssign, ast.Pass, ast.Expr)


STATEMENTS: dict[type[ast.AST], Callable[[Machine, Any, Scope], Any]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Delete: _delete,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Pass: _pass,
    ast.Nonlocal: _pass,
    ast.Global: _global,
    ast.Return: _return,
    ast.Match: _match,
    ast.Raise: _raise,
    ast.Try: _try,
    ast.Assert: _assert,
    ast.FunctionDef: _define,
    ast.ClassDef: _class,
    ast.Import: import_module,
    ast.ImportFrom: import_from,
}
