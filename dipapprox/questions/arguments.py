"""Arguments of questions, declared as data, and a reader for each kind; limits are some.

A reader takes what an edge was given and the name by which that edge knows it: "--eps-prv" on the
command line, "eps_prv" in Python, "grid 1: eps_prv" in a sweep. The command line and sweeps give
texts; Python gives texts or values. What is wrong with it is a `UserError` that begins with the
name. Some numbers may be formulas: log(3), eps^2/100.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any, TypeVar

from dipapprox.data_classes import Record
from dipapprox.digits import exact_text
from dipapprox.errors import UserError, did_you_mean, shorten
from dipapprox.language import formula as formulas
from dipapprox.language.core import Input, Program
from dipapprox.language.domains import AllReals, check_input, exact_rational, parse_input
from dipapprox.limits import Limits
from dipapprox.pairs.selections import OrderedPairs, PairSelection
from dipapprox.privacy.scope import select

# --- numbers and switches -------------------------------------------------------------------------

Value = TypeVar("Value")
Reader = Callable[[Any, str], Value]
"""Takes what was given and its name; returns the value or raises `UserError`."""

_LONGEST = 10**7  # in seconds


def number(given: object, name: str) -> Fraction:
    return exact_rational(given, name)


def _such(holds: Callable[[Fraction], bool], said: str) -> Reader[Fraction]:
    def read(given: object, name: str) -> Fraction:
        value = number(given, name)
        if not holds(value):
            raise UserError(f"{name} must be {said}, got {exact_text(value)}")
        return value

    return read


positive = _such(lambda value: value > 0, "> 0")
nonnegative = _such(lambda value: value >= 0, ">= 0")
probability = _such(lambda value: 0 <= value <= 1, "in [0, 1]")
share = _such(lambda value: 0 < value < 1, "in (0, 1)")


def whole(least: int, most: int | None = None, unit: str = "") -> Reader[int]:
    """Return a reader of whole numbers from `least` to `most`."""
    allowed = f">= {least}" if most is None else f"in [{least}, {most}]"
    allowed, of = (f"{allowed} {unit}", f" of {unit}") if unit else (allowed, "")

    def read(given: object, name: str) -> int:
        value = number(given, name)
        if value.denominator != 1:
            raise UserError(f"{name} must be a whole number{of}, got {exact_text(value)}")
        if value < least or (most is not None and value > most):
            raise UserError(f"{name} must be {allowed}, got {exact_text(value)}")
        return int(value)

    return read


def seconds(given: object, name: str) -> float:
    """Read a time, at most a season."""
    value = positive(given, name)
    if value > _LONGEST:
        raise UserError(f"{name} is at most {_LONGEST} seconds, got {exact_text(value)}")
    return float(value)


def flag(given: object, name: str) -> bool:
    """Read whether something is wanted."""
    match given:
        case bool():
            return given
        case "true" | "false":
            return given == "true"
        case _:
            raise UserError(f"{name} must be true or false, got {shorten(repr(given))}")


# --- arguments ------------------------------------------------------------------------------------

Spelled = Callable[[str], str]  # says how an edge names an argument: "--eps-prv" for "eps_prv"


class Argument(Record):
    """One thing that a question asks with."""

    name: str  # of the field, the keyword in Python and the key in sweeps; with dashes, the flag
    read: Reader[object]  # its kind
    metavar: str  # what stands for its value on the command line; "" for a switch
    help: str  # in one line
    default: str | None  # what is read if nothing is given; None: the field is None then
    required: bool  # whether it must be given
    swept: bool  # whether it is a key of grids
    group: str = ""  # its heading on the command line; "" for none
    choices: tuple[str, ...] = ()  # all that may be written; none: whatever `read` takes


def read_values(
    declared: Iterable[Argument], given: Mapping[str, object], spelled: Spelled
) -> dict[str, Any]:
    """Read declared arguments; what has neither a value nor a default is left out."""
    values = {}
    for each in declared:
        value = given.get(each.name)
        if value is None:
            value = each.default
        if value is not None:
            values[each.name] = each.read(value, spelled(each.name))
        elif each.required:
            raise UserError(f"{spelled(each.name)} is missing", f"it is {each.help}")
    return values


def spelled_as_flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def spelled_as_keyword(name: str) -> str:
    return name


def _limit(
    name: str, read: Reader[object], metavar: str, help: str, default: str | None = None
) -> Argument:
    group = "limits (when one is reached, the answer is Unknown)"
    return Argument(name, read, metavar, help, default, False, False, group)


LIMITING = (
    _limit("timeout", seconds, "SECONDS", "wall-clock time"),
    _limit("max_states", whole(1), "N", "symbolic states", "100000"),
    _limit("max_memory", whole(1), "MB", "resident memory (default: 60% of the machine's)"),
)

LIMITS = tuple(each.name for each in LIMITING)


def read_limits(given: Mapping[str, object], spelled: Spelled) -> Limits:
    """Read the limits from what an edge was given; None is nothing. Their clock starts now."""
    read = read_values(LIMITING, given, spelled)
    return Limits(
        seconds=read.get("timeout"), memory=read.get("max_memory"), states=read["max_states"]
    )


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
