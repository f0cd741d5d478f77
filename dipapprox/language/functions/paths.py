"""Every path of a function, one evaluation each, and paths joined to a program.

ways of the next path  ->  the function is evaluated; what its first ways led to is known
      ^                                  |
      |                                  v
the last fork whose other way     its record, folded from the end to that fork
was not followed                  (`joined` where both ways are known)

Where an `if` of the mechanism itself has a branch that returns, that branch is followed at once, on
all of its paths, and undone; then the path goes on without it: a loop of n such tests is followed
once, and not n times.

A `Course` is what happens from some point on: steps, then an end. A step is a statement, or a
`BranchSide`: a condition under which another course is taken, which ends the program. Where the two
ways of a fork differ only in constants that they return, they are one course after an `if` that
assigns these:

    if c then …; out <- 1; exit end            if c then out <- 1 else out <- 0 end
    …; out <- 0                          ⇒     …

so that a vector of n comparisons is n statements, not 2^n.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from dipapprox.data_classes import Record, field, replace
from dipapprox.errors import SourceError
from dipapprox.language import ast
from dipapprox.language.functions.files import failed
from dipapprox.language.functions.machine import Broke, Continued, Raised, Returned, Undone
from dipapprox.language.functions.run import MOST_FORKS, NOWHERE, Event, Fork, PathRun, TooManyApart
from dipapprox.language.functions.symbols import Condition, negated, refusal, running_as
from dipapprox.language.traversal import nodes_in
from dipapprox.source import Span

MOST_PATHS = 4096
MOST_APART = 6
"""Conditions on one path both of whose ways are followed to the end; where there are more, ways are
joined wherever that can be."""

End = Mapping[int, ast.Expression] | None
"""What output cells are that are not assigned yet, by position; None where no input leads."""

Cells = Sequence[tuple[ast.Target, frozenset[str] | None]]
"""Output cells; those with finitely many values have the names among these."""


def _assigned(place: ast.Target, value: ast.Expression) -> ast.Assign:
    return ast.Assign((replace(place, span=value.span),), value, span=value.span)


class BranchSide(Record):
    """if condition then course; exit end."""

    condition: ast.Expression
    course: Course


class Course(Record, frozen=False):
    """What happens from some point on: steps, the last one first; the size counts statements.
    Courses are equal whatever their ends are."""

    steps: list[ast.Statement | BranchSide]
    end: End = field(compare=False)
    size: int = field(compare=False)

    def begin_with(self, step: ast.Statement | BranchSide) -> None:
        self.steps.append(step)
        self.size += 1 + (step.course.size if isinstance(step, BranchSide) else 0)


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
            end = self._end(attempt)
            course = Course([], end, len(end or ()))
            events, ways = run.events[state.events :], run.ways
            while events:
                event = events.pop()
                if not isinstance(event, Fork):
                    course.begin_with(event)
                    continue
                other = Course([], None, 0) if event.other is NOWHERE else event.other
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


# --- paths joined ---------------------------------------------------------------------------------


def joined(condition: ast.Expression, yes: Course, no: Course, cells: Cells) -> Course:
    """Return the course of a fork, of what happens if its condition holds and if not; these are
    used up."""
    differing = _differing(yes, no, cells)
    if differing is not None:
        if differing:
            _take_out(yes, differing.keys())
            then, otherwise = (
                tuple(_assigned(cells[place][0], pair[way]) for place, pair in differing.items())
                for way in (0, 1)
            )
            branch = ast.Branch(condition, then, span=condition.span)
            yes.begin_with(ast.If((branch,), otherwise, span=condition.span))
        return yes
    if yes.size <= no.size:
        no.begin_with(BranchSide(condition, yes))
        return no
    yes.begin_with(BranchSide(negated(condition), no))
    return yes


def with_defaults(course: Course, cells: Cells) -> ast.Block:
    """Return the statements of a whole program, with what outputs mostly are at their head: not
    where no input leads and no output may be assigned."""
    courses = list(_courses(course))
    ends = [each.end for each in courses]
    found: list[ast.Statement] = []
    defaults: dict[int, set[int]] = {}
    if len(ends) > 1 and None not in ends:
        for place in ends[0] or ():
            nodes = [end[place] for end in ends if end and place in end]
            objects = dict(zip(map(id, nodes), nodes, strict=True))  # few: ends share them
            seen = Counter[ast.Expression]()
            for each, times in Counter(map(id, nodes)).items():
                seen[objects[each]] += times
            ((value, count),) = seen.most_common(1)
            constant = _is_constant(value, cells[place][1])
            if constant and count > 1 and len(nodes) == len(ends):
                found.append(_assigned(cells[place][0], value))
                defaults[place] = {each for each, node in objects.items() if node == value}
    for one in courses:
        if one.end is not None:
            one.end = {p: v for p, v in one.end.items() if id(v) not in defaults.get(p, ())}
    return (*found, *block_of(course, cells))


def _courses(course: Course) -> Iterator[Course]:
    yield course
    for step in course.steps:
        if isinstance(step, BranchSide):
            yield from _courses(step.course)


def block_of(course: Course, cells: Cells) -> ast.Block:
    """Return the statements of a course; its sides exit."""
    found: list[ast.Statement] = []
    for step in reversed(course.steps):
        if isinstance(step, BranchSide):
            span = step.condition.span
            body = (*block_of(step.course, cells), ast.Exit(span=span))
            branch = ast.Branch(step.condition, body, span=span)
            found.append(ast.If((branch,), (), span=span))
        else:
            found.append(step)
    for place, value in (course.end or {}).items():
        found.append(_assigned(cells[place][0], value))
    return tuple(found)


Pair = tuple[ast.Expression, ast.Expression]


def _differing(yes: Course, no: Course, cells: Cells) -> dict[int, Pair] | None:
    """Return the outputs that are one constant all over one way, and one all over the other; None
    if the courses differ in more, or are nothing but two ends, which need no joining."""
    if yes.size != no.size or yes != no:
        return None
    pairs: dict[int, set[Pair]] = defaultdict(set)
    for one, other in zip(_courses(yes), _courses(no), strict=True):
        if one.end is None or other.end is None or one.end.keys() != other.end.keys():
            return None
        for place, value in one.end.items():
            pairs[place].add((value, other.end[place]))
    found: dict[int, Pair] = {}
    for place, seen in pairs.items():
        if any(left != right for left, right in seen):
            if len(seen) > 1 or not all(_is_constant(v, cells[place][1]) for v in next(iter(seen))):
                return None
            (found[place],) = seen
    return found if yes.steps or not found else None


def _is_constant(node: ast.Expression, names: frozenset[str] | None) -> bool:
    kinds = (ast.Number, ast.Truth, ast.Negative, ast.Product)
    return names is not None and all(
        isinstance(each, kinds) or (isinstance(each, ast.Name) and each.name in names)
        for each in nodes_in(node)
    )


def _take_out(course: Course, places: Collection[int]) -> int:
    """Leave the assignments of some outputs out of all ends; return how many there were."""
    end = course.end or {}
    left = {place: value for place, value in end.items() if place not in places}
    fewer = len(end) - len(left)
    fewer += sum(
        _take_out(each.course, places) for each in course.steps if isinstance(each, BranchSide)
    )
    course.end = left
    course.size -= fewer
    return fewer
