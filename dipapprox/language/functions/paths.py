"""Every path of a function, one evaluation each.

ways of the next path  ->  the function is evaluated; what its first ways led to is known
      ^                                  |
      |                                  v
the last fork whose other way     its record, folded from the end to that fork
was not followed                  (`trees.joined` where both ways are known)

Where an `if` of the mechanism itself has a branch that returns, that branch is followed at once, on
all of its paths, and undone; then the path goes on without it: a loop of n such tests is followed
once, and not n times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from dipapprox.data_classes import replace
from dipapprox.errors import SourceError
from dipapprox.language import ast
from dipapprox.language.functions.files import failed
from dipapprox.language.functions.machine import Broke, Continued, Raised, Returned, Undone
from dipapprox.language.functions.run import MOST_FORKS, Event, Fork, PathRun, TooManyApart
from dipapprox.language.functions.symbols import Condition, refusal, running_as
from dipapprox.language.functions.trees import Cells, Course, End, course_of, joined
from dipapprox.source import Span

MOST_PATHS = 4096
MOST_APART = 6
"""Conditions on one path both of whose ways are followed to the end; where there are more, ways are
joined wherever that can be."""


class Exploration:
    """The paths of a function; `whole` ones where branches cannot be undone: there they are not
    followed at once."""

    def __init__(
        self,
        begin: Callable[[], PathRun],
        finish: Callable[[PathRun, Any], End],
        span: Span | None,
        cells: Cells,
    ) -> None:
        """Explore no path yet; `finish` says what outputs are, given what is returned."""
        self.begin, self.finish, self.span, self.cells = begin, finish, span, cells
        self.whole = set[Span | None]()

    def course(self, call: Callable[[PathRun], Any]) -> Course:
        """Follow every path; `call` evaluates the function on one."""
        attempts = [(False, MOST_APART), (True, MOST_FORKS), (False, MOST_FORKS)]
        while True:
            self.run, self.count = self.begin(), 0
            self.run.split, (self.run.joins, self.run.most_apart) = self.split, attempts[0]
            try:
                with running_as(self.run):
                    return self.follow(partial(call, self.run))
            except Undone:
                continue
            except TooManyApart:
                del attempts[0]
            except SourceError:
                if not self.run.have_joined:
                    raise
                del attempts[0]  # perhaps what was joined belongs apart

    def follow(self, attempt: Callable[[], Any]) -> Course:
        """Follow all paths from where the run is, to their ends; it is there again then."""
        run, state = self.run, self.run.state()
        ways: list[bool] = []
        expected: list[Event] = []
        waiting: list[Course] = []
        while True:
            run.restart(state, ways, expected)
            course = course_of(self._end(attempt))
            events, ways = run.events[state.events :], run.ways
            while events:
                event = events.pop()
                if not isinstance(event, Fork):
                    course.begin_with(event)
                    continue
                other = event.other
                if other is None and event.holds:
                    waiting.append(course)
                    ways[-1] = False
                    expected = [*events, Fork(event.condition, False)]
                    break
                if other is None:
                    ways.pop()
                    other = waiting.pop()
                yes, no = (course, other) if event.holds else (other, course)
                course = joined(event.condition, yes, no, self.cells)
            else:
                run.restore(state)
                return course

    def split(
        self, condition: Condition, branches: Mapping[bool, Callable[[], None]]
    ) -> Fork | None:
        """Follow a branch that returns, if there is one; return the fork without it."""
        run = self.run
        if not branches or (place := run.here) in self.whole:
            return None
        (holds, block), *_ = branches.items()
        state = run.state()
        run.kept, run.age = {}, run.age + 1
        run.learn(condition, holds)

        def attempt() -> Any:
            try:
                block()
            except Returned as returned:
                run.last = returned.node
                return returned.value
            except (Broke, Continued):
                pass
            raise Undone

        try:
            course = self.follow(attempt)
        except Undone:
            self.whole.add(place)
            raise
        run.restore(state)
        return Fork(condition.node, not holds, course)

    def _end(self, attempt: Callable[[], Any]) -> End:
        run = self.run
        self.count += 1
        if self.count > MOST_PATHS:
            message = f"the function has more than {MOST_PATHS} paths"
            hint = "dipapprox.where(condition, a, b) chooses a value without a path of its own"
            raise refusal("limit", message, hint, self.span)
        try:
            value = attempt()
            run.node = run.last
            return self.finish(run, value)
        except Raised as error:
            raise failed(error, _path_text(run)) from None
        except SourceError as error:
            hint = _path_text(run)
            raise SourceError(replace(d, hint=d.hint or hint) for d in error.diagnostics) from None
        except RecursionError:
            message = "too many calls inside each other: a recursion without end?"
            raise refusal("limit", message, "", run.here) from None


def _path_text(run: PathRun) -> str:
    forks = [event for event in run.events if isinstance(event, Fork)]
    said = []
    for fork in forks:
        span: Span | None = fork.condition.span
        way = "holds" if fork.holds else "fails"
        match fork.condition:
            case ast.Comparison((_, ast.Number(value)), ("=",)) if span and "==" not in span.text:
                way = f"finds the value {value}" if fork.holds else ""
        if span is not None and way:
            said.append(f"'{span.text}' at line {span.line} {way}")
    more = ", …" if said[4:] else ""
    return f"on the path where {', '.join(said[:4])}{more}" if said else ""
