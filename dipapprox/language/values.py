"""What is said beside a program, as text or in Python, to exact values: numbers, inputs, domains.

Wider domains are written --widen -5..5, --widen "q={0, 1/2, 1}".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from numbers import Integral

from dipapprox.errors import UserError, did_you_mean, shorten
from dipapprox.language import domains
from dipapprox.language.core import Input, Program, Value
from dipapprox.language.domains import Domain, FiniteRounds, Widening
from dipapprox.language.lexer import read_decimal
from dipapprox.source import BLANKS, unlike_ascii

_MOST_BITS = 13_000
"""Longest numerator and denominator that a Python program gives: what text may say, is shorter."""

_DECIMAL = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def parse_rational(text: str, what: str) -> Fraction:
    """Read an exact rational: "3", "-0.1", "1/10", "1e-6".

    Args:
        what: What it is for, e.g. "delta"; begins the message.

    Raises:
        UserError: If it is no number, has a zero denominator or is absurdly long.
    """
    stripped = text.strip(BLANKS)
    negative = stripped.startswith("-")
    parts = stripped.removeprefix("-" if negative else "+").split("/")
    if len(parts) > 2 or not all(_DECIMAL.fullmatch(part.strip(BLANKS)) for part in parts):
        message = f"{what} must be a number, got '{shorten(text)}'"
        raise UserError(message, unlike_ascii(text) or "numbers are written 3, -0.1, 1/10 or 1e-6")
    values = []
    for part in parts:
        value = read_decimal(part.strip(BLANKS))
        if value is None:
            hint = "at most 1000 digits before and after the point are allowed"
            raise UserError(f"{what} is too long or too extreme: '{shorten(text)}'", hint)
        values.append(value)
    if len(values) == 2 and values[1] == 0:
        raise UserError(f"{what} has a zero denominator: '{shorten(text)}'")
    quotient = values[0] / values[1] if len(values) == 2 else values[0]
    return -quotient if negative else quotient


def exact_number(value: object, what: str) -> Fraction:
    """Take a number that a Python program gives, however long: an int, Fraction, Decimal or text.

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
            hint = 'exact numbers are texts such as "0.1" and "1/10", int, Fraction and Decimal'
            raise UserError(f"{what} must be a number, got {shorten(repr(value))}", hint)


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
            f"{prefix}{len(words) or 'no'} value{'s' * (len(words) != 1)} given, but the program "
            f"has {len(program.inputs)} input{'s' * (len(program.inputs) != 1)}"
            + (f": '{shorten(text)}'" if words else ""),
            f"the inputs are {names}{more}" if names else "the program has no inputs",
        )
    input: list[Value] = []
    for word, cell in zip(words, program.inputs, strict=True):
        named = list(domains.names_in(cell.domain))
        is_name = word in named or word[:1].isalpha() or word[:1] == "_"
        value = word if is_name else parse_rational(word, f"{prefix}input '{cell.name}'")
        if not domains.admits(cell.domain, value):
            allowed = f"allowed are {domains.describe_domain(cell.domain)}"
            message = f"{prefix}{shorten(word)} is not in the domain of '{cell.name}'"
            raise UserError(message, did_you_mean(word, named, allowed) if is_name else allowed)
        input.append(value)
    return tuple(input)


def check_input(program: Program, input: Input, what: str = "input") -> None:
    """Check that an input gives every input cell a value of its domain.

    Args:
        input: One value per cell.
    """
    if len(input) != len(program.inputs):
        raise UserError(
            f"{what}: the program has {len(program.inputs)} input cells, got {len(input)} values"
        )
    for cell, value in zip(program.inputs, input, strict=True):
        if not domains.admits(cell.domain, value):
            hint = f"allowed are {domains.describe_domain(cell.domain)}"
            raise UserError(f"{what}: {value} is not in the domain of '{cell.name}'", hint)


# --- domains -------------------------------------------------------------------------------------

Wider = str | Iterable[int | Fraction]  # a domain: "-5..5", "{0, 1/2, 1}", or its numbers
_HINT = 'write --widen -5..5, or --widen "q={0, 1/2, 1}" for one input'


def read_widening(texts: Iterable[str]) -> Widening:
    """Read the words of --widen, each DOMAIN or NAME=DOMAIN."""
    everywhere: Domain | None = None
    named: dict[str, Domain] = {}
    for text in texts:
        before, equals, after = text.partition("=")
        name = before.strip() if equals else None
        if name in named or (name is None and everywhere is not None):
            raise UserError(f"{_what(name)} is given twice")
        if name is None:
            everywhere = read_domain(text, "widen")
        else:
            named[name] = read_domain(after, _what(name))
    return Widening(everywhere, named)


def widening_of(widen: Wider | Mapping[str, Wider] | None) -> Widening:
    """Take what a Python program gives: one domain for all inputs with numbers, or some by name."""
    match widen:
        case None:
            return domains.AS_DECLARED
        case Mapping():
            named = {str(name): _domain(each, _what(str(name))) for name, each in widen.items()}
            return Widening(None, named)
        case _:
            return Widening(_domain(widen, "widen"), {})


def read_rounds(rounds: int | str | None, values: Wider | None) -> FiniteRounds | None:
    """Take the words of --rounds and --values, or what a Python program gives for them."""
    if rounds is None and values is None:
        return None
    if rounds is None or values is None:
        missing = "values" if values is None else "rounds"
        raise UserError(f"{missing} is missing", "for example --rounds 3 --values -1..1")
    number = exact_rational(rounds, "rounds")
    if number.denominator != 1 or not 1 <= number <= domains.MOST_ROUNDS:
        most = domains.MOST_ROUNDS
        raise UserError(f"rounds must be a whole number from 1 to {most}, got {number}")
    return FiniteRounds(int(number), _domain(values, "values"))


def read_domain(text: str, what: str) -> Domain:
    """Read "-5..5" or "{0, 1/2, 1}"; `what` it is for begins the message."""
    stripped = text.strip()
    if stripped.startswith("{") and stripped.endswith("}"):
        parts = stripped[1:-1].split(",")
        return _checked((parse_rational(part, what) for part in parts), what)
    first, dots, last = stripped.partition("..")
    if not dots:
        raise UserError(f"{what} needs a range or a set, got '{shorten(text)}'", _HINT)
    low, high = (parse_rational(end, what) for end in (first, last))
    if low.denominator != 1 or high.denominator != 1 or high < low:
        raise UserError(
            f"{what}: '{shorten(stripped)}' is no range of whole numbers, the smaller end first",
            _HINT,
        )
    return _checked((Fraction(k) for k in range(int(low), int(high) + 1)), what)


def _domain(given: Wider, what: str) -> Domain:
    if isinstance(given, str):
        return read_domain(given, what)
    if not isinstance(given, Iterable):
        hint = 'for example "-5..5", "{0, 1/2, 1}" or range(-5, 6)'
        raise UserError(f"{what} needs a range, a set or numbers, got {shorten(repr(given))}", hint)
    return _checked((exact_rational(value, what) for value in given), what)


def _checked(values: Iterable[Fraction], what: str) -> Domain:
    found: dict[Fraction, None] = {}
    for value in values:
        found[value] = None
        if len(found) > domains.LARGEST_DOMAIN:
            most = domains.LARGEST_DOMAIN
            raise UserError(f"{what}: a domain of more than {most} values is too large")
    if not found:
        raise UserError(f"{what}: the domain is empty", _HINT)
    return tuple(found)


def _what(name: str | None) -> str:
    return "widen" if name is None else f"widen {name}"
