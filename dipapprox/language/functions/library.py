"""What is built in or imported and followed: by whole names, in one table.

A function here takes the machine, the place of the call, and what it is called with. Whatever is
imported has a name ("numpy.random.normal"); what has none in the table is refused when it is used.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable
from functools import cache
from typing import Any

from dipapprox.errors import SourceError, did_you_mean
from dipapprox.language.functions import hints, maps, noise, operators
from dipapprox.language.functions.machine import (
    SCALARS,
    Machine,
    Method,
    Stream,
    Text,
    Word,
    raised,
)
from dipapprox.language.functions.symbols import Symbolic
from dipapprox.language.functions.values import kind_of, listed

Library = Callable[..., Any]

CONSTANTS: dict[str, Any] = {"math.inf": math.inf}

OWN: dict[str, Library] = {
    f"dipapprox.{each.__name__}": each
    for each in (
        *(noise.gauss, noise.laplace, noise.laplace_plus, noise.laplace_minus, noise.logistic),
        *(noise.gumbel, noise.gumbel_minus, noise.discrete_laplace, noise.discrete_gauss),
        *(noise.choose, noise.exponential_mechanism, noise.argmax, noise.argmin, noise.maximum),
        *(noise.minimum, noise.where, noise.exp, noise.sqrt, noise.log, maps.clamp, maps.rounded),
    )
}
"""Our own functions, which take lists of values."""

MARKS = frozenset(
    f"{module}.{name}"
    for module, names in {
        "dipapprox": "Quantity Condition Weight mechanism Mechanism",
        "typing": "Annotated Any Literal NamedTuple Optional Union Sequence Callable Iterable List",
    }.items()
    for name in names.split()
)
"""What stands in annotations and decorators."""

WORDS: dict[str, Library] = {}
"""(machine, node, …) for each function that is followed: filled by the modules after this one."""

METHODS: dict[tuple[type, str], Library] = {}
"""(machine, node, receiver, …) for each method of a list, tuple, dictionary, set, text, number."""

_DRAWN = ("random", "secrets", "numpy.random", "os.urandom", "uuid", "numpy.default_rng")
RANDOMNESS = "another source of randomness"


def word(name: str) -> Any:
    """Return what an imported or built-in name stands for: a constant, or a word."""
    return CONSTANTS.get(name, Word(name))


def builtin(name: str) -> Any:
    """Return what a name means in Python itself; None if nothing that is known."""
    if name in WORDS or name in ("object", "property", "staticmethod", "classmethod", "super"):
        return Word(name)
    return Word(f"builtins.{name}") if name in _REFUSED else None


def names_in(module: str) -> dict[str, Any]:
    """Return what `from module import *` brings; nothing for a module that is not known."""
    known = {*WORDS, *OWN, *MARKS, *CONSTANTS}
    dotted = f"{module}."
    return {
        name.removeprefix(dotted): word(name)
        for name in known
        if name.startswith(dotted) and "." not in name.removeprefix(dotted)
    }


def hint_for_name(name: str) -> str:
    """Say which name may be meant."""
    return hints.of_unknown(name)


_REFUSED = {
    "print": "the function prints: only what it returns is published",
    "input": "the function reads: it depends on its arguments and draws alone",
    "open": "the function reads or writes files: only what it returns is published",
    "type": "'type' tells what is known of a number",
    "hasattr": "'hasattr' tells what is known of a number",
    "getattr": "'getattr' tells what is known of a number",
    "setattr": "'setattr' is not followed: write a.b = c",
    "id": "'id' tells what is known of a number",
    "hash": "a hash is another number in each process",
    "frozenset": "frozen sets are not followed: tuples and sets are",
    **dict.fromkeys(
        ("eval", "exec", "compile", "globals", "locals", "vars", "dir", "memoryview", "slice"),
        "code and names that are made while it runs are not followed",
    ),
    **dict.fromkeys(
        ("bytes", "bytearray", "complex", "callable", "repr", "format", "ascii", "aiter", "anext"),
        "this is not followed in a mechanism",
    ),
    **dict.fromkeys(
        ("issubclass", "delattr", "bin", "hex", "oct", "breakpoint", "__import__"),
        "this is not followed in a mechanism",
    ),
}


def call(
    machine: Machine, node: ast.AST, function: Word | Method, placed: list[Any], named: Any
) -> Any:
    """Call what the tables know.

    Raises:
        SourceError: If they do not know it, or it is called in a way that Python does not allow.
        Raised: As Python raises it.
    """
    if isinstance(function, Method):
        return _method(machine, node, function, placed, named)
    name = function.name
    if name in OWN:
        return _own(machine, node, name, placed, named)
    known = WORDS.get(name)
    if known is None:
        raise _unknown(machine, node, name)
    return _called(machine, node, known, name, [machine, node, *placed], named)


def _unknown(machine: Machine, node: ast.AST, name: str) -> SourceError:
    short = name.rpartition(".")[2]
    if any(name == each or name.startswith(f"{each}.") for each in _DRAWN):
        hint = hints.of_name(short) or "draw with dipapprox: gauss, laplace, choose, …"
        return machine.refusal(node, f"'{name}' is {RANDOMNESS}", hint, kind="error")
    if name.startswith("builtins."):
        return machine.refusal(node, _REFUSED[short], hints.of_name(short))
    hint = hints.of_name(short)
    if name.startswith("dipapprox."):
        message = f"'dipapprox' has no function '{short}' that stands in mechanisms"
        hint = hint or did_you_mean(short, [each.rpartition(".")[2] for each in OWN])
        return machine.refusal(node, message, hint)
    what = hint or "write a function of your own in this file or in one beside it"
    return machine.refusal(node, f"'{name}' is not among the functions that are followed", what)


def _called(
    machine: Machine, node: ast.AST, function: Library, name: str, placed: list[Any], named: Any
) -> Any:
    try:
        _signature(function).bind(*placed, **named)
    except TypeError as error:
        raise machine.refusal(
            node, f"TypeError: {name}() {error}", hints.of_call(name), kind="error"
        ) from None
    try:
        return function(*placed, **named)
    except operators.TooLarge:
        raise machine.refusal(node, "the result is too large", kind="limit") from None


@cache
def _signature(function: Library) -> inspect.Signature:
    return inspect.signature(function)


def _own(machine: Machine, node: ast.AST, name: str, placed: list[Any], named: Any) -> Any:
    """Call one of ours: with lists instead of what is read once."""
    machine.at(node)

    def plain(value: Any, depth: int = 0) -> Any:
        if isinstance(value, Stream | range) or type(value) in (list, tuple):
            found = [plain(each, depth + 1) for each in listed(machine, node, value)]
            return tuple(found) if type(value) is tuple else found
        if type(value) is dict:
            return {name: plain(each, depth + 1) for name, each in value.items()}
        if isinstance(value, Symbolic) or type(value) in SCALARS:
            return value
        if isinstance(value, Text):
            raise machine.refusal(
                node, "a text with inputs or samples in it: only what is returned counts"
            )
        raise machine.refusal(node, f"{kind_of(value)} is no number, text, input or sample")

    given = [plain(each) for each in placed]
    by_name = {each: plain(value) for each, value in named.items()}
    return _called(machine, node, OWN[name], name.removeprefix("dipapprox."), given, by_name)


def _method(machine: Machine, node: ast.AST, method: Method, placed: list[Any], named: Any) -> Any:
    kind = type(method.receiver)
    known = METHODS.get((kind, method.name))
    if known is None:
        hint = hints.of_name(method.name)
        message = f"'.{method.name}' of {kind_of(method.receiver)} is not followed"
        raise machine.refusal(node, message, hint)
    arguments = [machine, node, method.receiver, *placed]
    return _called(machine, node, known, method.name, arguments, named)


def native(node: ast.AST, function: Callable[..., Any], *given: Any) -> Any:
    """Call a function of Python's with known values: what it raises is the user's exception.

    Raises:
        Raised: As Python raises it.
    """
    try:
        return function(*given)
    except (IndexError, KeyError, ValueError, ZeroDivisionError, OverflowError) as error:
        raise raised(node, type(error).__name__, *error.args) from None


class Made:
    """A function that another one made."""

    def __init__(self, function: Any, placed: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.function = function
        self.placed = placed
        self.named = named

    def call(self, machine: Machine, node: ast.AST, placed: list[Any], named: Any) -> Any:
        """Call it."""
        return machine.call(node, self.function, [*self.placed, *placed], {**self.named, **named})


def follow(*names: str) -> Callable[[Library], Library]:
    def note(function: Library) -> Library:
        for name in names:
            WORDS[name] = function
        return function

    return note
