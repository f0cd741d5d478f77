"""What stubs of the prelude stand for: Python's own functions, or ours, with known values."""

from __future__ import annotations

import ast
import collections
import dataclasses
from collections.abc import Callable, Iterable, Iterator
from enum import EnumType
from fractions import Fraction
from functools import partial
from inspect import BoundArguments
from itertools import groupby
from typing import Any

from dipapprox.language.functions import noise
from dipapprox.language.functions.library import MISSING, TAKEN, Heap, Ranked, word
from dipapprox.language.functions.machine import (
    HOME,
    SCALARS,
    Array,
    Function,
    ImportedName,
    Machine,
    Raised,
    Returned,
    Stream,
    Text,
    Undone,
    is_object,
    kind_of,
    plain,
    python_own,
)
from dipapprox.language.functions.operators import MOST_BITS, bounded, key, listed, number, truth
from dipapprox.language.functions.symbols import Symbolic, from_key, is_text, kind_of_all, of_numpy

OURS: dict[str, Callable[..., Any]] = {}
"""What the prelude cannot say: functions that know what a value is, or whether it is known."""


def ours(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that of a stub, which is called with the machine: `_str_join` str.join."""
    OURS[function.__name__.strip("_").replace("__", ".")] = function
    return function


def is_stub(function: Function) -> bool:
    """Whether a function of the prelude stands for Python's own, or for one of ours."""
    match function.node.body:
        case [ast.Expr(ast.Constant(value))]:
            return value is ...
        case _:
            return False


def perform(machine: Machine, function: Function, given: BoundArguments) -> Any:
    """Call what a stub stands for, with arguments that are taken."""
    placed, named = given.args, given.kwargs
    if function.name in OURS:
        return OURS[function.name](machine, *placed, **named)
    if (own := python_own(function)) is None:
        return getattr(noise, function.name.rpartition(".")[2])(*placed, **named)
    found = machine.native(own, *placed, **named)
    for each in placed:
        if isinstance(each, Heap):
            each.origin[:] = [ranked.value for ranked in each]
    if isinstance(found, Ranked):
        return found.value
    if not isinstance(found, Iterator):
        return found
    machine.endless = machine.endless or function.name in ("itertools.count", "itertools.cycle")
    return stream_of(machine, found, native=True)


class _Following(Iterator[Any]):
    """What a body yields: it goes on when it is asked, `inside` a call, and ends with what leaves
    it. It is `lent` while another waits that yields from it: Python closes it if that is lost.

    Or what a `native` iterator does, Python's own, which goes on after an exception; what Python
    raises meanwhile is the function's.
    """

    def __init__(self, machine: Machine, values: Iterator[Any], inside: bool, native: bool) -> None:
        self.machine, self.values, self.inside, self.native = machine, values, inside, native
        self.running = self.lent = False

    def __next__(self) -> Any:
        machine = self.machine
        if self.lent:
            raise machine.refusal("another iterator yields from this one, and may close it")
        if self.running and self.native:
            raise machine.refusal("an iterator of Python's own asks itself for a value")
        if self.running:
            raise machine.raised(ValueError("generator already executing"))
        before, depth = machine.node, machine.depth
        if self.inside:
            machine.enter()
        self.running = True
        try:
            return next(self.values)
        except Returned:
            raise StopIteration from None
        except Raised as error:
            raise machine.unended(error) from None
        except ValueError as error:
            raise machine.raised(error) if self.native else error from None
        finally:
            machine.node, machine.depth, self.running = before, depth, False


def stream_of(
    machine: Machine, values: Iterator[Any], *, inside: bool = False, native: bool = False
) -> Stream:
    return Stream(_Following(machine, values, inside, native), machine.age)


def lending(values: Iterator[Any]) -> Iterator[Any]:
    """Yield values to another iterator, which yields from them."""
    if not isinstance(values, _Following) or values.native:
        yield from values
        return
    for value in values:
        values.lent = True
        yield value
        values.lent = False


@ours
def _int(machine: Machine, value: Any, *base: Any) -> Any:
    joined = None if base else machine.joined(value, {True: lambda: 1, False: lambda: 0})
    if joined is not None:
        return joined[0]
    return machine.native(int, TAKEN["numeral"](machine, value), *base)


@ours
def _round(machine: Machine, value: Any, digits: int | None) -> Any:
    found = machine.native(round, number(machine, value), digits)
    of_float = digits is not None and kind_of_all(value) is float
    return of_numpy(found, False, float) if of_float else found


@ours
def _fractions__Fraction(machine: Machine, *given: Any) -> Any:
    if given[1] is not None and kind_of_all(*given) is float:
        raise machine.refusal("a quotient is a float in Python, and no part of a fraction")
    found = machine.native(Fraction, *(TAKEN["numeral"](machine, each) for each in given))
    # Of a float that is rounded, Python makes a fraction with another denominator, and text.
    rounds = kind_of_all(*given) is float and found.denominator & (found.denominator - 1)
    return of_numpy(found, False, Fraction) if rounds else found


@ours
def _str__join(machine: Machine, held: str, given: list[Any]) -> Any:
    if all(type(each) is str for each in given):
        if sum(map(len, given)) + len(held) * len(given) > MOST_BITS:
            raise machine.limit("the result is too large")
        return held.join(given)
    if any(not isinstance(each, Text | str) for each in given):
        raise machine.refusal("only texts are joined: of inputs and samples there are none")
    return Text()


@ours
def _str__replace(machine: Machine, held: str, old: Any, new: Any, most: int) -> Any:
    if type(old) is not str or type(new) is not str:
        raise machine.refusal("'.replace' is asked of texts that are known")
    if (len(held) + 1) * len(new) > MOST_BITS:
        raise machine.limit("the result is too large")
    return held.replace(old, new, most)


_KINDS: dict[str, tuple[type, ...]] = {
    **{each.__name__: (each,) for each in (bool, str, list, tuple, dict, set, float)},
    "int": (int, bool),
    "fractions.Fraction": (Fraction,),
}


@ours
def _isinstance(machine: Machine, value: Any, kinds: Any) -> Any:
    value, several = from_key(value), kinds if type(kinds) is tuple else (kinds,)
    names = {getattr(each, "name", "") for each in several}
    if isinstance(value, Symbolic) and names <= {"list", "tuple", "dict", "set", "str"}:
        return "str" in names and is_text(value)
    if isinstance(value, Symbolic | Text | ImportedName):
        message = "is asked for its type: what a function does may not depend on that"
        hint = "inputs and noise are numbers, named values or truth values"
        raise machine.refusal(f"{kind_of(value)} {message}", hint)
    found = False
    for each in several:
        if isinstance(each, EnumType) and issubclass(each, int | str):
            raise machine.refusal("a member of such an enumeration is a number or a text here")
        if isinstance(each, type):
            found = found or isinstance(value, each)
        elif isinstance(each, Function) and each.standard and each.name in _KINDS:
            found = found or type(plain(value)) in _KINDS[each.name]
        else:
            raise machine.refusal(f"whether a value is {kind_of(each)} is not known here")
    return found


def _object_init(machine: Machine, made: Any, *given: Any) -> Any:
    if isinstance(made, BaseException):
        if machine.kept is not None:
            raise Undone
        machine.change(made).args = given
    elif given:
        raise machine.refusal("object.__init__ takes no arguments")


OURS["object.__init__"] = _object_init


@ours
def _dataclasses__field(machine: Machine, **given: Any) -> Any:
    return dataclasses.field(**{name: v for name, v in given.items() if v is not MISSING})


@ours
def _dataclasses__replace(machine: Machine, of: Any, **changes: Any) -> Any:
    if not is_object(of) or not hasattr(of, "__match_args__"):
        raise machine.refusal(f"{kind_of(of)} has no fields to replace")
    fields = getattr(of, "__dataclass_fields__", None)
    names = [f.name for f in fields.values() if f.init] if fields else of.__match_args__
    named = {each: getattr(of, each) for each in names}
    return machine.call(type(of), **{**named, **changes})


@ours
def _collections__namedtuple(machine: Machine, name: Any, fields: Any) -> Any:
    given = fields if type(fields) is str else listed(machine, fields)
    return machine.native(collections.namedtuple, name, given, module=HOME)


def _array(values: Iterable[Any]) -> Array:
    return Array(tuple(of_numpy(each) for each in values))


OURS |= {
    "str": lambda machine, value: machine.native(str, value) if type(value) in SCALARS else Text(),
    "hidden.pow": lambda machine, *given: machine.native(pow, *given),
    "hidden.of_numpy": lambda _, value: of_numpy(value),
    "hidden.symbol": lambda _, value: of_numpy(value, False) if type(value) is int else value,
    "hidden.array": lambda _, values: _array(values),
    "hidden.modulus": lambda _, value: noise.of_input("abs", value),
}


@ours
def _numpy__where(machine: Machine, conditions: list[Any], *sides: Any) -> Array:
    rows = [conditions]
    for side in sides:
        rows.append(_cells(machine, side) or _cells(machine, [side]) * len(conditions))
        if len(rows[-1]) != len(conditions):
            raise machine.refusal("the lists are not equally long")
    return _array(machine.call(word("dipapprox.where"), *each) for each in zip(*rows, strict=True))


@ours
def _numpy__clip(machine: Machine, value: Any, low: Any, high: Any) -> Any:
    def clipped(each: Any) -> Any:
        if isinstance(each, Symbolic):
            return machine.call(word("dipapprox.clamp"), each, low, high)
        return min(max(each, low), high)

    kind = kind_of_all(low, high)
    low, high = number(machine, low), number(machine, high)
    if high < low:
        raise machine.refusal(f"nothing is between {low} and {high}")
    found = _cells(machine, value)
    if found is None:
        return of_numpy(clipped(*_cells(machine, [value])), True, kind)
    return Array(tuple(of_numpy(clipped(each), True, kind) for each in found))


def _cells(machine: Machine, value: Any) -> Any:
    """Return the numbers of a list that numpy takes; None for what it takes as one number."""
    several = isinstance(value, Array) or type(value) in (list, tuple, range)
    return TAKEN["numbers"](machine, value) if several else None


@ours
def _itertools__groupby(machine: Machine, values: Iterator[Any], key: Any) -> Stream:
    def held(found: tuple[Ranked, Iterator[Any]]) -> tuple[Any, Stream]:
        return found[0].key, stream_of(machine, found[1], native=True)

    groups = groupby(values, partial(Ranked, machine, by=key))
    return stream_of(machine, map(held, groups), native=True)


@ours
def _sorted(machine: Machine, values: Any, *, key: Any = None, reverse: Any = False) -> Any:
    # The elements of a set are sorted whatever order they come in, if none has a key of its own.
    given = list(values) if type(values) is set and key is None else listed(machine, values)
    ranks = [Ranked(machine, each, key) for each in given]
    return [each.value for each in sorted(ranks, reverse=truth(machine, reverse))]


@ours
def _list__sort(machine: Machine, held: list[Any], *, key: Any, reverse: Any) -> None:
    given, before = held[:], machine.outside
    held.clear()  # as Python does it, for those who look meanwhile
    machine.outside |= {id(held)}
    try:
        given = _sorted(machine, given, key=key, reverse=reverse)
    finally:
        machine.outside = before
        held[:] = given


@ours
def _list__extend(machine: Machine, held: list[Any], values: Any) -> None:
    for each in held[:] if values is held else bounded(machine, values):
        held.append(each)


@ours
def _set__update(machine: Machine, held: set[Any], *others: Any) -> None:
    for values in others:
        for each in list(values) if type(values) is set else bounded(machine, values):
            held.add(key(machine, each))


def _extreme(best: Any, machine: Machine, first: Any, *others: Any, key: Any, default: Any) -> Any:
    """Return what max or min is of several values, or of those of one."""
    if others and default is not MISSING:
        raise machine.raised(TypeError("a default with several arguments"))
    if key is None and (held := noise.of_input(best.__name__, first, *others)) is not None:
        return held
    given = [first, *others] if others else first
    values = iter(given) if type(given) is set and key is None else bounded(machine, given)
    otherwise = {} if default is MISSING else {"default": default}
    found = machine.native(best, (Ranked(machine, each, key) for each in values), **otherwise)
    return found.value if isinstance(found, Ranked) else found


OURS |= {each.__name__: partial(_extreme, each) for each in (max, min)}
