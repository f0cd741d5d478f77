"""How far an answer may go: the arguments behind `Limits`, declared as data."""

from __future__ import annotations

from collections.abc import Mapping

from dipapprox.limits import Limits
from dipapprox.questions import numbers
from dipapprox.questions.argument import Argument, Spelled, read_values
from dipapprox.questions.numbers import Reader


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
    """Read the limits from what an edge was given, None stands for nothing; their clock starts now.

    Raises:
        UserError: If a value is malformed or out of range.
    """
    read = read_values(LIMITING, given, spelled)
    return Limits(
        seconds=read.get("timeout"), memory=read.get("max_memory"), states=read["max_states"]
    )
