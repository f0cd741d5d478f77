"""Classes and objects of a file, and what stands behind a dot.

Classes are plain ones, data classes, named tuples, enumerations and exceptions, each derived from
one class at most. None has operators of its own: what `+` or `==` does is Python's.
"""

from __future__ import annotations

import ast
from fractions import Fraction
from typing import Any

from dipapprox.data_classes import dataclass
from dipapprox.language.functions import library
from dipapprox.language.functions.machine import (
    CONTAINERS,
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
from dipapprox.language.functions.values import kind_of


@dataclass(frozen=True, slots=True)
class Super:
    """`super()`: an object, looked at from behind a class."""

    kind: Class
    receiver: Any


SPECIAL = frozenset(("__init__", "__post_init__", "__call__", "__repr__", "__str__"))
"""Methods that a class may define: the last two make texts, which are for messages."""


def attribute(machine: Machine, node: ast.AST, value: Any, name: str) -> Any:
    """Return value.name."""
    _refuse_private(machine, node, name)
    match value:
        case Symbolic():
            machine.at(node)
            raise value.refusal(f"has no attribute '{name}'", "")
        case Module():
            if name in value.scope.values:
                return value.scope.values[name]
        case Word():
            return library.word(f"{value.name}.{name}")
        case Object():
            return _of_object(machine, node, value, name)
        case Class():
            return _of_class(machine, node, value, name)
        case Super(kind, receiver):
            found = next((base.found(name) for base in kind.bases if base.found(name)), None)
            if found is not None:
                return _bound(machine, node, found[1], receiver)
            if name == "__init__":
                return Bound(Word("object.__init__"), receiver)
        case int() | Fraction() if name in ("numerator", "denominator"):
            return getattr(value, name)
        case Function() if name == "__name__":
            return value.name
        case int() | Fraction() | str() | Stream() | list() | tuple() | dict() | set():
            return library.method(machine, node, value, name)
    raise machine.refusal(node, f"{kind_of(value)} has no attribute '{name}' here")


def _refuse_private(machine: Machine, node: ast.AST, name: str) -> None:
    if name.startswith("__") and name not in (*SPECIAL, "__name__"):
        hint = "call functions and operators by their own signs"
        raise machine.refusal(
            node, f"'.{name}' tells what is known, or has another name in a class", hint
        )


def _of_object(machine: Machine, node: ast.AST, value: Object, name: str) -> Any:
    found = value.kind.found(name)
    is_property = found is not None and isinstance(found[1], Function)
    if name in value.values and not (is_property and found and found[1].kind == "property"):
        return value.values[name]
    if found is not None:
        return _bound(machine, node, found[1], value)
    raise machine.refusal(
        node, f"an object of the class {value.kind.name} has no attribute '{name}'"
    )


def _bound(machine: Machine, node: ast.AST, found: Any, receiver: Any) -> Any:
    if not isinstance(found, Function):
        return found
    if found.kind == "property":
        return machine.call(node, found, [receiver], {})
    if found.kind == "staticmethod":
        return found
    if found.kind == "classmethod":
        return Bound(found, receiver if isinstance(receiver, Class) else receiver.kind)
    return Bound(found, receiver)


def _of_class(machine: Machine, node: ast.AST, value: Class, name: str) -> Any:
    if name == "__name__":
        return value.name
    found = value.found(name)
    if found is None:
        raise machine.refusal(node, f"the class {value.name} has no attribute '{name}'")
    if isinstance(found[1], Function) and found[1].kind == "property":
        raise machine.refusal(node, f"'{name}' is a property of objects, and not of their class")
    if isinstance(found[1], Function) and found[1].kind == "classmethod":
        return Bound(found[1], value)
    return found[1]


def set_attribute(machine: Machine, node: ast.AST, value: Any, name: str, what: Any) -> None:
    """Do value.name = what."""
    _refuse_private(machine, node, name)
    if isinstance(value, Symbolic):
        machine.at(node)
        raise value.refusal(f"has no attribute '{name}'", "")
    if isinstance(value, Class):
        raise machine.refusal(
            node, "a class is not changed here: make it what it is where it is defined"
        )
    if not isinstance(value, Object) or value.kind.kind in ("named", "enum"):
        raise machine.refusal(node, f"{kind_of(value)} has no attributes to assign")
    machine.change(node, value)
    if any(each.frozen for each in value.kind.line()):
        raise machine.refusal(node, f"an object of the class {value.kind.name} does not change")
    found = value.kind.found(name)
    if found is not None and isinstance(found[1], Function) and found[1].kind == "property":
        raise machine.refusal(node, f"'{name}' is a property, which is not assigned")
    if value.kind.slots is not None and name not in value.kind.slots:
        raise machine.refusal(node, f"'{name}' is not among the __slots__")
    value.values[name] = what


def members_of(kind: Class) -> dict[str, Object]:
    """Return the members of an enumeration, each once."""
    return {
        name: value
        for name, value in kind.values.items()
        if isinstance(value, Object) and value.values["name"] == name
    }


# --- the making of classes ------------------------------------------------------------------------

_BASES = {
    "object": "plain",
    "abc.ABC": "plain",
    "typing.NamedTuple": "named",
    "enum.Enum": "enum",
}
_WHOLE = frozenset(("enum.IntEnum", "enum.StrEnum"))


def define(machine: Machine, node: ast.ClassDef, bases: list[Any], frozen: bool | None) -> Class:
    """Return a class without what its body says.

    Args:
        machine: The machine.
        node: The class.
        bases: What it is derived from.
        frozen: Of a data class, whether its objects stay as they are; None of others.
    """
    if node.keywords or len(bases) > 1:
        raise machine.refusal(node, "a class is derived from one class here, and has no metaclass")
    kind, whole = "plain", False
    above: tuple[Class, ...] = ()
    for base in bases:
        if isinstance(base, Class) and base.kind in ("plain", "data", "error"):
            kind, above = base.kind, (base,)
        elif isinstance(base, Word) and base.name in _BASES:
            kind = _BASES[base.name]
        elif isinstance(base, Word) and base.name in _WHOLE:
            kind, whole = "enum", True
        else:
            hint = "operators and methods of such a class are not followed"
            raise machine.refusal(node, f"a class is not derived from {kind_of(base)} here", hint)
    if frozen is not None and kind not in ("plain", "data"):
        raise machine.refusal(node, f"a {kind} is no data class")
    if frozen is not None:
        kind = "data"
    fields = above[0].fields if above else ()
    return Class(node.name, kind, above, {}, fields, bool(frozen), whole)


@dataclass(frozen=True, slots=True)
class Field:
    """`dataclasses.field(default_factory=…)`."""

    factory: Any


def complete(machine: Machine, node: ast.ClassDef, kind: Class, decorated: bool) -> None:
    """Check what the body of a class has made, and fill in what its kind adds."""
    for name, value in kind.values.items():
        if name.startswith("__") and name not in (*SPECIAL, "__slots__"):
            if name == "__doc__":
                continue
            what = (
                "has operators of its own, or other ways of Python's"
                if name.endswith("__")
                else ("gives attributes other names")
            )
            raise machine.refusal(node, f"the class {what}: '{name}'", "write a method with a name")
        if isinstance(value, Function) and value.scope.values is kind.values:
            value.owner = kind
    slots = kind.values.pop("__slots__", None)
    if slots is not None:
        if type(slots) not in (tuple, list) or kind.bases or kind.kind == "data":
            raise machine.refusal(
                node, "'__slots__' is a list of names, in a class derived from none"
            )
        kind.slots = tuple(slots)
    if kind.kind in ("named", "data"):
        for each in node.body:
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                written = ast.unparse(each.annotation)
                if any(word in written for word in ("ClassVar", "InitVar", "KW_ONLY")):
                    raise machine.refusal(each, f"'{written}' is not followed in a data class")
                name = each.target.id
                if (decorated or kind.kind == "named") and name not in kind.fields:
                    kind.fields += (name,)
                if type(kind.values.get(name)) in CONTAINERS and kind.kind == "data":
                    raise machine.refusal(
                        each, "a default that changes: field(default_factory=list)"
                    )
    if kind.kind == "enum":
        seen: list[tuple[Any, Object]] = []
        for name, value in list(kind.values.items()):
            if isinstance(value, Function) or name.startswith("_"):
                continue
            if type(value) not in (int, str, Fraction, bool):
                raise machine.refusal(node, "a member of an enumeration is a number or a text here")
            known = next((each for held, each in seen if held == value), None)
            member = known or Object(kind, {"name": name, "value": value})
            seen.append((value, member))
            kind.values[name] = value if kind.whole else member
