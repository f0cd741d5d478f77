"""Wider domains as people write them: --widen -5..5, --widen "q={0, 1/2, 1}", and in Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from dipapprox.deferred import Deferred
from dipapprox.errors import UserError, shorten
from dipapprox.language.declarations import LARGEST_DOMAIN
from dipapprox.language.domains import AS_DECLARED, Domain, Widening
from dipapprox.language.values import exact_rational, parse_rational

if TYPE_CHECKING:
    from dipapprox.language import finite_rounds
    from dipapprox.language.finite_rounds import FiniteRounds
else:
    finite_rounds = Deferred("dipapprox.language.finite_rounds")

Wider = str | Iterable[int | Fraction]
"""A domain: "-5..5", "{0, 1/2, 1}", or its numbers."""

_HINT = 'write --widen -5..5, or --widen "q={0, 1/2, 1}" for one input'


def read_widening(texts: Iterable[str]) -> Widening:
    """Read the words of --widen, each DOMAIN or NAME=DOMAIN.

    Raises:
        UserError: If one is malformed, or an input comes twice.
    """
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
    """Take what a Python program gives: one domain for all inputs with numbers, or some by name.

    Raises:
        UserError: If a domain is malformed.
    """
    match widen:
        case None:
            return AS_DECLARED
        case Mapping():
            named = {str(name): _domain(each, _what(str(name))) for name, each in widen.items()}
            return Widening(None, named)
        case _:
            return Widening(_domain(widen, "widen"), {})


def read_rounds(rounds: int | str | None, values: Wider | None) -> FiniteRounds | None:
    """Take the words of --rounds and --values, or what a Python program gives for them.

    Raises:
        UserError: If one is missing or malformed.
    """
    if rounds is None and values is None:
        return None
    if rounds is None or values is None:
        missing = "values" if values is None else "rounds"
        raise UserError(f"{missing} is missing", "for example --rounds 3 --values -1..1")
    number = exact_rational(rounds, "rounds")
    if number.denominator != 1 or not 1 <= number <= finite_rounds.MOST_ROUNDS:
        most = finite_rounds.MOST_ROUNDS
        raise UserError(f"rounds must be a whole number from 1 to {most}, got {number}")
    return finite_rounds.FiniteRounds(int(number), _domain(values, "values"))


def read_domain(text: str, what: str) -> Domain:
    """Read "-5..5" or "{0, 1/2, 1}"; `what` it is for begins the message.

    Raises:
        UserError: If it is malformed, empty or too large.
    """
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
    if high - low >= LARGEST_DOMAIN:
        raise _too_large(what)
    return tuple(Fraction(k) for k in range(int(low), int(high) + 1))


def _domain(given: Wider, what: str) -> Domain:
    if isinstance(given, str):
        return read_domain(given, what)
    if not isinstance(given, Iterable):
        raise UserError(
            f"{what} needs a range, a set or numbers, got {shorten(repr(given))}",
            'for example "-5..5", "{0, 1/2, 1}" or range(-5, 6)',
        )
    return _checked((exact_rational(value, what) for value in given), what)


def _checked(values: Iterable[Fraction], what: str) -> Domain:
    found: dict[Fraction, None] = {}
    for value in values:
        found[value] = None
        if len(found) > LARGEST_DOMAIN:
            raise _too_large(what)
    if not found:
        raise UserError(f"{what}: the domain is empty", _HINT)
    return tuple(found)


def _too_large(what: str) -> UserError:
    return UserError(f"{what}: a domain of more than {LARGEST_DOMAIN} values is too large")


def _what(name: str | None) -> str:
    return "widen" if name is None else f"widen {name}"
