"""Pipelines: what is run on one data set, how often, and on which sample of it.

A program stands for what its inputs stand for: the answers, on one data set, of the queries that it
is about. Its adjacency then says by how much these differ on adjacent data sets; which data sets
are adjacent is said of the pipeline as a whole, for privacy adds up for one relation alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dipapprox.composition.mechanisms import Adjacency, Mechanism
from dipapprox.data_classes import dataclass, fields_of
from dipapprox.digits import exact_text
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.privacy.certificate import ProgramText
from dipapprox.privacy.description import parameter_fields

MOST_RUNS = 10**9  # of one thing


@dataclass(frozen=True, slots=True)
class ProgramAt:
    """A program at one eps; its text is what certificates need of it."""

    program: Program
    eps: Fraction
    text: ProgramText | None = None


@dataclass(frozen=True, slots=True)
class PipelineRun:
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


@dataclass(frozen=True, slots=True)
class Pipeline:
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
        return sum(isinstance(run.what, ProgramAt) for run in self.runs) > 1

    @property
    def times(self) -> int:
        return sum(run.times for run in self.runs)


def _parameters(mechanism: Mechanism) -> Iterator[tuple[str, str]]:
    for name in fields_of(mechanism):
        value = getattr(mechanism, name)
        match value:
            case Fraction() | int():
                yield name, exact_text(Fraction(value))
            case tuple():
                orders = (f"{exact_text(a)}: {exact_text(b)}" for a, b in value)
                yield name, "; ".join(orders)
