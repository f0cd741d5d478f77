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
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from io import TextIOBase
from itertools import islice
from types import CodeType, FrameType, TracebackType
from typing import Any, Never

from dipapprox.data_classes import replace
from dipapprox.errors import LimitReached, SourceError
from dipapprox.language.core import Value
from dipapprox.language.functions import inversions, outside, places
from dipapprox.language.functions.equivalents import with_hints
from dipapprox.language.functions.run import Event, Fork, PathRun, running_as
from dipapprox.language.functions.symbolic import refusal
from dipapprox.language.functions.trees import Course, End, Names, course_of, joined
from dipapprox.limits import no_collections
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
    texts: Names,
    finite: Mapping[str, Names],
) -> Course:
    """Follow every path of a function, twice: what ran before a path must not matter.

    Args:
        function: What runs it.
        code: Of the user's function.
        domains: The values of the input cells that have finitely many.
        names: Taken by declarations.
        texts: The named values among them.
        finite: The outputs with finitely many values, and which of these are names.

    Raises:
        SourceError: If a path leaves what programs can say; at the user's line.
    """
    kinds: dict[str, str] = {}

    def every_path(first: bool) -> Course:
        def begun(ways: list[bool], expected: list[Event]) -> PathRun:
            return PathRun(ways, expected, domains, names, texts, kinds, first)

        return _every_path(begun, first, function, code, finite)

    found = every_path(True)
    if every_path(False) != found:
        raise _changing(code)
    return found


def _every_path(
    begun: Callable[[list[bool], list[Event]], PathRun],
    first: bool,
    function: Function,
    code: CodeType,
    finite: Mapping[str, Names],
) -> Course:
    """Follow every path once; `first` is the way that is taken first at each fork."""
    ways: list[bool] = []
    expected: list[Event] = []
    waiting: list[Course] = []
    count = 0
    while True:
        count += 1
        if count > MOST_PATHS:
            line = places.span_of_definition(code)
            hint = "dipapprox.where(condition, a, b) chooses a value without a path of its own"
            raise refusal("limit", f"the function has more than {MOST_PATHS} paths", hint, line)
        run = begun(list(ways), expected)
        course = course_of(execute(run, function, code))
        events, ways = run.events, run.ways
        while events:
            event = events.pop()
            if not isinstance(event, Fork):
                course.begin_with(event)
            elif event.alone:
                nowhere = course_of(None)
                yes, no = (course, nowhere) if event.holds else (nowhere, course)
                course = joined(event.condition, yes, no, finite)
            elif event.holds is first:
                waiting.append(course)
                ways[-1] = not first
                expected = [*events, Fork(event.condition, not first, False)]
                break
            else:
                ways.pop()
                other = waiting.pop()
                yes, no = (course, other) if event.holds else (other, course)
                course = joined(event.condition, yes, no, finite)
        else:
            return course


def _changing(code: CodeType) -> SourceError:
    message = "the function does something else when it runs again"
    hint = "a mechanism depends on its arguments and draws alone"
    return refusal("error", message, hint, places.span_of_definition(code))


def execute(run: PathRun, function: Function, code: CodeType) -> End:
    """Run the function once.

    Raises:
        SourceError: If it fails, at the place where it does.
    """
    randomness = _random_states()
    try:
        output = redirect_stdout(_NoOutput(run))
        with running_as(run), output, no_collections(), _counting(run, code):
            end = function(run)
    except (LimitReached, KeyboardInterrupt):
        if run.failure is not None:
            raise with_hints(run.failure) from None
        raise
    except (Exception, SystemExit, _Ended) as error:
        raise with_hints(run.failure or _failed(run, error, error.__traceback__)) from None
    if run.failure is not None:
        raise with_hints(run.failure)
    if _random_states() != randomness:
        line = places.span_of_definition(code)
        raise refusal("error", outside.RANDOMNESS, outside.DRAW, line)
    return end


class _Ended(BaseException):
    """Ends a run of which `failure` says why; `except Exception` does not catch it."""


_CAUGHT = "an error of this kind ends the run, also where the function catches it"


def _failed(
    run: PathRun, error: BaseException, trace: TracebackType | None, hint: str = ""
) -> SourceError:
    """Return the error for what the function raised, with a hint or how the run got there."""
    if isinstance(error, SourceError):
        hint = _path_text(run)
        return SourceError(replace(d, hint=d.hint or hint) for d in error.diagnostics)
    place = places.span_behind(trace)
    if isinstance(error, TypeError) and _SYMBOLS.search(str(error)):
        hint = "inputs and samples go where the function and dipapprox compute with them"
        return refusal("type error", f"what happens here is not followed: {error}", hint, place)
    message = f"the function fails: {type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, RecursionError):
        return refusal("limit", f"{message}: a recursion without end?", "", place)
    return refusal("error", message, hint or _path_text(run), place)


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


_SYMBOLS = re.compile(r"\b(Quantity|Condition|Weight)\b")


class _NoOutput(TextIOBase):
    """Standard output while a mechanism runs."""

    def __init__(self, run: PathRun) -> None:
        super().__init__()
        self._run = run

    def write(self, _: str) -> int:
        raise self._run.refusal("error", "the function prints: only what it returns is published")


@contextmanager
def _counting(run: PathRun, code: CodeType) -> Iterator[None]:
    """End runs that never ask anything, and those that call what no mechanism calls.

    Another tracer (a debugger, a measurement of coverage) sees nothing meanwhile.
    """
    others = sys.gettrace()
    left = MOST_LINES
    written = inversions.Inversions(run)

    def end(kind: str, message: str, hint: str, span: Span | None) -> Never:
        run.failure = run.failure or refusal(kind, message, hint, span)
        raise _Ended

    def each_line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        left -= event == "line"
        if event == "return" and frame.f_code is code:
            run.last_line = frame.f_lineno
        if event == "exception" and outside.tells_symbols(frame, *argument[1:]):
            run.failure = run.failure or _failed(run, argument[1], argument[2], _CAUGHT)
            raise _Ended
        for place in written.unanswered(frame, event):
            end("type error", inversions.MESSAGE, inversions.HINT, place)
        if left < 0:
            message = f"one run executes more than {MOST_LINES} lines: a loop without end?"
            end("limit", message, "", places.line_of_user(frame))
        return each_line

    def each_call(frame: FrameType, event: str, argument: object) -> Any:
        if places.is_own(frame):
            return None
        wrong = outside.wrong_with(frame, code)
        if wrong is not None:
            end("error", wrong.message, wrong.hint, wrong.span)
        written.begin(frame)
        return each_line(frame, event, argument)

    sys.settrace(each_call)
    try:
        yield
        if sys.gettrace() is not each_call:
            message = "the function is seen no more: a recursion without end, or a debugger"
            raise refusal("limit", message, "", places.span_of_definition(code))
    finally:
        sys.settrace(others)
