"""Values of a certificate's JSON, read strictly: the spellings of its schema and no others.

What is malformed is a `UserError` that names the field.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import NoReturn, TypeVar

from dipapprox.digits import read_digits
from dipapprox.errors import UserError
from dipapprox.numerics.enclosure import Enclosure

T = TypeVar("T")

PlainRow = tuple[int | str, ...]
"""A row as the file has it; names and numbers are told apart by the cells' domains later."""

_LARGEST_NUMBER = 20_000
_LARGEST_EXPONENT = 10_000

_RATIONAL = re.compile(r"-?[0-9]+(/[0-9]+)?")
_FRACTION = re.compile(r"-?[0-9]+/[0-9]+")
_DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?(e-?[0-9]+)?(/[0-9]+)?")


def wrong(where: str, expected: str) -> NoReturn:
    """Report a malformed field."""
    raise UserError(f"the certificate is malformed: {where[:80]} should be {expected}")


def read_object(item: object, where: str, *names: str) -> dict[str, object]:
    """Read an object with exactly these fields."""
    if not isinstance(item, dict) or set(item) != set(names):
        wrong(where, f"an object with exactly the fields {', '.join(names)}")
    return item


def read_list(item: object, where: str, of: Callable[[object, str], T]) -> tuple[T, ...]:
    """Read a list, each item by `of`."""
    if not isinstance(item, list):
        wrong(where, "a list")
    return tuple([of(each, f"{where}[{k}]") for k, each in enumerate(item)])


def read_text(item: object, where: str) -> str:
    """Read a string."""
    if not isinstance(item, str):
        wrong(where, "a string")
    if not item.isascii() and any("\ud800" <= character <= "\udfff" for character in item):
        wrong(where, "text in Unicode")
    return item


def read_whole(item: object, where: str) -> int:
    """Read a whole number >= 0."""
    if not isinstance(item, int) or isinstance(item, bool) or item < 0:
        wrong(where, "a whole number")
    return item


def read_rational(item: object, where: str) -> Fraction:
    """Read an exact rational: "1/2", "-3"."""
    return _number(item, where, _RATIONAL, "a rational number")


def _probability(item: object, where: str) -> Fraction:
    value = _number(item, where, _DECIMAL, "a number in [0, 1]")
    if value > 1:
        wrong(where, "a number in [0, 1]")
    return value


def _number(item: object, where: str, form: re.Pattern[str], expected: str) -> Fraction:
    text = read_text(item, where)
    if len(text) > _LARGEST_NUMBER:
        wrong(where, "a number of reasonable length")
    if not form.fullmatch(text):
        wrong(where, expected)
    above, _, below = text.partition("/")
    denominator = read_digits(below) if below else 1
    mantissa, _, exponent = above.removeprefix("-").partition("e")
    shift = exponent.removeprefix("-").lstrip("0") or "0"
    if len(shift) > 5 or int(shift) > _LARGEST_EXPONENT:
        wrong(where, "a number of reasonable size")
    if denominator == 0:
        wrong(where, "a fraction with a denominator above 0")
    whole, _, decimals = mantissa.partition(".")
    power = (-int(shift) if exponent.startswith("-") else int(shift)) - len(decimals)
    value = Fraction(read_digits(whole + decimals), denominator) * Fraction(10) ** power
    return -value if above.startswith("-") else value


def read_enclosure(item: object, where: str) -> Enclosure:
    """Read the ends of a probability or a delta."""
    ends = read_list(item, where, _probability)
    if len(ends) != 2 or ends[0] > ends[1]:
        wrong(where, "a list of two numbers, the smaller one first")
    return Enclosure(ends[0], ends[1])


def read_row(item: object, where: str) -> PlainRow:
    """Read a row: whole numbers, rationals "p/q", names."""

    def value(each: object, place: str) -> int | str:
        if isinstance(each, str) and (each.isidentifier() or _FRACTION.fullmatch(each)):
            return each
        if isinstance(each, bool) or not isinstance(each, int):
            wrong(place, 'a whole number, a string "p/q" or a name')
        return each

    return read_list(item, where, value)


def without_repetitions(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Make an object of JSON, which may not name a field twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UserError("the certificate is malformed: a field occurs twice in one object")
    return found


def no_number(text: str) -> NoReturn:
    """Refuse floating-point numbers: a certificate has none."""
    raise UserError(f"the certificate is malformed: {text[:40]} is not a number that it may have")
