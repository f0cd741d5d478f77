"""Calls, classes and objects of a file, and what stands behind a dot.

Classes are plain ones, data classes, named tuples, enumerations and exceptions, each derived from
one class at most. None has operators of its own: what `+` or `==` does is Python's.
"""

from __future__ import annotations

import ast
import re
from abc import ABC
from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum, EnumType, IntEnum, StrEnum, auto
from fractions import Fraction
from inspect import BoundArguments, getattr_static
from types import MethodType, MethodWrapperType, new_class
from typing import Any, NamedTuple

from dipapprox.language.functions import library, natives
from dipapprox.language.functions.machine import (
    HOME,
    Function,
    ImportedName,
    Machine,
    NameScope,
    Raised,
    Returned,
    Stream,
    followed,
    is_object,
    kind_of,
    member,
    perform,
    plain,
    rule,
)
from dipapprox.language.functions.operators import items, key
from dipapprox.language.functions.places import facts_of
from dipapprox.language.functions.symbols import Symbolic
from dipapprox.language.functions.words import NO_RULE

SPECIAL = frozenset(("__init__", "__post_init__", "__call__", "__repr__", "__str__"))
"""Methods that a class may define: the last two make texts, which are for messages."""

# --- attributes -----------------------------------------------------------------------------------


def attribute(machine: Machine, value: Any, name: str) -> Any:
    _refuse_private(machine, name)
    match value:
        case Symbolic():
            raise value.refusal(f"has no attribute '{name}'", "")
        case NameScope() if name in value.values:
            return followed(value.values[name])
        case ImportedName() | Function(standard=True):
            return library.found(machine, f"{value.name}.{name}")
        case Function() if name == "__name__":
            return value.name
        case list() | tuple() | dict() if name == "__getitem__":
            return MethodType(library.word("operator.getitem"), value)
        case tuple() if is_object(value) and name == "_replace":
            return MethodType(library.word("dataclasses.replace"), value)
        case _ if is_object(value) or isinstance(value, type | super):
            kind = getattr(value, "__self_class__", value)  # of a super()
            if isinstance(kind, type) and _is_slot(kind, name):
                raise machine.refusal(f"'{name}' is a slot, which is not read of a class")
            found = getattr(value, name, library.MISSING)
            if isinstance(value, super) and isinstance(found, MethodWrapperType):
                return MethodType(library.word("object.__init__"), value.__self__)  # type: ignore[attr-defined]  # methods have it
            of_python = name.startswith("_") and isinstance(value, EnumType)
            inner = getattr(found, "__func__", found)
            own = isinstance(inner, Function | ImportedName | type) or is_object(found)
            if found is not library.MISSING and (own or not callable(found)) and not of_python:
                return member(found)  # of the file: nothing that Python does by itself
            if found is library.MISSING and isinstance(value, type) and not hasattr(ABC, name):
                raise machine.raised(AttributeError(f"{kind_of(value)} has no '{name}'"))
        case int() | Fraction() if name in ("numerator", "denominator"):
            return getattr(value, name)
    value = plain(value)
    if isinstance(value, int | Fraction | str | Stream | list | tuple | dict | set):
        return library.method(machine, value, name)
    raise machine.refusal(f"{kind_of(value)} has no attribute '{name}' here")


def _is_slot(kind: type, name: str) -> bool:
    """Whether Python keeps an attribute of objects in a slot, which the class has as well."""
    return any(name in vars(each).get("__slots__", ()) for each in kind.__mro__)


def _refuse_private(machine: Machine, name: str) -> None:
    if name.startswith("__") and name not in (*SPECIAL, "__name__", "__getitem__"):
        hint = "call functions and operators by their own signs"
        message = f"'.{name}' tells what is known, or has another name in a class"
        raise machine.refusal(message, hint)


def set_attribute(machine: Machine, value: Any, name: str, what: Any) -> None:
    _refuse_private(machine, name)
    if isinstance(value, Symbolic):
        raise value.refusal(f"has no attribute '{name}'", "")
    if isinstance(value, type):
        raise machine.refusal("a class is not changed here: make it what it is where it is defined")
    if not is_object(value) or isinstance(value, tuple | Enum):
        raise machine.refusal(f"{kind_of(value)} has no attributes to assign")
    machine.change(value)
    kind = type(value)
    held, slots = getattr_static(kind, name, None), vars(kind).get("__slots__", (name,))
    fixed = getattr(getattr(kind, "__dataclass_params__", None), "frozen", False)
    if isinstance(held, property) and held.fset is not None and not fixed:
        machine.call(held.fset, value, what)
        return
    if name not in slots or fixed:
        raise machine.refusal(f"'{name}' of {kind_of(value)} is not assigned")
    if hasattr(held, "__set__"):
        raise machine.refusal(f"'{name}' is a property, which is not assigned")
    vars(value)[name] = what


