"""Symbolic execution by running again: every path of a Python function, one run each.

    ways of the next run  ->  the function runs; a known prefix must come out as before
          ^                                  |
          |                                  v
    the last fork whose other way     its record, folded from the end to that fork
    was not followed                  (`trees.joined` where both ways are known)

A function that prints, uses other randomness, or does something else when it runs again is no
mechanism.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from io import TextIOBase
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from dipapprox.errors import LimitReached, SourceError
from dipapprox.language.core_expressions import Value
from dipapprox.language.functions import places
from dipapprox.language.functions.run import Event, Fork, PathRun, running_as
from dipapprox.language.functions.symbolic import refusal
from dipapprox.language.functions.trees import Course, End, Names, course_of, joined
from dipapprox.source import Span

MOST_PATHS = 4096

MOST_LINES = 2_000_000
"""Lines of Python that one run executes."""

Function = Callable[[PathRun], End]
"""Runs the user's function with the inputs of a run, and says what it returned."""


def explore(
    function: Function,
    code: CodeType,
    domains: Mapping[str, tuple[Value, ...]],
    names: Names,
    finite: Mapping[str, Names],
) -> Course:
    """Follow every path of a function.

    Args:
        function: What runs it.
        code: Of the user's function.
        domains: The values of the input cells that have finitely many.
        names: Taken by declarations.
        finite: The outputs with finitely many values, and which of these are names.

    Raises:
        SourceError: If a path leaves what programs can say; at the user's line.
    """
    ways: list[bool] = []
    expected: list[Event] = []
    waiting: list[Course] = []
    kinds: dict[str, str] = {}
    first: tuple[list[bool], list[Event], End] | None = None
    count = 0
    while True:
        count += 1
        if count > MOST_PATHS:
            line = places.span_of_definition(code)
            hint = "dipapprox.where(condition, a, b) chooses a value without a path of its own"
            raise refusal("limit", f"the function has more than {MOST_PATHS} paths", hint, line)
        run = PathRun(list(ways), expected, domains, names, kinds)
        end = _execute(run, function, code)
        first = first or (list(run.ways), list(run.events), end)
        course = course_of(end)
        events, ways = run.events, run.ways
        while events:
            event = events.pop()
            if not isinstance(event, Fork):
                course.begin_with(event)
            elif event.alone:
                nowhere = course_of(None)
                yes, no = (course, nowhere) if event.holds else (nowhere, course)
                course = joined(event.condition, yes, no, finite)
            elif event.holds:
                waiting.append(course)
                ways[-1] = False
                expected = [*events, Fork(event.condition, False, False)]
                break
            else:
                ways.pop()
                course = joined(event.condition, waiting.pop(), course, finite)
        else:
            _repeat(first, function, code, domains, names, kinds)
            return course


def _repeat(
    first: tuple[list[bool], list[Event], End],
    function: Function,
    code: CodeType,
    domains: Mapping[str, tuple[Value, ...]],
    names: Names,
    kinds: dict[str, str],
) -> None:
    """Run the first path once more: what runs before it must not matter."""
    ways, events, end = first
    again = PathRun(list(ways), events, domains, names, kinds)
    if _execute(again, function, code) != end or len(again.events) != len(events):
        message = "the function returns something else when it runs again"
        hint = "a mechanism depends on its arguments and draws alone"
        raise refusal("error", message, hint, places.span_of_definition(code))


def _execute(run: PathRun, function: Function, code: CodeType) -> End:
    """Run the function once.

    Raises:
        SourceError: If it fails, at the place where it does.
    """
    randomness = _random_states()
    try:
        with running_as(run), redirect_stdout(_NoOutput(run)), _counting(run, code):
            end = function(run)
    except (SourceError, LimitReached, KeyboardInterrupt):
        if run.failure is not None:
            raise run.failure from None
        raise
    except (Exception, SystemExit) as error:
        if run.failure is not None:
            raise run.failure from None
        message = f"the function fails: {type(error).__name__}: {error}"
        place = places.span_behind(error.__traceback__)
        raise refusal("error", message, _path_text(run), place) from None
    if run.failure is not None:
        raise run.failure
    if _random_states() != randomness:
        hint = "draw with dipapprox.gauss, laplace or choose: their laws are known exactly"
        line = places.span_of_definition(code)
        raise refusal("error", "the function uses another source of randomness", hint, line)
    return end


def _path_text(run: PathRun) -> str:
    """Say how a run got where it is."""
    forks = [event for event in run.events if isinstance(event, Fork)]
    said = []
    for fork in islice(forks, 4):
        span: Span | None = fork.condition.span
        if span is not None:
            said.append(f"'{span.text}' at line {span.line} {'holds' if fork.holds else 'fails'}")
    more = ", …" if len(forks) > len(said) else ""
    return f"on the path where {', '.join(said)}{more}" if said else ""


def _random_states() -> tuple[object, ...]:
    """Return what changes when somebody draws from the usual generators."""
    numpy: Any = sys.modules.get("numpy.random")
    if numpy is None:
        return (random.getstate(),)
    _, keys, position, *rest = numpy.get_state()
    return random.getstate(), keys.tobytes(), position, tuple(rest)


class _NoOutput(TextIOBase):
    """Standard output while a mechanism runs."""

    def __init__(self, run: PathRun) -> None:
        super().__init__()
        self._run = run

    def write(self, _: str) -> int:
        raise self._run.refusal("error", "the function prints: only what it returns is published")


@contextmanager
def _counting(run: PathRun, code: CodeType) -> Iterator[None]:
    """End runs that never ask anything: a loop without end that decides nothing.

    Another tracer (a debugger, a measurement of coverage) stays as it is, and nothing is counted.
    """
    if sys.gettrace() is not None:
        yield
        return
    left = MOST_LINES

    def each_line(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        left -= event == "line"
        if event == "return" and frame.f_code is code:
            run.last_line = frame.f_lineno
        if left < 0:
            span = places.span_of_line(frame.f_code, frame.f_lineno)
            message = f"one run executes more than {MOST_LINES} lines: a loop without end?"
            run.failure = refusal("limit", message, "", span)
            raise run.failure
        return each_line

    def each_call(frame: FrameType, event: str, argument: object) -> Any:
        own = frame.f_globals.get("__name__", "").startswith(places.OWN)
        return None if own else each_line(frame, event, argument)

    sys.settrace(each_call)
    try:
        yield
    finally:
        sys.settrace(None)
