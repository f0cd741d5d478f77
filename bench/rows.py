"""What is measured of one case is a row; rows of a kind are a table, a record each, and figures.

In: rows. Out: Markdown for people, JSON for programs, and the figures that the engine is meant to
reach: goals for a machine with 2 cores, which inform, and decide no test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median
from typing import Any

from bench.timing import Outcome, Ratio, Timing, ratio


class Standing(Enum):
    """How a figure stands; the value is the word in reports."""

    REACHED = "reached"
    MISSED = "not reached"
    UNKNOWN = "not measured"


@dataclass(frozen=True, slots=True)
class Figure:
    """A goal and what was measured, for people.

    Attributes:
        name: Of the case.
        goal: What was to be reached.
        found: What was measured; empty if nothing was.
        reached: Whether it was; None: not measured.
    """

    name: str
    goal: str
    found: str
    reached: bool | None

    @property
    def standing(self) -> Standing:
        """How it stands."""
        if self.reached is None:
            return Standing.UNKNOWN
        return Standing.REACHED if self.reached else Standing.MISSED


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of a case.

    Attributes:
        case: With a `name`: unique, for tables and records.
        found: What records say, by its name there; contestants are in "timings".
    """

    case: Any
    found: Mapping[str, Any]

    @property
    def name(self) -> str:
        """That of the case."""
        return str(self.case.name)

    def timing(self, contestant: str) -> Timing | None:
        """Return what a contestant took; None if it was not there."""
        found: Timing | None = self.found["timings"].get(contestant)
        return found

    def times(self, slower: str, faster: str) -> Ratio | None:
        """Return how many times longer one contestant took than another."""
        one, other = self.timing(slower), self.timing(faster)
        return None if one is None or other is None else ratio(one, other)


Rows = Sequence[Row]
Column = tuple[str, Callable[[Row], object]]


@dataclass(frozen=True, slots=True)
class Table:
    """A kind of rows.

    Attributes:
        kind: In records.
        text: The heading, and what a reader should know.
        columns: Their heads, and what is in them: see `cell`; or the lines of a row, which is then
            a table of its own.
        figures: What was reached.
    """

    kind: str
    text: str
    columns: tuple[Column, ...] | Callable[[Row], Sequence[tuple[str, str]]]
    figures: Callable[[Rows], list[Figure]]

    def page(self, rows: Rows) -> str:
        """Write the rows for people."""
        if not isinstance(self.columns, tuple):
            lines = self.columns
            return "\n\n".join(markdown((row.name, "found"), lines(row)) for row in rows)
        heads = [head for head, _ in self.columns]
        return markdown(heads, ([cell(of(row)) for _, of in self.columns] for row in rows))


def of(*path: str) -> Callable[[Row], object]:
    """What records say under a name; of `timings`, what a contestant took."""

    def found(row: Row) -> object:
        value: Any = row.found
        for name in path:
            value = value.get(name)
        return value

    return found


NAME: Column = ("case", lambda row: row.name)
TIMES: Column = ("times", of("ratio"))
DISTANCE: Column = ("distance", of("distance"))


def taken(*contestants: str) -> tuple[Column, ...]:
    """The columns of what contestants took."""
    return tuple((name, of("timings", name)) for name in contestants)


def cell(value: object) -> str:
    """Write what is in a column: medians in milliseconds, widths with two digits."""
    match value:
        case None:
            return ""
        case Timing():
            return milliseconds(value)
        case float():
            return f"{value:.1e}"
        case _:
            return str(value)


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a Markdown table; the first column is text, the others are numbers."""
    rule = ("---", *("---:" for _ in heads[1:]))
    lines = [heads, rule, *rows]
    for cells in lines:
        if len(cells) != len(heads):
            raise ValueError(f"{len(cells)} cells in a table of {len(heads)} columns")
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in lines
    )


def milliseconds(timing: Timing) -> str:
    """Write a median, and how many runs it is of."""
    match timing.outcome:
        case Outcome.FAILED:
            return f"no answer: {timing.reason}"
        case Outcome.CAPPED:
            return f"> {1000 * timing.median:.0f}"
        case Outcome.ANSWERED:
            return f"{plainly(1000 * timing.median)} ({len(timing.seconds)})"


def plainly(number: float) -> str:
    """Write three significant digits without an exponent."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def json_of(value: Any) -> Any:
    """Return what records say of timings, ratios and what holds them."""
    match value:
        case Timing():
            return {
                "outcome": value.outcome.value,
                "reason": value.reason or None,
                "median": value.median,
                "seconds": list(value.seconds),
            }
        case Ratio():
            return {"times": value.value, "at_least": value.at_least}
        case Mapping():
            return {name: json_of(each) for name, each in value.items()}
        case _:
            return value


