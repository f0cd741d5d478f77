"""What the prelude cannot say: functions that know what a value is, or whether it is known."""

from __future__ import annotations

import ast
from fractions import Fraction
from typing import Any

from dipapprox.language.functions.arithmetic import combine
from dipapprox.language.functions.library import follow
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
    native,
    raised,
)
from dipapprox.language.functions.natives import Ranked, number
from dipapprox.language.functions.objects import Field
from dipapprox.language.functions.operators import MOST_BITS
from dipapprox.language.functions.symbols import Symbolic
from dipapprox.language.functions.values import VIEWS, items, kind_of, listed, truth, whole

_MISSING = object()


@follow("int", "math.trunc")
def _int(machine: Machine, node: ast.AST, value: Any = 0, /) -> Any:
    if type(value) is str:
        return native(node, int, value)
    return int(number(machine, node, value))


@follow("float")
def _float(machine: Machine, node: ast.AST, value: Any, /) -> Any:
    if type(value) is str and value.strip().lower().lstrip("+-") in ("inf", "infinity"):
        return float(value)
    if type(value) is float:
        return value
    message = "this is no float: numbers are exact"
    raise machine.refusal(node, message, "numbers are exact: leave float(…) out")


@follow("fractions.Fraction")
def _fraction(machine: Machine, node: ast.AST, above: Any = 0, below: Any = None, /) -> Any:
    for each in (above, below):
        if isinstance(each, Symbolic):
            message = "is asked for its type: a Fraction is made of numbers that are known"
            machine.at(node)
            raise each.refusal(message, "inputs and samples are exact numbers already")
    if type(above) is str and below is None:
        return native(node, Fraction, above)
    top = number(machine, node, above)
    return (
        Fraction(top)
        if below is None
        else native(node, Fraction, top, number(machine, node, below))
    )


@follow("pow")
def _pow(machine: Machine, node: ast.AST, base: Any, exp: Any, mod: Any = None) -> Any:
    if mod is None:
        return combine(machine, node, ast.Pow(), base, exp)
    return native(node, pow, *(whole(machine, node, each) for each in (base, exp, mod)))


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


@follow("str")
def _str(machine: Machine, node: ast.AST, value: Any = "", /) -> Any:
    return str(value) if type(value) in SCALARS else Text()


@follow("join", of=str)
def _join(machine: Machine, node: ast.AST, held: str, values: Any, /) -> Any:
    given = listed(machine, node, values)
    if all(type(each) is str for each in given):
        if sum(map(len, given)) + len(held) * len(given) > MOST_BITS:
            raise machine.refusal(node, "the result is too large", kind="limit")
        return held.join(given)
    if any(not isinstance(each, Text | str) for each in given):
        raise machine.refusal(node, "only texts are joined: of inputs and samples there are none")
    return Text()


@follow("replace", of=str)
def _replace(
    machine: Machine, node: ast.AST, held: str, old: Any, new: Any, count: Any = -1, /
) -> Any:
    if type(old) is not str or type(new) is not str:
        raise machine.refusal(node, "'.replace' is asked of texts that are known")
    most = whole(machine, node, count)
    if (len(held) + 1) * len(new) > MOST_BITS:
        raise machine.refusal(node, "the result is too large", kind="limit")
    return held.replace(old, new, most)


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


@follow("object.__init__")
def _begin(machine: Machine, node: ast.AST, made: Any, /, *given: Any) -> Any:
    if made.kind.kind == "error":
        made.values["args"] = given
    elif given:
        raise machine.refusal(node, "object.__init__ takes no arguments")


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


# --- sorting --------------------------------------------------------------------------------------


def _arranged(machine: Machine, node: ast.AST, values: list[Any], by: Any, down: Any) -> list[Any]:
    reverse = truth(machine, node, down)
    found = sorted((Ranked(machine, node, each, by) for each in values), reverse=reverse)
    return [each.value for each in found]


@follow("sorted")
def _sorted(
    machine: Machine, node: ast.AST, values: Any, /, *, key: Any = None, reverse: Any = False
) -> Any:
    # The elements of a set are sorted whatever order they come in, if none has a key of its own.
    given = list(values) if type(values) is set and key is None else listed(machine, node, values)
    return _arranged(machine, node, given, key, reverse)


@follow("extremes")
def _extremes(machine: Machine, node: ast.AST, values: Any, by: Any, /) -> Any:
    known = type(values) is set and by is None
    return _sorted(machine, node, values) if known else listed(machine, node, values)


@follow("sort", of=list)
def _sort(
    machine: Machine, node: ast.AST, held: list[Any], /, *, key: Any = None, reverse: Any = False
) -> None:
    machine.change(node, held)
    before = list(held)
    found = _arranged(machine, node, before, key, reverse)
    if len(held) != len(before) or any(a is not b for a, b in zip(held, before, strict=True)):
        raise machine.refusal(node, "the list changes while it is sorted")
    held[:] = found
