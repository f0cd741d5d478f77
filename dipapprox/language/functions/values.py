"""What every value can be asked: whether it is true, what is in it, whether it may be a key."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from dipapprox.language.functions.machine import (
    CONTAINERS,
    MOST_CELLS,
    SCALARS,
    Bound,
    Class,
    Function,
    Machine,
    Module,
    Object,
    Stream,
    Word,
)
from dipapprox.language.functions.symbols import Symbolic

VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))


def truth(machine: Machine, node: ast.AST, value: Any) -> bool:
    """Decide whether a value is true."""
    machine.step(node)
    if isinstance(value, Symbolic):
        machine.at(node)
        return bool(value)
    if type(value) in SCALARS or type(value) in CONTAINERS or type(value) is range:
        return bool(value)
    if isinstance(value, Object) and value.kind.kind != "named" and not value.kind.whole:
        return True
    if isinstance(value, Object) and value.kind.kind == "named":
        return bool(value.kind.fields)
    if isinstance(value, Function | Bound | Class | Module):
        return True
    raise machine.refusal(node, "this has no truth value here")


def items(machine: Machine, node: ast.AST, value: Any) -> Iterator[Any]:
    """Iterate over a value, as Python would: over a list, while it changes."""
    machine.step(node)
    if type(value) in (list, tuple, str, range):
        return iter(value)
    if type(value) is dict or type(value) in VIEWS:
        return _guarded(machine, node, value)
    if isinstance(value, Stream):
        machine.change(node, value)
        return value.values
    if type(value) is set:
        hint = "sorted(s), len(s) and x in s depend on its elements alone; lists keep order"
        raise machine.refusal(node, "the order of a set is another one in each process", hint)
    if isinstance(value, Object) and value.kind.kind == "named":
        return iter([value.values[name] for name in value.kind.fields])
    if isinstance(value, Class) and value.kind == "enum":
        if value.whole:
            raise machine.refusal(node, "members that are numbers or texts are named one by one")
        return iter(_members_of(value))
    if isinstance(value, Symbolic):
        machine.at(node)
        raise value.refusal("is nothing to iterate over")
    raise machine.refusal(node, "this is nothing to iterate over here")


def _guarded(machine: Machine, node: ast.AST, value: Any) -> Iterator[Any]:
    try:
        yield from value
    except RuntimeError:
        raise machine.refusal(node, "the dictionary changes while it is iterated over") from None


def listed(machine: Machine, node: ast.AST, value: Any) -> list[Any]:
    """Return all values of an iterable."""
    found: list[Any] = []
    for each in items(machine, node, value):
        machine.step(node)
        found.append(each)
        if len(found) > MOST_CELLS:
            raise machine.refusal(node, "this goes on for ever", kind="limit")
    return found


def key(machine: Machine, node: ast.AST, value: Any) -> Any:
    """Return a value that may be a key, or an element of a set."""
    if type(value) in SCALARS or isinstance(value, Class | Function | Word):
        return value
    if isinstance(value, Object) and value.kind.kind in ("plain", "enum"):
        return value
    if type(value) is tuple:
        return tuple(key(machine, node, each) for each in value)
    if isinstance(value, Symbolic):
        machine.at(node)
        message = "has an unhashable type: it is no key, and no element of a set"
        raise value.refusal(message, "choose takes pairs as well: choose([(q, p), (1 - q, 1 - p)])")
    raise machine.refusal(node, f"{kind_of(value)} is no key here, and no element of a set")


def kind_of(value: Any) -> str:
    """Say what a value is."""
    if isinstance(value, Object):
        return f"an object of the class {value.kind.name}"
    if isinstance(value, Class):
        return f"the class {value.name}"
    if isinstance(value, Word):
        return f"'{value.name}'"
    if isinstance(value, Symbolic):
        return value.WHAT
    return f"the {type(value).__name__.lower()}"


def whole(machine: Machine, node: ast.AST, value: Any) -> int:
    """Return a whole number: of an input, that which it is on the path."""
    if isinstance(value, Symbolic):
        machine.at(node)
        number = value.value()
        if type(number) is not int:
            raise machine.refusal(node, f"{number} is no whole number")
        return number
    if type(value) not in (int, bool):
        raise machine.refusal(node, f"a whole number must stand here, not {kind_of(value)}")
    return int(value)


def _members_of(kind: Class) -> list[Any]:
    """Return the members of an enumeration, each once."""
    return [
        value
        for name, value in kind.values.items()
        if isinstance(value, Object) and value.values["name"] == name
    ]
