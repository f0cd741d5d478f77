"""What questions ask with besides plain numbers: a reader for each kind, as in `arguments`.

Some numbers may be formulas: log(3), eps^2/100.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any, TypeVar

from dipapprox.data_classes import Record
from dipapprox.digits import exact_text
from dipapprox.errors import UserError, did_you_mean, shorten
from dipapprox.language import formula as formulas
from dipapprox.language.core import Input, Program
from dipapprox.language.domains import AllReals, check_input, parse_input
from dipapprox.pairs.selections import OrderedPairs, PairSelection
from dipapprox.privacy.scope import select
from dipapprox.questions.arguments import Reader, Value, nonnegative, number, positive, probability

# --- formulas -------------------------------------------------------------------------------------

_FORMULA = re.compile(r"[*^()]|.[-+]|\b(?:eps|delta|sqrt|log|exp)\b", re.ASCII)
"""What numbers never contain; the sign of an exponent is taken out first."""

_EXPONENT = re.compile(r"(?<=[\d.])[eE][-+]?\d+", re.ASCII)


class Written(Record):
    """A formula, and the text that it was read from."""

    formula: formulas.Formula
    text: str


def is_formula(text: str) -> bool:
    """Tell formulas from what is, or was meant to be, a number."""
    return bool(_FORMULA.search(_EXPONENT.sub("", text.strip())))


def written(text: str, name: str, names: Sequence[str]) -> Written:
    return Written(formulas.parse_formula(text, name, names), " ".join(text.split()))


WordT = TypeVar("WordT", bound=Enum)

# --- words ---------------------------------------------------------------------------------------


def word(words: type[WordT]) -> Reader[WordT]:
    """Return a reader of the values of an `Enum`."""
    choices = choices_of(words)

    def read(given: object, name: str) -> WordT:
        if isinstance(given, words):
            return given
        if given not in choices:
            hint = did_you_mean(str(given), choices, f"one of {', '.join(choices)}")
            raise UserError(f"{name}: unknown value '{shorten(str(given))}'", hint)
        return words(given)

    return read


def choices_of(words: type[Enum]) -> tuple[str, ...]:
    """Return what may be written for the values of an `Enum`."""
    return tuple(str(each.value) for each in words)


def names(given: object, name: str) -> tuple[str, ...]:
    """Read names, with commas between them in a text; none for an empty one."""
    listed = given.split(",") if isinstance(given, str) else given
    if not isinstance(listed, Iterable) or not all(isinstance(each, str) for each in listed):
        raise UserError(
            f"{name} must be names, got {shorten(repr(given))}", "for example alice,bob"
        )
    read = tuple(each.strip() for each in listed)
    if read == ("",):
        return ()
    if "" in read:
        raise UserError(f"{name}: a name is missing", "for example alice,bob")
    return read


# --- claims --------------------------------------------------------------------------------------


def eps_or_interval(given: object, name: str) -> Fraction | tuple[Fraction, Fraction]:
    """Read the program's eps, or all between two: "1/10..1", (1/10, 1)."""
    match given:
        case str() if ".." in given:
            low, _, high = given.partition("..")
            if not low.strip() or not high.strip() or ".." in high:
                raise UserError(
                    f"{name} must be a number or an interval LO..HI, got '{shorten(given)}'",
                    "for example 0.1..1",
                )
        case (low, high):
            pass
        case _:
            return positive(given, name)
    lower, upper = number(low, name), number(high, name)
    if lower <= 0:
        raise UserError(f"{name} must be > 0, but the interval begins at {exact_text(lower)}")
    if lower >= upper:
        raise UserError(
            f"the interval of {name} {'is reversed' if lower > upper else 'has one point only'}: "
            f"{exact_text(lower)}..{exact_text(upper)}",
            f"write {upper}..{lower}" if lower > upper else f"write {lower}",
        )
    return lower, upper


def _or_formula(number: Reader[Fraction], *names: str) -> Reader[Fraction | Written]:
    def read(given: object, name: str) -> Fraction | Written:
        is_written = isinstance(given, str) and is_formula(given)
        return written(str(given), name, names) if is_written else number(given, name)

    return read


claimed_eps_prv = _or_formula(nonnegative, "eps", "delta")
claimed_delta = _or_formula(probability, "eps")


def items(given: object) -> tuple[Any, ...] | None:
    """Return the items of what Python gives for several things; None if it is one thing."""
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | bytearray | Mapping):
        return tuple(given)
    return None


def each_of(read: Reader[Value]) -> Reader[tuple[Value, ...]]:
    """Return a reader of one thing or several: "1,3/2", 1, (1, "3/2")."""

    def read_all(given: object, name: str) -> tuple[Value, ...]:
        several = given.split(",") if isinstance(given, str) else items(given)
        return tuple(read(part, name) for part in ((given,) if several is None else several))

    return read_all


# --- inputs --------------------------------------------------------------------------------------

Row = Iterable[int | Fraction | str] | str  # an input: its values, or a text such as "0,1"


def input_of(given: object, name: str, program: Program) -> Input:
    if isinstance(given, str):
        return parse_input(given, program, name)
    values = items(given)
    if values is None:
        raise UserError(f"{name} must be a text such as '0,1' or the values, got {given!r}")
    numeric = [
        isinstance(cell.domain, AllReals) or all(isinstance(each, Fraction) for each in cell.domain)
        for cell in program.inputs
    ]
    if len(values) == len(numeric):
        values = tuple(
            number(value, f"{name}: a value") if is_number or not isinstance(value, str) else value
            for value, is_number in zip(values, numeric, strict=True)
        )
    check_input(program, values, name)
    return values


class Pairs(Record):
    """Pairs of inputs as they were given: a text, or ordered pairs of inputs."""

    given: str | tuple[object, ...]
    name: str

    @property
    def text(self) -> str:
        """What may name a file: the text; "all" for pairs of Python."""
        return self.given if isinstance(self.given, str) else "all"

    def select(self, program: Program) -> PairSelection:
        if isinstance(self.given, str):
            return select(self.given, program, self.name)
        pairs = []
        for given in self.given:
            match given:
                case (first, second) if not isinstance(given, str):
                    pairs.append(
                        (input_of(first, self.name, program), input_of(second, self.name, program))
                    )
                case _:
                    raise UserError(
                        f"{self.name}: {shorten(repr(given))} is not a pair of inputs",
                        "a pair is ((0, 0), (0, 1))",
                    )
        return OrderedPairs(tuple(pairs))


def pairs(given: object, name: str) -> Pairs:
    """Take pairs: "all", "single", "0,0~0,1", the name of a file, or ordered pairs."""
    match given:
        case str():
            return Pairs(given, name)
        case _ if (several := items(given)) is not None:
            return Pairs(several, name)
        case _:
            raise UserError(
                f"{name} must be a text or pairs of inputs, got {shorten(repr(given))}",
                'use "all", "single", "0,0~0,1" or [((0, 0), (0, 1))]',
            )
