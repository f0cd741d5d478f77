"""Methods of lists, tuples, dictionaries, sets, texts and numbers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dipapprox.language.functions.comparisons import equal
from dipapprox.language.functions.library import METHODS, Library, native
from dipapprox.language.functions.machine import SCALARS, Machine, Text, raised
from dipapprox.language.functions.operators import MOST_BITS
from dipapprox.language.functions.order import arranged
from dipapprox.language.functions.values import key, listed, truth, whole


def _method(*kinds: type) -> Callable[[Library], Library]:
    def note(function: Library) -> Library:
        for kind in kinds:
            METHODS[kind, function.__name__.strip("_")] = function
        return function

    return note


# --- lists and tuples -----------------------------------------------------------------------------


@_method(list)
def append(machine: Machine, node: ast.AST, held: list[Any], value: Any, /) -> None:
    machine.change(node, held)
    held.append(value)


@_method(list)
def extend(machine: Machine, node: ast.AST, held: list[Any], values: Any, /) -> None:
    machine.change(node, held)
    held.extend(listed(machine, node, values))


@_method(list)
def insert(machine: Machine, node: ast.AST, held: list[Any], at: Any, value: Any, /) -> None:
    machine.change(node, held)
    held.insert(whole(machine, node, at), value)


def _place(machine: Machine, node: ast.AST, held: Any, value: Any) -> int:
    for place, each in enumerate(held):
        if each is value or truth(machine, node, equal(machine, node, each, value)):
            return place
    raise raised(node, "ValueError", "the value is not in the list")


@_method(list)
def remove(machine: Machine, node: ast.AST, held: list[Any], value: Any, /) -> None:
    machine.change(node, held)
    del held[_place(machine, node, held, value)]


@_method(list, tuple)
def index(
    machine: Machine, node: ast.AST, held: Any, value: Any, start: Any = 0, stop: Any = None, /
) -> int:
    first, last, _ = slice(
        whole(machine, node, start), None if stop is None else whole(machine, node, stop)
    ).indices(len(held))
    return first + _place(machine, node, held[first:last], value)


@_method(list, tuple)
def count(machine: Machine, node: ast.AST, held: Any, value: Any, /) -> int:
    return sum(
        each is value or truth(machine, node, equal(machine, node, each, value)) for each in held
    )


@_method(list)
def reverse(machine: Machine, node: ast.AST, held: list[Any], /) -> None:
    machine.change(node, held)
    held.reverse()


@_method(list)
def sort(
    machine: Machine, node: ast.AST, held: list[Any], /, *, key: Any = None, reverse: Any = False
) -> None:
    machine.change(node, held)
    before = list(held)
    found = arranged(machine, node, before, key, truth(machine, node, reverse))
    if len(held) != len(before) or any(a is not b for a, b in zip(held, before, strict=True)):
        raise machine.refusal(node, "the list changes while it is sorted")
    held[:] = found


@_method(list, dict, set)
def copy(machine: Machine, node: ast.AST, held: Any, /) -> Any:
    return held.copy()


@_method(list, dict, set)
def clear(machine: Machine, node: ast.AST, held: Any, /) -> None:
    machine.change(node, held)
    held.clear()


_MISSING = object()


def _pop_of_list(machine: Machine, node: ast.AST, held: list[Any], at: Any = -1, /) -> Any:
    machine.change(node, held)
    return native(node, held.pop, whole(machine, node, at))


METHODS[list, "pop"] = _pop_of_list

# --- dictionaries ---------------------------------------------------------------------------------


@_method(dict)
def get(machine: Machine, node: ast.AST, held: Any, name: Any, default: Any = None, /) -> Any:
    return held.get(key(machine, node, name), default)


@_method(dict)
def keys(machine: Machine, node: ast.AST, held: Any, /) -> Any:
    return held.keys()


@_method(dict)
def values(machine: Machine, node: ast.AST, held: Any, /) -> Any:
    return held.values()


METHODS[dict, "items"] = lambda machine, node, held, /: held.items()


def _pop_of_dict(
    machine: Machine, node: ast.AST, held: Any, name: Any, default: Any = _MISSING, /
) -> Any:
    machine.change(node, held)
    known = key(machine, node, name)
    return native(node, held.pop, known, *(() if default is _MISSING else (default,)))


METHODS[dict, "pop"] = _pop_of_dict


@_method(dict)
def setdefault(machine: Machine, node: ast.AST, held: Any, name: Any, value: Any = None, /) -> Any:
    machine.change(node, held)
    return held.setdefault(key(machine, node, name), value)


@_method(dict)
def popitem(machine: Machine, node: ast.AST, held: Any, /) -> Any:
    machine.change(node, held)
    return native(node, held.popitem)


def _update_of_dict(
    machine: Machine, node: ast.AST, held: Any, more: Any = (), /, **named: Any
) -> None:
    machine.change(node, held)
    if type(more) is dict:
        held.update(more)
    else:
        for pair in [listed(machine, node, each) for each in listed(machine, node, more)]:
            if len(pair) != 2:
                raise raised(node, "ValueError", "a dictionary is made of pairs")
            held[key(machine, node, pair[0])] = pair[1]
    held.update(named)


METHODS[dict, "update"] = _update_of_dict

# --- sets -----------------------------------------------------------------------------------------


@_method(set)
def add(machine: Machine, node: ast.AST, held: Any, value: Any, /) -> None:
    machine.change(node, held)
    held.add(key(machine, node, value))


@_method(set)
def discard(machine: Machine, node: ast.AST, held: Any, value: Any, /) -> None:
    machine.change(node, held)
    held.discard(key(machine, node, value))


def _remove_of_set(machine: Machine, node: ast.AST, held: Any, value: Any, /) -> None:
    machine.change(node, held)
    native(node, held.remove, key(machine, node, value))


METHODS[set, "remove"] = _remove_of_set


def _of_sets(name: str, changes: bool) -> None:
    def known(machine: Machine, node: ast.AST, held: Any, /, *others: Any) -> Any:
        if changes:
            machine.change(node, held)
        given = [
            each
            if type(each) is set
            else [key(machine, node, v) for v in listed(machine, node, each)]
            for each in others
        ]
        if name.startswith(("is", "symmetric")) and len(given) != 1:
            raise machine.refusal(node, f"'{name}' is asked of one other set")
        return getattr(held, name)(*given)

    METHODS[set, name] = known


for _name in ("union", "intersection", "difference", "symmetric_difference"):
    _of_sets(_name, False)
for _name in ("isdisjoint", "issubset", "issuperset"):
    _of_sets(_name, False)
for _name in ("update", "intersection_update", "difference_update"):
    _of_sets(_name, True)

# --- texts and numbers ----------------------------------------------------------------------------


def _of_texts(name: str) -> None:
    def known(machine: Machine, node: ast.AST, held: str, /, *given: Any) -> Any:
        if any(type(each) not in SCALARS and type(each) is not tuple for each in given):
            raise machine.refusal(node, f"'.{name}' is asked of texts that are known")
        if any(type(each) is int and abs(each) > 10_000 for each in given):
            raise machine.refusal(node, "the result is too large", kind="limit")
        if name == "replace" and len(held) * max(len(str(each)) for each in given) > MOST_BITS:
            raise machine.refusal(node, "the result is too large", kind="limit")
        try:
            return native(node, getattr(held, name), *given)
        except TypeError as error:
            raise machine.refusal(node, str(error)) from None

    METHODS[str, name] = known


for _name in (
    *("upper", "lower", "title", "capitalize", "strip", "lstrip", "rstrip", "split", "startswith"),
    *("endswith", "replace", "isdigit", "isalpha", "isupper", "islower", "find", "count", "index"),
    *("zfill", "ljust", "rjust", "center", "removeprefix", "removesuffix", "splitlines"),
):
    _of_texts(_name)


def _join(machine: Machine, node: ast.AST, held: str, values: Any, /) -> Any:
    given = listed(machine, node, values)
    if all(type(each) is str for each in given):
        if sum(map(len, given)) + len(held) * len(given) > MOST_BITS:
            raise machine.refusal(node, "the result is too large", kind="limit")
        return held.join(given)
    if any(not isinstance(each, Text | str) for each in given):
        raise machine.refusal(node, "only texts are joined: of inputs and samples there are none")
    return Text()


METHODS[str, "join"] = _join


@_method(Fraction)
def limit_denominator(
    machine: Machine, node: ast.AST, held: Any, /, max_denominator: Any = 10**6
) -> Any:
    return native(node, held.limit_denominator, whole(machine, node, max_denominator))


@_method(int)
def bit_length(machine: Machine, node: ast.AST, held: int, /) -> int:
    return held.bit_length()
