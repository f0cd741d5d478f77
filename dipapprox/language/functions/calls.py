"""Calls: arguments, functions of the file, classes, and words of the library."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from dipapprox.language.functions import library, natives, objects
from dipapprox.language.functions.machine import (
    ERRORS,
    MOST_CALLS,
    Bound,
    Class,
    Function,
    Machine,
    Object,
    Raised,
    Returned,
    Scope,
    Word,
    raised,
)
from dipapprox.language.functions.symbols import Symbolic
from dipapprox.language.functions.values import items, kind_of
from dipapprox.language.functions.variables import facts_of


def evaluate_call(machine: Machine, node: ast.Call, scope: Scope) -> Any:
    """Evaluate a call: the function, then its arguments from left to right."""
    function = machine.evaluate(node.func, scope)
    if isinstance(function, Word) and function.name == "super":
        return _super(machine, node, scope)
    placed: list[Any] = []
    for each in node.args:
        if isinstance(each, ast.Starred):
            for value in items(machine, each.value, machine.evaluate(each.value, scope)):
                machine.step(node)
                placed.append(value)
        else:
            placed.append(machine.evaluate(each, scope))
    named: dict[str, Any] = {}
    for given in node.keywords:
        value = machine.evaluate(given.value, scope)
        several = {given.arg: value} if given.arg is not None else value
        if type(several) is not dict or any(type(name) is not str for name in several):
            raise machine.refusal(given, "only a dictionary of names is unpacked into arguments")
        if named.keys() & several.keys():
            raise machine.refusal(given, f"an argument is given twice: {', '.join(several)}")
        named.update(several)
    return machine.spend(call(machine, node, function, placed, named))


def call(
    machine: Machine, node: ast.AST, function: Any, placed: list[Any], named: dict[str, Any]
) -> Any:
    """Call whatever may be called."""
    machine.step(node)
    match function:
        case Function():
            return call_function(machine, node, function, placed, named)
        case Bound(inner, receiver):
            return call(machine, node, inner, [receiver, *placed], named)
        case Class():
            return _made(machine, node, function, placed, named)
        case Word():
            return library.call(machine, node, function, placed, named)
        case Object() if (found := function.kind.found("__call__")) is not None:
            return call(machine, node, found[1], [function, *placed], named)
        case Symbolic():
            machine.at(node)
            raise function.refusal("is nothing to call")
        case _:
            raise machine.refusal(node, f"{kind_of(function)} is nothing to call")


def function_of(
    machine: Machine, node: ast.FunctionDef | ast.Lambda, name: str, scope: Scope
) -> Function:
    """Return a function, with its defaults."""
    arguments = node.args
    defaults = [machine.evaluate(each, scope) for each in arguments.defaults]
    placed = [*arguments.posonlyargs, *arguments.args]
    first = len(placed) - len(defaults)
    known = {each.arg: value for each, value in zip(placed[first:], defaults, strict=True)}
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            known[each.arg] = machine.evaluate(default, scope)
    return Function(name, node, scope, known, standard=not hasattr(node, "text"))


def call_function(
    machine: Machine,
    node: ast.AST,
    function: Function,
    placed: Sequence[Any],
    named: Mapping[str, Any],
) -> Any:
    """Call a function of the file."""
    facts = facts_of(function.node)
    if facts.yields is not None:
        message = "the mechanism yields: it must return all that it publishes at once, as a list"
        raise machine.refusal(facts.yields, message)
    scope = Scope(facts.local, function.scope)
    scope.values.update(_arguments(machine, node, function, placed, named))
    if function.standard:
        return _call_standard(machine, node, function, scope)
    if function.owner is not None and placed:
        scope.method = function.owner, placed[0]
    if machine.depth >= MOST_CALLS:
        message = f"more than {MOST_CALLS} calls inside each other: a recursion without end?"
        raise machine.refusal(node, message, kind="limit")
    again = bool(machine.active.get(function.node))
    machine.active[function.node] = machine.active.get(function.node, 0) + 1
    machine.depth += 1
    if machine.run is not None:
        machine.run.unbounded += again
    try:
        machine.last, value = _returned(machine, function.node, scope)
        return value
    except Raised as error:
        if error.value.kind is ERRORS["StopIteration"]:
            raise machine.refusal(
                error.node, "an iterator has ended: next(values, default)"
            ) from None
        raise
    finally:
        machine.depth -= 1
        machine.active[function.node] -= 1
        if machine.run is not None:
            machine.run.unbounded -= again


def _returned(machine: Machine, node: ast.FunctionDef | ast.Lambda, scope: Scope) -> Any:
    """Evaluate the body of a function; return where it ended, and its value."""
    if isinstance(node, ast.Lambda):
        return node.body, machine.evaluate(node.body, scope)
    try:
        for statement in node.body:
            machine.evaluate(statement, scope)
    except Returned as returned:
        return returned.node, returned.value
    return node.body[-1], None


def _call_standard(machine: Machine, node: ast.AST, function: Function, scope: Scope) -> Any:
    """Call a function of the prelude: what is refused in it is refused at the user's call."""
    before, machine.site = machine.site, machine.place(node)
    try:
        natives.take(machine, machine.site, function, scope.values)
        if natives.is_stub(function):
            return natives.perform(machine, machine.site, function, scope.values)
        return _returned(machine, function.node, scope)[1]
    except Raised as error:
        error.node = machine.place(error.node)
        raise
    finally:
        machine.site = before or machine.site


