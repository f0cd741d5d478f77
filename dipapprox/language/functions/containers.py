"""What makes containers, reads them, and asks what they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dipapprox.language.functions.library import Made, follow, native
from dipapprox.language.functions.machine import (
    CONTAINERS,
    SCALARS,
    Class,
    Function,
    Machine,
    Object,
    Stream,
    Text,
    Word,
    raised,
)
from dipapprox.language.functions.objects import Field
from dipapprox.language.functions.symbols import Symbolic
from dipapprox.language.functions.values import (
    VIEWS,
    items,
    kind_of,
    listed,
    truth,
    whole,
)
from dipapprox.language.functions.values import (
    key as key_of,
)

_MISSING = object()


@follow("len")
def _len(machine: Machine, node: ast.AST, value: Any, /) -> Any:
    if isinstance(value, Object) and value.kind.kind == "named":
        return len(value.kind.fields)
    if type(value) in CONTAINERS or type(value) in (str, range, *VIEWS):
        return len(value)
    if isinstance(value, Symbolic):
        machine.at(node)
        raise value.refusal("has no length")
    raise machine.refusal(node, f"{kind_of(value)} has no length here")


@follow("list")
def _list(machine: Machine, node: ast.AST, values: Any = (), /) -> Any:
    return listed(machine, node, values)


@follow("tuple")
def _tuple(machine: Machine, node: ast.AST, values: Any = (), /) -> Any:
    return tuple(listed(machine, node, values))


@follow("set")
def _set(machine: Machine, node: ast.AST, values: Any = (), /) -> Any:
    given = values if type(values) is set else listed(machine, node, values)
    return {key_of(machine, node, each) for each in given}


@follow("dict")
def _dict(machine: Machine, node: ast.AST, values: Any = (), /, **named: Any) -> Any:
    found: dict[Any, Any] = {}
    if type(values) is dict:
        found.update(values)
    else:
        for each in listed(machine, node, values):
            pair = listed(machine, node, each)
            if len(pair) != 2:
                raise raised(node, "ValueError", "a dictionary is made of pairs")
            found[key_of(machine, node, pair[0])] = pair[1]
    found.update(named)
    return found


@follow("str")
def _str(machine: Machine, node: ast.AST, value: Any = "", /) -> Any:
    return str(value) if type(value) in SCALARS else Text()


@follow("range")
def _range(machine: Machine, node: ast.AST, /, *ends: Any) -> Any:
    given = [whole(machine, node, each) for each in ends]
    if not 1 <= len(given) <= 3:
        raise machine.refusal(node, "range(end), range(start, end) or range(start, end, step)")
    return native(node, range, *given)


@follow("reversed")
def _reversed(machine: Machine, node: ast.AST, values: Any, /) -> Any:
    if type(values) not in (list, tuple, range, str, dict):
        raise machine.refusal(node, f"{kind_of(values)} is not read from its end here")
    return Stream(iter(reversed(values)))


@follow("enumerate")
def _enumerate(machine: Machine, node: ast.AST, iterable: Any, start: Any = 0) -> Any:
    first = whole(machine, node, start)
    return Stream(enumerate(items(machine, node, iterable), first))


@follow("zip")
def _zip(machine: Machine, node: ast.AST, /, *values: Any, strict: Any = False) -> Any:
    streams = [items(machine, node, each) for each in values]
    return Stream(_guarded(node, zip(*streams, strict=truth(machine, node, strict))))


def _guarded(node: ast.AST, values: Iterator[Any]) -> Iterator[Any]:
    """Yield values; what Python raises meanwhile is the function's."""
    try:
        yield from values
    except ValueError as error:
        raise raised(node, "ValueError", *error.args) from None


@follow("map")
def _map(machine: Machine, node: ast.AST, function: Any, first: Any, /, *others: Any) -> Any:
    streams = [items(machine, node, each) for each in (first, *others)]
    return Stream(
        machine.call(node, function, list(given), {}) for given in zip(*streams, strict=False)
    )


def test(machine: Machine, node: ast.AST, function: Any, value: Any) -> bool:
    found = value if function is None else machine.call(node, function, [value], {})
    return truth(machine, node, found)


@follow("filter")
def _filter(machine: Machine, node: ast.AST, function: Any, values: Any, /) -> Any:
    given = items(machine, node, values)
    return Stream(each for each in given if test(machine, node, function, each))


@follow("any")
def _any(machine: Machine, node: ast.AST, values: Any, /) -> Any:
    return any(truth(machine, node, each) for each in items(machine, node, values))


@follow("all")
def _all(machine: Machine, node: ast.AST, values: Any, /) -> Any:
    return all(truth(machine, node, each) for each in items(machine, node, values))


@follow("iter")
def _iter(machine: Machine, node: ast.AST, values: Any, /) -> Any:
    return values if isinstance(values, Stream) else Stream(items(machine, node, values))


