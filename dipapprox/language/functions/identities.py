"""What a function asks that tells the symbols of a run from numbers: types and identity.

In: the code of a function, and its globals. Out: where it asks. Two equal numbers may be one object
of Python or two, and `True is q` holds for a truth value and never for a symbol; so `is` may stand
only where neither answer can differ: one side is None, an ellipsis, a class, a function, a member
of an enumeration, or an `object()` of the user's.
"""

from __future__ import annotations

import builtins
import dis
import operator
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, EllipsisType, FunctionType, ModuleType, NoneType
from typing import Any

from dipapprox.data_classes import dataclass
from dipapprox.language.functions.symbolic import Symbolic, is_number

_ASKING = frozenset(("type", "hasattr", "id", "dir", "hash"))
"""Of Python's builtins."""

_OF_OPERATOR = frozenset(("is_", "is_not"))

_INVERTING = frozenset(("invert", "inv"))
"""Of `operator`, too: other modules have functions of these names."""

_OF_OBJECTS = frozenset(
    ("getsizeof", "getrefcount", "_getframe", "settrace", "gettrace", "setprofile")
)
"""Of `sys`: how Python holds something, who called, and who looks on."""

_BINARY = "add sub mul truediv floordiv mod pow divmod and or xor lshift rshift matmul"
_OPERATORS = frozenset(
    [f"__{prefix}{name}__" for name in _BINARY.split() for prefix in ("", "r")]
    + [f"__{name}__" for name in ["lt", "le", "gt", "ge", "eq", "ne", "hash", "invert"]]
)
"""Called by name on a number, these return NotImplemented for a symbol, and raise nothing."""

_SYMBOLS = frozenset(("Quantity", "Condition", "Weight", "Symbolic"))

_NAMES = ("LOAD_GLOBAL", "LOAD_NAME")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_SINGLE = (*_NAMES, "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_DEREF")
"""Each puts one thing on the stack."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Something that tells symbols from numbers.

    Attributes:
        message: What it is.
        offset: Where it is in the code.
        hint: What to do instead.
    """

    message: str
    offset: int
    hint: str = "what a mechanism does may not depend on that: inputs and noise are numbers"


def asked_in(code: CodeType, named: Mapping[str, Any]) -> Iterator[Asked]:
    """Yield what a function asks, in the order of its code.

    Args:
        code: Of the function.
        named: Its globals.
    """
    if code.co_qualname.startswith("__create_fn__.") or code.co_name == "__hash__":
        return  # of a data class, which compares itself before its fields; for keys
    for word, offset in _words(code):
        if word not in named:
            yield _telling(word, offset)
    for name in code.co_names:
        if any(named.get(name) is each for each in _TELLING):
            yield _telling(getattr(named[name], "__name__", name), 0)
    for identity in _identities(code):
        if not any(_is_apart(side, named) for side in identity.sides):
            yield Asked(identity.message, identity.offset, identity.hint)


_TELLING = (type, id, hash, operator.is_, operator.is_not, operator.invert, operator.inv)


def _telling(word: str, offset: int) -> Asked:
    if word in ("hash", ".__hash__"):
        return Asked("the hash of a text is another one in each process", offset)
    if word.removeprefix("operator.") in ("invert", "inv", ".__invert__"):
        return Asked(f"'{word}' of a truth value of Python is a number", offset, "write not")
    return Asked(f"'{word}' tells what is known from what is not", offset)


@lru_cache(maxsize=1024)
def _words(code: CodeType) -> tuple[tuple[str, int], ...]:
    return tuple(_words_in(code))


