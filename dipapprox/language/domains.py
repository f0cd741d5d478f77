"""Domains of inputs, and what is said beside a program, as text or in Python, to exact values.

How domains are written, and wider ones than a program declares: --widen -5..5,
--widen "q={0, 1/2, 1}".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from math import isfinite
from numbers import Integral
from typing import Any

from dipapprox.data_classes import Record, field
from dipapprox.digits import read_decimal
from dipapprox.errors import UserError, did_you_mean, shorten
from dipapprox.language.core import Input, Program, Value
from dipapprox.source import BLANKS, unlike_ascii

MOST_CELLS = 100_000  # of all arrays of a program together
LARGEST_DOMAIN = 10_000
Domain = tuple[Value, ...]  # the values of an input, each once


class AllReals(tuple[Value, ...]):
    """The domain of an input that may be any real number, perhaps between two bounds.

    It lists nothing: to ask it for its values is an error of the user, who wants an answer that
    there is for finite domains only.
    """

    # The least and the greatest number; None if there are none.
    bounds: tuple[Fraction, Fraction] | None

    def __new__(cls, bounds: tuple[Fraction, Fraction] | None = None) -> AllReals:
        made = super().__new__(cls)
        made.bounds = bounds
        return made

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.bounds == self.bounds

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), self.bounds))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.bounds or ''})"

    def _refuse(self, *_: Any) -> Any:
        hint = "'dipapprox prove' answers for all real inputs"
        raise UserError("an input may be any real number, but this needs a finite domain", hint)

    __len__ = __iter__ = __contains__ = __getitem__ = _refuse


class AllIntegers(AllReals):
    """The domain of an input that may be any integer, perhaps between two bounds."""


def has_real_inputs(program: Program) -> bool:
    return any(isinstance(cell.domain, AllReals) for cell in program.inputs)


def admits(domain: Collection[Value], value: Value) -> bool:
    """Whether a value is in a domain, listed or not."""
    if not isinstance(domain, AllReals):
        return value in domain
    if isinstance(value, str) or (isinstance(domain, AllIntegers) and value.denominator != 1):
        return False
    return domain.bounds is None or domain.bounds[0] <= value <= domain.bounds[1]


def bounds_of(domain: Domain) -> tuple[Fraction, Fraction] | None:
    """Return the least and the greatest number of a domain; None if it has names or no bounds."""
    if isinstance(domain, AllReals):
        return domain.bounds
    numbers = [value for value in domain if isinstance(value, Fraction)]
    return (min(numbers), max(numbers)) if len(numbers) == len(domain) else None


def names_in(domain: Domain) -> tuple[str, ...]:
    if isinstance(domain, AllReals):
        return ()
    return tuple(value for value in domain if isinstance(value, str))


def has_names(domain: Domain) -> bool:
    return bool(names_in(domain))


_SHORTEST_RANGE = 4  # fewer values are written one by one


def domain_text(domain: Domain, most: int | None = None) -> str:
    """Write a domain as programs do: "{0, 1}", "-5..5", "{bot, top}".

    Args:
        domain: In its own order.
        most: Values that are written one by one before the rest is only counted; None: all.
    """
    if isinstance(domain, AllReals):
        return "real" + ("" if domain.bounds is None else " {}..{}".format(*domain.bounds))
    first, last = domain[0], domain[-1]
    if (
        len(domain) >= _SHORTEST_RANGE
        and isinstance(first, Fraction)
        and first.denominator == 1
        and domain == tuple(first + k for k in range(len(domain)))
    ):
        return f"{first}..{last}"
    if most is None or len(domain) <= most:
        return f"{{{', '.join(map(str, domain))}}}"
    shown = ", ".join(map(str, domain[: most - 1]))
    return f"{{{shown}, …, {last}}} ({len(domain)} values)"


def describe_domain(domain: Collection[Value]) -> str:
    """List the values of a domain, shortened."""
    if isinstance(domain, AllReals):
        return domain_text(domain)
    shown = ", ".join(str(value) for value in islice(domain, 12))
    return shown + (", …" if len(domain) > 12 else "")


class Widening(Record):
    """Domains in place of those that a program declares; each contains the declared one."""

    # Of every input with numbers that `named` does not name; None: as declared.
    everywhere: Domain | None = None
    named: Mapping[str, Domain] = field(default_factory=dict)  # of single inputs


AS_DECLARED = Widening()
MOST_ROUNDS = 10_000


class FiniteRounds(Record):
    """How many rounds there are of a program with streams, and what inputs may be."""

    rounds: int
    values: Domain


def wider_domains(widening: Widening, declared: Mapping[str, Domain]) -> dict[str, Domain]:
    """Return the wider domains by the names of their inputs; without those that stay.

    Raises:
        UserError: If an input does not exist, has named values, or would lose a value.
    """
    for name in widening.named:
        if name not in declared:
            known = f"the inputs are {', '.join(declared)}" if declared else "it has none"
            message = f"cannot widen '{name}': the program has no such input"
            raise UserError(message, did_you_mean(name, tuple(declared), known))
    numeric = {name: domain for name, domain in declared.items() if not has_names(domain)}
    if widening.everywhere is not None and not numeric:
        raise UserError("cannot widen: the program has no inputs with numbers")
    chosen = dict(widening.named)
    if widening.everywhere is not None:
        chosen = {**dict.fromkeys(numeric, widening.everywhere), **chosen}
    for name, domain in chosen.items():
        if name not in numeric:
            hint = "only numbers can be widened"
            raise UserError(f"cannot widen '{name}': its values are names", hint)
        if isinstance(declared[name], AllReals):
            hint = "fewer numbers are a declaration: 'input q in real 0..1'"
            raise UserError(f"cannot widen '{name}': it may be any real number already", hint)
        kept = set(domain)
        lost = [value for value in declared[name] if value not in kept]
        if lost:
            raise UserError(
                f"cannot widen '{name}' to {domain_text(domain, 8)}: its value {lost[0]} "
                "is not in there",
                f"a wider domain contains the declared one, {domain_text(declared[name], 8)}",
            )
    return {name: domain for name, domain in chosen.items() if len(domain) > len(declared[name])}


# --- numbers and inputs ---------------------------------------------------------------------------

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
    _check_length(program, len(words), prefix, f": '{shorten(text)}'" if words else "")
    input: list[Value] = []
    for word, cell in zip(words, program.inputs, strict=True):
        named = list(names_in(cell.domain))
        is_name = word in named or word[:1].isalpha() or word[:1] == "_"
        value = word if is_name else parse_rational(word, f"{prefix}input '{cell.name}'")
        if not admits(cell.domain, value):
            allowed = f"allowed are {describe_domain(cell.domain)}"
            message = f"{prefix}{shorten(word)} is not in the domain of '{cell.name}'"
            raise UserError(message, did_you_mean(word, named, allowed) if is_name else allowed)
        input.append(value)
    return tuple(input)


def check_input(program: Program, input: Input, what: str = "input") -> None:
    """Check that an input, one value per cell, gives every input cell a value of its domain."""
    _check_length(program, len(input), f"{what}: ")
    for cell, value in zip(program.inputs, input, strict=True):
        if not admits(cell.domain, value):
            hint = f"allowed are {describe_domain(cell.domain)}"
            raise UserError(f"{what}: {value} is not in the domain of '{cell.name}'", hint)


def _check_length(program: Program, given: int, prefix: str, text: str = "") -> None:
    """Check how many values were given as an input; messages end with the `text` that they were."""
    cells = program.inputs
    if given == len(cells):
        return
    names = ", ".join(cell.name for cell in cells[:12]) + (", …" if len(cells) > 12 else "")
    raise UserError(
        f"{prefix}{given or 'no'} value{'s' * (given != 1)} given, but the program has "
        f"{len(cells)} input{'s' * (len(cells) != 1)}{text}",
        f"the inputs are {names}" if names else "the program has no inputs",
    )


# --- wider domains, as they are written -----------------------------------------------------------

Wider = str | Iterable[int | Fraction]  # a domain: "-5..5", "{0, 1/2, 1}", or its numbers
_HINT = 'a range is -5..5, a set "{0, 1/2, 1}"'


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
            return AS_DECLARED
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
    if number.denominator != 1 or not 1 <= number <= MOST_ROUNDS:
        most = MOST_ROUNDS
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
        if len(found) > LARGEST_DOMAIN:
            most = LARGEST_DOMAIN
            raise UserError(f"{what}: a domain of more than {most} values is too large")
    if not found:
        raise UserError(f"{what}: the domain is empty", _HINT)
    return tuple(found)


def _what(name: str | None) -> str:
    return "widen" if name is None else f"widen {name}"
