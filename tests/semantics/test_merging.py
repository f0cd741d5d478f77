"""How far merging goes, and that it stays exact where fixed points decide disjointness."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.errors import LimitReached
from dipapprox.language import core
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import guards_of
from tests.semantics.examples import (
    assign,
    cells,
    choose,
    compare,
    draw,
    noisy_extreme,
    program,
)
from tests.semantics.test_execution import check_partition

BIT = cells("out", 1, (0, 1))


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
            check_partition(example, True, 1, 10)
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
