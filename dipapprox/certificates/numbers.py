"""Numbers in a certificate: strings, exact as written; what is another spelling is refused.

Fraction   "1/2", "3", "-1/4"
Decimal    "0.0245", "1.7e-9", "1/3": an end of an enclosure, in [0, 1]
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from dipapprox.digits import exact_text, read_digits

_LONGEST = 20_000
_LARGEST_EXPONENT = 10_000

END = r"$(?!\n)"
"""Of a text, in patterns: `$` alone lets a line end follow."""

RATIONAL = rf"^-?[0-9]+(/[0-9]+)?{END}"
DECIMAL = rf"^[0-9]+(\.[0-9]+)?(e-?[0-9]+)?(/[0-9]+)?{END}"


class Decimal(Fraction):
    """A number >= 0 with the text that it was read from; its sums and products are fractions."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Decimal:
        """Read a number.

        Raises:
            ValueError: If it is spelled in another way, or absurdly long.
        """
        found = super().__new__(cls, read_number(text, _DECIMAL, "a number >= 0"))
        found.text = text
        return found


_RATIONAL, _DECIMAL = re.compile(RATIONAL), re.compile(DECIMAL)


def read_number(text: str, form: re.Pattern[str], expected: str) -> Fraction:
    """Read an exact number of a form.

    Raises:
        ValueError: If it is spelled in another way, is no number, or absurdly long or large.
    """
    if len(text) > _LONGEST:
        raise ValueError("expected a number of reasonable length")
    if not form.fullmatch(text):
        raise ValueError(f"expected {expected}")
    above, _, below = text.partition("/")
    denominator = read_digits(below) if below else 1
    if denominator == 0:
        raise ValueError("expected a fraction with a denominator above 0")
    mantissa, _, exponent = above.removeprefix("-").partition("e")
    whole, _, decimals = mantissa.partition(".")
    numerator = read_digits(whole + decimals)
    if above.startswith("-"):
        numerator = -numerator
    power = _exponent(exponent) - len(decimals)
    if power < 0:
        return Fraction(numerator, denominator * 10**-power)
    return Fraction(numerator * 10**power, denominator)


def _exponent(text: str) -> int:
    digits = text.removeprefix("-").lstrip("0") or "0"
    if len(digits) > 5 or int(digits) > _LARGEST_EXPONENT:
        raise ValueError("expected a number of reasonable size")
    return -int(digits) if text.startswith("-") else int(digits)


def read_rational(text: str) -> Fraction:
    """Read a rational number.

    Raises:
        ValueError: If it is spelled in another way, or absurdly long.
    """
    return read_number(text, _RATIONAL, "a rational number")


def number_reader() -> Callable[[type, object], Fraction]:
    """Return what reads the numbers of one certificate, each text once."""
    known: dict[tuple[type, str], Fraction] = {}

    def read(kind: type, item: object) -> Fraction:
        if not isinstance(item, str):
            raise ValueError("expected a number as a string")
        number = known.get((kind, item))
        if number is None:
            number = Decimal(item) if kind is Decimal else read_rational(item)
            known[kind, item] = number
        return number

    return read


def number_text(number: object) -> str:
    """Write a number as certificates have it."""
    match number:
        case Decimal():
            return number.text
        case Fraction():
            return exact_text(number)
        case _:
            raise NotImplementedError(type(number))  # what msgspec expects of its hooks


def number_schema(kind: type) -> dict[str, object]:
    """Return the JSON Schema of a kind of numbers."""
    if kind is Decimal:
        return {
            "type": "string",
            "pattern": DECIMAL,
            "description": "a decimal or rational >= 0, exact as written",
        }
    if kind is Fraction:
        return {
            "type": "string",
            "pattern": RATIONAL,
            "description": 'an exact rational: "1/2", "3", "-1/4"',
        }
    raise NotImplementedError(kind)  # what msgspec expects of its hooks
