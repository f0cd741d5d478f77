"""Whole numbers and fractions as decimal digits, however long they are.

Python refuses to convert between `int` and more than some 4300 digits, to keep programs that read
numbers from strangers from hanging; the limit is one setting of the process, which a library has
no business to change. Long ones are converted by flint, which has none and is quick.
"""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from typing import Any

_SHORT, _SHORT_BITS = 600, 1_990
"""Digits that `str` and `int` convert whatever the limit is, which cannot be set below 640; bits of
numbers that have no more."""

MOST_DIGITS = 1000
"""Digits before and after the point of a number that people write."""

_LONGEST, _SHOWN = 1_000, 40
"""Characters of a number that is written in full, and of the beginning of a longer one."""

_LONG = 60
"""Characters of a number that is rather written with a power of ten, if it has so few digits."""


def exact_text(value: int | Fraction) -> str:
    """Write a number exactly, as `str` does: "-3", "1/2"."""
    if value.denominator == 1:
        return _whole_text(value.numerator)
    return f"{_whole_text(value.numerator)}/{_whole_text(value.denominator)}"


def brief_text(value: int | Fraction | str | None) -> str:
    """Write a number for people: exactly, "1e-400" too, or how it begins and how long it is.

    Texts are written likewise; None is "nothing".
    """
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else exact_text(value)
    if not isinstance(value, str) and len(text) > _LONG:
        places = value.denominator.bit_length()  # 10**places is a multiple of a product of 2s, 5s
        scaled = abs(value) * 10**places
        digits = exact_text(scaled)
        rest = digits[1:].rstrip("0")
        if scaled.denominator == 1 and len(rest) < _SHOWN:
            point = "." if rest else ""
            return f"{'-' if value < 0 else ''}{digits[0]}{point}{rest}e{len(digits) - 1 - places}"
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_SHOWN]}… ({len(text)} characters)"


def decimal_text(value: Fraction) -> str:
    """Write a number exactly, as a decimal if it has up to 15 places and a long denominator."""
    places = 15
    scaled = value * 10**places
    if value.denominator <= 10_000 or scaled.denominator != 1:
        return exact_text(value)
    digits = exact_text(abs(scaled)).zfill(places + 1)
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:].rstrip('0')}"


def exact_repr(value: Fraction) -> str:
    """Write a fraction as `repr` does: "Fraction(1, 2)"."""
    return f"Fraction({_whole_text(value.numerator)}, {_whole_text(value.denominator)})"


def read_digits(text: str) -> int:
    """Read a whole number >= 0 from ASCII digits alone, at least one.

    Raises:
        ValueError: If there is another character: `int` would take digits of all scripts, and _.
    """
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"no digits: {text[:40]!r}")
    return int(text if len(text) <= _SHORT else _flint().fmpz(text))


def read_decimal(text: str) -> Fraction | None:
    """Read an unsigned decimal with optional exponent, exactly; None if it is absurdly large.

    No digit is needed on one side of the point: "1.", ".5".
    """
    mantissa, _, exponent = text.lower().partition("e")
    # The exponent is looked at before it is used: 1e999999999 must not be computed.
    if len(mantissa) > 2 * MOST_DIGITS or len(exponent.lstrip("+-0")) > 4:
        return None
    whole, _, decimals = mantissa.partition(".")
    shift = int(exponent.lstrip("+-0") or "0")
    power = (-shift if exponent.startswith("-") else shift) - len(decimals)
    if abs(power) > 3 * MOST_DIGITS:
        return None
    value = Fraction(read_digits(whole + decimals)) * Fraction(10) ** power
    if value >= 10**MOST_DIGITS or (value * 10**MOST_DIGITS).denominator != 1:
        return None
    return value


def _whole_text(value: int) -> str:
    return str(value) if value.bit_length() <= _SHORT_BITS else str(_flint().fmpz(value))


def _flint() -> Any:
    return import_module("flint")  # most numbers do not need it
