"""How an answer is computed: the arguments behind `Options` and `Limits`, declared as data."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from dipapprox.integrals.strategy import Strategy
from dipapprox.limits import Limits
from dipapprox.numerics.kinds import Tier
from dipapprox.privacy.options import (
    FIRST_PRECISION,
    LARGEST_PRECISION,
    LAST_PRECISION,
    MOST_JOBS,
    Engine,
    Options,
)
from dipapprox.questions import kinds, numbers
from dipapprox.questions.argument import LIMITING, LIMITS, Argument, Spelled, read_values
from dipapprox.questions.numbers import Reader

_GROUP = "computing"


def _computing(
    name: str, read: Reader[object], metavar: str, help: str, default: str, swept: bool = True
) -> Argument:
    return Argument(name, read, metavar, help, default, False, swept, _GROUP)


def _word(name: str, words: type[Enum], help: str, default: Enum, swept: bool = True) -> Argument:
    choices = kinds.choices_of(words)
    read, written = kinds.word(words), str(default.value)
    return Argument(name, read, "", help, written, False, swept, _GROUP, choices)


COMPUTING = (
    _word(
        "engine", Engine, "what computes probabilities; auto: elimination, then nested", Engine.AUTO
    ),
    _word("tier", Tier, "numbers that elimination uses; auto: doubles, then balls", Tier.AUTO),
    _word(
        "optimizer",
        Strategy,
        "how integrals are ordered and pulled apart",
        Strategy.LEAST_NESTING,
        swept=False,
    ),
    _computing(
        "merge", numbers.flag, "", "keep every final state, as the papers count them", "true"
    ),
    _computing(
        "precision",
        numbers.whole(2, LARGEST_PRECISION, "bits"),
        "BITS",
        "first attempt: enclosures at most 2^-BITS wide",
        str(FIRST_PRECISION),
    ),
    _computing(
        "max_precision",
        numbers.whole(2, LARGEST_PRECISION, "bits"),
        "BITS",
        "what is undecided is refined up to this",
        str(LAST_PRECISION),
    ),
    _computing(
        "proved",
        numbers.flag,
        "",
        "answer only what the kernel, which searches nothing, has replayed a proof of",
        "false",
    ),
    _computing(
        "jobs",
        numbers.whole(1, MOST_JOBS),
        "N",
        "processes, for work that takes more than a second",
        "1",
        swept=False,
    ),
    *LIMITING,
)
"""All of them."""

PROVED = "proved"
STRUCTURE = ("optimizer", "merge")
WHOLE = ("engine", "tier", *STRUCTURE, "precision", "max_precision", "jobs", *LIMITS)
"""Which of the arguments a command has: limits; how states and integrals are built; all."""


def computing_arguments(names: tuple[str, ...]) -> tuple[Argument, ...]:
    """Return the arguments of some names, in the order of the declaration."""
    return tuple(each for each in COMPUTING if each.name in names)


def read_options(given: Mapping[str, object], spelled: Spelled, limits: Limits) -> Options:
    """Read the rest likewise.

    Raises:
        UserError: If a value is malformed or out of range, or they do not go together.
    """
    read = read_values(COMPUTING, given, spelled)
    return Options(
        engine=read["engine"],
        tier=read["tier"],
        strategy=read["optimizer"],
        precision=read["precision"],
        max_precision=read["max_precision"],
        merge=read["merge"],
        jobs=read["jobs"],
        proved=read["proved"],
        limits=limits,
    )
