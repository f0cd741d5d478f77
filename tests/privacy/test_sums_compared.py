"""Partial, prefix and smart sums: decided for all ε as their headers promise, and on intervals."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox import verify
from dipapprox.language.load import load
from tests.test_decisions import Expectation, expectations
from tests.test_programs import PROGRAMS

SUMS = PROGRAMS / "literature"
PROMISES = [
    pytest.param(each, id=f"{name}-{k}")
    for name in ("partial_sum", "prefix_sum", "smart_sum")
    for k, each in enumerate(expectations(SUMS / f"{name}.dpg"))
]


@pytest.mark.parametrize("promise", PROMISES)
def test_sums_are_decided_as_promised(promise: Expectation) -> None:
    decision = promise.decision()
    assert decision.answer.value == promise.answer, decision


@pytest.mark.parametrize(
    ("name", "budget"), [("partial_sum", "eps"), ("prefix_sum", "eps"), ("smart_sum", "2*eps")]
)
def test_intervals_of_eps_do_for_sums(name: str, budget: str) -> None:
    program = load(SUMS / f"{name}.dpg", {"smart_sum": {"B": Fraction(2)}}.get(name, {}))
    verdict = verify(program, eps="1/2..1", eps_prv=budget, delta="0.01", pairs="single")
    assert verdict.answer.value == "DP", verdict
    tight = verify(program, eps="9/10..1", eps_prv="eps/4", delta="0.0001", pairs="single")
    assert tight.answer.value == "Not_DP", tight
