"""Which claims of budgets follow from a judgement, and what is put together."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dipapprox.kernel.claims import least_budget, read_budget
from dipapprox.kernel.errors import BadProof
from dipapprox.kernel.judgements import Budgets

HALF, ONE, TWO = Fraction(1, 2), Fraction(1), Fraction(2)


def private(budget: Any, least: Any = None) -> dict[str, Any]:
    return {"verdict": "DP", "budget": budget, "at least": least}


def test_a_budget_that_serves_is_a_number() -> None:
    with pytest.raises(BadProof, match="that is none"):
        read_budget(private(None))


def test_one_budget_serves_and_none_below_another() -> None:
    machine: Any = None
    found = least_budget(machine, {}, Budgets(TWO), Budgets(None, HALF, at_any=False))
    assert found == Budgets(TWO, HALF, at_any=False)
    for pair in (
        (Budgets(None, ONE), Budgets(None, HALF)),
        (Budgets(TWO), Budgets(ONE, HALF)),
        (Budgets(TWO), Budgets(None)),
    ):
        with pytest.raises(BadProof, match="it is not that"):
            least_budget(machine, {}, *pair)
