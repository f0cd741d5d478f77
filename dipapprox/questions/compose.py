"""What does a pipeline of runs cost together, or does it keep a claim?"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fractions import Fraction
from functools import partial
from typing import ClassVar

from dipapprox.composition.mechanisms import Adjacency
from dipapprox.data_classes import dataclass
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.limits import Progress, silent
from dipapprox.privacy.certificate import ProgramText
from dipapprox.privacy.compositions.compose import Composed
from dipapprox.privacy.compositions.pipeline import ComposedAnswer, Pipeline, PipelineRun, ProgramAt
from dipapprox.privacy.options import Options
from dipapprox.questions import kinds, numbers, pipelines
from dipapprox.questions.argument import Spelled
from dipapprox.questions.profile import Range, range_of
from dipapprox.questions.question import PROVED, WHOLE, Question, argument

_optional = partial(argument, default=None)
_asked = partial(_optional, group="question (--delta and --eps-prv together are a claim)")


def _each(
    read: numbers.Reader[Fraction] | numbers.Reader[int],
) -> numbers.Reader[tuple[object, ...]]:
    """Return a reader of one value for all programs, or of one for each: "100", "100,10"."""

    def read_all(given: object, name: str) -> tuple[object, ...]:
        parts: Iterable[object] = given.split(",") if isinstance(given, str) else (given,)
        if not isinstance(given, str) and isinstance(given, Iterable):
            parts = given
        return tuple(read(part, name) for part in parts)

    return read_all


@dataclass(frozen=True, slots=True)
class Compose(Question):
    """The least eps_prv for a delta, the least delta for an eps_prv, a curve, or a claim."""

    name: ClassVar[str] = "compose"
    computing: ClassVar[tuple[str, ...]] = (*WHOLE, PROVED)

    eps: tuple[Fraction, ...] | None = _optional(
        _each(numbers.positive), "E", "the programs' ε: one for all, or one each: 1/2,1"
    )
    times: tuple[int, ...] | None = _optional(
        _each(pipelines.read_times),
        "N",
        "how often the programs are run: one number, or one each: 100,10 (default: 1)",
    )
    subsample: tuple[Fraction, ...] | None = _optional(
        _each(pipelines.read_rate),
        "RATE",
        "each run is on a Poisson sample: every record takes part with this probability",
    )
    adjacency: Adjacency | None = _optional(
        pipelines.read_adjacency,
        "",
        "which data sets are adjacent: all runs are stated for it (default: what a spec says, or "
        "its mechanisms are for; add/remove)",
        choices=kinds.choices_of(Adjacency),
    )
    delta: Fraction | None = _asked(
        numbers.probability, "D", "the least ε_prv for this δ; 0 asks for pure privacy"
    )
    eps_prv: Fraction | None = _asked(numbers.nonnegative, "P", "the least δ for this ε_prv")
    curve: Range | None = _asked(
        range_of,
        "LO:HI:COUNT",
        "the least δ at COUNT points from ε_prv LO to HI, and between them",
        swept=False,
    )
    width: Fraction | None = _optional(
        numbers.positive,
        "W",
        "wanted width of intervals (default: of ε_prv 1e-3, of δ a thousandth, of curves 1e-6)",
    )

    @classmethod
    def check(cls, given: Collection[str], spelled: Spelled) -> None:
        if "curve" in given:
            others = [spelled(name) for name in ("delta", "eps_prv") if name in given]
            if others:
                raise UserError(
                    f"one question at a time, got {spelled('curve')} and {' and '.join(others)}"
                )
        elif not {"delta", "eps_prv"} & set(given):
            raise UserError(
                "nothing is asked",
                f"{spelled('delta')} asks for the least ε_prv, {spelled('eps_prv')} for the least "
                f"δ, both make a claim, {spelled('curve')} asks for the whole profile",
            )

    def answer(
        self, program: Program | Pipeline, options: Options, progress: Progress = silent
    ) -> ComposedAnswer:
        pipeline = self.pipeline([program]) if isinstance(program, Program) else program
        return self.ask(pipelines.composed(pipeline, options, progress))

    def ask(self, composed: Composed) -> ComposedAnswer:
        width = {} if self.width is None else {"width": self.width}
        if self.curve is not None:
            low, high, count = self.curve
            return composed.curve(low, high, count, **width)
        if self.delta is not None and self.eps_prv is not None:
            return composed.verify(self.eps_prv, self.delta)
        if self.delta is not None:
            return composed.epsilon(self.delta, **width)
        if self.eps_prv is not None:
            return composed.delta(self.eps_prv, **width)
        raise UserError("nothing is asked", "give delta, eps_prv, both, or curve")

    def pipeline(
        self, programs: Collection[Program], texts: Collection[ProgramText] = ()
    ) -> Pipeline:
        """Return programs as a pipeline.

        Args:
            texts: As they were written, which certificates need; none if that is not known.
        """
        if self.eps is None:
            raise UserError("eps is missing", "it is the ε that the programs run at")
        count = len(programs)
        columns = [
            _spread(self.eps, count, "eps"),
            _spread(self.times or (1,), count, "times"),
            _spread(self.subsample or (None,), count, "subsample"),
        ]
        runs = tuple(
            PipelineRun(ProgramAt(program, eps, text), program.name, number, sampled)
            for program, text, eps, number, sampled in zip(
                programs, texts or (None,) * count, *columns, strict=True
            )
        )
        return Pipeline(runs, self.adjacency or Adjacency.ADD_REMOVE)


def _spread(values: tuple[object, ...], count: int, name: str) -> tuple[object, ...]:
    if len(values) == 1:
        return values * count
    if len(values) != count:
        raise UserError(f"{name}: {len(values)} values for {count} programs")
    return values
