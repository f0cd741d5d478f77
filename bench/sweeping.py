"""A sweep of quick cases beside the same cases in a process that runs already: `measure_sweep`."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dipapprox.experiments.sweep.spec import (
    Axis,
    CaseGrid,
    CaseLimits,
    NamedProgram,
    Spec,
    cases_of,
)
from dipapprox.experiments.sweep.sweep import Sweep, run_case
from dipapprox.language.load import DPG, read_text

_JOBS = 2

_BLOCK = 50
"""Cases that differ in delta only."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep took.

    Attributes:
        cases: How many.
        jobs: Of the sweep.
        seconds: Of the sweep: starting processes, limits and syncing included.
        processor: Seconds of the processors in that time, of all processes.
        bare: Seconds of the processor for the same cases, one after another, in one process.
    """

    cases: int
    jobs: int
    seconds: float
    processor: float
    bare: float

    @property
    def name(self) -> str:
        """For tables."""
        return f"sweep of {self.cases} quick cases, {self.jobs} jobs"

    @property
    def times(self) -> float:
        """How many times as much work as bare runs."""
        return self.processor / self.bare


def measure_sweep(programs: Path, blocks: int) -> Swept:
    """Verify SVT-Gauss at many claims, in a sweep and without one.

    Args:
        programs: Folder of the programs.
        blocks: Different epsilons; `_BLOCK` cases for each.
    """
    text = read_text(programs / "svt_gauss.dpg")
    grid = CaseGrid(
        "verify",
        (NamedProgram("svt_gauss.dpg", DPG, text),),
        (Axis("N", ("4",)),),
        (
            Axis("eps", tuple(str(Fraction(k, blocks)) for k in range(1, blocks + 1))),
            Axis("delta", tuple(str(Fraction(k, 1000)) for k in range(1, _BLOCK + 1))),
        ),
    )
    spec = Spec(CaseLimits(Fraction(600), 2000), (grid,))
    with tempfile.TemporaryDirectory() as folder:
        start, spent = time.perf_counter(), _processor()
        sweep = Sweep(spec, Path(folder) / "results.jsonl", _JOBS)
        sweep.run(lambda done, total: None)
        seconds, processor = time.perf_counter() - start, _processor() - spent
    spent = _processor()
    for case in cases_of(spec):
        run_case(case)
    return Swept(sweep.done, _JOBS, seconds, processor, _processor() - spent)


def _processor() -> float:
    """Return the seconds of the processors for this process and those that it waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