def _words_in(code: CodeType) -> Iterator[tuple[str, int]]:
    before: dis.Instruction | None = None
    texts = {value for value in code.co_consts if isinstance(value, str)}
    if not {"builtins", "__builtins__"}.isdisjoint(code.co_names):
        yield from ((word, 0) for word in sorted(_ASKING & texts))
    yield from ((f"operator.{word}", 0) for word in sorted(_OF_OPERATOR & texts))
    if "getattr" in code.co_names:
        yield from ((f".{word}", 0) for word in sorted(_OPERATORS & texts))
    asks_classes = "isinstance" in code.co_names or "issubclass" in code.co_names
    for step in dis.get_instructions(code):
        word = step.argval
        is_name = step.opname in _NAMES
        is_attribute = step.opname in (*_ATTRIBUTES, "IMPORT_FROM")
        if is_name and word in _ASKING:
            yield word, step.offset
        if (is_name or is_attribute) and word in _OF_OBJECTS:
            yield f"sys.{word}", step.offset
        if is_attribute:
            of = None if before is None else before.argval
            if word in _OF_OPERATOR:
                yield f"operator.{word}", step.offset
            if of == "operator" and word in _INVERTING:
                yield f"operator.{word}", step.offset
            if word in _OPERATORS and of != "object":
                yield f".{word}", step.offset
            if (of == "builtins" and word in _ASKING) or (
                of == "object" and before is not None and before.opname in _NAMES
            ):
                yield word if of == "builtins" else f"object.{word}", step.offset
        if (is_name or is_attribute) and word in _SYMBOLS and asks_classes:
            yield f"isinstance with {word}", step.offset
        if step.opname == "MATCH_CLASS" and not _SYMBOLS.isdisjoint(code.co_names):
            yield "a case with a class of dipapprox", step.offset
        before = step


@dataclass(frozen=True, slots=True)
class _Identity:
    """An `is`, and the instructions that surely made one of its sides."""

    message: str
    offset: int
    hint: str
    sides: tuple[tuple[dis.Instruction, ...], ...]


@lru_cache(maxsize=1024)
def _identities(code: CodeType) -> tuple[_Identity, ...]:
    return tuple(_identities_in(code))


def _identities_in(code: CodeType) -> Iterator[_Identity]:
    steps = [s for s in dis.get_instructions(code) if s.opname != "EXTENDED_ARG"]
    for place, step in enumerate(steps):
        if step.opname != "IS_OP":
            continue
        sides: list[tuple[dis.Instruction, ...]] = []
        # From the last jump on: what is behind one has been made in two ways.
        made = steps[max(0, place - 3) : place]
        if not step.is_jump_target and made:
            last = made[-1]
            if not last.is_jump_target and last.opname in _ATTRIBUTES and len(made) > 1:
                sides.append((made[-2], last))
            sides.append((last,))
            simple = last.opname in _SINGLE or last.opname.startswith("LOAD_CONST")
            if simple and not last.is_jump_target and len(made) > 1:
                sides.append((made[-2],))
        constants = [s.argval for s in made[-2:] if s.opname.startswith("LOAD_CONST")]
        message, hint = "'is' tells what is known from what is not", "compare numbers with =="
        if any(isinstance(value, bool) for value in constants):
            value = next(v for v in constants if isinstance(v, bool))
            message = f"'is {value}' tells what is known from what is not"
            hint = "a comparison is a condition: write it alone, or after 'not'"
        yield _Identity(message, step.offset, hint, tuple(sides))


def _is_apart(side: tuple[dis.Instruction, ...], named: Mapping[str, Any]) -> bool:
    """Whether a side of `is` is surely no number, text or symbol."""
    first, *rest = side
    if rest and rest[0].argval == "__class__":
        return True  # symbols refuse it
    if first.opname.startswith("LOAD_CONST"):
        return not rest and (first.argval is None or first.argval is Ellipsis)
    if first.opname not in _NAMES:
        return False
    value = named.get(first.argval, getattr(builtins, str(first.argval), 0))
    if rest:
        is_members = isinstance(value, type) and issubclass(value, Enum)
        value = value.__members__.get(rest[0].argval, 0) if is_members else 0
    kind = type(value)
    if issubclass(kind, Enum):
        return not is_number(value) and not isinstance(value, str)
    apart = (NoneType, EllipsisType, FunctionType, BuiltinFunctionType, ModuleType)
    if issubclass(kind, type):
        return not issubclass(value, Symbolic)
    return kind is object or issubclass(kind, apart)
