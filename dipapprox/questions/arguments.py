"""Arguments of questions, declared as data, and readers of numbers and switches; limits are some.

A reader takes what an edge was given and the name by which that edge knows it: "--eps-prv" on the
command line, "eps_prv" in Python, "grid 1: eps_prv" in a sweep. The command line and sweeps give
texts; Python gives texts or values. What is wrong with it is a `UserError` that begins with the
name. Other kinds of arguments: `kinds`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeVar

from dipapprox.data_classes import Record
from dipapprox.digits import exact_text
from dipapprox.errors import UserError, shorten
from dipapprox.language.domains import exact_rational
from dipapprox.limits import Limits

# --- numbers and switches -------------------------------------------------------------------------

Value = TypeVar("Value")
Reader = Callable[[Any, str], Value]
"""Takes what was given and its name; returns the value or raises `UserError`."""

_LONGEST = 10**7  # in seconds


def number(given: object, name: str, unit: str = "") -> Fraction:
    try:
        return exact_rational(given, name)
    except UserError as error:
        hint = f"it is in {unit}; {error.hint}" if unit else error.hint
        raise UserError(error.message, hint) from None


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
rate = _such(lambda value: 0 < value <= 1, "in (0, 1]")
share = _such(lambda value: 0 < value < 1, "in (0, 1)")


def whole(least: int, most: int | None = None, unit: str = "") -> Reader[int]:
    """Return a reader of whole numbers from `least` to `most`."""
    allowed = f">= {least}" if most is None else f"in [{least}, {most}]"
    allowed, of = (f"{allowed} {unit}", f" of {unit}") if unit else (allowed, "")

    def read(given: object, name: str) -> int:
        value = number(given, name, unit)
        if value.denominator != 1:
            raise UserError(f"{name} must be a whole number{of}, got {exact_text(value)}")
        if value < least or (most is not None and value > most):
            raise UserError(f"{name} must be {allowed}, got {exact_text(value)}")
        return int(value)

    return read


def seconds(given: object, name: str) -> float:
    """Read a time, at most a season."""
    value = positive(number(given, name, "seconds"), name)
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
    _limit(
        "max_memory", whole(1, unit="MiB"), "MiB", "resident memory (default: 60% of the machine's)"
    ),
)

LIMITS = tuple(each.name for each in LIMITING)


def read_limits(given: Mapping[str, object], spelled: Spelled) -> Limits:
    """Read the limits from what an edge was given; None is nothing. Their clock starts now."""
    read = read_values(LIMITING, given, spelled)
    return Limits(
        seconds=read.get("timeout"), memory=read.get("max_memory"), states=read["max_states"]
    )
