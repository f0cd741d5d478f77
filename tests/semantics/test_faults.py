"""Programs that go wrong on some path: what is reported, and where it must not be."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dipapprox.errors import SourceError
from dipapprox.language import core
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from dipapprox.source import Diagnostic, SourceFile, Span
from tests.semantics.examples import assign, cells, choose, compare, draw, program
from tests.semantics.interpreter import Noise, Unassigned, run
from tests.semantics.strategies import programs
from tests.semantics.test_execution import check_partition

BIT = cells("out", 1, (0, 1))
TEXT = SourceFile("example.dpg", "r <- Gauss(0, 1)\nif r >= rT then\nout <- x\n")


def diagnostics(example: core.Program, merge: bool = True) -> tuple[Diagnostic, ...]:
    with pytest.raises(SourceError) as caught:
        execute(example, merge, Limits())
    return caught.value.diagnostics


@pytest.mark.parametrize("merge", [False, True])
def test_read_before_assignment_names_the_path(merge: bool) -> None:
    test = core.Comparison(
        core.Variable("r"), core.Relation.GREATER_EQUAL, core.Constant(BIT[0].domain[0]),
        span=Span(TEXT, 20, 27),
    )  # fmt: skip
    use = core.Assign(
        core.Variable("out[1]"),
        core.Variable("x", span=Span(TEXT, 40, 41)),
        span=Span(TEXT, 33, 41),
    )
    example = program((), BIT, [draw("r", 0, 0), choose(test, [assign("x", 1)]), use])
    (found,) = diagnostics(example, merge)
    assert found.message == "'x' is read before it is assigned when 'r >= rT' at line 2 is false"
    assert found.kind == "value error"
    assert found.span == Span(TEXT, 40, 41)
    assert "assign 'x'" in found.hint


@pytest.mark.parametrize("merge", [False, True])
def test_all_faults_are_reported_once(merge: bool) -> None:
    wrong = [assign("a", "x"), assign("out[1]", 5)]
    body = [draw("r", 0, 0), choose(compare("r", ">", 0), wrong[:1], wrong[1:])]
    messages = [d.message for d in diagnostics(program((), BIT, body), merge)]
    assert len(messages) == 2
    assert any("'x' is read before it is assigned when" in m for m in messages)
    assert any("'out[1]' gets 5, which is not in its domain when" in m for m in messages)


def test_output_that_is_never_assigned() -> None:
    body = [draw("r", 0, 0), choose(compare("r", ">", 0), [assign("out[1]", 1)])]
    (found,) = diagnostics(program((), BIT, body))
    assert found.message == "output 'out[1]' is never assigned when condition 1 is false"


def test_index_out_of_range() -> None:
    index = core.Sum(core.Variable("q[1]"), core.Variable("q[2]"))
    body = [core.Assign(core.Variable("out[1]"), core.Element("q", 2, index))]
    found = diagnostics(program(cells("q", 2, (1, 2)), BIT, body))
    assert {d.message for d in found} == {"index of 'q' is 3", "index of 'q' is 4"}


@pytest.mark.parametrize("merge", [False, True])
def test_infeasible_paths_are_not_blamed(merge: bool) -> None:
    """x is unassigned only where r < 0 and r >= 1, or q[1] = 0 and q[1] + q[2] > 1."""
    total = core.Sum(core.Variable("q[1]"), core.Variable("q[2]"))
    for first, second in (
        (compare("r", "<", 0), compare("r", "<", 1)),
        (compare("q[1]", "=", 0), compare(total, "<=", 1)),
    ):
        use = choose(second, [assign("out[1]", 0)], [assign("out[1]", "x")])
        body = [
            draw("r", 0, 0),
            choose(first, [], [assign("x", 1)]),
            use,
        ]
        example = program(cells("q", 2, (0, 1)), BIT, body)
        assert execute(example, merge, Limits()).outputs()


@settings(max_examples=100, deadline=None)
@given(program=programs(faulty=True), seed=st.integers(0, 2**32))
def test_programs_without_complaint_never_fail(program: core.Program, seed: int) -> None:
    try:
        check_partition(program, True, seed, 1)
    except SourceError:
        return  # a run may still succeed: faults are often on rare paths
    generator = Random(seed)
    for row in product(*(cell.domain for cell in program.inputs)):
        run(program, row, Noise(generator))


@settings(max_examples=60, deadline=None)
@given(program=programs(faulty=True), seed=st.integers(0, 2**32))
def test_failing_runs_are_always_predicted(program: core.Program, seed: int) -> None:
    generator = Random(seed)
    failed = True
    with suppress(Unassigned):
        for row in product(*(cell.domain for cell in program.inputs)):
            run(program, row, Noise(generator))
        failed = False
    if failed:
        for merge in (False, True):
            assert diagnostics(program, merge)
