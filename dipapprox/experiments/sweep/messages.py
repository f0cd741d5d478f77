"""What msgspec says of a value that does not suit its type, in the words of this package."""

from __future__ import annotations

import re

import msgspec

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
