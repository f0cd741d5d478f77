"""How far merging goes, and that it stays exact where fixed points decide disjointness."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dipapprox.errors import LimitReached
from dipapprox.language import core
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.semantics import execution, path_ends
from dipapprox.semantics.configuration import State
from dipapprox.semantics.execution import execute
from dipapprox.semantics.run import Execution
from dipapprox.semantics.state import Guard, guards_of
from tests.semantics.examples import (
    assign,
    cells,
    choose,
    compare,
    draw,
    noisy_extreme,
    program,
    sparse_vector,
)
from tests.semantics.test_execution import check_partition

BIT = cells("out", 1, (0, 1))
BELOW_ONE = Guard(LinearForm(((0, Fraction(1)),), Fraction(-1)), False)  # sample 0 is at most 1

HIDDEN = replace(
    sparse_vector(4),
    outputs=BIT,
    body=tuple(
        assign("out[1]", 0)
        if isinstance(each, core.Assign)
        else replace(each, then=(assign("out[1]", 1), core.Exit()))
        if isinstance(each, core.If)
        else each
        for each in sparse_vector(4).body
    ),
)
"""Whether any answer is positive."""


def merged_guards(example: core.Program) -> list[tuple[Guard, ...]]:
    return [guards_of(state.path) for state in execute(example, True, Limits()).states]


@pytest.mark.parametrize(("size", "test"), [(2, ">"), (6, "<"), (40, ">")])
def test_argmax_chain_becomes_one_event_per_winner(size: int, test: str) -> None:
    """The 2^(N-1) paths merge into "v[i] beats every other"."""
    states = execute(noisy_extreme(size, test), True, Limits())
    assert len(states.states) == len(states.outputs) == size
    for state in states.states:
        winner = int(Fraction(state.outputs[0])) - 1
        sign = 1 if test == ">" else -1
        beaten = {
            (Guard(LinearForm.of({i: Fraction(sign), winner: Fraction(-sign)}).normalised(), False))
            for i in range(size)
            if i != winner
        }
        assert {Guard(guard.form, False) for guard in guards_of(state.path)} == beaten


def test_irrelevant_branches_vanish() -> None:
    """A test whose outcome is never used again leaves no guard, for any kind of condition."""
    for condition in (
        compare("r", "<", "s"),
        compare("r", "<", 1),
        compare("r", "<", "q[1]"),
        compare("q[1]", "=", 1),
        compare(core.Sum(core.Variable("q[1]"), core.Variable("q[2]")), "<", 1),
        compare(core.Sum(core.Variable("r"), core.Variable("s")), "<=", 0),
        core.All((compare("r", "<", "s"), compare("r", ">", 0))),
    ):
        branch = choose(condition, [assign("x", 1)], [assign("x", 2)])
        body = [draw("r", 0, 0), draw("s", "q[1]", 1), branch, assign("out[1]", 0)]
        example = program(cells("q", 2, (0, 1)), BIT, body)
        states = execute(example, True, Limits()).states
        if isinstance(condition, core.All):
            # r >= s, or 0 <= r... : up to null sets everything, but not piece by piece convex
            assert sum(len(guards_of(state.path)) for state in states) <= 4
        else:
            assert [guards_of(state.path) for state in states] == [()]
            assert states[0].conditions == ()


def test_gap_between_constants_is_kept() -> None:
    """r < 0 and r > 1 have equal outputs and opposite directions, but do not fill the line."""
    outside = choose(compare("r", ">", 1), [assign("out[1]", 0)], [assign("out[1]", 1)])
    body = [draw("r", 0, 0), choose(compare("r", "<", 0), [assign("out[1]", 0)], [outside])]
    example = program((), BIT, body)
    assert len(merged_guards(example)) == 3
    check_partition(example, True, 1, 200)


def test_pieces_between_constants_merge() -> None:
    """r < 0 and 0 <= r < 1 are r < 1, since 0 < 1 is known."""
    inner = choose(compare("r", "<", 1), [assign("out[1]", 0)], [assign("out[1]", 1)])
    body = [draw("r", 0, 0), choose(compare("r", "<", 0), [assign("out[1]", 0)], [inner])]
    example = program((), BIT, body)
    assert merged_guards(example)[0] == (BELOW_ONE,)
    assert len(merged_guards(example)) == 2
    check_partition(example, True, 1, 200)


def test_contradictory_states_are_dropped() -> None:
    """x < 0, y > 1, y < x; also a cycle of three samples; also opposite bounds of a sum."""
    total = core.Sum(core.Variable("x"), core.Variable("y"))
    for conditions in (
        (compare("x", "<", 0), compare("y", ">", 1), compare("y", "<", "x")),
        (compare("x", "<", "y"), compare("y", "<", "z"), compare("z", "<", "x")),
        (compare("x", "<", "q[1]"), compare("y", ">=", 1), compare("y", "<", "x")),
        (compare(total, "<", 0), compare(total, ">", 1)),
    ):
        body = [draw(name, 0, site) for site, name in enumerate("xyz")]
        hit = choose(core.All(conditions), [assign("out[1]", 1)], [assign("out[1]", 0)])
        example = program(cells("q", 1, (0, 1)), BIT, [*body, hit])
        assert execute(example, True, Limits()).outputs == ((Fraction(0),),)
        assert len(execute(example, False, Limits()).outputs) == 2


def test_sparse_vector_stays_linear() -> None:
    states = execute(sparse_vector(200), True, Limits())
    assert len(states.states) == 201
    # Persistent paths: one guard object per branch and side, whatever the number of states.
    nodes = set()
    for state in states.states:
        path = state.path
        while path is not None:
            nodes.add(id(path))
            path = path.parent
    assert len(nodes) == 400


def test_limits_are_kept() -> None:
    with pytest.raises(LimitReached, match="path limit"):
        execute(noisy_extreme(12), False, Limits(states=1000))
    with pytest.raises(LimitReached, match="time limit"):
        execute(noisy_extreme(60), True, Limits(seconds=0.0))


@pytest.mark.parametrize("factor", [1, -2])
@pytest.mark.parametrize("relations", [("<", "<"), ("<", ">="), (">", "<="), (">", ">")])
def test_parallel_bounds_decide_each_other_rightly(factor: int, relations: tuple[str, str]) -> None:
    """All ways for a + b <> c and k (a + b) <> k c' to imply, exclude or cut each other."""
    total = core.Sum(core.Variable("a"), core.Variable("b"))
    scaled = core.Product(core.Constant(Fraction(factor)), total)
    for first in (-1, 0, 1):
        for second in (-1, 0, 1):
            inner = compare(scaled, relations[1], factor * second)
            answers = [[assign("out[1]", i)] for i in range(4)]
            body = [
                draw("a", 0, 0),
                draw("b", 0, 1),
                choose(
                    compare(total, relations[0], first),
                    [choose(inner, answers[0], answers[1])],
                    [choose(inner, answers[2], answers[3])],
                ),
            ]
            example = program((), cells("out", 1, range(4)), body)
            check_partition(example, True, 1, 40)
            assert len(execute(example, True, Limits()).states) == (2 if first == second else 3)


