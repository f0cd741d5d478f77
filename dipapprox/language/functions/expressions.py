"""Names, items, and expressions: a rule for each kind of node; what has none is refused."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from enum import EnumType
from fractions import Fraction
from functools import partial
from itertools import islice
from math import isinf
from typing import Any

from dipapprox.language.functions import library, objects, operators, symbols
from dipapprox.language.functions.machine import (
    ERRORS,
    RULES,
    SCALARS,
    Array,
    Broke,
    Continued,
    Function,
    ImportedName,
    Machine,
    NameScope,
    Stream,
    Text,
    followed,
    kind_of,
    member,
    plain,
    python_own,
    rule,
)
from dipapprox.language.functions.natives import lending, stream_of
from dipapprox.language.functions.objects import function_of, several
from dipapprox.language.functions.operators import (
    MOST_BITS,
    bounded,
    end,
    items,
    key,
    keys,
    listed,
    truth,
    whole,
)
from dipapprox.language.functions.symbols import Condition, Symbolic
from dipapprox.language.functions.words import NO_RULE, of_unknown

# --- names ----------------------------------------------------------------------------------------


def look_up(machine: Machine, name: str, scope: NameScope) -> Any:
    holder = scope.holder(name)
    own = scope.kind == "class" and name in scope.local  # then Python looks in no function
    if holder is not None and name in holder.values and (not own or holder.kind):
        return followed(holder.values[name])
    if holder is not None and holder.kind != "module":
        raise machine.refusal(f"'{name}' has no value yet", kind="name error")
    if name in ERRORS:
        return ERRORS[name]
    word = library.builtin(name)
    if word is None:
        message = f"NameError: name '{name}' is not defined"
        raise machine.refusal(message, of_unknown(name), "error")
    return word


def bind(machine: Machine, name: str, value: Any, scope: NameScope) -> None:
    """Give a name a value: in the scope, or in an outer one if it is `nonlocal`."""
    outer = scope.outer
    holder = scope if name in scope.local else outer and outer.holder(name, inside=False)
    if name == "__builtins__":
        raise machine.refusal("what is built in stays what it is")
    if holder is None or holder.fixed:
        hint = "only what a mechanism returns is published; nothing else may leave it"
        raise machine.refusal(f"the mechanism assigns '{name}' outside itself", hint, "error")
    machine.change(holder).values[name] = value


def access(machine: Machine, target: Any, scope: NameScope) -> tuple[Callable[..., Any], ...]:
    """Return how a target is read, assigned, and deleted: what it consists of is evaluated once."""
    match target:
        case ast.Name(id=name):
            return (
                lambda: look_up(machine, name, scope),
                lambda value: bind(machine, name, value, scope),
                lambda: _unbind(machine, name, scope),
            )
        case ast.Attribute(value=value, attr=name):
            of = machine.evaluate(value, scope)
            return (
                lambda: objects.attribute(machine, of, name),
                lambda value: objects.set_attribute(machine, of, name, value),
            )
        case ast.Subscript(value=value):
            of, at = machine.evaluate(value, scope), _index(machine, target, scope)
            return (
                lambda: item(machine, of, at),
                lambda value: _change_item(machine, of, at, value),
                lambda: _change_item(machine, of, at),
            )
        case _:
            raise machine.refusal("this is nothing to assign to")


def assign(machine: Machine, target: ast.expr, value: Any, scope: NameScope) -> None:
    before = machine.node
    machine.node = target if hasattr(target, "text") else before
    if isinstance(target, ast.Tuple | ast.List):
        for part, each in _unpacked(machine, target.elts, value):
            assign(machine, part, each, scope)
    else:
        access(machine, target, scope)[1](value)
    machine.node = before


def _unpacked(machine: Machine, parts: list[ast.expr], value: Any) -> list[tuple[Any, Any]]:
    stars = sum(isinstance(part, ast.Starred) for part in parts)
    if isinstance(value, Stream) and not stars:  # Python asks for one more than there are targets
        found = list(islice(items(machine, value), len(parts) + 1))
    else:
        found = listed(machine, value)
    if len(found) < len(parts) - stars:
        raise machine.raised(ValueError("not enough values to unpack"))
    found = around_star(parts, ast.Starred, found)
    if len(found) > len(parts):
        raise machine.raised(ValueError("too many values to unpack"))
    targets = (part.value if isinstance(part, ast.Starred) else part for part in parts)
    return list(zip(targets, found, strict=True))


def around_star(parts: list[Any], star: type[ast.AST], found: list[Any]) -> list[Any]:
    """Return values, those that a star among some parts takes as one list."""
    place = next((k for k, part in enumerate(parts) if isinstance(part, star)), None)
    if place is None or len(found) < len(parts) - 1:
        return found
    end = len(found) - (len(parts) - place - 1)
    return [*found[:place], found[place:end], *found[end:]]


# --- items ----------------------------------------------------------------------------------------


def _index(machine: Machine, node: ast.Subscript, scope: NameScope) -> Any:
    """Return what stands in brackets: a number, a key or a slice."""
    if not isinstance(node.slice, ast.Slice):
        return machine.evaluate(node.slice, scope)
    parts = (node.slice.lower, node.slice.upper, node.slice.step)
    return slice(*(each and machine.evaluate(each, scope, end) for each in parts))


def item(machine: Machine, value: Any, where: Any) -> Any:
    value = plain(value)
    if isinstance(value, EnumType) and type(where) is str:
        return member(machine.native(value.__getitem__, where))
    if isinstance(value, Symbolic):
        raise value.refusal("has no items")
    if isinstance(value, ImportedName | Function) or type(value) is type:
        own = python_own(value) if isinstance(value, Function) else value
        if not isinstance(value, ImportedName) and not hasattr(own, "__class_getitem__"):
            raise machine.raised(TypeError(f"{kind_of(value)} is not subscriptable"))
        name = value.name if isinstance(value, ImportedName) else ""
        return ImportedName(name, where if type(where) is tuple else (where,))
    if type(value) is dict:
        return machine.native(value.__getitem__, key(machine, where, True))
    if isinstance(value, Array) and type(where) not in (bool, Condition):
        found = item(machine, value.cells, where)
        return Array(found) if type(where) is slice else found
    if type(value) in (list, tuple, str, range):
        at = where if type(where) is slice else whole(machine, where)
        return machine.spend(machine.native(value.__getitem__, at))
    raise machine.refusal(f"{kind_of(value)} has no items here")


def _change_item(machine: Machine, where: Any, at: Any, *values: Any) -> None:
    """Assign an item of a list or dictionary, or delete it."""
    machine.change(where)
    if type(where) is dict:
        place = key(machine, at)
    elif type(where) is list:
        place = at if type(at) is slice else whole(machine, at)
    else:
        raise machine.refusal(f"{kind_of(where)} has no items to assign or delete")
    if values and type(at) is slice:
        values = (listed(machine, *values),)
    machine.native(where.__setitem__ if values else where.__delitem__, place, *values)


def _unbind(machine: Machine, name: str, scope: NameScope) -> None:
    if scope.holder(name) is not scope or name not in scope.values or scope.fixed:
        raise machine.refusal(f"'{name}' has no value here", kind="name error")
    del machine.change(scope).values[name]


# --- names and displays ---------------------------------------------------------------------------


@rule(ast.Constant)
def _constant(machine: Machine, node: ast.Constant, scope: NameScope) -> Any:
    if type(node.value) is float and not isinf(node.value):
        simple = Fraction(str(node.value))
        shown = simple if simple.denominator == 1 else f'Fraction("{simple}")'
        message = f"a number must be an exact number, got the float {node.value!r}"
        raise machine.refusal(message, f"write {shown}")
    if node.value is ...:
        return ImportedName("...")
    if type(node.value) not in SCALARS:
        raise machine.refusal(f"{type(node.value).__name__} is nothing to compute with")
    return node.value


@rule(ast.Dict)
def _dict(machine: Machine, node: ast.Dict, scope: NameScope) -> Any:
    found: dict[Any, Any] = {}
    for name, value in zip(node.keys, node.values, strict=True):
        if name is None:
            other = machine.evaluate(value, scope)
            if type(other) is not dict:
                raise machine.refusal("only a dictionary is unpacked into one")
            found.update(other)
        else:
            held = machine.evaluate(name, scope, key)
            found[held] = machine.evaluate(value, scope)
    return found


@rule(ast.JoinedStr)
def _joined(machine: Machine, node: ast.JoinedStr, scope: NameScope) -> Any:
    parts: list[Any] = []
    for each in node.values:
        if isinstance(each, ast.Constant):
            parts.append(each.value)
        elif isinstance(each, ast.FormattedValue):
            value = machine.evaluate(each.value, scope)
            spec = "" if each.format_spec is None else machine.evaluate(each.format_spec, scope)
            parts.append(_formatted(machine, value, each.conversion >= 0, spec))
    return Text() if any(isinstance(each, Text) for each in parts) else "".join(parts)


def _formatted(machine: Machine, value: Any, converted: bool, spec: Any) -> Any:
    """Return a value in a text; what is not known is asked whether Python could write it so."""
    numbers = re.findall(r"\d+", spec) if type(spec) is str else []
    if any(len(each) > len(str(MOST_BITS)) or int(each) > MOST_BITS for each in numbers):
        raise machine.limit("the result is too large")
    if type(value) in SCALARS and not converted and type(spec) is str:
        return machine.native(format, value, spec)
    if spec != "":
        alike: tuple[Any, ...] = ()
        if converted or isinstance(value, Text) or symbols.is_text(value):
            alike = ("",)
        elif isinstance(value, Symbolic):
            alike = (1,) if value.compute and value.kind is int else (1, 0.5)
        try:
            suits = bool(alike) and all(type(format(one, spec)) is str for one in alike)
        except (TypeError, ValueError):
            suits = False
        if not suits:
            raise machine.refusal("whether a value can be written so is not known", 'f"{x}" is')
    return Text()


# --- operators ------------------------------------------------------------------------------------


@rule(ast.BoolOp)
def _boolean(machine: Machine, node: ast.BoolOp, scope: NameScope) -> Any:
    ends = isinstance(node.op, ast.Or)
    for each in node.values[:-1]:
        value, holds = machine.evaluate(each, scope, lambda m, value: (value, truth(m, value)))
        if holds == ends:
            return value
    return machine.evaluate(node.values[-1], scope)


@rule(ast.Compare)
def _compare(machine: Machine, node: ast.Compare, scope: NameScope) -> Any:
    left: Any = machine.evaluate(node.left, scope)
    found: Any = True
    for place, (op, each) in enumerate(zip(node.ops, node.comparators, strict=True)):
        if place and not truth(machine, found):
            return found
        right = machine.evaluate(each, scope)
        found = operators.compare(machine, op, left, right)
        left = right
    return found


@rule(ast.IfExp)
def _either(machine: Machine, node: ast.IfExp, scope: NameScope) -> Any:
    ways = {True: node.body, False: node.orelse}
    both = {way: partial(machine.evaluate, each, scope) for way, each in ways.items()}
    joined, way = machine.evaluate(
        node.test,
        scope,
        lambda m, value: (found := m.joined(value, both), found or truth(m, value)),
    )
    return joined[0] if joined else machine.evaluate(ways[way], scope)


@rule(ast.NamedExpr)
def _walrus(machine: Machine, node: ast.NamedExpr, scope: NameScope) -> Any:
    value = machine.evaluate(node.value, scope)
    while scope.kind == "comprehension" and scope.outer is not None:
        scope = scope.outer
    bind(machine, node.target.id, value, scope)
    return value


# --- loops, and what yields in them ---------------------------------------------------------------


def loop_values(machine: Machine, node: Any, scope: NameScope) -> tuple[bool, Iterator[Any]]:
    """Return what a loop goes through, and whether that has no end which is known."""
    if isinstance(node, ast.While):
        return True, iter(lambda: machine.evaluate(node.test, scope, truth), False)
    given, values = machine.evaluate(node.iter, scope, lambda m, each: (each, items(m, each)))
    return isinstance(given, Stream) and machine.endless, values


def turns(
    machine: Machine,
    node: Any,
    values: Iterator[Any],
    scope: NameScope,
    block: Callable[[Machine, list[ast.stmt], NameScope], Iterable[Any]],
) -> Iterator[Any]:
    """Yield what the turns of a loop yield, each of which is done by `block`."""
    for value in values:
        machine.step()
        if isinstance(node, ast.For):
            assign(machine, node.target, value, scope)
        try:
            yield from block(machine, node.body, scope)
        except Continued:
            continue
        except Broke:
            return
    yield from block(machine, node.orelse, scope)


def _yielded(machine: Machine, body: list[ast.stmt], scope: NameScope) -> Iterator[Any]:
    """Do statements; yield what they yield where they, or `if` and loops of them, only yield."""
    waiting = body[::-1]
    while waiting:
        match node := waiting.pop():
            case ast.Expr(ast.Yield(value)):
                yield value and machine.evaluate(value, scope)
            case ast.Expr(ast.YieldFrom(value)):
                yield from lending(machine.evaluate(value, scope, items))
            case ast.If(test=test):
                way = machine.evaluate(test, scope, truth)
                waiting += (node.body if way else node.orelse)[::-1]
            case ast.For() | ast.While():
                endless, values = loop_values(machine, node, scope)
                machine.endless = machine.endless or endless
                yield from turns(machine, node, values, scope, _yielded)
            case _:
                machine.evaluate(node, scope)


def _comprehended(machine: Machine, node: Any, scope: NameScope, element: ast.expr) -> Stream:
    """Return the elements of a comprehension; the first iterable is evaluated at once."""
    generators: list[ast.comprehension] = node.generators
    if any(each.is_async for each in generators):
        raise machine.refusal(NO_RULE[ast.Await])
    first = machine.evaluate(generators[0].iter, scope, items)
    targets = (each for g in generators for each in ast.walk(g.target))
    local = frozenset(each.id for each in targets if isinstance(each, ast.Name))
    body: list[ast.stmt] = [ast.Expr(ast.Yield(element))]
    for each in reversed(generators):
        for test in reversed(each.ifs):
            body = [ast.If(test, body, [])]
        body = [ast.For(each.target, each.iter, body, [])]
    inner = NameScope(local, scope, kind="comprehension")
    values = turns(machine, body[0], first, inner, _yielded)
    return stream_of(machine, values)


def _stream_of(machine: Machine, node: Any, scope: NameScope) -> Stream:
    return _comprehended(machine, node, scope, node.elt)


@rule(ast.DictComp)
def _dict_of(machine: Machine, node: ast.DictComp, scope: NameScope) -> Any:
    pair = ast.Dict([node.key], [node.value])
    found: dict[Any, Any] = {}
    for each in bounded(machine, _comprehended(machine, node, scope, pair)):
        found.update(each)
    return found


RULES.update(
    {
        ast.Name: lambda machine, node, scope: look_up(machine, node.id, scope),
        ast.List: lambda machine, node, scope: several(machine, node.elts, scope),
        ast.Tuple: lambda machine, node, scope: tuple(several(machine, node.elts, scope)),
        ast.Set: lambda machine, node, scope: keys(machine, several(machine, node.elts, scope)),
        ast.BinOp: lambda machine, node, scope: operators.combine(
            machine,
            type(node.op),
            machine.evaluate(node.left, scope),
            machine.evaluate(node.right, scope),
        ),
        ast.Subscript: lambda machine, node, scope: item(
            machine, machine.evaluate(node.value, scope), _index(machine, node, scope)
        ),
        ast.UnaryOp: lambda machine, node, scope: operators.unary(
            machine, node.op, machine.evaluate(node.operand, scope)
        ),
        ast.Attribute: lambda machine, node, scope: objects.attribute(
            machine, machine.evaluate(node.value, scope), node.attr
        ),
        ast.Lambda: lambda machine, node, scope: function_of(machine, node, "<lambda>", scope),
        ast.GeneratorExp: _stream_of,
        ast.Module: lambda machine, node, scope: stream_of(
            machine, _yielded(machine, node.body, scope), inside=True
        ),
        ast.ListComp: lambda machine, node, scope: listed(
            machine, _stream_of(machine, node, scope)
        ),
        ast.SetComp: lambda machine, node, scope: keys(machine, _stream_of(machine, node, scope)),
    }
)
