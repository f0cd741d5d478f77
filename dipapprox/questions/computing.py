"""How an answer is computed: the arguments behind `Options` and `Limits`, declared as data."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from dipapprox.data_classes import replace
from dipapprox.integrals.integral import Strategy
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

_BITS = numbers.whole(2, LARGEST_PRECISION, "bits")


def _computing(
    name: str, read: Reader[object], metavar: str, help: str, default: str, swept: bool = True
) -> Argument:
    return Argument(name, read, metavar, help, default, False, swept, "computing")


def _word(name: str, words: type[Enum], help: str, default: Enum, swept: bool = True) -> Argument:
    plain = _computing(name, kinds.word(words), "", help, str(default.value), swept)
    return replace(plain, choices=kinds.choices_of(words))


_ENGINES = "what computes probabilities; auto: elimination, then nested"
_TIERS = "numbers that elimination uses; auto: doubles, then balls"
_OPTIMIZERS = "how integrals are ordered and pulled apart"
_MERGE = "keep every final state, as the papers count them"
_PRECISION = "first attempt: enclosures at most 2^-BITS wide"
_MAX_PRECISION = "what is undecided is refined up to this"
_PROVED = "answer only what the kernel, which searches nothing, has replayed a proof of"
_JOBS = "processes, for work that takes more than a second"

COMPUTING = (
    _word("engine", Engine, _ENGINES, Engine.AUTO),
    _word("tier", Tier, _TIERS, Tier.AUTO),
    _word("optimizer", Strategy, _OPTIMIZERS, Strategy.LEAST_NESTING, swept=False),
    _computing("merge", numbers.flag, "", _MERGE, "true"),
    _computing("precision", _BITS, "BITS", _PRECISION, str(FIRST_PRECISION)),
    _computing("max_precision", _BITS, "BITS", _MAX_PRECISION, str(LAST_PRECISION)),
    _computing("proved", numbers.flag, "", _PROVED, "false"),
    _computing("jobs", numbers.whole(1, MOST_JOBS), "N", _JOBS, "1", swept=False),
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
    """Read the rest likewise."""
    read = read_values(COMPUTING, given, spelled)
    named = {name: value for name, value in read.items() if name not in LIMITS}
    return Options(strategy=named.pop("optimizer"), limits=limits, **named)
