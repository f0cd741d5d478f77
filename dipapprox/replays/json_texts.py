"""The text of a certificate read as JSON: no field twice, no floating-point number."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import NoReturn

from dipapprox.errors import UserError, shorten

_LARGEST_FILE = 2**28


def read_json(text: str) -> object:
    """Read the text of a file as JSON.

    Raises:
        UserError: If it is too large, not JSON, or has a field twice or a floating-point number.
    """
    if len(text) > _LARGEST_FILE:
        raise UserError(f"the certificate is larger than {_LARGEST_FILE >> 20} MiB")
    try:
        content: object = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise UserError(
            f"the certificate is not JSON: {error.msg.lower()} at {error.lineno}:{error.colno}",
            "is the file complete?",
        ) from None
    except (RecursionError, ValueError):
        raise UserError("the certificate is not JSON that can be read") from None
    return content


def text_of(content: Mapping[str, object]) -> str:
    """Write a JSON object.

    Raises:
        UserError: If it is none.
    """
    try:
        return json.dumps(dict(content))
    except (TypeError, ValueError, RecursionError):
        raise UserError("the certificate is not JSON that can be read") from None


def _without_repetitions(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise UserError(f"the certificate is malformed: the field {shorten(twice)!a} occurs twice")
    return found


def _no_number(text: str) -> NoReturn:
    raise UserError(f"the certificate is malformed: {text[:40]} is not a number that it may have")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_without_repetitions, parse_float=_no_number, parse_constant=_no_number
)
