"""Which claims of budgets follow from a judgement, and what is put together."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import inf
from typing import Any

import pytest

from dipapprox.kernel.errors import BadProof
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.replay import follows, least_budget, read_budget

HALF, ONE, TWO = Fraction(1, 2), Fraction(1), Fraction(2)


def private(budget: Any, least: Any = None) -> dict[str, Any]:
    return {"verdict": "DP", "budget": budget, "at least": least}


def violated(budget: Any) -> dict[str, Any]:
    return {"verdict": "Not_DP", "budget": budget}


def test_claims_follow_from_what_is_judged_wherever_that_is_so() -> None:
    """Whatever the least budget is that serves: one of these numbers, one between, or none."""
    numbers: list[Any] = [None, 0, 1, 2, 3]
    least = (*(Fraction(k, 2) for k in range(-1, 8)), inf)

    def serves(budget: Any, claimed: Any, truth: Any) -> bool:
        """Whether it is so that one budget serves, and none below another one."""
        return truth <= budget and (claimed is None or claimed <= truth)

    for one, below, budget, at_least in product(numbers, repeat=4):
        serving, failing = (None if n is None else Fraction(n) for n in (one, below))
        found = Budgets(serving, failing)
        where = [truth for truth in least if serves(inf if one is None else one, below, truth)]
        if one is None and below is None:
            where = [inf]
        if budget is not None:
            claim = private(budget, at_least)
            true = [truth for truth in where if serves(budget, at_least, truth)]
        elif at_least is None:
            claim, true = violated(None), [truth for truth in where if truth == inf]
        else:
            claim, true = violated(at_least), [truth for truth in where if at_least < truth]
        if follows(read_budget(claim), found):
            assert where == true, (claim, found)
        elif one is None or budget is not None:
            assert not where or where != true, (claim, found)


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
