"""What all answers are, and what those about a program have in common: what was looked at, and how.

A `Result` is frozen data with the fields of a JSON object, and no truth value. From its description
a terminal, a notebook and a page are drawn.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from dipapprox.arithmetic.extended import BY_ENCLOSURES, GivenBy
from dipapprox.data_classes import dataclass, field
from dipapprox.language.core import Cell, Program
from dipapprox.privacy.description import (
    Description,
    Fact,
    Table,
    Tone,
    known,
    parameter_fields,
    parameters_text,
    seconds_text,
)
from dipapprox.privacy.result import Result

if TYPE_CHECKING:
    from dipapprox.privacy.scope import AnswerScope


@dataclass(frozen=True, slots=True)
class Run:
    """The header of an answer.

    Attributes:
        program: Its name.
        inputs: Its input cells.
        output_cells: Its output cells.
        scope: The domains and pairs that the answer is about.
        pairs: Ordered pairs looked at; None if they are too many to count.
        outputs: How many distinct outputs the final states have.
        final_states: How many final states were enumerated.
        precision: Most bits that were asked for and needed; 0 where all is exact.
        engine: What computed.
        seconds: From parsed arguments to the answer.
        reason: Why the answer is Unknown, or wider than asked for; None otherwise.
        by: The methods that gave the ends of the δ that is told.
    """

    program: str
    parameters: Mapping[str, Fraction] = field(hash=False)
    inputs: tuple[Cell, ...]
    output_cells: tuple[Cell, ...]
    scope: AnswerScope
    pairs: int | None
    outputs: int
    final_states: int
    precision: int
    engine: str
    seconds: float
    reason: str | None
    by: GivenBy = BY_ENCLOSURES


def run_of(
    program: Program,
    scope: AnswerScope,
    *,
    pairs: int | None,
    outputs: int,
    final_states: int,
    precision: int,
    engine: str,
    seconds: float,
    reason: str | None,
    by: GivenBy = BY_ENCLOSURES,
) -> Run:
    """Return the header of an answer about a program; see `Run`."""
    return Run(
        program.name,
        program.parameters,
        program.inputs,
        program.published,
        scope,
        pairs,
        outputs,
        final_states,
        precision,
        engine,
        seconds,
        reason,
        by,
    )


class RunResult(Result):
    """An answer about a program, with a header whose fields are its own.

    But for the number of outputs, `run.outputs`: answers have outputs of their own.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def run(self) -> Run:
        """What was looked at, and how."""

    @property
    def program(self) -> str:
        """The name of the program."""
        return self.run.program

    @property
    def parameters(self) -> Mapping[str, Fraction]:
        """The program's parameters."""
        return self.run.parameters

    @property
    def inputs(self) -> tuple[Cell, ...]:
        """The program's input cells."""
        return self.run.inputs

    @property
    def output_cells(self) -> tuple[Cell, ...]:
        """The program's output cells."""
        return self.run.output_cells

    @property
    def scope(self) -> AnswerScope:
        """The domains and pairs that the answer is about."""
        return self.run.scope

    @property
    def precision(self) -> int:
        """Most bits asked for; 0 where all is exact."""
        return self.run.precision

    @property
    def engine(self) -> str:
        """What computed."""
        return self.run.engine

    @property
    def seconds(self) -> float:
        """From parsed arguments to the answer."""
        return self.run.seconds

    @property
    def reason(self) -> str | None:
        """Why the answer is Unknown, or wider than asked for; None otherwise."""
        return self.run.reason

    @property
    def pairs(self) -> int | None:
        """Ordered pairs looked at; None if they are too many to count."""
        return self.run.pairs

    @property
    def final_states(self) -> int:
        """How many final states there are."""
        return self.run.final_states

    def header(self) -> dict[str, object]:
        """Return the fields that the answer's JSON object begins with."""
        return {
            "program": self.program,
            "params": parameter_fields(self.parameters),
            **self.scope.fields(),
        }

    def about(self) -> tuple[str, ...]:
        """Say in lines what a picture is about, and what is fixed in it."""
        lines = (*(value for _, value in self.scope.rows()), parameters_text(self.parameters))
        return tuple(filter(None, lines))

    def extent(self) -> dict[str, object]:
        """Return the fields that say how far it went, and why not further."""
        return {
            "reason": self.reason,
            "pairs": self.pairs,
            "outputs": self.run.outputs,
            "final_states": self.final_states,
        }

    def footer(self) -> dict[str, object]:
        """Return the fields that it ends with: how it was computed."""
        precision = {"precision": self.precision} if self.precision else {}
        return {**precision, "engine": self.engine, "seconds": round(self.seconds, 6)}

    def described(
        self,
        headline: str,
        *,
        label: str,
        tone: Tone = Tone.PLAIN,
        asked: tuple[Fact, ...] = (),
        found: Iterable[tuple[str, str | None]] = (),
        below: tuple[Table | str | Description, ...] = (),
        computed: str = "",
    ) -> Description:
        """Describe an answer: what was asked, about what, what was found, and how.

        Args:
            headline: The answer.
            label: The same in a word, or the command.
            tone: What kind of answer it is.
            asked: Facts that stand first.
            found: Facts after scope and parameters; those without a value are left out.
            below: Tables and lines.
            computed: What comes before engine, precision and time.
        """
        bits = (f"{self.precision} bits",) if self.precision else ()
        how = [computed, self.engine, *bits, seconds_text(self.seconds)]
        facts = known(
            *asked,
            *self.scope.rows(),
            ("parameters", parameters_text(self.parameters)),
            *found,
            ("computed", ", ".join(filter(None, how))),
        )
        return Description(headline, label, tone, facts, below)
