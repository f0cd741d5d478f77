"""Programs that go wrong on some path: what is reported, and where it must not be."""

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
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from dipapprox.limits import Limits
from dipapprox.semantics import execution
from dipapprox.semantics.configuration import State
from dipapprox.semantics.execution import execute
from dipapprox.semantics.run import Execution
from dipapprox.semantics.splitting import Refused, Split
from dipapprox.source import Diagnostic
from tests.semantics.interpreter import Noise, Unassigned, run
from tests.semantics.strategies import programs
from tests.semantics.test_execution import check_partition

HEAD = "input q[13] in {0, 1}\noutput out in {0, 1}\nadjacent all\n"
"""More inputs than `Knowledge` enumerates."""


def program(body: str) -> core.Program:
    return elaborate(parse(HEAD + body), {}, "program")


def diagnostics(example: core.Program, merge: bool = True) -> tuple[Diagnostic, ...]:
    with pytest.raises(SourceError) as caught:
        execute(example, merge, Limits())
    return caught.value.diagnostics


TOTAL = " + ".join(f"q[{i}]" for i in range(1, 14))


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize(
    "never",
    [
        f"{TOTAL} > 0 and {TOTAL} < 1",
        "a > 0 and b > 0 and a + b <= 0",
        # At no input, but for every cell alone.
        "a > q[1] + q[1] and a < q[1] + q[2] - 1 and q[1] >= q[2]",
    ],
)
def test_faults_that_rows_or_linear_guards_exclude(never: str, merge: bool) -> None:
    inner = "out <- z"
    for test in reversed(never.split(" and ")):
        inner = f"if {test} then {inner} end"
    body = "if q[1] > 5 then z <- 1 end\na <- Gauss(0, 1/eps)\nb <- Gauss(0, 1/eps)\nout <- 0\n"
    assert len(execute(program(body + inner), merge, Limits()).outputs) == 1


def test_lost_states_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def lossy(
        run: Execution, state: State, condition: core.Condition, refused: list[Refused]
    ) -> Split:
        held, _ = split(run, state, condition, refused)
        return held, []

    split = execution.split
    monkeypatch.setattr(execution, "split", lossy)
    body = "r <- Gauss(0, 1/eps)\nif r > 0 then out <- 1 else out <- 0 end"
    with pytest.raises(BrokenInvariant, match="lost"):
        execute(program(body), False, Limits())


@pytest.mark.parametrize("merge", [False, True])
@given(program=programs(), seed=st.integers(0, 2**32))
def test_faults_in_unreachable_parts_of_conditions_change_nothing(
    merge: bool, program: core.Program, seed: int
) -> None:
    body = tuple(_with_unreachable_reads(program.body))
    check_partition(replace(program, body=body), merge, seed, 2)


def _compare(left: str, relation: str, right: str | int) -> core.Comparison:
    other = core.Variable(right) if isinstance(right, str) else core.Constant(Fraction(right))
    return core.Comparison(core.Variable(left), core.Relation(relation), other)


def _with_unreachable_reads(block: core.Block) -> Iterator[core.Statement]:
    """Put a read of an unassigned variable, where a < b < -1 and a > 1, into two conditions."""
    never = (_compare("a", "<", "b"), _compare("b", "<", -1), _compare("a", ">", 1))
    count = 0
    for statement in block:
        count += isinstance(statement, core.If)
        if isinstance(statement, core.If) and count < 3:  # every one multiplies the paths
            read = core.All((*never, _compare("unknown", ">", 0)))
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
    ("family", "test", "silent"),
    [
        ("LapPlus", "r >= q[1]", True),
        ("LapPlus", "r <= q[1]", False),
        ("LapPlus", "r >= 1", False),
        ("LapMinus", "r <= q[1]", True),
        ("LapMinus", "r <= 1", True),
        ("Lap", "r >= q[1]", False),
    ],
)
def test_paths_outside_the_support_of_one_sided_noise_are_never_taken(
    family: str, test: str, silent: bool
) -> None:
    """The output is assigned in one branch only."""
    example = program(f"r <- {family}(q[1], 1/eps)\nif {test} then out <- 0 end")
    if silent:
        assert len(execute(example, True, Limits()).states) == 1
    else:
        with pytest.raises(SourceError, match="never assigned"):
            execute(example, True, Limits())
