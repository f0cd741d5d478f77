"""What a function could remember from one run to the next.

In: a function. Out: a picture of all that its code reaches outside itself, which is the same after
a run if nothing has changed: closures, defaults, attributes, the globals and class attributes that
it and the functions it reaches name, in lists, dictionaries, objects, iterators and generators.

What a picture does not show: the inside of objects made in C, but for the usual containers and
iterators; caches of `functools`, whose results do not depend on the order of calls.
"""

from __future__ import annotations

import sys
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from types import CodeType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

MOST_THINGS = 50_000
"""Of a picture; what is reached later is not looked at."""

Picture = tuple[object, ...]

_INEXACT = (float, complex, Decimal)
"""Their values need not be equal to themselves."""

_ATOMS = (int, str, bytes, bool, type(None), Fraction, range, *_INEXACT)


def picture_of(function: FunctionType) -> Picture:
    """Return the picture of what a function reaches; equal ones look alike."""
    return tuple(_Picture().of(function))


class _Picture:
    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._kept: list[object] = []  # so that no identity is used twice

    def of(self, start: object) -> Iterator[object]:
        """Yield what is reached, in a fixed order, each thing once."""
        waiting: list[object] = [start]
        while waiting and len(self._kept) < MOST_THINGS:
            value = waiting.pop()
            kind = type(value)
            if kind in _ATOMS:
                yield kind
                yield repr(value) if kind in _INEXACT else value
                continue
            number = self._numbers.get(id(value))
            if number is not None:
                yield number
                continue
            self._numbers[id(value)] = len(self._kept)
            self._kept.append(value)
            found = _inside(value)
            if found is None:
                yield id(value)
                continue
            inside = list(found)
            yield kind
            yield len(inside)
            waiting += reversed(inside)


def _inside(value: Any) -> Iterable[object] | None:
    """Return what a thing is made of, as far as a function may change it; None if nobody knows."""
    kind = type(value)
    if kind is FunctionType:
        return _of_function(value)
    if kind is MethodType:
        return (value.__func__, value.__self__)
    if issubclass(kind, dict):
        return [part for item in value.items() for part in item]
    if issubclass(kind, list | tuple | deque):
        return list(value)
    if issubclass(kind, set | frozenset):
        return sorted(value, key=_place)
    if issubclass(kind, bytearray):
        return (bytes(value),)
    if kind is GeneratorType:
        frame = value.gi_frame
        return () if frame is None else (frame.f_lasti, dict(frame.f_locals))
    if issubclass(kind, type):
        return None if _is_foreign(value.__module__) else _of_class(value)
    if kind.__module__ == "functools" and kind.__name__ == "partial":
        return (value.func, value.args, value.keywords)
    if kind.__module__ in ("builtins", "itertools") and hasattr(kind, "__next__"):
        return _of_iterator(value)
    if kind.__name__ == "ndarray" and kind.__module__ == "numpy":
        return (value.tobytes(),)
    if _is_foreign(kind.__module__):
        wrapped = getattr(value, "__wrapped__", None)
        return None if type(wrapped) is not FunctionType else (wrapped,)
    return _of_object(value)


def _place(value: object) -> tuple[str, str]:
    kind = type(value)
    return kind.__name__, repr(value) if kind in _ATOMS else str(id(value))


def _of_function(function: FunctionType) -> Iterator[object]:
    yield from map(_contents, function.__closure__ or ())
    yield function.__defaults__
    yield function.__kwdefaults__
    yield dict(function.__dict__)
    if _is_foreign(function.__module__):
        return
    names = sorted(set(_names(function.__code__)))
    known: Mapping[str, object] = function.__globals__
    for name in names:
        if name in known:
            yield name
            yield known[name]
    for value in [known[name] for name in names if name in known]:
        if type(value) is ModuleType and not _is_foreign(value.__name__):
            yield from (vars(value)[name] for name in names if name in vars(value))


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _contents(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None  # not assigned yet


def _of_class(value: type) -> Iterator[object]:
    for name, held in vars(value).items():
        if not name.startswith("__") and not isinstance(held, property):
            yield name
            yield held


def _of_iterator(value: Any) -> tuple[object, ...] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return tuple(value.__reduce__())
        except Exception:  # it keeps to itself
            return None


def _of_object(value: Any) -> Iterator[object]:
    kind = type(value)
    yield dict(getattr(value, "__dict__", {}))
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                yield getattr(value, name)


def _is_foreign(module: str | None) -> bool:
    """Whether a module is the standard library's, or this package's."""
    top = (module or "").partition(".")[0]
    return top != "__main__" and (top in ("dipapprox", "numpy") or top in sys.stdlib_module_names)
