"""Time and memory against N: every case in a fresh process of its own.

A fresh process shows what the first verification costs, and its peak memory is the case's.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import assert_never

from bench.cases import AnyCase, Case, Chain, eliminated, verification
from bench.timing import Outcome, Patience, Run, Timing, side_by_side
from dipapprox.limits import peak_memory


@dataclass(frozen=True, slots=True)
class Growth:
    """One case measured alone.

    Attributes:
        name: Of the case.
        timing: Of the engine, inside the process.
        idle: Peak memory in MiB before the first run: interpreter, libraries, the program.
        memory: Peak memory in MiB at the end.
    """

    name: str
    timing: Timing
    idle: int
    memory: int


def measure_alone(case: AnyCase, programs: Path, patience: Patience) -> Growth:
    """Measure a case in a fresh process."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=fresh) as pool:
        return pool.submit(measure, case, programs, patience).result()


def measure(case: AnyCase, programs: Path, patience: Patience) -> Growth:
    """Measure a case in this process."""
    run = _run_of(case, programs)
    idle = own_peak_memory()
    timing = side_by_side({case.name: run}, patience)[case.name]
    return Growth(case.name, timing, idle, own_peak_memory())


def _run_of(case: AnyCase, programs: Path) -> Run:
    match case:
        case Case():
            return verification(case, case.read(programs))
        case Chain():
            return eliminated(case)
        case _:
            assert_never(case)


def own_peak_memory() -> int:
    """Return this process's peak resident set in MiB, without what it inherited.

    `ru_maxrss` of a child starts at its parent's on Linux; VmHWM starts anew.
    """
    try:
        found = re.search(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.M)
    except OSError:
        found = None
    return int(found[1]) // 1024 if found else peak_memory()


@dataclass(frozen=True, slots=True)
class Command:
    """A whole command, start-up included.

    Attributes:
        words: Of the command line.
        timing: Seconds from start to exit.
        memory: Peak memory in MiB.
        starts: Median processor time of short commands, in that of importing numpy and flint.
    """

    words: tuple[str, ...]
    timing: Timing
    memory: int
    starts: Mapping[str, float]


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


def measure_command(words: tuple[str, ...], runs: int) -> Command:
    """Time a command of dipapprox in new processes; it must succeed.

    The modules are compiled beforehand, as those of installed packages are.
    """
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
        kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment = {**kept, "PYTHONPYCACHEPREFIX": compiled}
        memory = int(_python(environment, "-c", _REPORTING, *words).stderr.split()[-1])
        for each in (_LIBRARIES, *shorts.values()):
            _python(environment, *each)
        for _ in range(runs):
            start = time.perf_counter()
            _python(environment, "-m", "dipapprox", *words)
            seconds.append(time.perf_counter() - start)
            base.append(_processor_time(environment, *_LIBRARIES))
            for name, each in shorts.items():
                spent[name].append(_processor_time(environment, *each))
    starts = {name: median(each) / median(base) for name, each in spent.items()}
    return Command(words, Timing(Outcome.ANSWERED, tuple(seconds)), memory, starts)


def _processor_time(environment: Mapping[str, str], *words: str) -> float:
    """Return the seconds of processor time of a new Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _python(environment, *words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _python(environment: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, *words)
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
