"""Records: data classes as in the standard library, at the price of the methods that a run uses.

    from dipapprox.data_classes import Record, field, replace

    class Point(Record):
        x: int
        y: int = 0

`dataclasses.dataclass` makes a class a second time and compiles up to eight methods when it is
defined: for two hundred classes that is as long as loading numpy takes, and a run calls few of
them. Here a class is made once, a method is compiled when it is first looked up, and a frozen
object is filled through the descriptors of its slots, which takes two thirds of the time of
`object.__setattr__`.

What a class means is the same, with these options alone: slots always, unless it names its own;
`frozen=False` and `eq=False` after the bases; fields with `default`, `default_factory`, `init`,
`repr`, `hash`, `compare`, `kw_only` and `metadata`. The standard library's `fields`, `asdict` and
`replace` work.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from dataclasses import field

__all__ = ["Record", "field", "metadata_of", "replace"]

_MISSING: Any = type("_Missing", (), {"__repr__": lambda _: "<factory>"})()

_FIELDS = "__data_fields__"

R = TypeVar("R")


class _Field(NamedTuple):
    """What is said of an attribute, in the words of `dataclasses.field`."""

    default: Any = _MISSING
    default_factory: Any = _MISSING
    init: bool = True
    repr: bool = True
    hash: bool | None = None
    compare: bool = True
    kw_only: bool = False
    metadata: Any = _MISSING


class _Late:
    """An attribute of a class that is made when it is first looked up, there or on an object.

    Args:
        make: Called with the class. Threads may do so at the same time: what they make is the same.
    """

    __slots__ = ("_make", "_name", "_owner")

    def __init__(self, make: Callable[[type], Any]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        made = self._make(self._owner)
        setattr(self._owner, self._name, made)
        return made.__get__(instance, owner) if callable(made) else made


if not TYPE_CHECKING:
    field = _Field


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class _RecordType(ABCMeta):
    """Makes classes of what is annotated in their bodies."""

    __instancecheck__ = type.__instancecheck__  # nobody registers records: what bases say is all
    __subclasscheck__ = type.__subclasscheck__

    def __new__(
        metaclass, name: str, bases: tuple[type, ...], given: dict[str, Any],
        *, frozen: bool = True, eq: bool = True,
    ) -> Any:  # fmt: skip
        inherited: dict[str, _Field] = {}
        for base in reversed(bases):
            inherited |= getattr(base, _FIELDS, {})
        own: dict[str, _Field] = {}
        for attribute in _annotated(given):
            said = given.pop(attribute, _MISSING)
            own[attribute] = said if isinstance(said, _Field) else _Field(said)
            if type(own[attribute].default).__hash__ is None:
                raise ValueError(f"objects would share '{attribute}': use default_factory")
        fields = inherited | own
        made: dict[str, Any] = {
            "__init__": _Late(_make_init),
            "__repr__": _repr,
            "__match_args__": tuple(n for n, f in fields.items() if f.init and not f.kw_only),
            "__dataclass_fields__": _Late(_make_standard_fields),
            "__slots__": tuple(attribute for attribute in own if attribute not in inherited),
            _FIELDS: fields,
        }
        if eq:
            made["__eq__"] = _Late(_make_eq)
            if frozen:
                made["__hash__"] = _Late(_make_hash)
        if frozen:
            made |= {"__setattr__": _refuse, "__delattr__": _refuse}
        return super().__new__(metaclass, name, bases, made | given)

    def __init__(cls, name: str, bases: tuple[type, ...], given: dict[str, Any], **_: bool) -> None:
        super().__init__(name, bases, given)


def _fields(cls: type) -> dict[str, _Field]:
    """The fields that a class has or inherits, in their order."""
    found: dict[str, _Field] = getattr(cls, _FIELDS, {})
    return found


def fields_of(record: object) -> tuple[str, ...]:
    """Return the names of the fields of a record, in their order."""
    return tuple(_fields(type(record)))


def metadata_of(cls: type) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the fields that have metadata, in their order."""
    for name, each in _fields(cls).items():
        if each.metadata is not _MISSING:
            yield name, each.metadata


