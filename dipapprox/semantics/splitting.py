"""Conditions to disjoint pieces of a state.

Compound conditions are split by short circuit, as nested branches would be, so every piece is
convex: a conjunction of guards and of conditions on the inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from dipapprox.language import core
from dipapprox.language.core import Relation
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.configuration import State, split_on_guard
from dipapprox.semantics.evaluation import PathFault, evaluate, names_compare
from dipapprox.semantics.inputs import Knowledge, NeedsValue
from dipapprox.semantics.integers import coprime, integer_guard, with_integer_inputs
from dipapprox.semantics.run import Execution
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


def split(run: Execution, state: State, condition: core.Condition, refused: list[Refused]) -> Split:
    """Split a state, which is used up, on a condition; compound ones by short circuit.

    Args:
        refused: Gets every piece on which the condition has no meaning, with the fault. Only that
            piece is lost; the pieces that are returned and those refused make up the state.
    """
    match condition:
        case core.Comparison():
            return _split_on_comparison(run, state, condition, refused)
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


def _split_on_comparison(
    run: Execution, state: State, comparison: core.Comparison, refused: list[Refused]
) -> Split:
    try:
        return _compared(run, state, comparison)
    except NeedsValue as need:
        return _split_each(run, split_on_input(state, need.cell), comparison, refused)
    except PathFault as fault:
        refused.append((state, fault))
        return [], []


def _compared(run: Execution, state: State, comparison: core.Comparison) -> Split:
    """Split on one comparison; if it raises, the state is as it was."""
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
            guard = SampleComparison(small, large, strict)
            run.lines.note_pair(first, second, comparison.span)
            return split_on_guard(state, guard, run.points)
    form = left - right
    samples = form.samples()
    integers = sum(sample in run.integers for sample in samples)
    if 0 < integers < len(samples):
        raise PathFault("type error", "integer and real samples are compared", comparison.span)
    if integers:
        form = with_integer_inputs(coprime(form), state.knowledge)

    def at_most(part: State, form: LinearForm, strict: bool = False) -> Split:
        """Split on form <= 0, or < 0 if `strict`."""
        if not samples:
            return _split_on_inputs(part, form, strict)
        guard = integer_guard(form, strict) if integers else Guard(form.normalised(), strict)
        run.lines.note(guard.form, comparison.span)
        return split_on_guard(part, guard, run.points)

    if relation in (Relation.EQUAL, Relation.NOT_EQUAL):
        equal, unequal = list[State](), [state]  # a null set, where samples are continuous
        if integers or not samples:
            equal, unequal = _split_on_equality(state, form, at_most)
        return (equal, unequal) if relation is Relation.EQUAL else (unequal, equal)
    if relation in (Relation.GREATER, Relation.GREATER_EQUAL):
        form = -form
    return at_most(state, form, relation in (Relation.LESS, Relation.GREATER))


def _split_on_equality(
    state: State, form: LinearForm, at_most: Callable[[State, LinearForm], Split]
) -> Split:
    """Split on form = 0, which is form <= 0 and form >= 0; `at_most` splits on the first."""
    not_above, above = at_most(state, form)
    equal, below = list[State](), list[State]()
    for part in not_above:
        more_equal, more_below = at_most(part, -form)
        equal += more_equal
        below += more_below
    return equal, below + above


def split_on_input(state: State, cell: str) -> list[State]:
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
    return parts


def _split_on_inputs(state: State, form: LinearForm, strict: bool) -> Split:
    """Split on form <= 0 (< 0 if `strict`), a form over inputs."""
    if form.is_constant:
        holds = form.constant < 0 or (form.constant == 0 and not strict)
        return ([state], []) if holds else ([], [state])
    positive = state.knowledge.assume(form, strict)
    if positive is None:
        return [], [state]
    negative_knowledge = state.knowledge.assume(-form, not strict)
    if negative_knowledge is None:
        return [state], []
    negative = state.fork()
    negative.knowledge = negative_knowledge
    state.knowledge = positive
    return [state], [negative]
