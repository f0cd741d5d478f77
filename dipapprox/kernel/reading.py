"""JSON read strictly: a field more, a field less or another type is a bad proof, never ignored."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from dipapprox.kernel.errors import BadProof

LONGEST_NUMBER = 4_000
"""Most digits of an integer, and characters of a quotient: Python reads no longer ones."""

LONGEST_NAME = 200
_TOO_LARGE = 10**LONGEST_NUMBER
_RATIONAL = re.compile(r"-?[0-9]+/[0-9]+", re.ASCII)


def as_record(json: object, what: str, fields: Sequence[str]) -> dict[str, Any]:
    """Take an object with exactly these fields."""
    if not isinstance(json, dict) or set(json) != set(fields):
        raise BadProof(f"{what} has the fields {', '.join(fields)} and no others")
    return json


def as_list(json: object, what: str, length: int | None = None) -> list[Any]:
    """Take a list, of this length if one is given."""
    if not isinstance(json, list) or (length is not None and len(json) != length):
        raise BadProof(f"{what} is no list" + ("" if length is None else f" of {length}"))
    return json


def as_rows(json: object, what: str, *kinds: Callable[[object, str], Any]) -> list[Any]:
    """Take a list of lists, each of what these take."""
    rows = [as_list(row, what, len(kinds)) for row in as_list(json, what)]
    return [tuple([take(each, what) for take, each in zip(kinds, r, strict=True)]) for r in rows]


def as_integer(json: object, what: str) -> int:
    """Take an integer; true and false are none."""
    if type(json) is not int or abs(json) >= _TOO_LARGE:
        raise BadProof(f"{what} is no integer, or too long")
    return json


def as_exact(json: object, what: str) -> int | Fraction:
    """Take an integer, as it is, or a quotient "p/q" in lowest terms with q > 1."""
    if type(json) is int:
        return as_integer(json, what)
    if not isinstance(json, str) or len(json) > LONGEST_NUMBER or not _RATIONAL.fullmatch(json):
        raise BadProof(f"{what} is no number")
    above, below = (int(part) for part in json.split("/"))
    if below < 2 or (found := Fraction(above, below)).denominator != below:
        raise BadProof(f"{what} is no quotient in lowest terms")
    return found


def as_number(json: object, what: str) -> Fraction:
    """Take the same, as a fraction."""
    return Fraction(as_exact(json, what))


def as_flag(json: object, what: str) -> bool:
    """Take true or false."""
    if not isinstance(json, bool):
        raise BadProof(f"{what} is not true or false")
    return json


def as_name(json: object, what: str) -> str:
    """Take a name: printable, not too long."""
    if not isinstance(json, str) or not 0 < len(json) <= LONGEST_NAME or not json.isprintable():
        raise BadProof(f"{what} has no proper name")
    return json


def as_word(json: object, what: str, words: Sequence[str]) -> str:
    """Take one of some words."""
    if not isinstance(json, str) or json not in words:
        raise BadProof(f"{what} is none of {', '.join(words)}")
    return json
