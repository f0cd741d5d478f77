"""What a function could remember from one run to the next.

In: a function. Out: a picture of all that its code reaches outside itself, which is the same after
a run if nothing has changed: closures, defaults, attributes, the globals and class attributes that
it and the functions it reaches name, in lists, dictionaries, objects, iterators and generators.

What a picture does not show: the inside of objects made in C, but for the usual containers,
iterators, texts and bytes in memory and context variables (a generator that has begun is like no
other: where its loops are is not seen); caches of `functools`, whose results do not depend on the
order of calls unless they are changed; modules that are imported while it runs.
"""

from __future__ import annotations

import inspect
import io
import sys
import warnings
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from decimal import Decimal
from fractions import Fraction
from types import (
    AsyncGeneratorType,
    CodeType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

MOST_THINGS = 50_000
"""Of a picture; one of more things is like no other."""

Picture = tuple[object, ...]

_INEXACT = (float, complex, Decimal)
"""Their values need not be equal to themselves."""

_VALUES = (int, float, complex, str, bytes, Decimal, Fraction)

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
        while waiting:
            if len(self._kept) >= MOST_THINGS:
                yield object()  # unlike any other: what is not looked at may have changed
                return
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
                yield _Itself(value)
                continue
            inside = list(found)
            yield kind
            yield len(inside)
            waiting += reversed(inside)


class _Itself:
    """A thing that nobody looks into: kept, so that no other has its identity later."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self._value is other._value

    __hash__ = None  # type: ignore[assignment]  # pictures are compared alone


def _inside(value: Any) -> Iterable[object] | None:
    """Return what a thing is made of, as far as a function may change it; None if nobody knows."""
    contents = _contained(value)
    if contents is None:
        return _parts(value)
    if type(value).__module__ in ("builtins", "collections", "array"):
        return contents
    return [*contents, *_of_object(value)]  # a class of the user's, with attributes of its own


def _contained(value: Any) -> list[object] | None:
    """Return what a container holds, or the value of a number or text of a derived class."""
    kind = type(value)
    if issubclass(kind, dict):
        return [part for item in dict.items(value) for part in item]
    for base in (list, tuple, deque):
        if issubclass(kind, base):
            return list(base.__iter__(value))
    for unordered in (set, frozenset):
        if issubclass(kind, unordered):
            return sorted(unordered.__iter__(value), key=_place)
    if issubclass(kind, bytearray | array):
        return [memoryview(value).tobytes()]
    for atom in _VALUES:
        if issubclass(kind, atom):
            return [atom.__repr__(value)]
    return None


def _parts(value: Any) -> Iterable[object] | None:
    """Return what any other thing is made of; None if nobody knows."""
    kind = type(value)
    if kind is FunctionType:
        return _of_function(value)
    if kind is MethodType:
        return (value.__func__, value.__self__)
    if kind is GeneratorType:
        return _of_generator(value)
    if kind in (CoroutineType, AsyncGeneratorType):
        return (object(),)  # unlike any other: nobody sees where it is
    if kind is MappingProxyType:
        return (dict(value),)
    if kind in (io.StringIO, io.BytesIO):
        return () if value.closed else (value.getvalue(), value.tell())
    if kind is ContextVar:
        return (value.get(None),)
    if kind is property:
        return (value.fget, value.fset, value.fdel)
    if issubclass(kind, type):
        return None if _is_foreign(value.__module__) else _of_class(value)
    if kind.__module__ == "functools" and kind.__name__ == "partial":
        return (value.func, value.args, value.keywords)
    if kind.__module__ in ("builtins", "itertools") and hasattr(kind, "__next__"):
        return _of_iterator(value)
    if kind.__name__ == "ndarray" and kind.__module__ == "numpy":
        return (value.tobytes(),)
    if _is_foreign(kind.__module__):
        return _of_foreign(value)
    return (kind, *_of_object(value))


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
    if not _LOOKING_AROUND.isdisjoint(names):
        names = sorted({*names, *known})
    for name in names:
        if name in known:
            yield name
            yield known[name]
    # Modules are reached by a global name or through each other.
    waiting = [value for name in names if type(value := known.get(name)) is ModuleType]
    seen = set[str]()
    while waiting:
        module = waiting.pop()
        if module.__name__ in seen or _is_ours(module.__name__):
            continue
        seen.add(module.__name__)
        for name in names:
            if name in vars(module):
                held = vars(module)[name]
                yield name
                yield held
                if type(held) is ModuleType:
                    waiting.append(held)


_LOOKING_AROUND = frozenset(("globals", "vars", "eval", "exec"))
"""By them a function reaches every global of its module."""


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
        elif isinstance(constant, str) and constant.isidentifier():
            yield constant  # perhaps of an attribute: getattr(module, "calls")


_OF_ANY_CLASS = frozenset(
    ("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__")
) | {
    "__annotate_func__",
    "__annotations_cache__",
    "__static_attributes__",
    "__firstlineno__",
    "__slotnames__",
}


def _contents(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None  # not assigned yet


def _of_class(value: type) -> Iterator[object]:
    for name, held in vars(value).items():
        if name not in _OF_ANY_CLASS:
            yield name
            yield held


def _of_generator(value: Any) -> tuple[object, ...]:
    """Look into a generator that has not begun; one that waits has iterators that nobody sees."""
    state = inspect.getgeneratorstate(value)
    if state == inspect.GEN_CLOSED:
        return ()
    return (dict(value.gi_frame.f_locals),) if state == inspect.GEN_CREATED else (object(),)


def _of_iterator(value: Any) -> tuple[object, ...]:
    if not any("__reduce__" in vars(base) for base in type(value).__mro__[:-1]):
        return (object(),)  # which says nothing of its state
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return tuple(value.__reduce__())
        except Exception:  # it keeps to itself
            return (object(),)


def _of_object(value: Any) -> Iterator[object]:
    yield dict(getattr(value, "__dict__", {}))
    for base in type(value).__mro__:
        for slot in vars(base).values():
            if type(slot) is MemberDescriptorType:
                with suppress(AttributeError):  # it has no value yet
                    yield slot.__get__(value)


def _of_foreign(value: Any) -> Iterable[object] | None:
    """Look into what wraps a function, and into objects of the standard library's Python code."""
    held = getattr(value, "__dict__", None)
    attributes = (dict(held),) if type(held) is dict else ()
    wrapped = getattr(value, "__wrapped__", None)
    if type(wrapped) is FunctionType:
        return (wrapped, *attributes)
    if _is_ours(type(value).__module__) or isinstance(value, ModuleType):
        return None
    with suppress(TypeError, ValueError):  # it is no memory
        return (memoryview(value).tobytes(), *attributes)
    return attributes or None


def _is_ours(module: str) -> bool:
    """Whether a module remembers what it computes, without changing what that is."""
    return module.partition(".")[0] in ("dipapprox", "numpy")


def _is_foreign(module: str | None) -> bool:
    """Whether a module is the standard library's, or this package's."""
    top = (module or "").partition(".")[0]
    return top != "__main__" and (top in ("dipapprox", "numpy") or top in sys.stdlib_module_names)
