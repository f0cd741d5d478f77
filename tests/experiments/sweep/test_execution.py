"""What cases share is not seen in their answers."""

from __future__ import annotations

import random
from fractions import Fraction

from dipapprox.bundled import BUNDLED
from dipapprox.experiments.sweep import execution
from dipapprox.experiments.sweep.case import Case, Outcome
from dipapprox.experiments.sweep.execution import program_of, run_case
from dipapprox.experiments.sweep.spec import CaseLimits, ProgramFile
from dipapprox.semantics.execution import shared_executions

PROGRAMS = [
    ProgramFile(f"{name}.dpg", "dpg", (BUNDLED / f"{name}.dpg").read_text())
    for name in ("svt_gauss", "svt_laplace", "noisy_max_laplace")
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
        for program in PROGRAMS
        for n in (1, 2)
        for task, fields in asked
    ]


def alone(case: Case) -> Outcome:
    """Run a case with nothing to share."""
    execution._elaborated.cache_clear()
    execution._parsed.cache_clear()
    return run_case(case)


def test_no_answer_depends_on_what_is_shared() -> None:
    several = cases()
    expected = {case.key: alone(case) for case in several}
    assert {outcome.result is None for outcome in expected.values()} == {True, False}
    mixed = several * 2
    random.Random(11).shuffle(mixed)
    with shared_executions():
        for case in mixed:
            found = run_case(case)
            assert found.result == expected[case.key].result
            assert found.failure == expected[case.key].failure


def test_cases_of_one_program_share_it() -> None:
    first, second, *_ = cases()
    assert program_of(first) is program_of(second)
