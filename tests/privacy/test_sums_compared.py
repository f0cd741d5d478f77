"""Partial, prefix and smart sums on intervals of ε."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox import verify
from dipapprox.language.load import load
from tests.test_programs import PROGRAMS

SUMS = PROGRAMS / "literature"


@pytest.mark.parametrize(
    ("name", "budget"), [("partial_sum", "eps"), ("prefix_sum", "eps"), ("smart_sum", "2*eps")]
)
def test_intervals_of_eps_do_for_sums(name: str, budget: str) -> None:
    program = load(SUMS / f"{name}.dpg", {"smart_sum": {"B": Fraction(2)}}.get(name, {}))
    verdict = verify(program, eps="1/2..1", eps_prv=budget, delta="0.01", pairs="single")
    assert verdict.answer.value == "DP", verdict
    tight = verify(program, eps="9/10..1", eps_prv="eps/4", delta="0.0001", pairs="single")
    assert tight.answer.value == "Not_DP", tight
