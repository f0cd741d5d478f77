"""The lines of a results file, as types: its heading, and one line for every finished case.

Messages. What msgspec says of a value that does not suit its type, in the words of this package.
"""

from __future__ import annotations

import re
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from dipapprox.errors import shorten

_MESSAGE = re.compile(
    r"((?P<inner>\.\S+): )?(?P<reason>.*?)( - at `\$(?P<place>[^`]*)`)?", re.DOTALL
)
"""`inner` is what types say themselves of the field of a field."""

_TYPE = re.compile("`([^`]*)`")
_TYPES = {
    "array": "a list", "bool": "true or false", "float": "a number", "int": "a whole number",
    "null": "null", "object": "an object", "str": "a string",
}  # fmt: skip


def complaint(error: msgspec.ValidationError) -> str:
    """Say where in a JSON value something is wrong, and what: "$.rows[3].input: expected …"."""
    match = _MESSAGE.fullmatch(str(error))
    if match is None:
        return shorten(str(error), 200)
    place = f"${match['place'] or ''}{match['inner'] or ''}"
    reason = _TYPE.sub(lambda name: _TYPES.get(name[1], f"'{name[1]}'"), match["reason"])
    return f"{shorten(place, 80)}: {shorten(reason[:1].lower() + reason[1:], 120)}"


FORMAT = 1
"""Of the lines; in the heading."""

_NUMBER = r"^-?[0-9]+(/0*[1-9][0-9]*|(\.[0-9]+)?(e-?[0-9]{1,4})?)$|^inf$"

End = Annotated[str, Meta(pattern=_NUMBER)]
Ends = tuple[End | None, End | None]
"""Of an enclosure; None where none was found, "inf" if it has no upper end."""


class Heading(Struct, frozen=True):
    """The first line: the digest of all cases of the sweep, and their number."""

    sweep: int
    digest: str
    cases: int


class Key(Struct, frozen=True):
    """All that a resumed sweep reads of a line: which case is finished."""

    case: str


class About(Struct, frozen=True):
    """What an answer is about."""

    text: str


class RecordedAnswer(Struct, frozen=True, kw_only=True):
    """What tables and plots show of an answer; each kind of question fills some of it."""

    verdict: str | None = None
    reason: str | None = None
    scope: About | None = None
    caveat: str | None = None
    eps_prv_enclosure: Ends | None = None
    eps_enclosure: Ends | None = None
    delta_enclosure: Ends | None = None


class _Parts(Struct, frozen=True):
    case: str
    task: str
    program: str
    params: dict[str, str]
    result: RecordedAnswer | None
    failure: str | None
    seconds: Annotated[float, Meta(ge=0)]


class FinishedCase(_Parts, frozen=True):
    """A finished case; its question's fields are texts: all other keys of the line."""

    asked: dict[str, str]


T = TypeVar("T", Heading, Key)

_PARTS = frozenset(_Parts.__struct_fields__)


def read_part(line: bytes, kind: type[T]) -> T:
    """Read what a heading has, or the key of a case; a `ValueError` says what is wrong with the
    line."""
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.ValidationError as error:
        raise ValueError(complaint(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError("not JSON") from None


def read_line(line: bytes) -> FinishedCase:
    """Read the line of a finished case; a `ValueError` says what is wrong with it."""
    try:
        fields = msgspec.json.decode(line, type=dict[str, object])
        asked = {name: fields.pop(name) for name in list(fields) if name not in _PARTS}
        return msgspec.convert({**fields, "asked": asked}, FinishedCase)
    except msgspec.ValidationError as error:
        raise ValueError(complaint(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError("not JSON") from None
