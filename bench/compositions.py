"""What many runs cost: certified intervals, beside dp_accounting on a grid of the same step.

dp_accounting connects dots in doubles, once, on a grid that it is told; `compose` finds its grid,
and bounds from both sides. So its time is that of all grids, and the other's that of one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dp_accounting.pld import privacy_loss_distribution as pld

from bench.rows import Figure, Row, Rows, Table, of, within
from bench.timing import NoAnswer, Patience, ratio, side_by_side
from dipapprox.bundled import BUNDLED
from dipapprox.composition.mechanisms import Adjacency, Gaussian
from dipapprox.language.load import load
from dipapprox.limits import Limits
from dipapprox.privacy.compositions.compose import Composed
from dipapprox.privacy.compositions.pipeline import Pipeline, PipelineRun, ProgramAt
from dipapprox.privacy.run import Options
from dipapprox.questions.pipelines import read_pipeline

_HERE, _THERE = "compose", "dp_accounting"

_DEFAULT_STEP = 1e-4
"""Of dp_accounting: taken where closed forms need no grid of ours."""


@dataclass(frozen=True, slots=True)
class RunsCase:
    """Many runs, and an interval of the least ε of all of them.

    Attributes:
        what: What tables call the runs.
        pipeline: They.
        delta: For which the least ε is looked for.
        width: Of its interval.
        goal: Most seconds.
        slower: Most times as long as dp_accounting at the same step; None: it is not run. For runs
            of one Gaussian mechanism.
    """

    what: str
    pipeline: Pipeline
    delta: Fraction
    width: Fraction
    goal: float
    slower: float | None = None

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{self.what}, width {float(self.width):g}"


def gaussian_runs(times: int, sigma: int, rate: Fraction | None = None) -> tuple[str, Pipeline]:
    """Return runs of Gaussian noise, on samples of a rate or on everything, and their words."""
    one = PipelineRun(Gaussian(Fraction(1), Fraction(sigma)), "gaussian", times, rate)
    sample = "" if rate is None else f", rate {rate}"
    what = f"{times} × Gaussian, σ = {sigma}{sample}"
    return what, Pipeline((one,), Adjacency.ADD_REMOVE)


def sparse_vector_runs() -> tuple[str, Pipeline]:
    """Return runs of the sparse vector program of N = 5 at eps 1/2, and their words."""
    program = load(BUNDLED / "svt_gauss.dpg", {"N": Fraction(5)})
    one = PipelineRun(ProgramAt(program, Fraction(1, 2)), program.name, 100)
    return "100 × svt_gauss, N = 5", Pipeline((one,), Adjacency.ADD_REMOVE)


def census_runs() -> tuple[str, Pipeline]:
    """Return the noise of the 2020 Census' redistricting data, and its words."""
    return "2020 Census, 130 × DGauss", read_pipeline(BUNDLED / "pipelines" / "census_2020.toml")


def many_runs() -> tuple[RunsCase, ...]:
    """Return what is measured."""
    delta, rare = Fraction(1, 10**5), Fraction(1, 10**6)
    percent, thousandth = Fraction(1, 100), Fraction(1, 1000)
    sampled = gaussian_runs(1000, 1, percent)
    rarely = gaussian_runs(10**5, 1, Fraction(1, 10**4))
    return (
        RunsCase(*gaussian_runs(100, 10), delta, thousandth, 1.0, slower=5.0),
        RunsCase(*gaussian_runs(1000, 40), delta, thousandth, 1.0, slower=5.0),
        RunsCase(*sampled, delta, Fraction(1, 10**4), 3.0, slower=5.0),
        RunsCase(*sampled, delta, rare, 30.0),
        RunsCase(*rarely, rare, thousandth, 5.0),
        RunsCase(*gaussian_runs(10**6, 2000), delta, percent, 10.0),
        RunsCase(*sparse_vector_runs(), rare, percent, 2.0),
        RunsCase(*census_runs(), Fraction(1, 10**10), thousandth, 60.0),
    )


def measure_runs(case: RunsCase, programs: Path, patience: Patience) -> Row:
    """Measure an interval."""
    pipeline = case.pipeline
    found = Composed(pipeline).epsilon(case.delta, case.width)
    least, grid = found.eps_prv_enclosure, found.grid
    interval = "" if least is None else str(least)

    def here(cap: float) -> None:
        options = Options(limits=Limits(seconds=cap))
        answer = Composed(pipeline, options).epsilon(case.delta, case.width)
        if answer.reason:
            raise NoAnswer(answer.reason)

    contestants: dict[str, Callable[[float], None]] = {_HERE: here}
    (run, *others) = pipeline.runs
    if case.slower is not None and isinstance(run.what, Gaussian) and not others:
        sigma, rate, times = float(run.what.sigma or 0), float(run.rate or 1), run.times
        step = _DEFAULT_STEP if grid is None else float(grid.step.loss(1))

        def there(cap: float) -> None:
            one = pld.from_gaussian_mechanism(
                sigma, sampling_prob=rate, value_discretization_interval=step
            )
            one.self_compose(times).get_epsilon_for_delta(float(case.delta))

        contestants[_THERE] = there
    timings = side_by_side(contestants, patience)
    return Row(
        case,
        {
            "interval": interval,
            "step": "" if found.step is None else found.step,
            "timing": timings[_HERE],
            "dp_accounting": timings.get(_THERE),
        },
    )


def _figures(rows: Rows) -> list[Figure]:
    figures = []
    for row in rows:
        ours, slower = row.found["timing"], row.case.slower
        figures += within(row.name, ours, row.case.goal, "interval in ")
        other = row.found["dp_accounting"]
        times = None if slower is None or other is None else ratio(ours, other)
        if times is not None:
            wanted = f"at most {slower:g} × dp_accounting at the same step"
            figures.append(Figure(row.name, wanted, f"{times.value:.2g} ×", times.value <= slower))
    return figures


COMPOSITIONS = Table(
    "composition",
    """## What many runs cost

Certified intervals of the least ε for a δ, with all grids that were needed for them, and one
pessimistic value of dp_accounting on the last grid, in doubles.""",
    (
        *(("runs", lambda row: row.name), ("least ε", of("interval")), ("step", of("step"))),
        *((_HERE, of("timing")), (_THERE, of("dp_accounting"))),
    ),
    _figures,
)
