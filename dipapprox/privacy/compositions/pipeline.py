"""Pipelines: what is run on one data set, how often, and on which sample of it.

A program stands for what its inputs stand for: the answers, on one data set, of the queries that it
is about. Its adjacency then says by how much these differ on adjacent data sets; which data sets
are adjacent is said of the pipeline as a whole, for privacy adds up for one relation alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import ClassVar

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.extended import BY_ENCLOSURES, Extended, GivenBy
from dipapprox.composition.exact_profiles import LeastBudget, ProfileLine, ProfilePiece
from dipapprox.composition.mechanisms import Adjacency, Mechanism
from dipapprox.composition.powers import LossGrid
from dipapprox.data_classes import Record
from dipapprox.digits import exact_text
from dipapprox.errors import INTERRUPTED, UserError
from dipapprox.language.core import Program
from dipapprox.pairs.divergence import eps_prv_factor
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.charts import Curve, between
from dipapprox.privacy.description import (
    Description,
    End,
    ProgramText,
    Tone,
    count,
    ends_of,
    known,
    parameter_fields,
    seconds_text,
)
from dipapprox.privacy.notation import ends
from dipapprox.privacy.profiles.curve import FACTOR_BITS, CurvePoint, Envelope, monotone
from dipapprox.privacy.profiles.profile_result import curve_table
from dipapprox.privacy.result import Result
from dipapprox.privacy.run import Replayed, proved_fact, proved_fields
from dipapprox.privacy.scope import scope_of
from dipapprox.privacy.verdict import TONES, Answer

MOST_RUNS = 10**9  # of one thing


class ProgramAt(Record):
    """A program at one eps; its text is what certificates need of it."""

    program: Program
    eps: Fraction
    text: ProgramText | None = None


class PipelineRun(Record):
    """One thing that is run."""

    what: ProgramAt | Mechanism  # a program, or a mechanism of the catalogue
    name: str
    times: int = 1
    # Of the Poisson sample that it is run on; None: all records take part.
    rate: Fraction | None = None

    @property
    def parameters(self) -> dict[str, str]:
        """Those of the program or of the mechanism, exactly."""
        match self.what:
            case ProgramAt(program):
                return parameter_fields(program.parameters)
            case _:
                return dict(_parameters(self.what))

    def fields(self) -> dict[str, object]:
        program = isinstance(self.what, ProgramAt)
        return {
            "kind": "program" if program else "mechanism",
            "name": self.name,
            "eps": exact_text(self.what.eps) if isinstance(self.what, ProgramAt) else None,
            "params": self.parameters,
            "subsample": None if self.rate is None else exact_text(self.rate),
            "times": self.times,
        }

    def text(self) -> str:
        """Write it for people: "1000 × gaussian(sensitivity 1, sigma 1) on a sample of 1/100"."""
        given = [f"{key} {value}" for key, value in self.parameters.items()]
        if isinstance(self.what, ProgramAt):
            given.insert(0, f"eps {exact_text(self.what.eps)}")
        sample = "" if self.rate is None else f" on a Poisson sample of rate {self.rate}"
        return f"{self.times} × {self.name}({', '.join(given)}){sample}"


class Pipeline(Record):
    """Runs on the same data, one after the other; each may depend on what came before.

    Raises:
        UserError: If there is none, or samples are taken under substitution adjacency.
    """

    runs: tuple[PipelineRun, ...]
    adjacency: Adjacency

    def __post_init__(self) -> None:
        if not self.runs:
            raise UserError("a composition needs a run")
        sampled = any(run.rate is not None for run in self.runs)
        if sampled and self.adjacency is not Adjacency.ADD_REMOVE:
            raise UserError(
                "Poisson subsampling amplifies privacy for add/remove adjacency, "
                f"but the runs are stated for {self.adjacency.value}",
                "under substitution the sample of one data set is not that of the other with a "
                "record more: state all parameters for data sets of which one has a record more",
            )

    @property
    def ordered(self) -> bool:
        """Whether the order of runs may matter: that of programs with several worst pairs does."""
        return len(self.programs) > 1

    @property
    def programs(self) -> list[ProgramAt]:
        """Those that are run, in order."""
        return [run.what for run in self.runs if isinstance(run.what, ProgramAt)]

    @property
    def times(self) -> int:
        return sum(run.times for run in self.runs)


def _parameters(mechanism: Mechanism) -> Iterator[tuple[str, str]]:
    for name in mechanism.__struct_fields__:
        value = getattr(mechanism, name)
        match value:
            case Fraction() | int():
                yield name, exact_text(Fraction(value))
            case tuple():
                orders = (f"{exact_text(a)}: {exact_text(b)}" for a, b in value)
                yield name, "; ".join(orders)


_LONGEST_LINE = 120  # characters of an exact δ that people may want to see
Exact = ProfileLine | LeastBudget  # A least δ for an ε_prv, or a least ε_prv for a δ


class ComposedCurve(Envelope):
    """The profile of a composition at points, ascending, and between them.

    Attributes:
        pieces: The exact profile, for every eps_prv; None if it is not known, or no single list.
    """

    pieces: tuple[ProfilePiece, ...] | None = None

    @classmethod
    def of(
        cls,
        budgets: Sequence[Fraction],
        known: Sequence[Enclosure],
        pieces: tuple[ProfilePiece, ...] | None = None,
    ) -> ComposedCurve:
        """Return the curve through enclosures of the least delta at budgets, ascending."""
        factors = [eps_prv_factor(each, FACTOR_BITS) for each in budgets]
        return cls(monotone(list(map(CurvePoint, budgets, factors, known))), pieces)


class ComposedProof(Record):
    """A proof that the kernel has replayed, as it reads it: JSON."""

    pipeline: object
    claim: object
    steps: tuple[object, ...]
    places: int  # of masses, in bits
    kept: bool  # whether the claim is that it is kept


class ComposedAnswer(Record, Result):
    """What a composition costs, or whether it keeps a claim.

    Attributes:
        eps_prv: What was asked or claimed; None if the least one was asked.
        answer: About the claim; None if none was made.
        eps_prv_enclosure: The least eps_prv for delta; None if it was not asked.
        delta_enclosure: The least delta for eps_prv; None if it was not asked.
        grid: The finest grid that was used; None if what was asked is exact.
        atoms: How many losses the composition has on it.
        exact: The least delta at eps_prv, as a line in e^eps_prv, or the least eps_prv for delta,
            as a logarithm; None if there is none.
        replayed: That the kernel has replayed proofs; None if it was not asked to, or has none.
    """

    pipeline: Pipeline
    seconds: float
    eps_prv: Fraction | None = None
    delta: Fraction | None = None
    answer: Answer | None = None
    eps_prv_enclosure: Extended | None = None
    delta_enclosure: Enclosure | None = None
    curve: ComposedCurve | None = None
    grid: LossGrid | None = None
    atoms: int = 0
    reason: str | None = None
    exact: Exact | None = None
    replayed: Replayed | None = None
    proofs: tuple[ComposedProof, ...] = ()
    by: GivenBy = BY_ENCLOSURES

    asked: ClassVar[str] = "compare its answer: composed.answer is Answer.DP"

    @property
    def step(self) -> str | None:
        """The step of the grid."""
        return None if self.grid is None else str(self.grid.step)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.reason == INTERRUPTED

    def to_dict(self) -> dict[str, object]:
        found, curve = self.eps_prv_enclosure, self.curve
        return {
            "runs": [run.fields() for run in self.pipeline.runs],
            "times": self.pipeline.times,
            "adjacency": self.pipeline.adjacency.value,
            "order": "as listed" if self.pipeline.ordered else "any",
            "eps_prv": None if self.eps_prv is None else exact_text(self.eps_prv),
            "delta": None if self.delta is None else exact_text(self.delta),
            "verdict": None if self.answer is None else self.answer.value,
            "reason": self.reason,
            "eps_prv_enclosure": None if found is None else found.ends(),
            "delta_enclosure": None if self.delta_enclosure is None else ends(self.delta_enclosure),
            "curve": None
            if curve is None
            else [
                {"eps_prv": exact_text(each.eps_prv), "delta_enclosure": ends(each.delta)}
                for each in curve.points
            ],
            "exact": None if self.exact is None else str(self.exact),
            "pieces": None
            if curve is None or curve.pieces is None
            else [
                {"below": None if each.below is None else str(each.below), "delta": str(each.line)}
                for each in curve.pieces
            ],
            "step": self.step,
            "atoms": self.atoms,
            **proved_fields(self.replayed),
            "seconds": round(self.seconds, 6),
        }

    def why(self) -> tuple[End, ...]:
        told = None
        if self.delta_enclosure is not None:
            told = Extended(self.delta_enclosure.lower, self.delta_enclosure.upper, *self.by)
        budget = ends_of("least ε_prv", self.eps_prv_enclosure)
        return (*budget, *ends_of("least δ", told, trivial=Fraction(1)))

    def charts(self) -> tuple[Curve, ...]:
        if self.curve is None:
            return ()
        budgets = [point.eps_prv for point in self.curve.points]
        drawn = between(budgets, self.curve.at)
        title = "privacy profile of the composition"
        runs = tuple(run.text() for run in self.pipeline.runs)
        across, up = "budget ε_prv (no unit)", "least δ (probability)"
        return (Curve(title, across, up, drawn, notes=runs, of_delta=True),)

    def describe(self) -> Description:
        runs = self.pipeline.runs
        grid = "without a grid" if self.step is None else f"grid of step {self.step}"
        atoms = f"{self.atoms} losses" if self.atoms else ""
        of = runs[0].name if len(runs) == 1 else "the pipeline"
        return Description(
            headline=f"{count(self.pipeline.times, 'run')} of {of}: {self._found()}",
            label="compose" if self.answer is None else self.answer.value,
            tone=Tone.PLAIN if self.answer is None else TONES[self.answer],
            facts=known(
                *(("runs" if k == 0 else "and", run.text()) for k, run in enumerate(runs)),
                ("data sets", _RELATIONS[self.pipeline.adjacency]),
                ("order", _ORDERED if self.pipeline.ordered else None),
                *_inputs_of_programs(runs),
                (
                    "least δ",
                    None
                    if self.answer is None or self.delta_enclosure is None
                    else str(self.delta_enclosure),
                ),
                ("exactly", self._exactly()),
                ("reason", self.reason),
                proved_fact(self.replayed),
                ("computed", ", ".join(filter(None, (grid, atoms, seconds_text(self.seconds))))),
            ),
            below=() if self.curve is None else (curve_table(self.curve.points),),
        )

    def _exactly(self) -> str | None:
        what = "ε_prv" if isinstance(self.exact, LeastBudget) else "δ"
        text = "" if self.exact is None else f"least {what} = {self.exact}"
        return text if 0 < len(text) <= _LONGEST_LINE else None

    def _found(self) -> str:
        if self.answer is not None:
            claim = f"({_plain(self.eps_prv)}, {_plain(self.delta)})-differentially private"
            return {
                Answer.DP: claim,
                Answer.NOT_DP: f"not {claim}",
                Answer.UNKNOWN: f"{claim}? unknown",
            }[self.answer]
        if self.eps_prv_enclosure is not None:
            found = self.eps_prv_enclosure
            more = " (no ε_prv is enough)" if found.infinite else ""
            return f"least ε_prv for δ = {_plain(self.delta)}: {found}{more}"
        if self.delta_enclosure is not None:
            return f"least δ for ε_prv = {_plain(self.eps_prv)}: {self.delta_enclosure}"
        if self.curve is None:
            return "nothing was asked"
        points = self.curve.points
        return f"privacy profile for ε_prv from {points[0].eps_prv} to {points[-1].eps_prv}"


_ORDERED = "programs in that of the list, all else in any"

_RELATIONS = {
    Adjacency.ADD_REMOVE: "adjacent if one has a record more",
    Adjacency.SUBSTITUTION: "adjacent if one record is another one",
}


def _inputs_of_programs(runs: Sequence[PipelineRun]) -> Iterator[tuple[str, str]]:
    """Say of each program which of its inputs adjacent data sets may give."""
    said: set[str] = set()
    for run in runs:
        if isinstance(run.what, ProgramAt):
            scope = scope_of(run.what.program, AllPairs())
            text = f"{run.name} {scope.text}"
            if text not in said:
                yield "inputs", text
            said.add(text)


def _plain(value: Fraction | None) -> str:
    return "" if value is None else exact_text(value)