def _annotated(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """What the body of a class says of the types of its fields."""
    return {
        name: hint
        for name, hint in namespace.get("__annotations__", {}).items()
        if not str(hint).removeprefix("typing.").startswith("ClassVar")
    }


def _compile(cls: type, head: str, body: Sequence[str], names: Mapping[str, Any]) -> Any:
    """Compile a method whose text may mention `names`."""
    space = {"__name__": cls.__module__, **names}
    exec("\n ".join((f"def {head}:", *body)), space)
    method = space[head.partition("(")[0]]
    method.__qualname__ = f"{cls.__qualname__}.{method.__name__}"
    return method


def _make_init(cls: type) -> Any:
    names: dict[str, Any] = {"_missing": _MISSING}
    ordinary: list[str] = []
    keywords: list[str] = []
    body: list[str] = []
    for name, each in _fields(cls).items():
        is_optional = each.default is not _MISSING or each.default_factory is not _MISSING
        if each.init:
            names[f"_{name}"] = each.default
            word = f"{name}=_{name}" if is_optional else name
            (keywords if each.kw_only else ordinary).append(word)
        elif not is_optional:
            continue  # `__post_init__` sets it
        value = name if each.init else f"_{name}"
        if each.default_factory is not _MISSING:
            names[f"_make_{name}"] = each.default_factory
            made = f"_make_{name}()"
            value = f"{made} if {name} is _missing else {name}" if each.init else made
        elif not each.init:
            names[value] = each.default
        names[f"_set_{name}"] = getattr(cls, name).__set__
        is_frozen = cls.__setattr__ is _refuse
        body.append(f"_set_{name}(self, {value})" if is_frozen else f"self.{name} = {value}")
    body.append("self.__post_init__()" if hasattr(cls, "__post_init__") else "return")
    words = ["self", *ordinary, *(["*", *keywords] if keywords else ())]
    init = _compile(cls, f"__init__({', '.join(words)})", body, names)
    hints = _hints(cls)
    init.__annotations__ = {name: hints[name] for name, each in _fields(cls).items() if each.init}
    init.__annotations__["return"] = None
    return init


def _hints(cls: type) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__[:-1]):
        hints |= _annotated(vars(base))
    return hints


def _make_eq(cls: type) -> Any:
    names = [name for name, each in _fields(cls).items() if each.compare]
    body = (
        "if other.__class__ is not self.__class__: return NotImplemented",
        f"return {_values('self', names)} == {_values('other', names)}",
    )
    return _compile(cls, "__eq__(self, other)", body, {})


def _make_hash(cls: type) -> Any:
    names = [
        name
        for name, each in _fields(cls).items()
        if (each.compare if each.hash is None else each.hash)
    ]
    return _compile(cls, "__hash__(self)", [f"return hash({_values('self', names)})"], {})


def _values(of: str, names: Sequence[str]) -> str:
    return "(" + "".join(f"{of}.{name}, " for name in names) + ")"


def _make_standard_fields(cls: type) -> Any:
    """The fields as the standard library describes them, for its `replace` and its like."""
    standard = import_module("dataclasses")
    hints = _hints(cls)
    fields = []
    for name, each in _fields(cls).items():
        said = {
            word: getattr(each, word)
            for word in _Field._fields
            if getattr(each, word) is not _MISSING
        }
        fields.append((name, hints[name], standard.field(**said)))
    return standard.make_dataclass(cls.__name__, fields).__dataclass_fields__


@recursive_repr()
def _repr(self: Any) -> str:
    shown = [name for name, each in _fields(type(self)).items() if each.repr]
    values = ", ".join(f"{name}={_repr_of(getattr(self, name))}" for name in shown)
    return f"{type(self).__qualname__}({values})"


def _repr_of(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # Python writes no numbers of more than some 4300 digits
        return f"<{type(value).__qualname__}>"


def _refuse(self: object, name: str, *_: object) -> NoReturn:
    raise AttributeError(f"a {type(self).__name__} is frozen: '{name}' cannot change")


class Record(metaclass=_RecordType, frozen=False, eq=False):
    """What data are: frozen and equal by their fields, unless a class says otherwise."""

    __slots__ = ()

    def __getstate__(self) -> Any:
        return [getattr(self, name) for name in _fields(type(self))]

    def __setstate__(self, state: Sequence[Any]) -> None:
        for name, value in zip(_fields(type(self)), state, strict=True):
            object.__setattr__(self, name, value)


def replace(record: R, /, **changes: Any) -> R:
    """Return a record with some fields changed, as `dataclasses.replace` does."""
    for name, each in _fields(type(record)).items():
        if each.init:
            changes.setdefault(name, getattr(record, name))
        elif name in changes:
            raise ValueError(f"'{name}' is computed, not given")
    return type(record)(**changes)
