"""What a question is: a frozen type whose fields say, as data, what every edge needs to know.

    class Calibrate(Record, Question):
        eps_prv: Fraction = argument(arguments.nonnegative, "P", "the claimed ε_prv")
        width: Fraction = argument(arguments.share, "W", "wanted distance", default="1e-6")

From this the command line has its flags, a grid of a sweep its keys, and Python its keyword
arguments; all are read by `read`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from functools import cache, wraps
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

from dipapprox.data_classes import field, metadata_of, replace
from dipapprox.integrals.strategy import Strategy
from dipapprox.language.core import Program
from dipapprox.limits import Limits, Progress, limited, silent
from dipapprox.numerics.methods import Tier
from dipapprox.privacy.result import Result
from dipapprox.privacy.run import (
    FIRST_PRECISION,
    LARGEST_PRECISION,
    LAST_PRECISION,
    MOST_JOBS,
    Engine,
    Options,
)
from dipapprox.questions import arguments, kinds
from dipapprox.questions.arguments import (
    LIMITING,
    LIMITS,
    Argument,
    Reader,
    Spelled,
    read_values,
    spelled_as_keyword,
)

_REQUIRED = "required"


Asked = TypeVar("Asked")
Subject = TypeVar("Subject")
Found = TypeVar("Found")
P = ParamSpec("P")


def limited_by_options(
    answer: Callable[Concatenate[Asked, Subject, Options, P], Found],
) -> Callable[Concatenate[Asked, Subject, Options, P], Found]:
    """Answer a question within the limits of its options."""

    @wraps(answer)
    def limited_answer(
        question: Asked, subject: Subject, options: Options, /, *rest: P.args, **named: P.kwargs
    ) -> Found:
        with limited(options.limits):
            return answer(question, subject, options, *rest, **named)

    return limited_answer


class Question(ABC):
    """Something to ask about a program."""

    __slots__ = ()

    name: ClassVar[str]
    """The command, the task of a sweep."""

    computing: ClassVar[tuple[str, ...]]
    """The names of the arguments of `COMPUTING` that its answer depends on."""

    @classmethod
    def check(cls, given: Collection[str], spelled: Spelled) -> None:
        """Check that the arguments that were given go together: a `UserError` if not."""
        return  # most do

    @abstractmethod
    @limited_by_options
    def answer(self, program: Program, options: Options, progress: Progress = silent) -> Result:
        """Answer it.

        Raises:
            UserError: If it does not suit the program.
            LimitReached: If a limit is reached where the answer has no Unknown.
        """


def argument(
    read: Reader[Any],
    metavar: str,
    help: str,
    *,
    default: str | None = _REQUIRED,
    swept: bool = True,
    group: str = "",
    choices: tuple[str, ...] = (),
) -> Any:
    """Declare a field of a question; see `Argument`."""
    required = default is _REQUIRED
    most = None if required else default
    said = Argument("", read, metavar, help, most, required, swept, group, choices)
    own: dict[str, Any] = {} if required else {"default": None}
    return field(metadata={"argument": said}, **own)


@cache
def arguments_of(question: type) -> tuple[Argument, ...]:
    """Return what a question asks with, in the order of its fields."""
    found = metadata_of(question)
    return tuple(replace(said["argument"], name=name) for name, said in found)


AnyQuestion = TypeVar("AnyQuestion", bound=Question)


def read(question: type[AnyQuestion], given: Mapping[str, object], spelled: Spelled) -> AnyQuestion:
    """Read a question from what an edge was given; None stands for nothing."""
    question.check({name for name, value in given.items() if value is not None}, spelled)
    return question(**read_values(arguments_of(question), given, spelled))


def read_keywords(question: type[AnyQuestion], given: Mapping[str, object]) -> AnyQuestion:
    """Read a question from what Python gave, the `locals()` of a function whose parameters are
    named as the arguments; None stands for nothing where that is the default."""
    for each in arguments_of(question):
        if each.default is not None and given.get(each.name, each.default) is None:
            each.read(None, each.name)
    return read(question, given, spelled_as_keyword)


_BITS = arguments.whole(2, LARGEST_PRECISION, "bits")


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
    _computing("merge", arguments.flag, "", _MERGE, "true"),
    _computing("precision", _BITS, "BITS", _PRECISION, str(FIRST_PRECISION)),
    _computing("max_precision", _BITS, "BITS", _MAX_PRECISION, str(LAST_PRECISION)),
    _computing("proved", arguments.flag, "", _PROVED, "false"),
    _computing("jobs", arguments.whole(1, MOST_JOBS), "N", _JOBS, "1", swept=False),
    *LIMITING,
)
"""All of them."""

PROVED = "proved"
STRUCTURE = ("optimizer", "merge")
WHOLE = ("engine", "tier", *STRUCTURE, "precision", "max_precision", "jobs", *LIMITS)
"""Which of the arguments a command has: limits; how states and integrals are built; all."""


def computing_arguments(names: tuple[str, ...]) -> tuple[Argument, ...]:
    return tuple(each for each in COMPUTING if each.name in names)


def read_options(given: Mapping[str, object], spelled: Spelled, limits: Limits) -> Options:
    """Read the rest likewise."""
    read = read_values(COMPUTING, given, spelled)
    named = {name: value for name, value in read.items() if name not in LIMITS}
    return Options(strategy=named.pop("optimizer"), limits=limits, **named)