@follow("next")
def _next(machine: Machine, node: ast.AST, values: Any, default: Any = _MISSING, /) -> Any:
    if not isinstance(values, Stream):
        raise machine.refusal(node, f"{kind_of(values)} is no iterator: iter(…) makes one")
    machine.change(node, values)
    for found in values.values:
        return found
    if default is _MISSING:
        raise raised(node, "StopIteration")
    return default


_KINDS: dict[str, tuple[type, ...]] = {
    "int": (int, bool),
    "bool": (bool,),
    "str": (str,),
    "list": (list,),
    "tuple": (tuple,),
}
_KINDS |= {"dict": (dict,), "set": (set,), "fractions.Fraction": (Fraction,), "float": (float,)}


@follow("isinstance")
def _isinstance(machine: Machine, node: ast.AST, value: Any, kinds: Any, /) -> Any:
    if isinstance(value, Symbolic):
        machine.at(node)
        message = "is asked for its type: what a function does may not depend on that"
        raise value.refusal(message, "inputs and noise are numbers, named values or truth values")
    found = False
    for each in kinds if type(kinds) is tuple else (kinds,):
        if isinstance(each, Class):
            found = found or (isinstance(value, Object) and value.kind.is_a(each))
        elif isinstance(each, Word) and each.name in _KINDS:
            named = isinstance(value, Object) and value.kind.kind == "named"
            found = found or type(value) in _KINDS[each.name] or (named and each.name == "tuple")
        else:
            raise machine.refusal(node, f"whether a value is {kind_of(each)} is not known here")
    return found


@follow("ord")
def _ord(machine: Machine, node: ast.AST, value: Any, /) -> Any:
    if type(value) is not str or len(value) != 1:
        raise machine.refusal(node, "a text of one character must stand here")
    return ord(value)


@follow("chr")
def _chr(machine: Machine, node: ast.AST, value: Any, /) -> Any:
    return native(node, chr, whole(machine, node, value))


@follow("object.__init__")
def _begin(machine: Machine, node: ast.AST, made: Any, /, *given: Any) -> Any:
    if made.kind.kind == "error":
        made.values["args"] = given
    elif given:
        raise machine.refusal(node, "object.__init__ takes no arguments")


@follow("functools.reduce")
def _reduce(
    machine: Machine, node: ast.AST, function: Any, values: Any, first: Any = _MISSING, /
) -> Any:
    found = first
    for each in items(machine, node, values):
        found = each if found is _MISSING else machine.call(node, function, [found, each], {})
    if found is _MISSING:
        raise machine.refusal(node, "reduce of nothing needs an initial value")
    return found


@follow("functools.partial")
def _partial(machine: Machine, node: ast.AST, function: Any, /, *placed: Any, **named: Any) -> Any:
    return Made(function, placed, named)


@follow("copy.copy")
def _copy(machine: Machine, node: ast.AST, value: Any, /) -> Any:
    if type(value) in CONTAINERS:
        return value.copy() if type(value) is not tuple else value
    if isinstance(value, Object) and value.kind.kind in ("plain", "data"):
        return Object(value.kind, dict(value.values))
    return _unchanging(machine, node, value)


def _unchanging(machine: Machine, node: ast.AST, value: Any) -> Any:
    immutable = isinstance(value, Symbolic | Class | Function | Word | range)
    named = isinstance(value, Object) and value.kind.kind in ("enum",)
    if immutable or named or type(value) in SCALARS:
        return value
    raise machine.refusal(node, f"{kind_of(value)} is not copied here")


@follow("copy.deepcopy")
def _deepcopy(machine: Machine, node: ast.AST, value: Any, /) -> Any:
    seen: dict[int, Any] = {}

    def again(each: Any, depth: int) -> Any:
        machine.step(node)
        if depth > 50:
            raise machine.refusal(node, "this is too deep to be copied", kind="limit")
        if id(each) in seen:
            return seen[id(each)]
        if type(each) is list:
            made: Any = []
            seen[id(each)] = made
            made.extend(again(cell, depth + 1) for cell in each)
        elif type(each) is dict:
            made = seen[id(each)] = {}
            made.update((name, again(cell, depth + 1)) for name, cell in each.items())
        elif type(each) is tuple:
            made = tuple(again(cell, depth + 1) for cell in each)
        elif type(each) is set:
            made = set(each)
        elif isinstance(each, Object) and each.kind.kind in ("plain", "data", "named"):
            made = seen[id(each)] = Object(each.kind, {})
            made.values.update((name, again(v, depth + 1)) for name, v in each.values.items())
        else:
            made = _unchanging(machine, node, each)
        seen[id(each)] = made
        return made

    return again(value, 0)


@follow("dataclasses.field")
def _field(machine: Machine, node: ast.AST, *, default_factory: Any) -> Any:
    return Field(default_factory)
