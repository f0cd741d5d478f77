"""Runs of branches that find the largest or smallest of many samples, as one step.

`argmax` and its kin stand in core programs as the papers write them:

    best <- v[1];  out <- 1
    if v[2] > best then best <- v[2]; out <- 2 end
    …
    if v[N] > best then best <- v[N]; out <- N end

Branch by branch, that is N²/2 states. But where the v are N samples of which the path knows
nothing, exactly N states come out, one for each that may be the best: it lies above, or below, all
others. Of real samples, whose ties have probability 0, the guards of such a state are one
`Extreme`, whatever N is.

Integer samples tie, and it matters which branch is the last one taken. Before branch k the best is
the largest of v[1], …, v[k-1], whether ties were taken or not. So v[k] is the best in the end if
and only if branch k holds of v[k] and each v[j] before it, and no branch j after it holds of v[j]
and v[k]: N - 1 comparisons that tell ties apart (`ties_apart`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import groupby

from dipapprox.data_classes import Record
from dipapprox.language import core
from dipapprox.language.cells import read
from dipapprox.language.core import Relation
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.configuration import State
from dipapprox.semantics.evaluation import StoredValue
from dipapprox.semantics.integers import integer_guard
from dipapprox.semantics.order import Points
from dipapprox.semantics.state import Guard

_LEAST = 2  # fewer branches are one comparison

_LARGEST = {
    Relation.GREATER: True,
    Relation.GREATER_EQUAL: True,
    Relation.LESS: False,
    Relation.LESS_EQUAL: False,
}
"""Whether a candidate that compares so with the best so far is better for being larger."""


class Selection(Record, eq=False):
    """A run of branches that selects one of several candidates."""

    best: str  # the variable that holds the best so far, before the first branch as well
    # What it is compared with, one expression for each branch.
    candidates: tuple[core.Expression, ...]
    # The branches; all assign the same variables, and constants to all but `best`.
    branches: tuple[core.If, ...]
    largest: bool  # whether the largest is the best
    # For each branch whether its candidate must be better, and not only as good.
    strict: tuple[bool, ...]

    def taken(self, branch: int) -> Iterator[core.Assign]:
        """Yield what is assigned if the candidate of a branch is the best."""
        return (each for each in self.branches[branch].then if isinstance(each, core.Assign))


def selectable(
    values: Sequence[StoredValue | None], state: State, points: Points, integers: Set[int]
) -> list[LinearForm] | None:
    """Return the values of candidates if they can be selected; see above.

    Args:
        values: Of the best so far, and of the candidates.
    """
    forms = [value for value in values if isinstance(value, LinearForm)]
    samples = {form.sole_sample for form in forms} - {None}
    if len(samples) < len(values):
        return None
    group = [sample for sample in samples if sample is not None]
    if not integers.isdisjoint(group) and not integers >= set(group):
        return None
    cone = state.settle(points)
    return forms if cone is not None and cone.knows_none_of(group, points) else None


def ties_apart(selection: Selection, values: list[LinearForm], place: int) -> Iterator[Guard]:
    """Yield what makes one of several integer samples the best in the end.

    Args:
        values: The samples, the best before the first branch first.
        place: Of the one in question.
    """
    best = values[place]
    for other, value in enumerate(values):
        if other == place:
            continue
        # The later one of the two is compared by its branch, which holds or does not.
        is_strict = selection.strict[max(place, other) - 1] is (other < place)
        form = value - best if selection.largest else best - value
        yield integer_guard(form, is_strict)


def selections_in(block: core.Body) -> dict[int, Selection]:
    """Find the selections among the statements of a block, by the place of the first branch."""
    found: dict[int, Selection] = {}
    place = 0
    branches = ((each, _branch(each)) for each in block)
    for kind, group in groupby(branches, key=lambda each: each[1] and each[1][0]):
        run = list(group)
        if kind is not None and len(run) >= _LEAST:
            candidates, strict = zip(*(b[1:] for _, b in run if b is not None), strict=True)
            statements = tuple(each for each, _ in run if isinstance(each, core.If))
            best, largest, _ = kind
            found[place] = Selection(best, candidates, statements, largest, strict)
        place += len(run)
    return found


_Kind = tuple[str, bool, frozenset[str]]
"""What the branches of a selection have in common: the best so far, whether the largest is the
best, and all that they assign."""


def _branch(statement: object) -> tuple[_Kind, core.Expression, bool] | None:
    """Read `if candidate > best then best <- candidate; … end`, as its kind, the candidate, and
    whether that must be better; None if it is something else."""
    match statement:
        case core.If(core.Comparison(left, relation, right), then, ()) if relation in _LARGEST:
            sides = [(left, right, _LARGEST[relation]), (right, left, not _LARGEST[relation])]
        case _:
            return None
    assigned: dict[str, core.Expression] = {}
    for each in then:
        if not isinstance(each, core.Assign) or not isinstance(each.target, core.Variable):
            return None
        if each.target.name in assigned:
            return None
        assigned[each.target.name] = each.value
    for candidate, best, largest in sides:
        if isinstance(best, core.Variable) and assigned.get(best.name) == candidate:
            others = (value for name, value in assigned.items() if name != best.name)
            unread = all(name not in assigned for name in read(candidate))
            if unread and all(isinstance(value, core.Constant) for value in others):
                strict = relation in (Relation.GREATER, Relation.LESS)
                return (best.name, largest, frozenset(assigned)), candidate, strict
    return None
