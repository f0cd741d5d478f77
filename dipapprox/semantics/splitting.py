"""Conditions to disjoint pieces of a state.

Compound conditions are split by short circuit, as nested branches would be, so every piece is
convex: a conjunction of guards and of conditions on the inputs.

Comparisons of integer samples are guards that cut in the middle between two integers.
With integer coefficients a_i that have no common factor, Z = Σ a_i·z_i takes integer values, and so
does the part L over inputs after splitting on inputs where it does not. Then, for any constant c,

    Z + L + c <= 0   is   Z + L + ⌈c⌉ - 1/2 <= 0        since Z + L <= ⌊-c⌋ = -⌈c⌉
    Z + L + c <  0   is   Z + L + ⌊c⌋ + 1/2 <= 0        since Z + L <= ⌈-c⌉ - 1 = -⌊c⌋ - 1

and no integer point lies on the boundary of such a guard. Everything that is done to guards of
reals "up to null sets" is therefore exact for integers:

    If A and B are finite unions of polyhedra that such guards cut out, and A is contained in B up
    to a null set, then B contains the integer points of A.

Proof. An integer point of A lies in the interior of a polyhedron of A, because it is on none of its
boundaries; so do all real points nearby. None of B's boundaries goes through it either, so nearby
points are all in B or all outside. Were they outside, A without B would contain an open set.

- A guard that is implied (B a half-space) or contradicted (B empty) by others up to a null set is
  implied or contradicted at all integer points.
- A merged region is the union of its parts up to a null set, hence at all integer points, if its
  own guards are cut as above. They are: integer samples are compared with fixed points and in
  guards of other shapes only, and a cover x < y of a merged order, x or y an integer sample, was
  assumed in each part. For let a total order that agrees with the merged one have x and y next to
  each other. It belongs to some part. If no guard there compared x with y, the part would contain
  the order with x and y exchanged, too; the merged order does not, but contains the part.
- Systems of guards with an interior need not contain an integer point: what is not contradicted
  may still be impossible. That costs states, not truth.

Runs of branches that find the largest or smallest of many samples are one step.
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
from fractions import Fraction
from itertools import groupby
from math import ceil, floor
from typing import assert_never

from dipapprox.data_classes import replace
from dipapprox.language import core
from dipapprox.language.cells import read
from dipapprox.language.core import Relation
from dipapprox.linear.form import LinearForm, Symbol, content
from dipapprox.semantics.evaluation import (
    Knowledge,
    NeedsValue,
    PathFault,
    StoredValue,
    evaluate,
    names_compare,
)
from dipapprox.semantics.order import Points
from dipapprox.semantics.outcomes import NEVER
from dipapprox.semantics.path_ends import refuse
from dipapprox.semantics.run import (
    Execution,
    Selection,
    State,
    Trail,
    newest_reading,
    number_of,
    split_on_guard,
    told,
)
from dipapprox.semantics.state import Guard, SampleComparison

_SAMPLES_APART = {
    Relation.LESS: (True, True),
    Relation.LESS_EQUAL: (True, False),
    Relation.GREATER: (False, True),
    Relation.GREATER_EQUAL: (False, False),
}
"""What a comparison of two samples says: whether the first is less; whether strictly."""

Split = tuple[list[State], list[State]]
"""The states where a condition holds and those where it does not; all disjoint."""

Refused = tuple[State, PathFault]  # a state in which something goes wrong, and what


def decide(run: Execution, statement: core.If | core.While, state: State) -> Split:
    """Split a state, which is used up, on a condition of the program, with faults and decisions."""
    number = number_of(run, statement)
    path, knowledge, trail = state.path, state.knowledge, state.trail
    refused: list[Refused] = []
    held, failed = split(run, state, statement.condition, refused)
    for lost, fault in refused:
        refuse(run, lost, fault)
    if len(held) + len(failed) == 1:
        (single,) = held or failed
        if single.path is path and single.knowledge is knowledge:
            return held, failed  # constant on this path: no decision
    for outcome, parts in ((True, held), (False, failed)):
        for part in parts:
            part.trail = Trail(trail, statement, number, outcome, run.cells)
    return held, failed


def split(run: Execution, state: State, condition: core.Condition, refused: list[Refused]) -> Split:
    """Split a state, which is used up, on a condition; compound ones by short circuit.

    Args:
        refused: Gets every piece on which the condition has no meaning, with the fault. Only that
            piece is lost; the pieces that are returned and those refused make up the state.
    """
    match condition:
        case core.Comparison():
            try:
                return _compared(run, state, condition, refused)
            except NeedsValue as need:
                return _split_each(run, split_on_input(run, state, need.cell), condition, refused)
            except PathFault as fault:
                refused.append((state, fault))
                return [], []
        case core.All():
            held, failed = [state], list[State]()
            for part in condition.parts:
                held, new = _split_each(run, held, part, refused)
                failed += new
            return held, failed
        case core.Any():
            held, failed = list[State](), [state]
            for part in condition.parts:
                new, failed = _split_each(run, failed, part, refused)
                held += new
            return held, failed
    assert_never(condition)


def _split_each(
    run: Execution, states: list[State], condition: core.Condition, refused: list[Refused]
) -> Split:
    held, failed = list[State](), list[State]()
    for state in states:
        more_held, more_failed = split(run, state, condition, refused)
        held += more_held
        failed += more_failed
    return held, failed


def _compared(
    run: Execution, state: State, comparison: core.Comparison, refused: list[Refused]
) -> Split:
    """Split on one comparison, see `split`; if it raises, the state is as it was."""
    left = evaluate(run, comparison.left, state)
    right = evaluate(run, comparison.right, state)
    relation = comparison.relation
    if isinstance(left, str) or isinstance(right, str):
        return ([state], []) if names_compare(comparison, left, right) else ([], [state])
    if not left.terms and not right.terms:
        holds = relation.holds(left.constant, right.constant)
        return ([state], []) if holds else ([], [state])
    first, second = left.sole_sample, right.sole_sample
    if first is not None and second is not None and first != second:
        neither = first not in run.integers and second not in run.integers
        if neither and relation in _SAMPLES_APART:
            less, strict = _SAMPLES_APART[relation]
            small, large = (first, second) if less else (second, first)
            pair = SampleComparison(small, large, strict)
            run.lines.note(pair, comparison.span)
            return split_on_guard(state, pair, run.points)
    form = left - right
    samples = form.samples()
    if run.readings and not samples:
        # Sets say all of what they depend on, which a condition on several inputs is not part of.
        cells = state.knowledge.instantiate(form).inputs()
        told_of = [cell for cell in cells if run.sets.reads(state.outcomes, run.places[cell])]
        if len(cells) > 1 and told_of:
            raise NeedsValue(told_of[0])
    integers = sum(sample in run.integers for sample in samples)
    if 0 < integers < len(samples):
        raise PathFault("type error", "integer and real samples are compared", comparison.span)
    if relation in (Relation.EQUAL, Relation.NOT_EQUAL):
        equal, unequal = list[State](), [state]  # a null set, where samples are continuous
        if integers or not samples:
            sides = (Relation.LESS_EQUAL, Relation.GREATER_EQUAL)
            most, least = (replace(comparison, relation=side) for side in sides)
            rest, above = split(run, state, most, refused)
            equal, below = _split_each(run, rest, least, refused)
            unequal = below + above
        return (equal, unequal) if relation is Relation.EQUAL else (unequal, equal)
    if integers:
        form = with_integer_inputs(coprime(form), state.knowledge)
    if relation in (Relation.GREATER, Relation.GREATER_EQUAL):
        form = -form
    strict = relation in (Relation.LESS, Relation.GREATER)
    if not samples:
        return _split_on_inputs(run, state, form, strict)
    guard = integer_guard(form, strict) if integers else Guard(form.normalised(), strict)
    run.lines.note(guard, comparison.span)
    return split_on_guard(state, guard, run.points)


def split_on_input(run: Execution, state: State, cell: str) -> list[State]:
    """Split a state, which is used up, into one for each value that an input may have."""
    now = state.knowledge
    values = [frozenset({value}) for value in now.values(cell)]
    possible = [k for k in (now.restrict(cell, value) for value in values) if k is not None]
    if not possible:
        # No input takes this state, which was not seen before; it goes on, for no input.
        possible = [Knowledge(now.domains, {**now.allowed, cell: values[0]}, now.linear)]
    parts = [*(state.fork() for _ in possible[1:]), state]
    for part, knowledge in zip(parts, possible, strict=True):
        part.knowledge = knowledge
    return _told_in_sets(run, now, parts)


def _told_in_sets(run: Execution, before: Knowledge, parts: Sequence[State]) -> list[State]:
    """Restrict sets of outcomes by what became known of inputs that they depend on.

    What sets say of a cell is then all that is known of it, for conditions on several cells need
    the values of these (`_compared`): sets of states that are disjoint are disjoint where what is
    known of other cells is equal. States that no input takes are left out.
    """
    if not run.readings:
        return [*parts]
    for part in parts:
        for cell, values in part.knowledge.allowed.items():
            place = run.places[cell]
            if values != before.allowed.get(cell) and run.sets.reads(part.outcomes, place):
                newest = newest_reading(run, place, run.sets.largest(part.outcomes))
                part.outcomes = told(run, part.outcomes, newest, place, values)
    kept = [part for part in parts if part.outcomes != NEVER]
    for part in parts:
        if part.outcomes == NEVER:
            kept[0].share ^= part.share
    return kept


def _split_on_inputs(run: Execution, state: State, form: LinearForm, strict: bool) -> Split:
    """Split on form <= 0 (< 0 if `strict`), a form over inputs."""
    if form.is_constant:
        holds = form.constant < 0 or (form.constant == 0 and not strict)
        return ([state], []) if holds else ([], [state])
    before = state.knowledge
    positive = before.assume(form, strict)
    if positive is None:
        return [], [state]
    negative_knowledge = before.assume(-form, not strict)
    if negative_knowledge is None:
        return [state], []
    negative = state.fork()
    negative.knowledge = negative_knowledge
    state.knowledge = positive
    kept = _told_in_sets(run, before, [state, negative])
    return [s for s in kept if s is state], [s for s in kept if s is negative]


# --- integers ------------------------------------------------------------------------------------

_HALF = Fraction(1, 2)


def coprime(form: LinearForm) -> LinearForm:
    """Multiply a form by a positive number so that its samples have coprime integer factors."""
    return form.scaled(1 / content(c for s, c in form.terms if isinstance(s, int)))


def with_integer_inputs(form: LinearForm, knowledge: Knowledge) -> LinearForm:
    """Replace the inputs of a form that may contribute a fraction by their values.

    Raises:
        NeedsValue: If a path does not know such a value.
    """
    known: dict[Symbol, Fraction] = {}
    for cell in form.inputs():
        if knowledge.is_integer(cell, form.coefficient(cell)):
            continue
        values = [value for value in knowledge.values(cell) if isinstance(value, Fraction)]
        if len(values) > 1:
            raise NeedsValue(cell)
        known[cell] = values[0]
    return form.at(known)


def integer_guard(form: LinearForm, strict: bool) -> Guard:
    """The guard form <= 0, or < 0 if `strict`, for a `coprime` form with integer inputs."""
    constant = floor(form.constant) + _HALF if strict else ceil(form.constant) - _HALF
    # Strictness means nothing afterwards; it is chosen so that complements look like each other.
    return Guard(LinearForm(form.terms, constant).normalised(), form.terms[0][1] < 0)


# --- selections ----------------------------------------------------------------------------------

_LEAST = 2  # fewer branches are one comparison

_LARGEST = {
    Relation.GREATER: True,
    Relation.GREATER_EQUAL: True,
    Relation.LESS: False,
    Relation.LESS_EQUAL: False,
}
"""Whether a candidate that compares so with the best so far is better for being larger."""


def selectable(
    values: Sequence[StoredValue | None], state: State, points: Points, integers: Set[int]
) -> list[LinearForm] | None:
    """Return the values of the best so far and of candidates if they can be selected; see above."""
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
    """Yield what makes one of several integer samples, the best before the first branch first, the
    best in the end."""
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
