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

_OWN = """
    __abstractmethods__ __annotations__ __class_getitem__ __dict__ __dir__ __doc__ __format__
    __getnewargs__ __hash__ __init__ __init_subclass__ __match_args__ __module__ __new__
    __new_member__ __orig_bases__ __parameters__ __reduce_ex__ __repr__ __slots__ __str__
    __weakref__ __firstlineno__ __static_attributes__ __annotate_func__ __annotations_cache__
    __signature__ _abc_impl
"""
_HARMLESS = frozenset(_OWN.split())
"""What a class may say otherwise, and be still like the class of Python that it is derived from.

All other names with two underscores, and those that the class of Python has, it must leave alone.
"""

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
    said = set[str]()
    for base in _MRO(kind):
        if base in _NUMBERS or base in _TEXTS or base in _APART:
            if not said:
                return base
            special = {name for name in said if name.startswith("__") and name.endswith("__")}
            return base if not special | (said & set(dir(base))) else None
        said |= vars(base).keys() - _HARMLESS
        if not base.__flags__ & _OF_PYTHON:
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
