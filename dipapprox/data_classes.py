"""Records: what data are, frozen structs of `msgspec` that are equal by their fields.

    from dipapprox.data_classes import Record, field, replace

    class Point(Record):
        x: int
        y: int = 0

A class may be `frozen=False`, `eq=False`, `kw_only=True` or `cache_hash=True`, which its subclasses
say for themselves. `__post_init__` checks an object, and may `settle` fields of a frozen one.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NamedTuple, dataclass_transform

from msgspec import NODEFAULT, Struct, StructMeta
from msgspec import field as struct_field
from msgspec.structs import force_setattr as settle
from msgspec.structs import replace

if TYPE_CHECKING:
    from dataclasses import field

__all__ = ["Record", "RecordType", "field", "metadata_of", "replace", "settle"]


class _Field(NamedTuple):
    """What is said of a field, in the words of `dataclasses.field`."""

    default: Any = NODEFAULT
    default_factory: Any = NODEFAULT
    repr: bool = True
    compare: bool = True  # with others, and whether it is hashed
    hash: bool = True
    metadata: Mapping[str, Any] | None = None


if not TYPE_CHECKING:
    field = _Field


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class RecordType(StructMeta, ABCMeta):
    """Makes classes of what is annotated in their bodies."""

    __instancecheck__ = type.__instancecheck__  # nobody registers records: what bases say is all
    __subclasscheck__ = type.__subclasscheck__
    __said__: Mapping[str, _Field]  # of fields of which something is said

    def __new__(
        metaclass, name: str, bases: tuple[type, ...], given: dict[str, Any],
        *, frozen: bool = True, eq: bool = True, kw_only: bool = False, cache_hash: bool = False,
    ) -> Any:  # fmt: skip
        said = {n: each for base in reversed(bases) for n, each in _said(base).items()}
        own = {n: each for n, each in given.items() if isinstance(each, _Field)}
        for n, each in own.items():
            both: Any = {"default": each.default, "default_factory": each.default_factory}
            given[n] = struct_field(**both)  # at most one of them is there
        given["__said__"] = said = said | own
        made: Any = super().__new__(
            *(metaclass, name, bases, given),
            frozen=frozen,
            eq=eq,
            kw_only=kw_only,
            cache_hash=cache_hash,
        )
        if eq and "__eq__" not in given:
            plain = {base.__eq__ for base in bases} <= _PLAIN_EQ
            if not (plain and all(each.compare for each in said.values())):
                made.__eq__ = _equal(_key(made, "compare"))
        if made.__eq__ not in _PLAIN_EQ:
            made.__ne__ = object.__ne__  # which asks it; that of structs compares all fields
        if eq and "__hash__" not in given:
            plain = {base.__hash__ for base in bases} <= _PLAIN_HASH
            if not (plain and all(each.compare and each.hash for each in said.values())):
                made.__hash__ = _hashed(_key(made, "compare", "hash")) if frozen else None
        return made

    def __init__(cls, name: str, bases: tuple[type, ...], given: dict[str, Any], **_: bool) -> None:
        super().__init__(name, bases, given)


_PLAIN_EQ = {Struct.__eq__, object.__eq__}
_PLAIN_HASH = {Struct.__hash__, object.__hash__, None}


def _said(cls: type) -> Mapping[str, _Field]:
    found: Mapping[str, _Field] = getattr(cls, "__said__", {})
    return found


def _key(cls: type[Struct], *uses: str) -> Callable[[object], object]:
    """Return what gives the values of the fields that are used so."""
    said = _said(cls)
    names = [
        name
        for name in cls.__struct_fields__
        if name not in said or all(getattr(said[name], use) for use in uses)
    ]
    return attrgetter(*names) if names else type


def _equal(key: Callable[[object], object]) -> Callable[..., object]:
    def __eq__(self: object, other: object) -> object:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return key(self) == key(other)

    return __eq__


def _hashed(key: Callable[[object], object]) -> Callable[..., object]:
    def __hash__(self: object) -> int:
        return hash(key(self))

    return __hash__


def metadata_of(cls: type[Struct]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the fields that have metadata, in their order."""
    said = _said(cls)
    for name in cls.__struct_fields__:
        if name in said and (metadata := said[name].metadata) is not None:
            yield name, metadata


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Record(Struct, metaclass=RecordType):
    """What data are: frozen and equal by their fields, unless a class says otherwise."""

    @recursive_repr()
    def __repr__(self) -> str:
        said = _said(type(self))
        names = [n for n in self.__struct_fields__ if n not in said or said[n].repr]
        values = ", ".join(f"{name}={_repr_of(getattr(self, name))}" for name in names)
        return f"{type(self).__qualname__}({values})"


def _repr_of(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # Python writes no numbers of more than some 4300 digits
        return f"<{type(value).__qualname__}>"
