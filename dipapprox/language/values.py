"""Text, and numbers of Python, to exact values: rationals, parameters, inputs; and back."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from numbers import Integral

from dipapprox.errors import UserError, did_you_mean, shorten
from dipapprox.language.core import Input, Program, Value
from dipapprox.language.declarations import describe_domain
from dipapprox.language.domains import admits, names_in
from dipapprox.language.lexer import read_decimal

_MOST_BITS = 13_000
"""Longest numerator and denominator that a Python program gives: what text may say, is shorter."""

_DECIMAL = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def parse_rational(text: str, what: str) -> Fraction:
    """Read an exact rational: "3", "-0.1", "1/10", "1e-6".

    Args:
        text: What the user wrote.
        what: What it is for, e.g. "delta"; begins the message.

    Raises:
        UserError: If it is no number, has a zero denominator or is absurdly long.
    """
    stripped = text.strip()
    negative = stripped.startswith("-")
    parts = stripped.removeprefix("-" if negative else "+").split("/")
    if len(parts) > 2 or not all(_DECIMAL.fullmatch(part.strip()) for part in parts):
        raise UserError(
            f"{what} must be a number, got '{shorten(text)}'",
            "numbers are written 3, -0.1, 1/10 or 1e-6",
        )
    values = []
    for part in parts:
        # A digit is put where the strict grammar of programs wants one: "1." and ".5".
        decimal = re.sub(r"\.(?!\d)", ".0", part.strip())
        value = read_decimal("0" + decimal if decimal.startswith(".") else decimal)
        if value is None:
            raise UserError(
                f"{what} is too long or too extreme: '{shorten(text)}'",
                "at most 1000 digits before and after the point are allowed",
            )
        values.append(value)
    if len(values) == 2 and values[1] == 0:
        raise UserError(f"{what} has a zero denominator: '{shorten(text)}'")
    quotient = values[0] / values[1] if len(values) == 2 else values[0]
    return -quotient if negative else quotient


def exact_number(value: object, what: str) -> Fraction:
    """Take a number that a Python program gives, however long: an int, Fraction, Decimal or text.

    Args:
        value: What was given.
        what: What it is for; begins the message.

    Raises:
        UserError: If it is none of these, or a text that `parse_rational` refuses. A float is not
            taken: 0.1 is not 1/10.
    """
    match value:
        case str():
            return parse_rational(value, what)
        case bool():
            raise UserError(f"{what} must be a number, got {value}")
        case Integral():  # not only int: whole numbers of other libraries may overflow
            return Fraction(int(value))
        case Fraction():
            return value
        case Decimal():
            return parse_rational(str(value), what)
        case float():
            hint = f'write "{value!r}"' if isfinite(value) else ""
            raise UserError(f"{what} must be an exact number, got the float {value!r}", hint)
        case _:
            raise UserError(
                f"{what} must be a number, got {shorten(repr(value))}",
                'exact numbers are texts such as "0.1" and "1/10", int, Fraction and Decimal',
            )


def exact_rational(value: object, what: str) -> Fraction:
    """Take a number of reasonable length that a Python program gives; else as `exact_number`.

    Raises:
        UserError: If it is no exact number, or so long that no text may say it.
    """
    exact = exact_number(value, what)
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > _MOST_BITS:
        raise UserError(f"{what} is too long: at most {_MOST_BITS} bits are allowed")
    return exact


def parse_input(text: str, program: Program, what: str = "") -> Input:
    """Read an input: "0,1", "bot,top"; blanks and one pair of brackets are ignored.

    Args:
        text: What the user wrote.
        program: Whose input it is.
        what: What it is for; begins messages if it is said.

    Raises:
        UserError: If the length is wrong or a value is not in its cell's domain.
    """
    prefix = f"{what}: " if what else ""
    stripped = text.strip()
    if stripped[:1] + stripped[-1:] in ("()", "[]"):
        stripped = stripped[1:-1].strip()
    words = [word.strip() for word in stripped.split(",")] if stripped else []
    if len(words) != len(program.inputs):
        names = ", ".join(cell.name for cell in program.inputs[:12])
        more = ", …" if len(program.inputs) > 12 else ""
        raise UserError(
            f"{prefix}an input of {len(words)} values, but the program has "
            f"{len(program.inputs)} inputs: '{shorten(text)}'",
            f"the inputs are {names}{more}" if names else "the program has no inputs",
        )
    input: list[Value] = []
    for word, cell in zip(words, program.inputs, strict=True):
        named = list(names_in(cell.domain))
        is_name = word in named or word[:1].isalpha() or word[:1] == "_"
        value = word if is_name else parse_rational(word, f"{prefix}input '{cell.name}'")
        if not admits(cell.domain, value):
            allowed = f"allowed are {describe_domain(cell.domain)}"
            raise UserError(
                f"{prefix}{shorten(word)} is not in the domain of '{cell.name}'",
                did_you_mean(word, named, allowed) if is_name else allowed,
            )
        input.append(value)
    return tuple(input)


def check_input(program: Program, input: Input, what: str = "input") -> None:
    """Check that an input gives every input cell a value of its domain.

    Args:
        program: Whose input it is.
        input: One value per cell.
        what: What it is for; begins messages.

    Raises:
        UserError: If it does not.
    """
    if len(input) != len(program.inputs):
        raise UserError(
            f"{what}: the program has {len(program.inputs)} input cells, got {len(input)} values"
        )
    for cell, value in zip(program.inputs, input, strict=True):
        if not admits(cell.domain, value):
            raise UserError(
                f"{what}: {value} is not in the domain of '{cell.name}'",
                f"allowed are {describe_domain(cell.domain)}",
            )
