"""Measuring contestants side by side: interleaved runs, medians, caps, ratios.

In: what to run. Out: `Timing`s in seconds of wall-clock time. A contestant that runs out of its
time is reported as such; its time is then a lower bound, and so is every ratio over it.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from statistics import median

from dipapprox.errors import LimitReached

Clock = Callable[[], float]

Run = Callable[[float], None]
"""Runs once, within about so many seconds.

It raises `LimitReached` if that is not enough, and `NoAnswer` if it fails otherwise.
"""


def processor_time() -> float:
    """Return the seconds of the processors for this process and those that it waited for."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in both)


def environment() -> dict[str, str]:
    """Return that of new processes: they keep compiled modules, as those of packages are."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


class NoAnswer(Exception):
    """A contestant gave up; the message says why."""


class Outcome(Enum):
    """How a contestant's runs ended; the value is the word in records."""

    ANSWERED = "answered"
    CAPPED = "over the cap"
    FAILED = "no answer"


@dataclass(frozen=True, slots=True)
class Timing:
    """What was measured of one contestant.

    Attributes:
        outcome: FAILED and CAPPED if any run was.
        seconds: Of every run, in order; when CAPPED the last one is how long it was given.
        reason: Why there is no answer; empty if there is.
    """

    outcome: Outcome
    seconds: tuple[float, ...]
    reason: str = ""

    @property
    def median(self) -> float:
        """The median over all runs; when CAPPED the cap: a lower bound."""
        return self.seconds[-1] if self.outcome is Outcome.CAPPED else median(self.seconds)

    @property
    def first(self) -> float:
        """The first run, before any cache of the process is filled."""
        return self.seconds[0]


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times longer one contestant took than another; `at_least` for lower bounds."""

    value: float
    at_least: bool = False

    def __str__(self) -> str:
        text = f"{self.value:.3g}" if self.value < 100 else f"{self.value:.0f}"
        return f"> {text}" if self.at_least else text


def ratio(slower: Timing, faster: Timing) -> Ratio | None:
    """Return median(slower) / median(faster), or None if that bounds nothing."""
    if faster.outcome is not Outcome.ANSWERED or slower.outcome is Outcome.FAILED:
        return None
    return Ratio(slower.median / faster.median, slower.outcome is Outcome.CAPPED)


@dataclass(frozen=True, slots=True)
class Patience:
    """How much is measured.

    Attributes:
        runs: Most runs of a contestant.
        seconds: After so much time in total a contestant is not run again.
        cap: Seconds that a single run may take.
        least: Runs that are made whatever they take, unless one is over the cap.
    """

    runs: int
    seconds: float
    cap: float
    least: int = 1


def side_by_side(
    contestants: Mapping[str, Run], patience: Patience, clock: Clock = time.perf_counter
) -> dict[str, Timing]:
    """Time contestants in turns: every round runs each of them once.

    Whatever disturbs the machine for a while then disturbs all of them alike.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    ended: dict[str, Timing] = {}
    for _ in range(patience.runs):
        for name, run in contestants.items():
            spent = seconds[name]
            enough = len(spent) >= patience.least and sum(spent) > patience.seconds
            if name in ended or enough:
                continue
            start = clock()
            try:
                run(patience.cap)
            except LimitReached:
                ended[name] = Timing(Outcome.CAPPED, (*spent, clock() - start))
            except NoAnswer as failure:
                elapsed = clock() - start
                ended[name] = Timing(Outcome.FAILED, (*spent, elapsed), str(failure))
            else:
                spent.append(clock() - start)
    return {
        name: ended.get(name) or Timing(Outcome.ANSWERED, tuple(seconds[name]))
        for name in contestants
    }
