"""Names: which scope a name belongs to, as the text says, and assignment to targets."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from dipapprox.data_classes import dataclass
from dipapprox.errors import SourceError
from dipapprox.language.functions import library, objects
from dipapprox.language.functions.machine import (
    ERRORS,
    Annotation,
    Class,
    Machine,
    Object,
    Scope,
    Stream,
    Word,
    native,
    raised,
)
from dipapprox.language.functions.symbols import Symbolic
from dipapprox.language.functions.values import key, kind_of, listed, whole


@dataclass(frozen=True, slots=True)
class Unread:
    """A name of a file whose statement is not followed: whoever uses it hears why.

    Attributes:
        error: Why.
        mechanism: Whether it would be a mechanism.
    """

    error: SourceError
    mechanism: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What the text of a function says of its names.

    Attributes:
        local: Those that it binds.
        yields: The first `yield`, if there is one.
    """

    local: frozenset[str]
    yields: ast.AST | None


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def facts_of(node: Any) -> Facts:
    """Return what the text of a function, a class or a module says; computed once."""
    known: Facts | None = getattr(node, "facts", None)
    if known is not None:
        return known
    bound, outer = set[str](), set[str]()
    yields: ast.AST | None = None
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        given = node.args
        several = (*given.posonlyargs, *given.args, *given.kwonlyargs)
        bound.update(each.arg for each in several)
        bound.update(each.arg for each in (given.vararg, given.kwarg) if each is not None)
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    waiting: list[tuple[ast.AST, bool]] = [(each, False) for each in body]
    while waiting:
        each, comprehends = waiting.pop()
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(each.name)
        if isinstance(each, ast.Yield | ast.YieldFrom):
            yields = yields or each
        if isinstance(each, ast.Global | ast.Nonlocal):
            outer.update(each.names)
        if isinstance(each, ast.NamedExpr):
            bound.add(each.target.id)
        if not comprehends:
            bound.update(_bound_by(each))
        inside = comprehends or isinstance(each, _COMPREHENSIONS)
        waiting += [(child, inside) for child in _seen_in(each)]
    node.facts = known = Facts(frozenset(bound - outer), yields)
    return known