# --- the making of classes and objects ------------------------------------------------------------

_BASES = {
    "object": object,
    "abc.ABC": object,
    "typing.NamedTuple": NamedTuple,
    "enum.Enum": Enum,
    "enum.IntEnum": IntEnum,
    "enum.StrEnum": StrEnum,
}


def base_of(machine: Machine, node: ast.ClassDef, bases: list[Any]) -> Any:
    """Return what a class is derived from."""
    if node.keywords or len(bases) > 1:
        raise machine.refusal("a class is derived from one class here, and has no metaclass")
    base = bases[0] if bases else object
    if isinstance(base, type) and not issubclass(base, tuple | Enum):
        return base
    if not isinstance(base, ImportedName) or base.name not in _BASES:
        hint = "operators and methods of such a class are not followed"
        raise machine.refusal(f"a class is not derived from {kind_of(base)} here", hint)
    return _BASES[base.name]


def define(
    machine: Machine,
    node: ast.ClassDef,
    base: Any,
    scope: NameScope,
    options: dict[str, bool] | None,
) -> type:
    """Return a class.

    Args:
        base: From `base_of`.
        scope: What its body assigned.
        options: Of a data class; None of others.
    """
    values = scope.values
    for name in values:
        if name.startswith("__") and name not in (*SPECIAL, "__slots__", "__doc__"):
            what = "has operators of its own, or other ways of Python's"
            raise machine.refusal(f"the class {what}: '{name}'", "write a method with a name")
    fields: dict[str, type] = {}
    for each in node.body if base is NamedTuple or options is not None else ():
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            written = ast.unparse(each.annotation)
            words = re.findall(r"\w+", written)
            held = (scope.holder(word) for word in words)
            meant = [at.values.get(word) for at, word in zip(held, words, strict=True) if at]
            names = (*words, *(str(getattr(value, "name", "")) for value in meant))
            if any(name.rpartition(".")[2] in ("ClassVar", "InitVar", "KW_ONLY") for name in names):
                raise machine.refusal(f"'{written}' is not followed in a data class")
            fields[each.target.id] = object
    if isinstance(base, EnumType):
        given = list({each.name for each in node.body if isinstance(each, ast.FunctionDef)})
        for each in node.body:
            if not isinstance(each, ast.FunctionDef) and getattr(each, "value", None) is not None:
                given += _assigned(each)
        if len(set(given)) < len(given):
            raise machine.refusal("a member of an enumeration is given twice")
        for name, value in values.items():
            method = hasattr(value, "__get__") and not getattr(value, "standard", False)
            if (
                not name.startswith("_")
                and not method
                and type(value) not in (int, str, Fraction, bool, auto)
            ):
                raise machine.refusal("a member of an enumeration is a number or a text here")
    slots = values.pop("__slots__", None)
    if slots is not None and (type(slots) not in (tuple, list) or base is not object or options):
        raise machine.refusal("'__slots__' is a list of names, in a class derived from none")
    if any(type(n) is not str or not n.isidentifier() or n in values for n in slots or ()):
        raise machine.refusal("'__slots__' names attributes that the class has no values for")
    if isinstance(base, type) and any(n not in values and _is_slot(base, n) for n in fields):
        raise machine.refusal("a field is a slot of the class that this one is derived from")
    space = {**values, "__module__": HOME, "__annotations__": fields}
    try:
        made = new_class(node.name, (base,), {}, lambda body: _fill(body, space))
        if options is not None:
            slotted = options.pop("slots", False)
            made = dataclass(**options)(made)
            slots = tuple(vars(made)["__dataclass_fields__"]) if slotted else slots
    except (TypeError, ValueError) as error:
        raise machine.refusal(str(error)) from None
    if slots is not None:
        made.__slots__ = tuple(slots)  # type: ignore[attr-defined]  # asked by `set_attribute`
    for value in values.values():
        for part in ("fget", "fset", "__func__"):
            function = getattr(value, part, value)
            if isinstance(function, Function) and function.scope.values is values:
                function.owner = made
    return made


def _assigned(statement: ast.stmt) -> list[str]:
    """Return the names that a statement gives values, each as often as it does."""
    inner = {
        name
        for each in ast.walk(statement)
        if isinstance(each, ast.comprehension)
        for name in ast.walk(each.target)
    }
    names = (each for each in ast.walk(statement) if isinstance(each, ast.Name))
    return [each.id for each in names if isinstance(each.ctx, ast.Store) and each not in inner]


def _fill(body: dict[str, Any], values: dict[str, Any]) -> None:
    for name, value in values.items():  # one by one: enumerations note their members
        body[name] = value


