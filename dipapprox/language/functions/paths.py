"""Every path of a function, one evaluation each.

ways of the next path  ->  the function is evaluated; what its first ways led to is known
      ^                                  |
      |                                  v
the last fork whose other way     its record, folded from the end to that fork
was not followed                  (`trees.joined` where both ways are known)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice

from dipapprox.data_classes import replace
from dipapprox.errors import SourceError
from dipapprox.language.core import Value
from dipapprox.language.functions.files import failed
from dipapprox.language.functions.machine import Raised
from dipapprox.language.functions.run import Event, Fork, PathRun, running_as
from dipapprox.language.functions.symbols import refusal
from dipapprox.language.functions.trees import Course, End, Names, course_of, joined
from dipapprox.source import Span

MOST_PATHS = 4096

Follow = Callable[[PathRun], End]
"""Evaluates the function on a path, and says what it returned."""


def explore(
    follow: Follow,
    span: Span | None,
    domains: Mapping[str, tuple[Value, ...]],
    names: Names,
    texts: Names,
    finite: Mapping[str, Names],
) -> Course:
    """Follow every path of a function.

    Args:
        follow: What evaluates it.
        span: Of its definition.
        domains: The values of the input cells that have finitely many.
        names: Taken by declarations.
        texts: The named values among them.
        finite: The outputs with finitely many values, and which of these are names.

    Raises:
        SourceError: If a path leaves what programs can say; at the user's line.
    """
    kinds: dict[str, str] = {}
    ways: list[bool] = []
    expected: list[Event] = []
    waiting: list[Course] = []
    count = 0
    while True:
        count += 1
        if count > MOST_PATHS:
            hint = "dipapprox.where(condition, a, b) chooses a value without a path of its own"
            raise refusal("limit", f"the function has more than {MOST_PATHS} paths", hint, span)
        run = PathRun(list(ways), expected, domains, names, texts, kinds)
        course = course_of(_end_of(follow, run))
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
            return course


def _end_of(follow: Follow, run: PathRun) -> End:
    try:
        with running_as(run):
            return follow(run)
    except Raised as error:
        raise failed(error, _path_text(run)) from None
    except SourceError as error:
        hint = _path_text(run)
        raise SourceError(replace(d, hint=d.hint or hint) for d in error.diagnostics) from None
    except RecursionError:
        message = "too many calls inside each other: a recursion without end?"
        raise refusal("limit", message, "", run.here) from None


def _path_text(run: PathRun) -> str:
    """Say how a path got where it is."""
    forks = [event for event in run.events if isinstance(event, Fork)]
    said = []
    for fork in islice(forks, 4):
        span: Span | None = fork.condition.span
        if span is not None:
            said.append(f"'{span.text}' at line {span.line} {'holds' if fork.holds else 'fails'}")
    more = ", …" if len(forks) > len(said) else ""
    return f"on the path where {', '.join(said)}{more}" if said else ""