def _seen_in(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node that belong to the scope that it stands in."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        yield from node.args.defaults
        yield from (each for each in node.args.kw_defaults if each is not None)
        if not isinstance(node, ast.Lambda):
            yield from node.decorator_list
    elif isinstance(node, ast.ClassDef):
        yield from (*node.bases, *node.decorator_list)
    else:
        yield from ast.iter_child_nodes(node)


def _bound_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.Import(names=names):
            yield from (each.asname or each.name.partition(".")[0] for each in names)
        case ast.ImportFrom(names=names):
            yield from (each.asname or each.name for each in names)
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            yield name
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name
        case _:
            return


def targets_of(node: ast.AST) -> Iterator[str]:
    """Yield the names that a target assigns."""
    return (each.id for each in ast.walk(node) if isinstance(each, ast.Name))


def look_up(machine: Machine, node: ast.AST, name: str, scope: Scope) -> Any:
    """Return the value of a name."""
    holder = scope.holder(name)
    if holder is not None and name in holder.values:
        found = holder.values[name]
        if isinstance(found, Unread):
            raise found.error
        return found
    if holder is not None and not holder.is_module:
        raise machine.refusal(node, f"'{name}' has no value yet", kind="name error")
    if name in ERRORS:
        return ERRORS[name]
    word = library.builtin(name)
    if word is None:
        hint = library.hint_for_name(name)
        raise machine.refusal(node, f"NameError: name '{name}' is not defined", hint, kind="error")
    return word


def bind(machine: Machine, node: ast.AST, name: str, value: Any, scope: Scope) -> None:
    """Give a name a value: in the scope, or in an outer one if it is `nonlocal`."""
    holder = scope if name in scope.local else scope.outer and scope.outer.holder(name)
    if holder is None or holder.fixed:
        hint = "only what a mechanism returns is published; nothing else may leave it"
        raise machine.refusal(
            node, f"the mechanism assigns '{name}' outside itself", hint, kind="error"
        )
    holder.values[name] = value


def assign(machine: Machine, target: ast.expr, value: Any, scope: Scope) -> None:
    """Assign to a target."""
    match target:
        case ast.Name(id=name):
            bind(machine, target, name, value, scope)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part, each in _unpacked(machine, target, parts, value):
                assign(machine, part, each, scope)
        case ast.Attribute(value=of, attr=name):
            objects.set_attribute(machine, target, machine.evaluate(of, scope), name, value)
        case ast.Subscript(value=of):
            where = machine.evaluate(of, scope)
            set_item(machine, target, where, index(machine, target, scope), value)
        case _:
            raise machine.refusal(target, "this is nothing to assign to")


def _unpacked(
    machine: Machine, node: ast.AST, parts: list[ast.expr], value: Any
) -> list[tuple[ast.expr, Any]]:
    stars = [place for place, part in enumerate(parts) if isinstance(part, ast.Starred)]
    if isinstance(value, Stream) and not stars:
        found = []
        for each in value.values:  # Python asks for one more than there are targets
            found.append(each)
            if len(found) > len(parts):
                break
    else:
        found = listed(machine, node, value)
    if not stars:
        if len(found) != len(parts):
            said = "not enough" if len(found) < len(parts) else "too many"
            raise raised(node, "ValueError", f"{said} values to unpack")
        return list(zip(parts, found, strict=True))
    (star,) = stars
    behind = len(parts) - star - 1
    if len(found) < len(parts) - 1:
        raise raised(node, "ValueError", "not enough values to unpack")
    middle = found[star : len(found) - behind]
    starred: Any = parts[star]
    return [
        *zip(parts[:star], found[:star], strict=True),
        (starred.value, middle),
        *zip(parts[star + 1 :], found[len(found) - behind :] if behind else [], strict=True),
    ]


def index(machine: Machine, node: ast.Subscript, scope: Scope) -> Any:
    """Return what stands in brackets: a number, a key or a slice."""
    if not isinstance(node.slice, ast.Slice):
        return machine.evaluate(node.slice, scope)
    ends: list[int | None] = []
    for each in (node.slice.lower, node.slice.upper, node.slice.step):
        value = None if each is None else machine.evaluate(each, scope)
        ends.append(None if value is None else whole(machine, node, value))
    return slice(*ends)


def item(machine: Machine, node: ast.AST, value: Any, where: Any) -> Any:
    """Return value[where]."""
    if isinstance(value, Object) and value.kind.kind == "named":
        value = tuple(value.values[name] for name in value.kind.fields)
    if isinstance(value, Class) and value.kind == "enum" and type(where) is str:
        if where not in objects.members_of(value):
            raise raised(node, "KeyError", where)
        return value.values[where]
    if isinstance(value, Symbolic):
        machine.at(node)
        raise value.refusal("has no items")
    if isinstance(value, Word | Annotation) or (isinstance(value, Class) and value.kind != "enum"):
        name = value.name if isinstance(value, Word) else ""
        return Annotation(name, where if type(where) is tuple else (where,))
    if type(value) is dict:
        return native(node, value.__getitem__, key(machine, node, where))
    if type(value) in (list, tuple, str, range):
        at = where if type(where) is slice else whole(machine, node, where)
        return machine.spend(native(node, value.__getitem__, at))
    raise machine.refusal(node, f"{kind_of(value)} has no items here")


def set_item(machine: Machine, node: ast.AST, where: Any, at: Any, value: Any) -> None:
    """Do where[at] = value."""
    machine.change(node, where)
    if type(where) is dict:
        where[key(machine, node, at)] = value
    elif type(where) is list and type(at) is slice:
        native(node, where.__setitem__, at, listed(machine, node, value))
    elif type(where) is list:
        native(node, where.__setitem__, whole(machine, node, at), value)
    else:
        raise machine.refusal(node, f"{kind_of(where)} has no items to assign")


def delete(machine: Machine, target: ast.expr, scope: Scope) -> None:
    """Do `del target`."""
    match target:
        case ast.Name(id=name):
            holder = scope.holder(name)
            if holder is not scope or name not in scope.values or scope.fixed:
                raise machine.refusal(target, f"'{name}' has no value here", kind="name error")
            del scope.values[name]
        case ast.Subscript(value=of):
            where = machine.evaluate(of, scope)
            machine.change(target, where)
            at = index(machine, target, scope)
            if type(where) is dict:
                native(target, where.__delitem__, key(machine, target, at))
            elif type(where) is list:
                place = at if type(at) is slice else whole(machine, target, at)
                native(target, where.__delitem__, place)
            else:
                raise machine.refusal(target, f"{kind_of(where)} has no items to delete")
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                delete(machine, part, scope)
        case _:
            raise machine.refusal(target, "this is nothing to delete")
