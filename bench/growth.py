"""Time and memory against N: every case in a fresh process of its own; published times beside it.

A fresh process shows what the first verification costs, and its peak memory is the case's.

References:
    DiPApprox (CCS 2025, long version), Tables 6 and 7: 1.4 GHz quad-core Intel Core i5, 8 GB,
    mean of three runs, limit 600 s. eps 0.5, delta 0.01, eps_prv 1.24 for SVT with Gaussian noise.
"""

from __future__ import annotations

import multiprocessing
import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from bench.cases import (
    NOISY,
    PRECISE,
    REALS,
    SUMS,
    SVT,
    AnyCase,
    Case,
    Chain,
    enclosing,
    verification,
)
from bench.rows import NAME, Figure, Row, Rows, Table, of, plainly, within
from bench.timing import Outcome, Patience, Run, Timing, side_by_side
from dipapprox.limits import peak_memory
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.privacy.run import FIRST_PRECISION


@dataclass(frozen=True, slots=True)
class InFamily:
    """A case of a family of growing N."""

    family: str
    case: AnyCase

    @property
    def name(self) -> str:
        """That of the case."""
        return self.case.name


def measure_alone(one: InFamily, programs: Path, patience: Patience) -> Row:
    """Measure a case in a fresh process."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=fresh) as pool:
        return pool.submit(measure, one, programs, patience).result()


def measure(one: InFamily, programs: Path, patience: Patience) -> Row:
    """Measure a case in this process: the engine's time, and its own peak memory in MiB.

    The idle memory is that before the first run: interpreter, libraries, the program.
    """
    run = _run_of(one.case, programs)
    idle = own_peak_memory()
    timing = side_by_side({one.name: run}, patience)[one.name]
    return growth_row(one, timing, idle, own_peak_memory())


def growth_row(one: InFamily, timing: Timing, idle: int, memory: int) -> Row:
    """Return what was measured of a case, and what is published of it."""
    known = published(one.case)
    return Row(
        one,
        {
            "family": one.family,
            "n": one.case.n,
            "timing": timing,
            "memory_mib": memory,
            "idle_memory_mib": idle,
            "published": None if known is None else known.printed,
            "published_repeated": None if known is None else known.repeated,
        },
    )


def _run_of(case: AnyCase, programs: Path) -> Run:
    match case:
        case Case():
            return verification(case, case.read(programs))
        case Chain():
            return enclosing(Eliminated, case)
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


# --- Published times, to stand beside ours; None where there was no answer ----------------------


@dataclass(frozen=True, slots=True)
class Published:
    """What the papers' tables say, and what the published tool did on two cores like ours.

    Attributes:
        printed: Seconds in the table, or why there are none.
        repeated: The same tool run again on a 2-core server; None if it was not.
    """

    printed: float | str
    repeated: float | str | None = None


_TIMEOUT, _TOO_LARGE = "timeout (600 s)", "out of memory"

_ONE_PAIR: dict[tuple[str, int], Published] = {
    ("svt_gauss", 5): Published(7.9),
    ("svt_gauss", 25): Published(441.3, 402.0),
    ("svt_laplace", 5): Published(47.6),
    ("svt_mix1", 5): Published(19.5),
    ("svt_mix2", 5): Published(72.2),
    ("noisy_max_gauss", 3): Published(1.6),
    ("noisy_max_gauss", 4): Published(37.8, 26.0),
    ("noisy_max_gauss", 5): Published(_TIMEOUT, _TIMEOUT),
    ("noisy_max_laplace", 4): Published(_TIMEOUT),
    ("noisy_min_gauss", 4): Published(36.8),
    ("k_min_max_gauss", 3): Published(2.1),
    ("k_min_max_gauss", 4): Published(41.2, 48.0),
    ("m_range_gauss", 1): Published(1.5),
    ("m_range_gauss", 2): Published(171.2, 126.0),
    ("m_range_gauss", 3): Published(_TIMEOUT),
}

_ALL_PAIRS: dict[tuple[str, int], Published] = {
    ("svt_gauss", 5): Published(76.7, 77.0),
    ("svt_gauss", 25): Published(_TOO_LARGE),
    ("noisy_max_gauss", 4): Published(303.0),
    ("k_min_max_gauss", 4): Published(335.7),
    ("m_range_gauss", 2): Published(344.4),
    ("m_range_gauss", 3): Published(_TIMEOUT),
}


def published(case: AnyCase) -> Published | None:
    """Return the published times of a case, if there are any."""
    if not isinstance(case, Case) or case.bits != FIRST_PRECISION:
        return None
    return (_ALL_PAIRS if case.all_pairs else _ONE_PAIR).get((case.program, case.n))


# --- Tables and figures ---------------------------------------------------------------------------

_SECONDS: tuple[tuple[str, float], ...] = (
    *((Case(program, 25).name, 0.025) for program in SVT),
    *((Case(program, 1000).name, 0.3) for program in SVT if program != "svt_gauss"),
    *((Case("svt_gauss", n).name, s) for n, s in ((1000, 0.05), (4000, 0.25), (50_000, 5.0))),
    *((Case(program, 5, merge=False).name, 0.05) for program in NOISY),
    *((Case(program, 100).name, 1.0) for program in NOISY if program != "noisy_max_gauss"),
    *((Case("noisy_max_gauss", n).name, s) for n, s in ((100, 0.05), (400, 1.0))),
    (Chain(40).name, 0.1),
    (Case("m_range_gauss", 3).name, 1.0),
    (Case("m_range_gauss", 10).name, 10.0),
    (Case("k_min_max_gauss", 4).name, 1.0),
    (Case("k_min_max_gauss", 12).name, 10.0),
    *(
        (Case("svt_gauss", n, all_pairs=True).name, s)
        for n, s in ((5, 0.1), (12, 1.0), (25, 3.0), (100, 0.5))
    ),
    *(
        (Case("noisy_max_gauss", n, all_pairs=True).name, s)
        for n, s in ((5, 0.1), (10, 1.0), (30, 5.0), (100, 3.0))
    ),
    (Case("top_k_gauss", 5, all_pairs=True).name, 0.3),
    *((case.name, s) for case, s in zip(SUMS, (0.05, 1.0, 0.3, 0.3), strict=False)),
    *((case.name, s) for case, s in zip(REALS, (5.0, 60.0, 10.0, 5.0), strict=True)),
)
"""Most seconds of engine time, the median."""

_MEMORY: tuple[tuple[str, int], ...] = (
    (Case("svt_gauss", 4000).name, 100),
    (Case("svt_gauss", 50_000).name, 400),
)
"""Most MiB of the whole process."""


def _figures(rows: Rows) -> list[Figure]:
    measured = {row.name: row for row in rows}
    timings: dict[str, Timing] = {name: row.found["timing"] for name, row in measured.items()}
    figures = []
    for name, limit in _SECONDS:
        figures += within(name, timings.get(name), limit, first=True)
    for name, most in _MEMORY:
        goal, timing = f"< {most} MiB", timings.get(name)
        if timing is None or timing.outcome is not Outcome.ANSWERED:
            figures.append(Figure(name, goal, "", None))
        else:
            memory = measured[name].found["memory_mib"]
            figures.append(Figure(name, goal, f"{memory} MiB", memory < most))
    for case in PRECISE:
        timing = timings.get(case.name)
        if timing is None:
            figures.append(Figure(case.name, "an answer", "", None))
        else:
            answered = timing.outcome is Outcome.ANSWERED
            found = f"{timing.median:.3g} s" if answered else timing.outcome.value
            figures.append(Figure(case.name, "an answer", found, answered))
    return figures


def _first(row: Row) -> str | None:
    timing: Timing = row.found["timing"]
    return plainly(1000 * timing.first) if timing.outcome is Outcome.ANSWERED else None


ALONE = Table(
    "alone",
    """## Time and memory against N

Every case in a fresh process. "first" is the first verification in it, "median" that of all runs.
Memory is the peak resident set in MiB, before and after. Published seconds: DiPApprox (CCS 2025),
Tables 6 and 7, on a quad-core laptop; "again": the published tool on a 2-core server.""",
    (
        *(NAME, ("first", _first), ("median", of("timing"))),
        ("memory", lambda row: f"{row.found['idle_memory_mib']} / {row.found['memory_mib']}"),
        ("published, s", lambda row: str(row.found["published"] or "")),
        ("again, s", lambda row: str(row.found["published_repeated"] or "")),
    ),
    _figures,
)
