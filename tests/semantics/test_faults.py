"""Programs that go wrong on some path: what is reported, and where it must not be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.errors import BrokenInvariant, SourceError
from dipapprox.language import core
from dipapprox.laws.families import EXPONENTIAL, LAPLACE, REFLECTED_EXPONENTIAL
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.semantics import execution
from dipapprox.semantics.configuration import State
from dipapprox.semantics.execution import execute
from dipapprox.semantics.run import Execution
from dipapprox.semantics.splitting import Refused, Split
from dipapprox.source import Diagnostic
from tests.semantics.examples import assign, cells, choose, compare, draw, program
from tests.semantics.interpreter import Noise, Unassigned, run
from tests.semantics.strategies import programs
from tests.semantics.test_execution import check_partition

ONE = Fraction(1)
BIT = cells("out", 1, (0, 1))


def diagnostics(example: core.Program, merge: bool = True) -> tuple[Diagnostic, ...]:
    with pytest.raises(SourceError) as caught:
        execute(example, merge, Limits())
    return caught.value.diagnostics


def test_index_out_of_range() -> None:
    index = core.Sum(core.Variable("q[1]"), core.Variable("q[2]"))
    body = [core.Assign(core.Variable("out[1]"), core.Element("q", 2, index))]
    found = diagnostics(program(cells("q", 2, (1, 2)), BIT, body))
    assert {d.message for d in found} == {"index of 'q' is 3", "index of 'q' is 4"}


@pytest.mark.parametrize("merge", [False, True])
def test_faults_that_rows_or_linear_guards_exclude(merge: bool) -> None:
    size = 13  # more inputs than `Knowledge` enumerates
    total: core.Expression = core.Variable("q[1]")
    for i in range(2, size + 1):
        total = core.Sum(total, core.Variable(f"q[{i}]"))
    strictly_between = [compare(total, ">", 0), compare(total, "<", 1)]
    mean = core.Sum(core.Variable("a"), core.Variable("b"))
    positive = [compare("a", ">", 0), compare("b", ">", 0), compare(mean, "<=", 0)]
    # a > 2 q[1], a <= q[1] + q[2] - 1, q[1] >= q[2]: at no input, but for every cell alone
    twice = core.Sum(core.Variable("q[1]"), core.Variable("q[1]"))
    less = core.Sum(core.Sum(core.Variable("q[1]"), core.Variable("q[2]")), core.Constant(-ONE))
    mixed = [compare("a", ">", twice), compare("a", "<", less), compare("q[1]", ">=", "q[2]")]
    for tests in (strictly_between, positive, mixed):
        inner: list[core.Statement] = [assign("out[1]", "z")]
        for test in tests[::-1]:
            inner = [choose(test, inner)]
        body = [draw("a", 0, 0), draw("b", 0, 1), assign("out[1]", 0), *inner]
        example = program(cells("q", size, (0, 1)), BIT, body)
        assert len(execute(example, merge, Limits()).outputs) == 1


def test_lost_states_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def lossy(
        run: Execution, state: State, condition: core.Condition, refused: list[Refused]
    ) -> Split:
        held, _ = split(run, state, condition, refused)
        return held, []

    split = execution.split
    monkeypatch.setattr(execution, "split", lossy)
    body = [
        draw("r", 0, 0),
        choose(compare("r", ">", 0), [assign("out[1]", 1)]),
        assign("out[1]", 0),
    ]
    with pytest.raises(BrokenInvariant, match="lost"):
        execute(program((), BIT, body), False, Limits())


@pytest.mark.parametrize("merge", [False, True])
@given(program=programs(), seed=st.integers(0, 2**32))
def test_faults_in_unreachable_parts_of_conditions_change_nothing(
    merge: bool, program: core.Program, seed: int
) -> None:
    body = tuple(_with_unreachable_reads(program.body))
    check_partition(replace(program, body=body), merge, seed, 2)


def _with_unreachable_reads(block: core.Block) -> Iterator[core.Statement]:
    """Put a read of an unassigned variable, where a < b < -1 and a > 1, into two conditions."""
    never = (compare("a", "<", "b"), compare("b", "<", -1), compare("a", ">", 1))
    count = 0
    for statement in block:
        count += isinstance(statement, core.If)
        if isinstance(statement, core.If) and count < 3:  # every one multiplies the paths
            read = core.All((*never, compare("unknown", ">", 0)))
            yield replace(statement, condition=core.Any((read, statement.condition)))
        else:
            yield statement


@pytest.mark.parametrize("merge", [False, True])
@given(program=programs(faulty=True), seed=st.integers(0, 2**32))
def test_programs_without_complaint_never_fail(
    merge: bool, program: core.Program, seed: int
) -> None:
    try:
        check_partition(program, merge, seed, 1)
    except SourceError:
        return  # a run may still succeed: faults are often on rare paths
    generator = Random(seed)
    for input in product(*(cell.domain for cell in program.inputs)):
        run(program, input, Noise(generator))


@given(program=programs(faulty=True), seed=st.integers(0, 2**32))
def test_failing_runs_are_always_predicted(program: core.Program, seed: int) -> None:
    generator = Random(seed)
    failed = True
    with suppress(Unassigned):
        for input in product(*(cell.domain for cell in program.inputs)):
            run(program, input, Noise(generator))
        failed = False
    if failed:
        for merge in (False, True):
            assert diagnostics(program, merge)


@pytest.mark.parametrize(
    ("family", "relation", "bound", "silent"),
    [
        (EXPONENTIAL, ">=", "q[1]", True),
        (EXPONENTIAL, "<=", "q[1]", False),
        (EXPONENTIAL, ">=", 1, False),
        (REFLECTED_EXPONENTIAL, "<=", "q[1]", True),
        (REFLECTED_EXPONENTIAL, "<=", 1, True),
        (LAPLACE, ">=", "q[1]", False),
    ],
)
def test_paths_outside_the_support_of_one_sided_noise_are_never_taken(
    family: Family, relation: str, bound: object, silent: bool
) -> None:
    """The output is assigned in one branch only."""
    body = [
        draw("r", "q[1]", 0, family=family),
        choose(compare("r", relation, bound), [assign("out[1]", 0)]),
    ]
    example = program(cells("q", 1, (0, 1)), cells("out", 1, (0, 1)), body)
    if silent:
        assert len(execute(example, True, Limits()).states) == 1
    else:
        with pytest.raises(SourceError, match="never assigned"):
            execute(example, True, Limits())
