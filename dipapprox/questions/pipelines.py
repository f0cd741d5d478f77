"""Pipelines as tables: in a TOML file, or in Python.

adjacency = "add/remove"            # or substitution; all runs are stated for it

[[run]]
mechanism = "gaussian"              # an entry of the catalogue, with its parameters, exact
sensitivity = 1
sigma = 1
subsample = "0.01"                  # a Poisson sample of this rate
times = 1000

[[run]]
program = "svt_gauss.dpg"           # beside the file
eps = "1/2"
params = { N = 5 }
times = 10
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from fractions import Fraction
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal

from dipapprox.composition import mechanisms
from dipapprox.data_classes import Record, replace
from dipapprox.errors import UserError, did_you_mean, shorten
from dipapprox.language import load as loading
from dipapprox.language.core import Program
from dipapprox.language.domains import AS_DECLARED, Widening, widening_of
from dipapprox.limits import Progress, silent
from dipapprox.privacy.compositions.compose import Composed
from dipapprox.privacy.compositions.pipeline import (
    MOST_RUNS,
    ComposedAnswer,
    Pipeline,
    PipelineRun,
    ProgramAt,
)
from dipapprox.privacy.description import ProgramText, count, text_of
from dipapprox.privacy.run import Options
from dipapprox.proof_steps import composed_ends as proving
from dipapprox.questions import arguments, kinds
from dipapprox.questions.arguments import Spelled
from dipapprox.questions.interface import explained, known_options, program_made
from dipapprox.questions.profile import Range, range_of
from dipapprox.questions.question import PROVED, WHOLE, Question, argument, limited_by_options
from dipapprox.replays import files

Table = Mapping[str, object]  # a run: its keys and their values


def _rate(given: object, name: str) -> Fraction | None:
    """Read a rate of sampling; None for 1: a sample of all records is no sample."""
    rate = arguments.rate(given, name)
    return rate if rate < 1 else None


read_times = arguments.whole(1, MOST_RUNS)  # reads how often something is run

read_adjacency = kinds.word(mechanisms.Adjacency)  # reads which data sets are adjacent


def _orders(given: object, name: str) -> tuple[tuple[Fraction, Fraction], ...]:
    found = []
    for each in given if isinstance(given, list | tuple) else [None]:
        match each:
            case (order, divergence):
                pair = (
                    arguments.positive(order, f"{name}: an order"),
                    arguments.positive(divergence, f"{name}: a divergence"),
                )
            case _:
                raise UserError(
                    f"{name} must be pairs of an order and a divergence",
                    'for example orders = [[2, "0.1"], [8, "0.5"]]',
                )
        if pair[0] <= 1:
            raise UserError(f"{name}: an order must be > 1, got {pair[0]}")
        found.append(pair)
    if not found:
        raise UserError(f"{name} must name an order")
    return tuple(found)


class Entry(Record):
    make: Callable[..., mechanisms.Mechanism]  # takes its parameters by name
    parameters: Mapping[str, arguments.Reader[Any]]  # their readers
    optional: Mapping[str, object]  # those that may be left out


_SHIFTED, _WHOLE = {"sensitivity": arguments.positive}, {"sensitivity": arguments.whole(1)}
_SCALE = {"scale": arguments.positive}
_SIGMA = {"sigma": arguments.positive, "variance": arguments.positive}  # one of the two
_RESPONSE = {"probability": arguments.share, "values": arguments.whole(2)}
_STATED = {"eps": arguments.nonnegative, "delta": arguments.probability}
_UNIT: Mapping[str, object] = {"sensitivity": 1}
_NORMAL = {**_UNIT, "sigma": None, "variance": None}

CATALOGUE: dict[str, Entry] = {
    "gaussian": Entry(mechanisms.Gaussian, _SHIFTED | _SIGMA, _NORMAL),
    "laplace": Entry(mechanisms.Laplace, _SHIFTED | _SCALE, _UNIT),
    "discrete_laplace": Entry(mechanisms.DiscreteLaplace, _WHOLE | _SCALE, _UNIT),
    "discrete_gaussian": Entry(mechanisms.DiscreteGaussian, _WHOLE | _SIGMA, _NORMAL),
    "randomised_response": Entry(mechanisms.RandomisedResponse, _RESPONSE, {"values": 2}),
    "exponential_mechanism": Entry(
        mechanisms.ExponentialMechanism, {"eps": arguments.positive}, {}
    ),
    "approx_dp": Entry(mechanisms.ApproximateStatement, _STATED, {"delta": 0}),
    "rdp": Entry(mechanisms.RenyiStatement, {"orders": _orders}, {}),
    "zcdp": Entry(mechanisms.ConcentratedStatement, {"rho": arguments.positive}, {}),
}
"""The mechanisms by name; noise has the names of its parameters in the literature."""

_OF_ANY_RUN = ("times", "subsample")


def read_pipeline(path: Path, stated: mechanisms.Adjacency | None = None) -> Pipeline:
    """Read a file; adjacency that is stated elsewhere goes before what the file says."""
    content = loading.read_toml(path)
    loading.check_known(content, ("adjacency", "run"), str(path))
    if stated is None and "adjacency" in content:
        stated = read_adjacency(content["adjacency"], f"{path}: adjacency")
    runs = content.get("run")
    if not isinstance(runs, list) or not all(isinstance(each, dict) for each in runs):
        raise UserError(f"{path}: there is no run", 'begin with [[run]] and mechanism = "gaussian"')
    places = [f"{path}: run {k}" for k in range(1, len(runs) + 1)]
    return pipeline_of(runs, places, stated, path.parent)


@explained('compose([{"mechanism": "gaussian", "sigma": 1, "times": 10}])')
def compose(
    runs: Iterable[Mapping[str, object]] | str | PathLike[str],
    *,
    adjacency: mechanisms.Adjacency | Literal["add/remove", "substitution"] | None = None,
    options: Options | None = None,
) -> Composed:
    """Compose runs on the same data, one after the other; each may depend on what came before.

        pipeline = compose([
            {"mechanism": "gaussian", "sigma": 1, "subsample": "0.01", "times": 1000},
            {"program": program, "eps": "1/2", "times": 10},
        ])
        pipeline.epsilon("1e-6")          the least eps_prv for a delta
        pipeline.delta(2)                 the least delta for an eps_prv
        pipeline.curve(0, 3, 60)          the least delta from eps_prv 0 to 3
        pipeline.verify(2, "1e-6")        DP, Not_DP or Unknown
        pipeline.to_pld()                 for dp_accounting

    Args:
        runs: Tables with the keys that [[run]] has in a file; or the name of such a file. A program
            may be one that was parsed.
        adjacency: For which all runs are stated; None for what the file says, or the mechanisms
            are for.
        options: How to compute; their limits' clock runs since they were made.

    Raises:
        UserError: If a run is wrong, or runs are stated for different adjacencies.
    """
    stated = None if adjacency is None else read_adjacency(adjacency, "adjacency")
    known = known_options(options)
    if isinstance(runs, str | PathLike):
        return composed(read_pipeline(Path(runs), stated), known)
    tables = list(runs) if isinstance(runs, Iterable) else [runs]
    if isinstance(runs, Mapping) or not all(isinstance(each, Mapping) for each in tables):
        raise UserError(
            "runs must be tables", 'for example [{"mechanism": "gaussian", "sigma": 1}]'
        )
    places = [f"run {k}" for k in range(1, len(tables) + 1)]
    return composed(pipeline_of(tables, places, stated), known)


def composed(pipeline: Pipeline, options: Options, progress: Progress = silent) -> Composed:
    """Return a pipeline to be asked; the kernel is, too, if the options say so."""
    kind = proving.ProvedComposed if options.proved else Composed
    return kind(pipeline, options, progress, files.certify_composition)


def pipeline_of(
    tables: Iterable[Table],
    places: Iterable[str],
    stated: mechanisms.Adjacency | None,
    folder: Path = Path(),
) -> Pipeline:
    """Read tables.

    Args:
        places: What messages call them.
        stated: Their adjacency; None for that of the mechanisms, which must be one.
        folder: Where programs lie that are named by files.
    """
    runs = [_run(table, where, folder) for table, where in zip(tables, places, strict=True)]
    if stated is None:
        own = {run.what.adjacency for run in runs if not isinstance(run.what, ProgramAt)}
        if len(own) > 1:
            names = " and ".join(sorted(each.value for each in own))
            raise UserError(
                f"runs are stated for different adjacencies: {names}",
                "privacy adds up for one relation of data sets: state all parameters for the same "
                "one, and say which by 'adjacency'",
            )
        stated = own.pop() if own else mechanisms.Adjacency.ADD_REMOVE
    found = []
    for run in runs:
        what = run.what
        if not isinstance(what, ProgramAt):
            what = mechanisms.stated_for(what, stated)
        found.append(replace(run, what=what))
    return Pipeline(tuple(found), stated)


def _run(table: Table, where: str, folder: Path) -> PipelineRun:
    if ("mechanism" in table) == ("program" in table):
        raise UserError(
            f"{where} must have either a mechanism or a program",
            f"mechanisms are {', '.join(CATALOGUE)}",
        )
    number = read_times(table.get("times", 1), f"{where}: times")
    sampled = table.get("subsample")
    share = None if sampled is None else _rate(sampled, f"{where}: subsample")
    if "program" in table:
        program, text = _program(table, where, folder)
        if "eps" not in table:
            raise UserError(f"{where}: 'eps' is missing", "it is the ε that the program runs at")
        eps = arguments.positive(table["eps"], f"{where}: eps")
        return PipelineRun(ProgramAt(program, eps, text), program.name, number, share)
    name = str(table["mechanism"])
    if name not in CATALOGUE:
        hint = did_you_mean(name, list(CATALOGUE), f"one of {', '.join(CATALOGUE)}")
        raise UserError(f"{where}: unknown mechanism '{shorten(name)}'", hint)
    entry = CATALOGUE[name]
    loading.check_known(table, ("mechanism", *entry.parameters, *_OF_ANY_RUN), where)
    values = {}
    for key, read in entry.parameters.items():
        given = table[key] if key in table else entry.optional.get(key)
        if given is None and key in entry.optional:
            continue
        if given is None:
            raise UserError(f"{where}: '{key}' of {name} is missing")
        values[key] = read(given, f"{where}: {key}")
    spreads = values.keys() & _SIGMA.keys()
    if "sigma" in entry.parameters and len(spreads) != 1:
        if spreads:
            raise UserError(
                f"{where}: {name} has a 'sigma' or a 'variance'", "take one of them out"
            )
        raise UserError(f"{where}: 'sigma' of {name} is missing", "or its 'variance'")
    return PipelineRun(entry.make(**values), name, number, share)


def _program(table: Table, where: str, folder: Path) -> tuple[Program, ProgramText | None]:
    given = table["program"]
    loading.check_known(table, ("program", "params", "eps", "widen", *_OF_ANY_RUN), where)
    made = given if isinstance(given, Program) else program_made(given)
    if made is not None:
        return made, None
    if not isinstance(given, str | Path):
        raise UserError(f"{where}: program must name a file, got {shorten(repr(given))}")
    parameters = table.get("params", {})
    if not isinstance(parameters, Mapping):
        raise UserError(f"{where}: params must be a table", "params = { N = 5 }")
    exact = {key: arguments.number(value, f"{where}: {key}") for key, value in parameters.items()}
    wider = table.get("widen")
    if wider is not None and not isinstance(wider, str):
        raise UserError(f'{where}: widen must be a domain such as "-5..5"')
    source = loading.read_source(folder / given, exact)
    return composed_program(source, widening_of(wider)), text_of(source)


def composed_program(source: loading.Source, widening: Widening = AS_DECLARED) -> Program:
    """Check and elaborate a program that is to be composed: real inputs need real outputs."""
    found = loading.program_from(source, widening, reals=True)
    return loading.finite(found, reals=bool(found.real_outputs))


_optional = partial(argument, default=None)
_asked = partial(_optional, group="question (--delta and --eps-prv together are a claim)")


class Compose(Record, Question, kw_only=True):
    """The least eps_prv for a delta, the least delta for an eps_prv, a curve, or a claim."""

    name: ClassVar[str] = "compose"
    computing: ClassVar[tuple[str, ...]] = (*WHOLE, PROVED)

    eps: tuple[Fraction, ...] | None = _optional(
        kinds.each_of(arguments.positive), "E", "the programs' ε: one for all, or one each: 1/2,1"
    )
    times: tuple[int, ...] | None = _optional(
        kinds.each_of(read_times),
        "N",
        "how often the programs are run: one number, or one each: 100,10 (default: 1)",
    )
    subsample: tuple[Fraction | None, ...] | None = _optional(
        kinds.each_of(_rate),
        "RATE",
        "each run is on a Poisson sample: every record takes part with this probability",
    )
    adjacency: mechanisms.Adjacency | None = _optional(
        read_adjacency,
        "",
        "which data sets are adjacent: all runs are stated for it (default: what a spec says, or "
        "its mechanisms are for; add/remove)",
        choices=kinds.choices_of(mechanisms.Adjacency),
    )
    delta: Fraction | None = _asked(
        arguments.probability, "D", "the least ε_prv for this δ; 0 asks for pure privacy"
    )
    eps_prv: Fraction | None = _asked(arguments.nonnegative, "P", "the least δ for this ε_prv")
    curve: Range | None = _asked(
        range_of,
        "LO:HI:COUNT",
        "the least δ at COUNT points from ε_prv LO to HI, and between them",
        swept=False,
    )
    width: Fraction | None = _optional(
        arguments.positive,
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

    @limited_by_options
    def answer(
        self, program: Program | Pipeline, options: Options, progress: Progress = silent
    ) -> ComposedAnswer:
        pipeline = self.pipeline([program]) if isinstance(program, Program) else program
        return self.ask(composed(pipeline, options, progress))

    def ask(self, pipeline: Composed) -> ComposedAnswer:
        width = {} if self.width is None else {"width": self.width}
        if self.curve is not None:
            low, high, count = self.curve
            return pipeline.curve(low, high, count, **width)
        if self.delta is not None and self.eps_prv is not None:
            return pipeline.verify(self.eps_prv, self.delta)
        if self.delta is not None:
            return pipeline.epsilon(self.delta, **width)
        if self.eps_prv is not None:
            return pipeline.delta(self.eps_prv, **width)
        raise UserError("nothing is asked", "give delta, eps_prv, both, or curve")

    def pipeline(
        self, programs: Collection[Program], texts: Collection[ProgramText] = ()
    ) -> Pipeline:
        """Return programs as a pipeline, with their texts as they were written, which certificates
        need, if these are known."""
        if self.eps is None:
            raise UserError("eps is missing", "it is the ε that the programs run at")
        number = len(programs)
        columns = [
            _spread(self.eps, number, "eps"),
            _spread(self.times or (1,), number, "times"),
            _spread(self.subsample or (None,), number, "subsample"),
        ]
        runs = tuple(
            PipelineRun(ProgramAt(program, eps, text), program.name, times, sampled)
            for program, text, eps, times, sampled in zip(
                programs, texts or (None,) * number, *columns, strict=True
            )
        )
        return Pipeline(runs, self.adjacency or mechanisms.Adjacency.ADD_REMOVE)


def _spread(values: tuple[object, ...], programs: int, name: str) -> tuple[object, ...]:
    if len(values) == 1:
        return values * programs
    if len(values) != programs:
        raise UserError(f"{name}: {len(values)} values for {count(programs, 'program')}")
    return values
