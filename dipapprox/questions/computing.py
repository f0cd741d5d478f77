"""How an answer is computed: what does not change the question, declared as questions are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dipapprox.data_classes import dataclass
from dipapprox.integrals.strategy import Strategy
from dipapprox.limits import Limits
from dipapprox.numerics.elimination.refinement import Tier
from dipapprox.privacy.options import (
    FIRST_PRECISION,
    LARGEST_PRECISION,
    LAST_PRECISION,
    MOST_JOBS,
    Engine,
    Options,
)
from dipapprox.questions import kinds
from dipapprox.questions.question import Argument, Spelled, argument, arguments_of, read_values

_GROUP = "computing"
_LIMITS = "limits (when one is reached, the answer is Unknown)"


def _computing(read: Any, metavar: str, help: str, default: str | None, swept: bool = True) -> Any:
    return argument(read, metavar, help, default=default, swept=swept, group=_GROUP)


def _limit(read: Any, metavar: str, help: str, default: str | None = None) -> Any:
    return argument(read, metavar, help, default=default, swept=False, group=_LIMITS)


@dataclass(frozen=True, slots=True)
class Computing:
    """The arguments behind `Options` and `Limits`."""

    name: ClassVar[str] = "computing"

    engine: Engine = _computing(
        kinds.Word(Engine),
        "",
        "what computes probabilities; auto: elimination, then nested",
        "auto",
    )
    tier: Tier = _computing(
        kinds.Word(Tier), "", "numbers that elimination uses; auto: doubles, then balls", "auto"
    )
    optimizer: Strategy = _computing(
        kinds.Word(Strategy),
        "",
        "how integrals are ordered and pulled apart",
        "least-nesting",
        swept=False,
    )
    merge: bool = _computing(
        kinds.flag, "", "keep every final state, as the papers count them", "true"
    )
    precision: int = _computing(
        kinds.whole(2, LARGEST_PRECISION, "bits"),
        "BITS",
        "first attempt: enclosures at most 2^-BITS wide",
        str(FIRST_PRECISION),
    )
    max_precision: int = _computing(
        kinds.whole(2, LARGEST_PRECISION, "bits"),
        "BITS",
        "what is undecided is refined up to this",
        str(LAST_PRECISION),
    )
    jobs: int = _computing(
        kinds.whole(1, MOST_JOBS),
        "N",
        "processes, for work that takes more than a second",
        "1",
        swept=False,
    )
    timeout: float | None = _limit(kinds.seconds, "SECONDS", "wall-clock time")
    max_states: int = _limit(kinds.whole(1), "N", "symbolic states", "100000")
    max_memory: int | None = _limit(
        kinds.whole(1), "MB", "resident memory (default: 60% of the machine's)"
    )

    def limits(self) -> Limits:
        """Return the limits; their clock starts now."""
        return Limits(seconds=self.timeout, memory=self.max_memory, states=self.max_states)

    def options(self, limits: Limits) -> Options:
        """Return the same as options.

        Raises:
            UserError: If they do not go together.
        """
        return Options(
            engine=self.engine,
            tier=self.tier,
            strategy=self.optimizer,
            precision=self.precision,
            max_precision=self.max_precision,
            merge=self.merge,
            jobs=self.jobs,
            limits=limits,
        )


LIMITS = ("timeout", "max_states", "max_memory")
STRUCTURE = ("optimizer", "merge")
WHOLE = ("engine", "tier", *STRUCTURE, "precision", "max_precision", "jobs", *LIMITS)
"""Which of the arguments a command has: limits; how states and integrals are built; all."""


def computing_arguments(names: tuple[str, ...]) -> tuple[Argument, ...]:
    """Return the arguments of some names, in the order of the declaration."""
    return tuple(each for each in arguments_of(Computing) if each.name in names)


def read_computing(given: Mapping[str, object], spelled: Spelled) -> Computing:
    """Read what an edge was given; None stands for nothing.

    Raises:
        UserError: If a value is malformed or out of range.
    """
    return Computing(**read_values(Computing, given, spelled))
