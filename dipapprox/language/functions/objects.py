"""Calls, classes and objects of a file, and what stands behind a dot.

Classes are plain ones, data classes, named tuples, enumerations and exceptions, each derived from
one class at most. None has operators of its own: what `+` or `==` does is Python's.
"""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from typing import Any

from dipapprox.language.functions import library, natives
from dipapprox.language.functions.machine import (
    CALLS,
    CONTAINERS,
    MOST_CALLS,
    BoundMethod,
    Class,
    Field,
    Function,
    ImportedName,
    Machine,
    Module,
    NameScope,
    Object,
    Raised,
    Returned,
    Stream,
    Super,
    kind_of,
    rule,
)
from dipapprox.language.functions.operators import items
from dipapprox.language.functions.places import facts_of
from dipapprox.language.functions.symbols import Symbolic
from dipapprox.language.functions.words import NO_RULE

SPECIAL = frozenset(("__init__", "__post_init__", "__call__", "__repr__", "__str__"))
"""Methods that a class may define: the last two make texts, which are for messages."""

# --- attributes -----------------------------------------------------------------------------------


def attribute(machine: Machine, value: Any, name: str) -> Any:
    """Return value.name."""
    _refuse_private(machine, name)
    match value:
        case Symbolic():
            raise value.refusal(f"has no attribute '{name}'", "")
        case Module() if name in value.scope.values:
            return value.scope.values[name]
        case ImportedName():
            return library.word(f"{value.name}.{name}")
        case Function() | Class() if name == "__name__":
            return value.name
        case list() | tuple() | dict() if name == "__getitem__":
            return BoundMethod(library.word("operator.getitem"), value)
        case Object() if name == "_replace" and value.kind.kind == "named":
            return BoundMethod(library.word("dataclasses.replace"), value)
        case Object():
            found = value.kind.found(name)
            if name in value.values and not (found and _kind(found[1]) == "property"):
                return value.values[name]
            if found is not None:
                return _bound(machine, found[1], value)
            raise machine.refusal(f"{kind_of(value)} has no attribute '{name}'")
        case Class() if (found := value.found(name)) is not None:
            if _kind(found[1]) == "property":
                raise machine.refusal(f"'{name}' is a property of objects, not of their class")
            return BoundMethod(found[1], value) if _kind(found[1]) == "classmethod" else found[1]
        case Super(kind, receiver):
            above = next((base.found(name) for base in kind.bases if base.found(name)), None)
            if above is not None:
                return _bound(machine, above[1], receiver)
            if name == "__init__":
                return BoundMethod(library.word("object.__init__"), receiver)
        case int() | Fraction() if name in ("numerator", "denominator"):
            return getattr(value, name)
        case Function(standard=True):
            return library.word(f"{value.name}.{name}")
        case int() | Fraction() | str() | Stream() | list() | tuple() | dict() | set():
            return library.method(machine, value, name)
    raise machine.refusal(f"{kind_of(value)} has no attribute '{name}' here")


def _refuse_private(machine: Machine, name: str) -> None:
    if name.startswith("__") and name not in (*SPECIAL, "__name__", "__getitem__"):
        hint = "call functions and operators by their own signs"
        message = f"'.{name}' tells what is known, or has another name in a class"
        raise machine.refusal(message, hint)


def _kind(found: Any) -> str:
    return found.kind if isinstance(found, Function) else ""


def _bound(machine: Machine, found: Any, receiver: Any) -> Any:
    """Return what an object has of its class: a method with it, or what a property says."""
    match _kind(found):
        case "property":
            return machine.call(found, receiver)
        case "classmethod":
            return BoundMethod(found, receiver if isinstance(receiver, Class) else receiver.kind)
        case "" if isinstance(found, Function):
            return BoundMethod(found, receiver)
        case _:
            return found


def set_attribute(machine: Machine, value: Any, name: str, what: Any) -> None:
    """Do value.name = what."""
    _refuse_private(machine, name)
    if isinstance(value, Symbolic):
        raise value.refusal(f"has no attribute '{name}'", "")
    if isinstance(value, Class):
        raise machine.refusal("a class is not changed here: make it what it is where it is defined")
    if not isinstance(value, Object) or value.kind.kind in ("named", "enum"):
        raise machine.refusal(f"{kind_of(value)} has no attributes to assign")
    machine.change(value)
    kind = value.kind
    if any("frozen" in each.options for each in kind.line()):
        raise machine.refusal(f"{kind_of(value)} does not change")
    found = kind.found(name)
    if found is not None and _kind(found[1]) == "property":
        raise machine.refusal(f"'{name}' is a property, which is not assigned")
    if kind.slots is not None and name not in kind.slots:
        raise machine.refusal(f"'{name}' is not among the __slots__")
    value.values[name] = what


# --- the making of classes ------------------------------------------------------------------------

_BASES = {
    "object": "plain",
    "abc.ABC": "plain",
    "typing.NamedTuple": "named",
    "enum.Enum": "enum",
    "enum.IntEnum": "enum",
    "enum.StrEnum": "enum",
}