@pytest.mark.parametrize("condition", [("q[1]", "<=", "q[2]"), ("q[1]", "=", 0)])
def test_orders_merge_only_for_the_same_inputs(condition: tuple[str, str, object]) -> None:
    """out = [r < s] for some inputs and [r >= s] for the others: nothing may merge."""
    answers = [[assign("out[1]", i)] for i in (0, 1)]
    less = compare("r", "<", "s")
    branch = choose(
        compare(*condition),
        [choose(less, answers[1], answers[0])],
        [choose(less, answers[0], answers[1])],
    )
    example = program(cells("q", 2, (0, 1)), BIT, [draw("r", 0, 0), draw("s", 0, 1), branch])
    assert len(execute(example, True, Limits()).states) == 4
    check_partition(example, True, 1, 20)


@pytest.mark.parametrize("example", [sparse_vector(5), noisy_extreme(5), HIDDEN])
def test_orders_of_ended_states_are_built_anew(
    example: core.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large programs keep the paths of ended states only: what becomes of them is the same."""
    expected = merged_guards(example)
    monkeypatch.setattr(path_ends, "_MANY_POINTS", -1)
    assert merged_guards(example) == expected


def test_a_branch_runs_once_for_states_that_differ_in_what_it_overwrites(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All that were the largest so far are forgotten before the new one is assigned."""
    runs = 0
    assign_one = execution.assign

    def counted(run: Execution, statement: core.Assign, state: State) -> list[State]:
        nonlocal runs
        runs += 1
        return assign_one(run, statement, state)

    monkeypatch.setattr(execution, "assign", counted)
    execute(noisy_extreme(20), True, Limits())
    assert runs == 2 * 20


def test_what_a_branch_reads_before_it_overwrites_it_matters() -> None:
    """Both cells are overwritten; only one of them without being read."""
    first = choose(compare("x", ">", "y"), [assign("a", 1), assign("out[1]", 1)], [assign("a", 2)])
    swap = [assign("b", "a"), assign("a", 0), assign("out[1]", 0)]
    second = choose(compare("z", ">", "y"), swap, [assign("b", 0), assign("out[1]", 1)])
    last = choose(compare("b", "=", 2), [assign("out[1]", 2)])
    draws = [draw(name, 0, k) for k, name in enumerate("xyz")]
    body = [*draws, assign("out[1]", 0), first, second, last]
    example = program(cells("q", 1, (0, 1)), cells("out", 1, (0, 1, 2)), body)
    check_partition(example, True, 1, 40)
    assert len(execute(example, True, Limits()).outputs) == 3
