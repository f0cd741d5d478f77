"""Paths joined to a program: what all executions of a function did, as statements.

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
from collections.abc import Collection, Iterator, Mapping, Sequence

from dipapprox.data_classes import Record, replace
from dipapprox.language import ast
from dipapprox.language.functions.symbols import negated
from dipapprox.language.traversal import nodes_in

End = Mapping[int, ast.Expression] | None
"""What output cells are that are not assigned yet, by position; None where no input leads."""

Names = frozenset[str]  # named values
Cells = Sequence[tuple[ast.Target, Names | None]]
"""Output cells; those with finitely many values have the names among these."""


def _assigned(place: ast.Target, value: ast.Expression) -> ast.Assign:
    return ast.Assign((replace(place, span=value.span),), value, span=value.span)


class BranchSide(Record):
    """if condition then course; exit end."""

    condition: ast.Expression
    course: Course


class Course(Record, frozen=False):
    """What happens from some point on: steps, the last one first; the size counts statements."""

    steps: list[ast.Statement | BranchSide]
    end: End
    size: int

    def begin_with(self, step: ast.Statement | BranchSide) -> None:
        """Put a step before all others."""
        self.steps.append(step)
        self.size += 1 + (step.course.size if isinstance(step, BranchSide) else 0)


def course_of(end: End) -> Course:
    """Return the course that ends at once."""
    return Course([], end, len(end or ()))


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
    """Yield a course and those of its sides."""
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


def _skeleton(course: Course) -> list[object]:
    """Return a course without its ends."""
    return [
        (each.condition, _skeleton(each.course)) if isinstance(each, BranchSide) else each
        for each in course.steps
    ]


Pair = tuple[ast.Expression, ast.Expression]


def _differing(yes: Course, no: Course, cells: Cells) -> dict[int, Pair] | None:
    """Return the outputs that are one constant all over one way, and one all over the other; None
    if the courses differ in more, or are nothing but two ends, which need no joining."""
    if yes.size != no.size or _skeleton(yes) != _skeleton(no):
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


def _is_constant(node: ast.Expression, names: Names | None) -> bool:
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