# --- Figures --------------------------------------------------------------------------------------


def within(
    name: str, timing: Timing | None, seconds: float | None, goal: str = "", first: bool = False
) -> list[Figure]:
    """Whether a median is below so many seconds; nothing where no goal was set.

    Args:
        name: Of the case.
        timing: None if it was not measured.
        seconds: The goal.
        goal: What is to be that fast, with a space behind it.
        first: Whether to tell the first run.
    """
    if seconds is None:
        return []
    goal = f"{goal}< {seconds:g} s"
    if timing is None:
        return [Figure(name, goal, "", None)]
    if timing.outcome is not Outcome.ANSWERED:
        return [Figure(name, goal, timing.reason or timing.outcome.value, False)]
    found = f"{timing.median:.3g} s" + (f" (first run {timing.first:.3g} s)" if first else "")
    return [Figure(name, goal, found, timing.median < seconds)]


def at_most(name: str, times: Ratio | None, most: float, goal: str) -> list[Figure]:
    """Whether something took no more times longer; nothing if that is not known."""
    return [] if times is None else [Figure(name, goal, f"{times} times", times.value <= most)]


MOST_TO_REPLAY = 3.0
"""Of one case, in times of finding; half of them may take no longer than that."""

_MOST_TO_WRITE = 1 / 3
_LARGEST_FILE = 5_000_000


def proving(name: str, rows: Rows, writing: str, replaying: str) -> list[list[Figure]]:
    """What proofs take in times of finding an answer: of replaying, of writing.

    Args:
        name: Of all rows together.
        rows: Of proofs.
        writing: Where records say it, as a number or a ratio.
        replaying: Likewise.
    """

    def known(which: str) -> list[tuple[float, str]]:
        all_of = [(row.found[which], row.name) for row in rows if row.found[which] is not None]
        return [(each.value if isinstance(each, Ratio) else each, of) for each, of in all_of]

    replayed, written = [], []
    if ratios := known(replaying):
        middle, (worst, case) = median(times for times, _ in ratios), max(ratios)
        goals = ("no longer than finding (median)", f"at most {MOST_TO_REPLAY:g} times as long as")
        replayed = [
            Figure(name, f"replaying {goals[0]}", f"{middle:.2g} times", middle <= 1),
            Figure(
                name,
                f"replaying {goals[1]} finding (worst)",
                f"{worst:.2g} times: {case}",
                worst <= MOST_TO_REPLAY,
            ),
        ]
    if ratios := known(writing):
        middle, (worst, case) = median(times for times, _ in ratios), max(ratios)
        found = f"{middle:.2g} times, at most {worst:.2g}: {case}"
        goal = "writing at most a third of finding (median)"
        written = [Figure(name, goal, found, middle <= _MOST_TO_WRITE)]
    return [replayed, written]


def largest_file(rows: Rows) -> list[Figure]:
    """Whether the largest file of a proof is small enough."""
    largest = max(rows, key=lambda row: int(row.found["bytes"]), default=None)
    if largest is None or not (size := largest.found["bytes"]):
        return []
    goal = f"the largest file below {_LARGEST_FILE // 10**6} MB"
    return [Figure(largest.name, goal, f"{size / 10**6:.2g} MB", size < _LARGEST_FILE)]
