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

_HERE, _THERE = "compose", "dp_accounting"

_DEFAULT_STEP = 1e-4
"""Of dp_accounting: taken where closed forms need no grid of ours."""


@dataclass(frozen=True, slots=True)
class RunsCase:
    """Gaussian noise on samples, or a program, run many times.

    Attributes:
        times: How often.
        sigma: Of the noise; None for the sparse vector program of N = 5 at eps 1/2.
        rate: Of the sample.
        delta: For which the least ε is looked for.
        width: Of its interval.
        goal: Most seconds.
        slower: Most times as long as dp_accounting at the same step; None: it is not run.
    """

    times: int
    sigma: Fraction | None
    rate: Fraction
    delta: Fraction
    width: Fraction
    goal: float
    slower: float | None = None

    @property
    def name(self) -> str:
        """What tables call it."""
        sample = "" if self.rate == 1 else f", rate {self.rate}"
        what = "svt_gauss, N = 5" if self.sigma is None else f"Gaussian, σ = {self.sigma}{sample}"
        return f"{self.times} × {what}, width {float(self.width):g}"

    @property
    def pipeline(self) -> Pipeline:
        """The runs."""
        if self.sigma is None:
            program = load(BUNDLED / "svt_gauss.dpg", {"N": Fraction(5)})
            one = PipelineRun(ProgramAt(program, Fraction(1, 2)), program.name, self.times)
        else:
            noise = Gaussian(Fraction(1), self.sigma)
            rate = None if self.rate == 1 else self.rate
            one = PipelineRun(noise, "gaussian", self.times, rate)
        return Pipeline((one,), Adjacency.ADD_REMOVE)


def many_runs() -> tuple[RunsCase, ...]:
    """Return what is measured."""
    one, delta = Fraction(1), Fraction(1, 10**5)
    sample = Fraction(1, 100)
    return (
        RunsCase(100, Fraction(10), one, delta, Fraction(1, 1000), 1.0, slower=5.0),
        RunsCase(1000, Fraction(40), one, delta, Fraction(1, 1000), 1.0, slower=5.0),
        RunsCase(1000, one, sample, delta, Fraction(1, 10**4), 3.0, slower=5.0),
        RunsCase(1000, one, sample, delta, Fraction(1, 10**6), 30.0),
        RunsCase(10**5, one, Fraction(1, 10**4), Fraction(1, 10**6), Fraction(1, 1000), 5.0),
        RunsCase(10**6, Fraction(2000), one, delta, Fraction(1, 100), 10.0),
        RunsCase(100, None, one, Fraction(1, 10**6), Fraction(1, 100), 2.0),
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
    if case.slower is not None and case.sigma is not None:
        sigma = float(case.sigma)
        step = _DEFAULT_STEP if grid is None else float(grid.step.loss(1))

        def there(cap: float) -> None:
            one = pld.from_gaussian_mechanism(
                sigma, sampling_prob=float(case.rate), value_discretization_interval=step
            )
            one.self_compose(case.times).get_epsilon_for_delta(float(case.delta))

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
