"""What is built in or imported and followed: by whole names, in one table.

A function here takes the machine, the place of the call, and what it is called with. Whatever is
imported has a name ("numpy.random.normal"); what has none in the table is refused when it is used.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from dipapprox.errors import SourceError, did_you_mean
from dipapprox.language.functions import hints, maps, noise, operators
from dipapprox.language.functions.machine import (
    SCALARS,
    Bound,
    Class,
    Function,
    Machine,
    Scope,
    Stream,
    Text,
    Word,
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

TYPES: dict[str, type] = {
    each.__name__: each for each in (list, tuple, dict, set, str, int, Fraction)
}
"""Those whose methods the prelude defines."""

WORDS: dict[str, Library | Function] = {}
"""Each function that is followed: of the prelude, or (machine, node, …) of `specials`."""

METHODS: dict[tuple[type, str], Word | Function] = {}
"""The same for methods; what they belong to is the first argument."""


def follow(*names: str, of: type | None = None) -> Callable[[Library], Library]:
    """Make a function one that is followed, or a method of a type."""

    def note(function: Library) -> Library:
        for name in names:
            word = name if of is None else f"{of.__name__} {name}"  # which no import says
            WORDS[word] = function
            if of is not None:
                METHODS[of, name] = Word(word)
        return function

    return note


def read_prelude() -> None:
    """Fill the tables with what the prelude defines, if they are not filled yet."""
    if "sum" in WORDS:
        return
    tree = ast.parse(Path(__file__).with_name("prelude.py").read_text(encoding="utf-8"))
    names = {each.name: Word(each.name) for each in tree.body if isinstance(each, ast.ClassDef)}
    missing = Class("missing", "plain", (), {})
    values = {**names, "dipapprox": Word("dipapprox"), "missing": missing}
    scope = Scope(frozenset(values), None, values, fixed=True, is_module=True)
    found: dict[str, Function] = {}
    for group in tree.body:
        if isinstance(group, ast.ClassDef):
            _read_group(group, group.name, scope, found)
    for name, function in found.items():
        home, _, own = name.partition(".")
        if home in TYPES:
            METHODS[TYPES[home], own] = function
    for name, function in found.items():
        home, _, own = name.partition(".")
        if home not in TYPES:
            WORDS[own if home == "builtins" else name] = function


def _read_group(group: ast.ClassDef, home: str, scope: Scope, found: dict[str, Function]) -> None:
    for node in group.body:
        match node:
            case ast.ClassDef(name):
                _read_group(node, f"{home}.{name}", scope, found)
            case ast.FunctionDef(name):
                found[f"{home}.{name}"] = _standard(f"{home}.{name}", node, scope)
            case ast.Assign(targets, value):
                for target in targets:
                    name = f"{home}.{ast.unparse(target)}"
                    source = ast.unparse(value) if isinstance(value, ast.Attribute) else ""
                    known = found.get(source or f"{home}.{ast.unparse(value)}")
                    node_of = known.node if known is not None else value
                    found[name] = _standard(name, node_of, scope)


def _standard(name: str, node: Any, scope: Scope) -> Function:
    given = node.args
    placed = [*given.posonlyargs, *given.args]
    pairs = [
        *zip(placed[len(placed) - len(given.defaults) :], given.defaults, strict=True),
        *zip(given.kwonlyargs, given.kw_defaults, strict=True),
    ]
    defaults = {
        each.arg: scope.values[value.id] if isinstance(value, ast.Name) else ast.literal_eval(value)
        for each, value in pairs
        if value is not None
    }
    return Function(name.removeprefix("builtins."), node, scope, defaults, standard=True)


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


def call(machine: Machine, node: ast.AST, word: Word, placed: list[Any], named: Any) -> Any:
    """Call what the tables know.

    Raises:
        SourceError: If they do not know it, or it is called in a way that Python does not allow.
        Raised: As Python raises it.
    """
    if word.name in OWN:
        return _own(machine, node, word.name, placed, named)
    known = WORDS.get(word.name)
    if known is None:
        raise _unknown(machine, node, word.name)
    if isinstance(known, Function):
        return machine.call(node, known, placed, named)
    given = [machine, machine.place(node), *placed]
    return _called(machine, node, known, word.name, given, named)


def method(machine: Machine, node: ast.AST, receiver: Any, name: str) -> Bound:
    """Return a method of a list, tuple, dictionary, set, text or number."""
    known = METHODS.get((type(receiver), name))
    if known is None:
        message = f"'.{name}' of {kind_of(receiver)} is not followed"
        raise machine.refusal(node, message, hints.of_name(name))
    return Bound(known, receiver)


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