@perform.register
def _make(kind: type, machine: Machine, placed: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Make an object of a class; find a member of an enumeration."""
    try:
        if not issubclass(kind, Enum):
            return kind(*placed, **named)
        return member(kind(*(key(machine, each) for each in placed), **named))
    except TypeError as error:
        raise machine.refusal(str(error)) from None
    except ValueError as error:
        raise machine.raised(error) from None


# --- calls ----------------------------------------------------------------------------------------


def bound(
    machine: Machine, function: Function, placed: tuple[Any, ...], named: dict[str, Any]
) -> BoundArguments:
    """Return the arguments of a call, as Python places them."""
    given, names = function.node.args, function.signature.parameters
    if not (named or given.vararg or given.kwonlyargs or given.kwarg) and len(placed) == len(names):
        return BoundArguments(function.signature, OrderedDict(zip(names, placed, strict=True)))
    try:
        found = function.signature.bind(*placed, **named)
    except TypeError as error:
        short, written = function.name.rpartition(".")[2], ast.unparse(given)
        if function.standard:
            written = re.sub(r": \w+", "", written)
        hint = f"it is called {short}({written})"
        raise machine.refusal(f"'{short}' cannot be called so: {error}", hint) from None
    if len(found.arguments) < len(names):
        found.apply_defaults()
    return found


@rule(ast.Call)
def _evaluate_call(machine: Machine, node: ast.Call, scope: NameScope) -> Any:
    """Evaluate a call: the function, then its arguments from left to right."""
    function = machine.evaluate(node.func, scope)
    if isinstance(function, ImportedName) and function.name == "super":
        if scope.method is None or node.args or node.keywords:
            raise machine.refusal("'super()' stands in a method itself, without arguments")
        if {"__slots__", "__dataclass_fields__"} <= vars(scope.method[0]).keys():
            message = "'super()' in a data class with slots: Python makes that class a second time"
            raise machine.refusal(message, "name the class: Base.method(self)")
        return super(*scope.method)
    placed = several(machine, node.args, scope)
    named: dict[str, Any] = {}
    for given in node.keywords:
        value = machine.evaluate(given.value, scope)
        more = {given.arg: value} if given.arg is not None else value
        if type(more) is not dict or any(type(name) is not str for name in more):
            raise machine.refusal("only a dictionary of names is unpacked into arguments")
        if named.keys() & more.keys():
            raise machine.refusal(f"an argument is given twice: {', '.join(more)}")
        named.update(more)
    return machine.spend(machine.call(function, *placed, **named))


def several(machine: Machine, nodes: list[ast.expr], scope: NameScope) -> list[Any]:
    """Evaluate expressions, with what a star unpacks."""
    found: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            for each in machine.evaluate(node.value, scope, items):
                machine.step()
                found.append(each)
        else:
            found.append(machine.evaluate(node, scope))
    return found


def function_of(machine: Machine, node: Any, name: str, scope: NameScope) -> Function:
    signature = library.signature_of(node.args, lambda each: machine.evaluate(each, scope))
    return Function(name, node, scope, signature, standard=not hasattr(node, "text"))


@perform.register
def call_function(
    function: Function, machine: Machine, placed: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    node = function.node
    facts = facts_of(node)
    if facts.refused is not None:
        machine.node = facts.refused
        raise machine.refusal(NO_RULE[type(facts.refused)])
    given = bound(machine, function, placed, named)
    scope = NameScope(facts.local, function.scope, given.arguments)
    if function.standard:
        library.take(machine, function, given)
        if natives.is_stub(function):
            return natives.perform(machine, function, given)
        return _returned(machine, node, scope)
    if function.owner is not None and placed:
        scope.method = function.owner, placed[0]
    if facts.yields is not None and isinstance(node, ast.FunctionDef):
        return machine.evaluate(ast.Module(node.body, []), scope)
    before, again = machine.node, machine.active.get(node, 0)
    machine.enter()
    machine.active[node] = again + 1
    machine.unbounded += bool(again)
    try:
        return _returned(machine, node, scope)
    except Raised as error:
        raise machine.unended(error) from None
    finally:
        machine.depth -= 1
        machine.active[node] = again
        machine.unbounded -= bool(again)
        machine.node = before


def _returned(machine: Machine, node: Any, scope: NameScope) -> Any:
    if isinstance(node, ast.Lambda):
        machine.last = node.body
        return machine.evaluate(node.body, scope)
    try:
        for statement in node.body:
            machine.evaluate(statement, scope)
    except Returned as returned:
        machine.last = returned.node
        return returned.value
    machine.last = node.body[-1]
    return None


@perform.register
def _call_method(
    method: MethodType, machine: Machine, placed: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    return machine.call(method.__func__, method.__self__, *placed, **named)
