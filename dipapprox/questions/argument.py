"""One thing that a question asks with, declared as data, and how it is read; limits are some."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dipapprox.data_classes import Record
from dipapprox.errors import UserError
from dipapprox.limits import Limits
from dipapprox.questions import numbers
from dipapprox.questions.numbers import Reader

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
    """Name an argument as the command line does."""
    return "--" + name.replace("_", "-")


def spelled_as_keyword(name: str) -> str:
    """Name an argument as Python does."""
    return name


def _limit(
    name: str, read: Reader[object], metavar: str, help: str, default: str | None = None
) -> Argument:
    group = "limits (when one is reached, the answer is Unknown)"
    return Argument(name, read, metavar, help, default, False, False, group)


LIMITING = (
    _limit("timeout", numbers.seconds, "SECONDS", "wall-clock time"),
    _limit("max_states", numbers.whole(1), "N", "symbolic states", "100000"),
    _limit("max_memory", numbers.whole(1), "MB", "resident memory (default: 60% of the machine's)"),
)

LIMITS = tuple(each.name for each in LIMITING)


def read_limits(given: Mapping[str, object], spelled: Spelled) -> Limits:
    """Read the limits from what an edge was given; None is nothing. Their clock starts now."""
    read = read_values(LIMITING, given, spelled)
    return Limits(
        seconds=read.get("timeout"), memory=read.get("max_memory"), states=read["max_states"]
    )