def define(
    machine: Machine, node: ast.ClassDef, bases: list[Any], options: frozenset[str] | None
) -> Class:
    """Return a class without what its body says; `options`: of a data class, None of others."""
    if node.keywords or len(bases) > 1:
        raise machine.refusal("a class is derived from one class here, and has no metaclass")
    kind = "plain"
    above: tuple[Class, ...] = ()
    own = options | {"eq"} if options is not None else frozenset()
    for base in bases:
        if isinstance(base, Class) and base.kind in ("plain", "data", "error"):
            kind, above = base.kind, (base,)
            own |= base.options & {"eq"}
            if "order" in base.options:
                raise machine.refusal("a class is not derived from one with an order here")
        elif isinstance(base, ImportedName) and base.name in _BASES:
            kind = _BASES[base.name]
            own |= {"whole"} if base.name in ("enum.IntEnum", "enum.StrEnum") else frozenset()
        else:
            hint = "operators and methods of such a class are not followed"
            raise machine.refusal(f"a class is not derived from {kind_of(base)} here", hint)
    if options is not None:
        if kind not in ("plain", "data"):
            raise machine.refusal(f"a {kind} is no data class")
        kind = "data"
    return Class(node.name, kind, above, {}, above[0].fields if above else (), own)


def complete(machine: Machine, node: ast.ClassDef, kind: Class, decorated: bool) -> None:
    """Check what the body of a class has made, and fill in what its kind adds."""
    for name, value in kind.values.items():
        if name.startswith("__") and name not in (*SPECIAL, "__slots__", "__doc__"):
            ways = "has operators of its own, or other ways of Python's"
            what = ways if name.endswith("__") else "gives attributes other names"
            raise machine.refusal(f"the class {what}: '{name}'", "write a method with a name")
        if isinstance(value, Function) and value.scope.values is kind.values:
            value.owner = kind
    slots = kind.values.pop("__slots__", None)
    if slots is not None:
        if type(slots) not in (tuple, list) or kind.bases or kind.kind == "data":
            raise machine.refusal("'__slots__' is a list of names, in a class derived from none")
        kind.slots = tuple(slots)
    if kind.kind in ("named", "data"):
        for each in node.body:
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                _add_field(machine, kind, each.target.id, each.annotation, decorated)
    if kind.kind == "enum":
        _make_members(machine, kind)


def _add_field(
    machine: Machine, kind: Class, name: str, annotation: ast.expr, decorated: bool
) -> None:
    written = ast.unparse(annotation)
    if any(word in written for word in ("ClassVar", "InitVar", "KW_ONLY")):
        raise machine.refusal(f"'{written}' is not followed in a data class")
    if (decorated or kind.kind == "named") and name not in kind.fields:
        kind.fields += (name,)
    if type(kind.values.get(name)) in CONTAINERS and kind.kind == "data":
        raise machine.refusal("a default that changes: field(default_factory=list)")


def _make_members(machine: Machine, kind: Class) -> None:
    seen: list[tuple[Any, Object]] = []
    for name, value in list(kind.values.items()):
        if isinstance(value, Function) or name.startswith("_"):
            continue
        if type(value) not in (int, str, Fraction, bool):
            raise machine.refusal("a member of an enumeration is a number or a text here")
        known = next((each for held, each in seen if held == value), None)
        member = known or Object(kind, {"name": name, "value": value})
        seen.append((value, member))
        kind.values[name] = value if kind.options else member


# --- the making of objects ------------------------------------------------------------------------


def _make(machine: Machine, kind: Class, placed: list[Any], named: dict[str, Any]) -> Any:
    """Make an object of a class."""
    if kind.kind == "enum":
        return _member(machine, kind, placed)
    made = Object(kind, {"args": tuple(placed)} if kind.kind == "error" else {})
    found = kind.found("__init__")
    if found is not None:
        if kind.kind == "data" and kind.fields and found[0].kind == "data" and found[0] is not kind:
            raise machine.refusal(f"who makes objects of '{kind.name}' is not followed: __init__")
        machine.call(found[1], made, *placed, **named)
        return made
    if kind.fields:
        defaults = {n: kind.found(n)[1] for n in kind.fields if kind.found(n)}  # type: ignore[index]  # found
        values = placed_values(
            machine, kind.name, _parameters(kind.fields), defaults, placed, named
        )
        for name, value in values.items():
            made.values[name] = machine.call(value.factory) if isinstance(value, Field) else value
    elif named or (placed and kind.kind != "error"):
        raise machine.refusal(f"'{kind.name}' takes no {'such ' if placed else ''}arguments")
    if kind.kind == "data" and (after := kind.found("__post_init__")):
        machine.call(after[1], made)
    return made


CALLS[Class] = _make


def _parameters(names: tuple[str, ...]) -> ast.arguments:
    args = [ast.arg(name) for name in names]
    return ast.arguments([], args, None, [], [], None, [])


