"""What a question is: a frozen type whose fields say, as data, what every edge needs to know.

    @dataclass(frozen=True, slots=True)
    class Calibrate(Question):
        eps_prv: Fraction = argument(numbers.nonnegative, "P", "the claimed ε_prv")
        width: Fraction = argument(numbers.share, "W", "wanted distance", default="1e-6")

From this the command line has its flags, a grid of a sweep its keys, and Python its keyword
arguments; all are read by `read`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, ClassVar, TypeVar

from dipapprox.data_classes import field, metadata_of, replace
from dipapprox.language.core import Program
from dipapprox.limits import Progress, silent
from dipapprox.privacy.options import Options
from dipapprox.privacy.result import Result
from dipapprox.questions.argument import Argument, Spelled, read_values, spelled_as_keyword
from dipapprox.questions.numbers import Reader

_REQUIRED = "required"


class Question(ABC):
    """Something to ask about a program."""

    __slots__ = ()

    name: ClassVar[str]
    """The command, the task of a sweep."""

    computing: ClassVar[tuple[str, ...]]
    """The names of the arguments of `computing` that its answer depends on."""

    @classmethod
    def check(cls, given: Collection[str], spelled: Spelled) -> None:
        """Check that the arguments that were given go together.

        Raises:
            UserError: If they do not.
        """
        return  # most do

    @abstractmethod
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
    return field(kw_only=True, metadata={"argument": said}, **own)


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
    """Read a question from what Python gave; None stands for nothing where that is the default.

    Args:
        given: By name: the `locals()` of a function whose parameters are named as the arguments.
    """
    for each in arguments_of(question):
        if each.default is not None and given.get(each.name, each.default) is None:
            each.read(None, each.name)
    return read(question, given, spelled_as_keyword)
