"""Time and memory against N: every case in a fresh process of its own.

A fresh process shows what the first verification costs, and its peak memory is the case's.
"""

from __future__ import annotations

import multiprocessing
import os
import re
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

from bench.cases import (
    AnyCase,
    Case,
    Chain,
    eliminated,
    verification,
)
from bench.timing import (
    Outcome,
    Patience,
    Run,
    Timing,
    side_by_side,
)
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
        imports: Median seconds that importing everything takes.
    """

    words: tuple[str, ...]
    timing: Timing
    memory: int
    imports: float


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

_IMPORTING = """
import time
start = time.perf_counter()
import dipapprox.cli.verify
print(time.perf_counter() - start)
"""


def measure_command(words: tuple[str, ...], runs: int) -> Command:
    """Time a command of dipapprox in new processes; it must succeed.

    The modules are compiled beforehand, as those of installed packages are.
    """
    seconds, imports = [], []
    with tempfile.TemporaryDirectory() as compiled:
        kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment = {**kept, "PYTHONPYCACHEPREFIX": compiled}
        memory = int(_python(environment, "-c", _REPORTING, *words).stderr.split()[-1])
        for _ in range(runs):
            start = time.perf_counter()
            _python(environment, "-m", "dipapprox", *words)
            seconds.append(time.perf_counter() - start)
            imports.append(float(_python(environment, "-c", _IMPORTING).stdout))
    return Command(words, Timing(Outcome.ANSWERED, tuple(seconds)), memory, median(imports))


def _python(environment: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, *words)
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