def placed_values(
    machine: Machine,
    name: str,
    given: ast.arguments,
    defaults: Any,
    placed: list[Any],
    named: dict[str, Any],
) -> dict[str, Any]:
    """Return the arguments of a call by name, as Python places them."""
    found: dict[str, Any] = {}
    rest = dict(named)
    places = [each.arg for each in (*given.posonlyargs, *given.args)]
    found.update(zip(places, placed, strict=False))
    if given.vararg is not None:
        found[given.vararg.arg] = tuple(placed[len(places) :])
    elif len(placed) > len(places):
        raise _called(machine, name, given, f"takes {len(places)} arguments, not {len(placed)}")
    for each in (*given.args, *given.kwonlyargs):
        if each.arg in rest:
            if each.arg in found:
                raise _called(machine, name, given, f"is given '{each.arg}' twice")
            found[each.arg] = rest.pop(each.arg)
    if given.kwarg is not None:
        found[given.kwarg.arg] = rest
    elif rest:
        raise _called(machine, name, given, f"has no argument '{next(iter(rest))}'")
    for wanted in (*places, *(each.arg for each in given.kwonlyargs)):
        if wanted not in found:
            if wanted not in defaults:
                raise _called(machine, name, given, f"needs '{wanted}'")
            found[wanted] = defaults[wanted]
    return found


def _called(machine: Machine, name: str, given: ast.arguments, what: str) -> Exception:
    short, written = name.rpartition(".")[2], ast.unparse(given)
    if not hasattr(given, "text"):
        written = re.sub(r": \w+", "", written)  # of the prelude
    return machine.refusal(f"'{short}' {what}", f"it is called {short}({written})")


def _member(machine: Machine, kind: Class, placed: list[Any]) -> Any:
    if len(placed) != 1 or isinstance(placed[0], Symbolic):
        raise machine.refusal(f"'{kind.name}' takes the value of a member, which is known")
    for name, member in kind.values.items():
        value = member.values["value"] if isinstance(member, Object) else member
        own = not isinstance(value, Function) and not name.startswith("_")
        if own and type(placed[0]) in (int, str, bool) and value == placed[0]:
            return member
    raise machine.raised("ValueError", f"{placed[0]!r} is not a valid {kind.name}")


@rule(ast.Call)
def _evaluate_call(machine: Machine, node: ast.Call, scope: NameScope) -> Any:
    """Evaluate a call: the function, then its arguments from left to right."""
    function = machine.evaluate(node.func, scope)
    if isinstance(function, ImportedName) and function.name == "super":
        return _super(machine, node, scope)
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


def _super(machine: Machine, node: ast.Call, scope: NameScope | None) -> Any:
    while scope is not None and scope.method is None:
        scope = scope.outer
    if scope is None or scope.method is None or node.args or node.keywords:
        raise machine.refusal("'super()' stands in a method, without arguments")
    return Super(*scope.method)


def function_of(machine: Machine, node: Any, name: str, scope: NameScope) -> Function:
    """Return a function, with its defaults."""
    given = node.args
    defaults = [machine.evaluate(each, scope) for each in given.defaults]
    placed = [*given.posonlyargs, *given.args]
    first = len(placed) - len(defaults)
    known = {each.arg: value for each, value in zip(placed[first:], defaults, strict=True)}
    for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        if default is not None:
            known[each.arg] = machine.evaluate(default, scope)
    return Function(name, node, scope, known, standard=not hasattr(node, "text"))


def call_function(
    machine: Machine, function: Function, placed: list[Any], named: dict[str, Any]
) -> Any:
    """Call a function of the file, or of the prelude."""
    node = function.node
    facts = facts_of(node)
    if facts.yields is not None:
        machine.node = facts.yields
        raise machine.refusal(NO_RULE[ast.Yield])
    values = placed_values(machine, function.name, node.args, function.defaults, placed, named)
    scope = NameScope(facts.local, function.scope, values)
    if function.standard:
        library.take(machine, function, values)
        if natives.is_stub(function):
            return natives.perform(machine, function, values)
        return _returned(machine, node, scope)
    if function.owner is not None and placed:
        scope.method = function.owner, placed[0]
    if machine.depth >= MOST_CALLS:
        message = f"more than {MOST_CALLS} calls inside each other: a recursion without end?"
        raise machine.limit(message)
    before, again = machine.node, machine.active.get(node, 0)
    machine.active[node] = again + 1
    machine.depth += 1
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


CALLS[Function] = call_function


def _returned(machine: Machine, node: Any, scope: NameScope) -> Any:
    """Evaluate the body of a function; return its value."""
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


def _call_bound(
    machine: Machine, method: BoundMethod, placed: list[Any], named: dict[str, Any]
) -> Any:
    return machine.call(method.function, method.receiver, *placed, **named)


def _call_object(machine: Machine, of: Object, placed: list[Any], named: dict[str, Any]) -> Any:
    found = of.kind.found("__call__")
    if found is None:
        raise machine.refusal(f"{kind_of(of)} is nothing to call")
    return machine.call(found[1], of, *placed, **named)


def _call_other(machine: Machine, value: Any, placed: list[Any], named: dict[str, Any]) -> Any:
    if isinstance(value, Symbolic):
        raise value.refusal("is nothing to call")
    raise machine.refusal(f"{kind_of(value)} is nothing to call")


CALLS.update({BoundMethod: _call_bound, Object: _call_object, object: _call_other})
