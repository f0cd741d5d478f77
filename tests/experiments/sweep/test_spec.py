"""Specs and cases: what they mean; what cases share is not seen in their answers."""

import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.experiments.sweep import execution
from dipapprox.experiments.sweep.execution import program_of, run_case
from dipapprox.experiments.sweep.spec import (
    Case,
    CaseLimits,
    CaseOutcome,
    NamedProgram,
    Spec,
    read_axis,
    read_spec,
)
from dipapprox.experiments.sweep.sweep import check_programs
from dipapprox.semantics.execution import shared_executions
from tests.texts import text_of

ONE_CELL = text_of("sweep/spec-1")

GRID = '[[grid]]\ntask = "verify"\nprograms = ["p.dpg"]\neps = 1\ndelta = 0\n'

Read = Callable[[str], Spec]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read a spec that stands beside the program p.dpg, and check its programs."""
    (tmp_path / "p.dpg").write_text(ONE_CELL)

    def from_text(text: str) -> Spec:
        path = tmp_path / "grid.toml"
        path.write_text(text)
        spec = read_spec(path)
        check_programs(spec)
        return spec

    return from_text


def test_patterns_name_programs(read: Read, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "q.dpg").write_text(ONE_CELL)
    spec = read(GRID.replace('"p.dpg"', '"**/*.dpg"'))
    assert [p.name for p in spec.grids[0].programs] == ["more/q.dpg", "p.dpg"]


@given(
    st.fractions(-5, 5, max_denominator=50),
    st.fractions(Fraction(1, 20), 2, max_denominator=20),
    st.integers(1, 30),
)
def test_ranges_are_exact_and_include_both_ends(
    first: Fraction, step: Fraction, count: int
) -> None:
    last = first + step * (count - 1)
    table = {"from": str(first), "to": str(last), "step": str(step)}
    values = [Fraction(v) for v in read_axis("x", table, "x").values]
    assert values == [first + k * step for k in range(count)]
    if count > 1:
        by_count = {"from": first, "to": last, "count": count}
        assert [Fraction(v) for v in read_axis("x", by_count, "x").values] == values


SHIPPED = [
    NamedProgram(f"{name}.dpg", "dpg", text_of(name)) for name in ("svt_gauss", "noisy_max_laplace")
]


def cases() -> list[Case]:
    """Several questions about several programs; one of them is wrong."""
    limits = CaseLimits(Fraction(60), 10_000)
    claim = {"eps": "1/2", "delta": "1/100"}
    asked = [
        ("verify", claim),
        ("verify", {**claim, "merge": "false"}),
        ("verify", {**claim, "widen": "-1..1"}),
        ("verify", {**claim, "pairs": "5~6"}),
        ("profile", {"eps": "1", "delta": "1/50"}),
        ("decide", {}),
    ]
    return [
        Case(task, program, {"N": str(n)}, fields, limits)
        for program in SHIPPED
        for n in (1, 2)
        for task, fields in asked
    ]


def alone(case: Case) -> CaseOutcome:
    """Run a case with nothing to share."""
    execution._elaborated.cache_clear()
    execution._parsed.cache_clear()
    return run_case(case)


def test_no_answer_depends_on_what_is_shared() -> None:
    several = cases()
    expected = {case.key: alone(case) for case in several}
    assert {outcome.result is None for outcome in expected.values()} == {True, False}
    mixed = several + several[::2]
    random.Random(11).shuffle(mixed)
    with shared_executions():
        for case in mixed:
            found = run_case(case)
            assert found.result == expected[case.key].result
            assert found.failure == expected[case.key].failure


def test_cases_of_one_program_share_it() -> None:
    first, second, *_ = cases()
    assert program_of(first) is program_of(second)


_NOISY = """
input q in {domain}
output o in {{0, 1}}
adjacent all
x <- Gauss(q, {scale})
o <- x >= 0
"""


def test_delta_in_a_program_is_that_of_the_case() -> None:
    text = _NOISY.format(domain="{0, 1}", scale="1 / delta")
    program = NamedProgram("scaled.dpg", "dpg", text)
    limits = CaseLimits(Fraction(60), 10_000)

    def ran(task: str, parameters: dict[str, str], **fields: str) -> object:
        outcome = run_case(Case(task, program, parameters, fields, limits))
        return None if outcome.result is None else outcome.result["params"]

    assert ran("verify", {}, eps="1/2", delta="eps/100") == {"delta": "1/200"}
    assert ran("verify", {}, eps="1/2", delta="1e-5") == {"delta": "1/100000"}
    assert ran("verify", {"delta": "1/3"}, eps="1/2", delta="1e-5") == {"delta": "1/3"}
    assert ran("profile", {}, eps="1", delta="1/50") == {"delta": "1/50"}
    # What is no rational number stands for none.
    assert ran("verify", {}, eps="1/2", delta="exp(-eps)/9") is None
    assert ran("verify", {}, eps="1/4..1/2", delta="eps/100") is None
    assert ran("decide", {}) is None


def test_real_inputs_are_swept() -> None:
    text = _NOISY.format(domain="real 0..1", scale="s / eps")
    program = NamedProgram("real.dpg", "dpg", f"param s = 1\n{text}")
    limits = CaseLimits(Fraction(60), 10_000)
    for task, fields in (("verify", {"delta": "eps/100"}), ("profile", {"delta": "1e-3"})):
        outcome = run_case(Case(task, program, {"s": "2"}, {"eps": "1", **fields}, limits))
        assert outcome.result is not None and "real 0..1" in str(outcome.result["scope"])
