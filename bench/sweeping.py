"""What starts processes: whole commands, and a sweep beside the same cases in one process."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median

from bench.rows import Figure, Row, Rows, Table, milliseconds, plainly, within
from bench.timing import Outcome, Patience, Timing, environment, processor_time
from dipapprox.experiments.sweep.spec import Axis, CaseGrid, CaseLimits, Spec, cases_of
from dipapprox.experiments.sweep.sweep import Sweep, run_case
from dipapprox.language.load import DPG, read_text
from dipapprox.privacy.description import ProgramText

_REPORTING = """
import re, sys
from dipapprox.cli import app
app.main(sys.argv[1:])
try:
    text = open("/proc/self/status").read()
    peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", text)[1]) // 1024
except OSError:
    from dipapprox.limits import peak_memory
    peak = peak_memory()
print(peak, file=sys.stderr)
"""

_LIBRARIES = ("-c", "import numpy, flint")
_SHORT = ("--version", "--help", "verify --help", "completion bash")


_COMMAND_SECONDS, _COMMAND_MEMORY = 0.5, 150


@dataclass(frozen=True, slots=True)
class Whole:
    """The papers' first claim as a command, start-up included, and other short commands.

    Attributes:
        runs: How often it is run.
    """

    runs: int
    name = "svt_gauss N=5, all pairs, one new process each"


def measure_whole(case: Whole, programs: Path, patience: Patience) -> Row:
    """Time commands in new processes; they must succeed.

    The modules are compiled beforehand, as those of installed packages are. Short commands are told
    in the processor time of importing numpy and flint.
    """
    claim = ("--eps", "0.5", "--eps-prv", "1.24", "--delta", "0.01")
    words = ("verify", str(programs / "svt_gauss.dpg"), "-p", "N=5", *claim)
    shorts = {line: ("-m", "dipapprox", *line.split()) for line in _SHORT}
    shorts = {
        "verify": ("-m", "dipapprox", *words),
        "verify --json": ("-m", "dipapprox", *words, "--json"),
        **shorts,
    }
    seconds: list[float] = []
    spent: dict[str, list[float]] = {name: [] for name in shorts}
    base: list[float] = []
    with tempfile.TemporaryDirectory() as compiled:
        kept = {**environment(), "PYTHONPYCACHEPREFIX": compiled}
        memory = int(_python(kept, "-c", _REPORTING, *words).stderr.split()[-1])
        for each in (_LIBRARIES, *shorts.values()):
            _python(kept, *each)
        for _ in range(case.runs):
            start = time.perf_counter()
            _python(kept, "-m", "dipapprox", *words)
            seconds.append(time.perf_counter() - start)
            base.append(_processor_time(kept, *_LIBRARIES))
            for name, each in shorts.items():
                spent[name].append(_processor_time(kept, *each))
    starts = {name: median(each) / median(base) for name, each in spent.items()}
    timing = Timing(Outcome.ANSWERED, tuple(seconds))
    return Row(case, {"timing": timing, "memory_mib": memory, "starts": starts})


def _processor_time(kept: Mapping[str, str], *words: str) -> float:
    """Return the seconds of processor time that a new Python takes."""
    before = processor_time()
    _python(kept, *words)
    return processor_time() - before


def _python(kept: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, *words)
    return subprocess.run(command, check=True, capture_output=True, text=True, env=kept)


def _whole_figures(rows: Rows) -> list[Figure]:
    name, figures = "whole command, svt_gauss N=5, all pairs", []
    for row in rows:
        memory = row.found["memory_mib"]
        figures += within(name, row.found["timing"], _COMMAND_SECONDS)
        goal = f"< {_COMMAND_MEMORY} MiB"
        figures.append(Figure(name, goal, f"{memory} MiB", memory < _COMMAND_MEMORY))
    return figures


def _whole_lines(row: Row) -> list[tuple[str, str]]:
    what = "in times of importing numpy and flint"
    return [
        ("time, start-up included", milliseconds(row.found["timing"])),
        ("peak memory, MiB", str(row.found["memory_mib"])),
        *((f"`{name}` {what}", f"{ratio:.2f}") for name, ratio in row.found["starts"].items()),
    ]


WHOLE = Table("command", "## The whole command", _whole_lines, _whole_figures)


# --- Sweeps ---------------------------------------------------------------------------------------

_JOBS = 2

_BLOCK = 50
"""Cases that differ in delta only."""


_MOST_TIMES_BARE = 2.5


@dataclass(frozen=True, slots=True)
class SweptCases:
    """SVT-Gauss at many claims, in a sweep and without one.

    Attributes:
        blocks: Different epsilons; `_BLOCK` cases for each.
    """

    blocks: int

    @property
    def name(self) -> str:
        """For tables."""
        return f"sweep of {self.blocks * _BLOCK} quick cases, {_JOBS} jobs"


def measure_sweep(case: SweptCases, programs: Path, patience: Patience) -> Row:
    """Measure both: seconds of the sweep, with starting processes, limits and syncing.

    Seconds of the processors are those of all processes in that time, and of the same cases, one
    after another, in this process.
    """
    text = read_text(programs / "svt_gauss.dpg")
    grid = CaseGrid(
        "verify",
        (ProgramText("svt_gauss.dpg", DPG, text),),
        (Axis("N", ("4",)),),
        (
            Axis("eps", tuple(str(Fraction(k, case.blocks)) for k in range(1, case.blocks + 1))),
            Axis("delta", tuple(str(Fraction(k, 1000)) for k in range(1, _BLOCK + 1))),
        ),
    )
    spec = Spec(CaseLimits(Fraction(600), 2000), (grid,))
    with tempfile.TemporaryDirectory() as folder:
        start, spent = time.perf_counter(), processor_time()
        sweep = Sweep(spec, Path(folder) / "results.jsonl", _JOBS)
        sweep.run(lambda done, total: None)
        seconds, processor = time.perf_counter() - start, processor_time() - spent
    spent = processor_time()
    for each in cases_of(spec):
        run_case(each)
    bare = processor_time() - spent
    assert sweep.done == case.blocks * _BLOCK
    found = {"seconds": seconds, "processor_seconds": processor, "bare_seconds": bare}
    return Row(case, found)


def _times(row: Row) -> float:
    """How many times as much work as bare runs."""
    return float(row.found["processor_seconds"] / row.found["bare_seconds"])


def _sweep_lines(row: Row) -> list[tuple[str, str]]:
    return [
        ("the sweep, seconds", plainly(row.found["seconds"])),
        ("its processor time, seconds", plainly(row.found["processor_seconds"])),
        ("that of the same cases in one process", plainly(row.found["bare_seconds"])),
        ("times", plainly(_times(row))),
    ]


SWEEP = Table(
    "sweep",
    "## A sweep",
    _sweep_lines,
    lambda rows: [
        Figure(
            row.name,
            f"≤ {_MOST_TIMES_BARE:g} times the processor time of bare runs",
            f"{_times(row):.3g} times",
            _times(row) <= _MOST_TIMES_BARE,
        )
        for row in rows
    ],
)