def _arguments(
    machine: Machine,
    node: ast.AST,
    function: Function,
    placed: Sequence[Any],
    named: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the arguments of a call by name, as Python places them."""
    given = function.node.args
    found: dict[str, Any] = {}
    rest = dict(named)
    places = [each.arg for each in (*given.posonlyargs, *given.args)]
    found.update(zip(places, placed, strict=False))
    if given.vararg is not None:
        found[given.vararg.arg] = tuple(placed[len(places) :])
    elif len(placed) > len(places):
        raise machine.refusal(
            node, f"'{function.name}' takes {len(places)} arguments, not {len(placed)}"
        )
    for each in (*given.args, *given.kwonlyargs):
        if each.arg in rest:
            if each.arg in found:
                raise machine.refusal(node, f"'{function.name}' is given '{each.arg}' twice")
            found[each.arg] = rest.pop(each.arg)
    if given.kwarg is not None:
        found[given.kwarg.arg] = rest
    elif rest:
        raise machine.refusal(node, f"'{function.name}' has no argument '{next(iter(rest))}'")
    for name in (*places, *(each.arg for each in given.kwonlyargs)):
        if name not in found:
            if name not in function.defaults:
                raise machine.refusal(node, f"'{function.name}' needs '{name}'")
            found[name] = function.defaults[name]
    return found


def _super(machine: Machine, node: ast.Call, scope: Scope) -> Any:
    inner: Scope | None = scope
    while inner is not None and inner.method is None:
        inner = inner.outer
    if inner is None or inner.method is None or node.args or node.keywords:
        raise machine.refusal(node, "'super()' stands in a method, without arguments")
    return objects.Super(*inner.method)


def _made(
    machine: Machine, node: ast.AST, kind: Class, placed: list[Any], named: dict[str, Any]
) -> Any:
    """Make an object of a class."""
    if kind.kind == "enum":
        return _member(machine, node, kind, placed)
    made = Object(kind, {})
    if kind.kind == "error":
        made.values["args"] = tuple(placed)
    found = kind.found("__init__")
    if found is not None:
        if kind.kind == "data" and kind.fields and found[0].kind == "data" and found[0] is not kind:
            raise machine.refusal(
                node, f"who makes objects of '{kind.name}' is not followed: __init__"
            )
        call(machine, node, found[1], [made, *placed], named)
    elif kind.fields:
        _fill(machine, node, made, placed, named)
    elif kind.kind != "error" and (placed or named):
        raise machine.refusal(node, f"'{kind.name}' takes no arguments")
    elif named:
        raise machine.refusal(node, f"'{kind.name}' takes no arguments by name")
    if kind.kind == "data" and found is None and (after := kind.found("__post_init__")):
        call(machine, node, after[1], [made], {})
    return made


def _fill(
    machine: Machine, node: ast.AST, made: Object, placed: list[Any], named: dict[str, Any]
) -> None:
    kind = made.kind
    if len(placed) > len(kind.fields) or named.keys() - kind.fields:
        raise machine.refusal(node, f"'{kind.name}' has the fields {', '.join(kind.fields)}")
    values = dict(zip(kind.fields, placed, strict=False))
    if values.keys() & named.keys():
        raise machine.refusal(node, f"'{kind.name}' is given a field twice")
    values.update(named)
    for name in kind.fields:
        if name in values:
            continue
        default = kind.found(name)
        if default is None:
            raise machine.refusal(node, f"'{kind.name}' needs '{name}'")
        values[name] = default[1]
        if isinstance(default[1], objects.Field):
            values[name] = call(machine, node, default[1].factory, [], {})
    made.values.update((name, values[name]) for name in kind.fields)


def _member(machine: Machine, node: ast.AST, kind: Class, placed: list[Any]) -> Any:
    if len(placed) != 1 or isinstance(placed[0], Symbolic):
        raise machine.refusal(node, f"'{kind.name}' takes the value of a member, which is known")
    for name, member in kind.values.items():
        value = member.values["value"] if isinstance(member, Object) else member
        plain = not isinstance(value, Function) and not name.startswith("_")
        if plain and type(placed[0]) in (int, str, bool) and value == placed[0]:
            return member
    raise raised(node, "ValueError", f"{placed[0]!r} is not a valid {kind.name}")
