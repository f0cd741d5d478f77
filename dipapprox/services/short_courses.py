"""Short courses of calls, one after the other: what shows more than the longest path does.

Where replies leave open what a service remembers, the course along a longest path may show little:
other states of the two runs answer alike. Here courses are followed on values, with the whole
distribution over states, the shortest first, and the one that tells most is kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.language.services import Change
from dipapprox.limits import Limits
from dipapprox.services.model import Call
from dipapprox.services.ratios import Gain
from dipapprox.services.reachable import Examiner
from dipapprox.services.system import System
from dipapprox.services.traces import Reply, Runs, SeenCall, Trace, with_best_replies

_MOST_COURSES = 300
"""Courses whose probabilities are compared."""


@dataclass(frozen=True, slots=True)
class ShownCourse:
    """What a course shows.

    Attributes:
        trace: The course.
        gain: Of the first run over the second; None if only the first run can answer so.
    """

    trace: Trace
    gain: Gain | None

    @property
    def is_unbounded(self) -> bool:
        """Whether it shows that there is no budget."""
        return self.gain is None or self.gain.is_unbounded


def best_short_course(
    system: System, examiner: Examiner, upper: Fraction | None, limits: Limits
) -> ShownCourse | None:
    """Return the course that shows most among short ones.

    Args:
        system: With values for all cells.
        examiner: Who looks.
        upper: In eps; no course shows more, so that the search may end there. None: not known.
        limits: Asked often.

    Raises:
        LimitReached: If the time runs out.
        Inexpressible: See `System.step`.
    """
    best: ShownCourse | None = None
    waiting = deque([_Course((), Runs(system, limits), False)])
    compared = 0
    while waiting and compared < _MOST_COURSES:
        limits.check()
        course = waiting.popleft()
        for event, differ in _next(system, examiner, course):
            (filled,), after = with_best_replies([event], system, limits, course.runs.copy())
            if not after.first:
                continue
            events = *course.events, filled
            if not after.second:
                if after.is_one_sided():
                    return ShownCourse(events, None)
                continue
            waiting.append(_Course(events, after, differ))
            if not differ or event.reply is None:
                continue
            compared += 1
            gain = after.gain()
            if gain is None:
                continue
            if gain.is_unbounded:
                return ShownCourse(events, gain)
            if best is None or best.gain is None or gain.lower > best.gain.lower:
                best = ShownCourse(events, gain)
                if upper is not None and gain.lower >= upper:
                    return best
    return best


@dataclass(frozen=True, slots=True)
class _Course:
    events: tuple[SeenCall, ...]
    runs: Runs
    differ: bool


def _next(system: System, examiner: Examiner, course: _Course) -> Iterator[tuple[SeenCall, bool]]:
    """Yield what may follow, and whether the runs differ then."""
    for event in _alike(system, examiner, course.runs):
        yield event, course.differ
    if not course.differ:
        for event in _differing(system):
            yield event, True


def _alike(system: System, examiner: Examiner, runs: Runs) -> Iterator[SeenCall]:
    """Yield what both runs may be asked, with all replies of the first one."""
    for call in system.calls:
        if not examiner.sees(system, call):
            yield SeenCall(call, call, None)
            continue
        replies = dict[Reply, None]()
        for state in runs.first:
            replies.update((outcome.values, None) for outcome in system.step(state, call))
        for reply in replies:
            yield SeenCall(call, call, reply)


def _differing(system: System) -> Iterator[SeenCall]:
    """Yield the calls in which the runs may differ."""
    calls: list[Call | None] = [call for call in system.calls if call.is_data]
    if system.service.change is Change.INSERT:
        yield from (
            event for c in calls for event in (SeenCall(c, None, None), SeenCall(None, c, None))
        )
    else:
        yield from (SeenCall(one, other, None) for one in calls for other in calls if one != other)
