"""The figures that the engine is meant to reach, and whether this run reached them.

They are goals for a machine with 2 cores; they inform, and decide no test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median

from bench.automata import PROVED
from bench.cases import Case, Chain
from bench.commands import COMMANDS, CommandMeasured
from bench.comparison import LITERAL, NESTED
from bench.polyhedra import ENCLOSED as BOUNDED
from bench.real_inputs import MOST_TIMES
from bench.real_outputs import ENCLOSED
from bench.replays import LARGEST_FILE, MOST_TO_WRITE, REPLAYED, ProofMeasured
from bench.replays import MOST_TIMES as MOST_TIMES_REPLAYED
from bench.suite import FOUR_UNMERGED, NOISY, PRECISE, REALS, SUMS, SVT, Results
from bench.timing import Outcome, Ratio

_MOST_TIMES_PLAIN = 3.0


class Standing(Enum):
    """How a figure stands; the value is the word in reports."""

    REACHED = "reached"
    MISSED = "not reached"
    UNKNOWN = "not measured"


@dataclass(frozen=True, slots=True)
class Figure:
    """A goal and what was measured.

    Attributes:
        name: Of the case.
        goal: For people.
        found: For people.
        standing: Whether it was reached.
    """

    name: str
    goal: str
    found: str
    standing: Standing


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

_TIMES_FASTER = ((LITERAL, 1000.0), (NESTED, 50.0))
"""Than these, for Noisy-Max-Gauss, N = 4, not merged."""

_MOST_TIMES_SCIPY = 10.0

_WIDEST = 1e-12

_COMMAND_SECONDS, _COMMAND_MEMORY = 0.5, 150

_MOST_TIMES_BARE = 2.5


def judge(results: Results) -> list[Figure]:
    """Compare what was measured with the goals."""
    return [
        *_times(results),
        *_memory(results),
        *_against_plain(results),
        *_widths(results),
        *_answers(results),
        *_against_nested(results),
        *_whole_command(results),
        *_sweep(results),
        *_published(results),
        *_linear_guards(results),
        *_budgets(results),
        *_real_inputs(results),
        *_proofs(results),
        *_commands(results),
        *_services(results),
        *_compositions(results),
    ]


def _times(results: Results) -> list[Figure]:
    measured = {growth.name: growth.timing for _, _, growth in results.alone}
    figures = []
    for name, limit in _SECONDS:
        goal, timing = f"< {limit:g} s", measured.get(name)
        if timing is None:
            figures.append(Figure(name, goal, "", Standing.UNKNOWN))
        elif timing.outcome is not Outcome.ANSWERED:
            found = timing.reason or timing.outcome.value
            figures.append(Figure(name, goal, found, Standing.MISSED))
        else:
            found = f"{timing.median:.3g} s (first run {timing.first:.3g} s)"
            figures.append(Figure(name, goal, found, _standing(timing.median < limit)))
    return figures


def _memory(results: Results) -> list[Figure]:
    measured = {growth.name: growth for _, _, growth in results.alone}
    figures = []
    for name, limit in _MEMORY:
        goal, growth = f"< {limit} MiB", measured.get(name)
        if growth is None or growth.timing.outcome is not Outcome.ANSWERED:
            figures.append(Figure(name, goal, "", Standing.UNKNOWN))
        else:
            standing = _standing(growth.memory < limit)
            figures.append(Figure(name, goal, f"{growth.memory} MiB", standing))
    return figures


def _against_plain(results: Results) -> list[Figure]:
    goal = f"certified float64 ≤ {_MOST_TIMES_PLAIN:g} times plain numpy"
    figures = []
    for batch in results.batches:
        times, afresh = batch.ratio(), batch.ratio_afresh()
        if times is None or afresh is None:
            figures.append(Figure(batch.name, goal, "", Standing.UNKNOWN))
        else:
            found = f"{times} times, afresh {afresh} times"
            standing = _standing(times.value <= _MOST_TIMES_PLAIN)
            figures.append(Figure(batch.name, goal, found, standing))
    return figures


def _widths(results: Results) -> list[Figure]:
    return [
        Figure(
            batch.name,
            f"first enclosures at most {_WIDEST:g} wide",
            f"{batch.width:.1e}",
            _standing(batch.width <= _WIDEST),
        )
        for batch in results.batches
        if batch.width is not None
    ]


def _answers(results: Results) -> list[Figure]:
    figures = []
    measured = {growth.name: growth.timing for _, _, growth in results.alone}
    for case in PRECISE:
        timing = measured.get(case.name)
        if timing is None:
            figures.append(Figure(case.name, "an answer", "", Standing.UNKNOWN))
        else:
            answered = timing.outcome is Outcome.ANSWERED
            found = f"{timing.median:.3g} s" if answered else timing.outcome.value
            figures.append(Figure(case.name, "an answer", found, _standing(answered)))
    return figures


def _against_nested(results: Results) -> list[Figure]:
    ratios: dict[str, Ratio | None] = {}
    for case, comparison in results.compared:
        if case == FOUR_UNMERGED:
            ratios = comparison.ratios()
    figures = []
    for other, wanted in _TIMES_FASTER:
        goal, times = f"≥ {wanted:g} times faster than {other}", ratios.get(other)
        if times is None or (times.at_least and times.value < wanted):
            found = "" if times is None else f"{times} times"
            figures.append(Figure(FOUR_UNMERGED.name, goal, found, Standing.UNKNOWN))
        else:
            standing = _standing(times.value >= wanted)
            figures.append(Figure(FOUR_UNMERGED.name, goal, f"{times} times", standing))
    return figures


def _whole_command(results: Results) -> list[Figure]:
    if results.command is None:
        return []
    name = "whole command, svt_gauss N=5, all pairs"
    seconds, memory = results.command.timing.median, results.command.memory
    return [
        Figure(
            name,
            f"< {_COMMAND_SECONDS:g} s",
            f"{seconds:.3g} s",
            _standing(seconds < _COMMAND_SECONDS),
        ),
        Figure(
            name, f"< {_COMMAND_MEMORY} MiB", f"{memory} MiB", _standing(memory < _COMMAND_MEMORY)
        ),
    ]


def _sweep(results: Results) -> list[Figure]:
    if results.swept is None:
        return []
    goal = f"≤ {_MOST_TIMES_BARE:g} times the processor time of bare runs"
    times = results.swept.times
    found = f"{times:.3g} times"
    return [Figure(results.swept.name, goal, found, _standing(times <= _MOST_TIMES_BARE))]


def _published(results: Results) -> list[Figure]:
    figures = []
    for each in results.published:
        timing, goal, times = each.timings[ENCLOSED], each.case.goal, each.ratio()
        if goal is not None:
            reached = timing.outcome is Outcome.ANSWERED and timing.median < goal
            found = timing.reason or f"{timing.median:.3g} s (first run {timing.first:.3g} s)"
            figures.append(Figure(each.case.name, f"< {goal:g} s", found, _standing(reached)))
        if times is not None:
            wanted = f"at most {_MOST_TIMES_SCIPY:g} times as long as scipy"
            standing = _standing(times.value <= _MOST_TIMES_SCIPY)
            figures.append(Figure(each.case.name, wanted, f"{times} times", standing))
    return figures


def _linear_guards(results: Results) -> list[Figure]:
    figures = []
    for each in results.polyhedra:
        if each.goal is not None:
            timing = each.timings[BOUNDED]
            reached = timing.outcome is Outcome.ANSWERED and timing.median < each.goal
            found = f"{timing.median:.3g} s"
            figures.append(Figure(each.name, f"< {each.goal:g} s", found, _standing(reached)))
    return figures


def _budgets(results: Results) -> list[Figure]:
    figures = []
    for each in results.automata:
        timing, times = each.timings[PROVED], each.ratio()
        if each.case.goal is not None:
            found = f"{timing.median:.3g} s"
            reached = timing.outcome is Outcome.ANSWERED and timing.median < each.case.goal
            goal = f"least budget in < {each.case.goal:g} s"
            figures.append(Figure(each.case.name, goal, found, _standing(reached)))
        if times is not None:
            goal = "checking no longer than proving"
            standing = _standing(times.value <= 1)
            figures.append(Figure(each.case.name, goal, f"{times} times", standing))
    return figures


def _real_inputs(results: Results) -> list[Figure]:
    goal = f"checking at most {MOST_TIMES} times as long as proving"
    return [
        Figure(each.case.name, goal, f"{times} times", _standing(times.value <= MOST_TIMES))
        for each in results.real_inputs
        for times in (each.ratio(),)
        if times is not None
    ]


def _proofs(results: Results) -> list[Figure]:
    measured = results.proofs
    replaying = [(times.value, each.name) for each in measured if (times := each.replaying())]
    writing = [(times.value, each.name) for each in measured if (times := each.writing())]
    return [
        *(
            Figure(each.name, "a replay", each.timings[REPLAYED].reason, Standing.MISSED)
            for each in measured
            if each.replaying() is None
        ),
        *_replayed("proofs", replaying),
        *_written("proofs", writing),
        *_largest(measured),
    ]


def _commands(results: Results) -> list[Figure]:
    figures = []
    for command in COMMANDS:
        measured = [each for each in results.commands if each.words[0] == command]
        name = f"whole commands, {command}"
        adding = [(added, each.name) for each in measured if (added := each.proving()) is not None]
        checking = [(times.value, each.name) for each in measured if (times := each.checking())]
        figures += [*_written(name, adding), *_replayed(name, checking)]
    return [*figures, *_largest(results.commands)]


def _replayed(name: str, ratios: Sequence[tuple[float, str]]) -> list[Figure]:
    if not ratios:
        return []
    middle, (worst, case) = median(times for times, _ in ratios), max(ratios)
    return [
        Figure(
            name,
            "replaying no longer than finding (median)",
            f"{middle:.2g} times",
            _standing(middle <= 1),
        ),
        Figure(
            name,
            f"replaying at most {MOST_TIMES_REPLAYED:g} times as long as finding (worst)",
            f"{worst:.2g} times: {case}",
            _standing(worst <= MOST_TIMES_REPLAYED),
        ),
    ]


def _written(name: str, ratios: Sequence[tuple[float, str]]) -> list[Figure]:
    if not ratios:
        return []
    middle, (worst, case) = median(times for times, _ in ratios), max(ratios)
    return [
        Figure(
            name,
            "writing at most a third of finding (median)",
            f"{middle:.2g} times, at most {worst:.2g}: {case}",
            _standing(middle <= MOST_TO_WRITE),
        )
    ]


def _largest(measured: Sequence[ProofMeasured | CommandMeasured]) -> list[Figure]:
    largest = max(measured, key=lambda each: each.size, default=None)
    if largest is None or not largest.size:
        return []
    return [
        Figure(
            largest.name,
            f"the largest file below {LARGEST_FILE // 10**6} MB",
            f"{largest.size / 10**6:.2g} MB",
            _standing(largest.size < LARGEST_FILE),
        )
    ]


def _services(results: Results) -> list[Figure]:
    figures = []
    for each in results.services:
        timing, goal = each.timing, each.case.goal
        reached = timing.outcome is Outcome.ANSWERED and timing.median < goal
        found = f"{timing.median:.3g} s"
        wanted = f"least budget in < {goal:g} s"
        figures.append(Figure(each.case.name, wanted, found, _standing(reached)))
    return figures


def _compositions(results: Results) -> list[Figure]:
    figures = []
    for each in results.compositions:
        timing, goal, slower = each.timing, each.case.goal, each.case.slower
        answered = timing.outcome is Outcome.ANSWERED
        found = f"{timing.median:.3g} s" if answered else timing.reason or timing.outcome.value
        wanted = f"interval in < {goal:g} s"
        reached = answered and timing.median < goal
        figures.append(Figure(each.case.name, wanted, found, _standing(reached)))
        if slower is not None and each.other is not None and answered:
            ratio = timing.median / each.other.median
            wanted = f"at most {slower:g} × dp_accounting at the same step"
            reached = ratio <= slower
            figures.append(Figure(each.case.name, wanted, f"{ratio:.2g} ×", _standing(reached)))
    return figures


def _standing(reached: bool) -> Standing:
    return Standing.REACHED if reached else Standing.MISSED
