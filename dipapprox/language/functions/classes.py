"""Which classes of Python may meet a symbol: numbers, texts and containers as Python made them.

In: a value that stands beside an input or a sample in an operation. Out: the same value of one of
Python's own classes, or whether a class of the user's answers for itself in code that is followed.
All others (numpy's scalars, `Decimal`, classes of numbers with operators of their own) could do
what nobody sees, so whoever asks refuses them.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from numbers import Number
from types import (
    BuiltinFunctionType,
    EllipsisType,
    FunctionType,
    MethodType,
    ModuleType,
    NoneType,
)
from typing import Any

_OF_TWO = (
    "add sub mul truediv floordiv mod divmod pow matmul lshift rshift and or xor".split()  # noqa: SIM905
)
_OPERATORS = frozenset(
    [f"__{prefix}{name}__" for name in _OF_TWO for prefix in ("", "r", "i")]
    + [f"__{name}__" for name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs")]
    + [f"__{name}__" for name in ("invert", "index", "int", "float", "complex", "bool", "round")]
    + [f"__{name}__" for name in ("trunc", "floor", "ceil", "len", "getitem", "contains", "iter")]
    + [f"__{name}__" for name in ("getattribute", "class")]
)
"""What a class must leave as it is, to be like the class of Python that it is derived from."""

_NUMBERS = (bool, int, Fraction)
_TEXTS = (str,)
_APART = (
    *(NoneType, EllipsisType, FunctionType, BuiltinFunctionType, MethodType, ModuleType, type),
    *(tuple, list, dict, set, frozenset, bytes, bytearray, range),
)
"""None of their values is equal to a number, a truth value or a text."""

_OF_PYTHON = 1 << 9
"""The flag of classes that are made while a program runs, and not in C."""

_MRO: Callable[[type], tuple[type, ...]] = vars(type)["__mro__"].__get__


def base_of(kind: type) -> type | None:
    """Return the class of Python's own whose operators a class has; None if it is none of these.

    Classes between must be written in Python, and leave all operators as they are.
    """
    for base in _MRO(kind):
        if base in _NUMBERS or base in _TEXTS or base in _APART:
            return base
        if not base.__flags__ & _OF_PYTHON or not _OPERATORS.isdisjoint(vars(base)):
            return None
    return None


def number_of(value: Any) -> int | Fraction | None:
    """Return a number as one of Python's own class; None for all others, floats among them."""
    base = base_of(type(value))
    if base is bool or base is int:
        return int.__int__(value)
    if base is not Fraction:
        return None
    parts = [vars(Fraction)[name].__get__(value) for name in ("_numerator", "_denominator")]
    return Fraction(*parts) if all(type(part) is int for part in parts) else None


def text_of(value: Any) -> str | None:
    """Return a text as one of Python's own class; None for all others."""
    return str.__str__(value) if base_of(type(value)) is str else None


def is_apart(value: object) -> bool:
    """Whether a value is surely no number, truth value or text, and is equal to none."""
    return base_of(type(value)) in _APART


def is_repeated(value: object) -> bool:
    """Whether a whole number repeats a value: [0] * 3."""
    return base_of(type(value)) in (list, tuple, str, bytes, bytearray)


def answers(kind: type, method: str) -> bool:
    """Whether a class of the user's, which is no number, says itself what an operator does."""
    found = next((vars(base)[method] for base in _MRO(kind) if method in vars(base)), None)
    return is_of_user(kind) and type(found) is FunctionType


def is_of_user(kind: type) -> bool:
    """Whether a class is written in Python from the ground up, and no class of numbers."""
    bases = _MRO(kind)[:-1]
    in_python = bool(bases) and all(base.__flags__ & _OF_PYTHON for base in bases)
    # Of what is registered as a number, fractions ask more than operators.
    return in_python and not issubclass(kind, Number)
