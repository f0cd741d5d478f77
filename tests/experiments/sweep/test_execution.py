"""What cases share is not seen in their answers."""

from __future__ import annotations

import random
from fractions import Fraction

from dipapprox.bundled import BUNDLED
from dipapprox.experiments.sweep import execution
from dipapprox.experiments.sweep.case import Case, CaseOutcome
from dipapprox.experiments.sweep.execution import program_of, run_case
from dipapprox.experiments.sweep.spec import CaseLimits, NamedProgram
from dipapprox.semantics.execution import shared_executions

PROGRAMS = [
    NamedProgram(f"{name}.dpg", "dpg", (BUNDLED / f"{name}.dpg").read_text())
    for name in ("svt_gauss", "noisy_max_laplace")
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
