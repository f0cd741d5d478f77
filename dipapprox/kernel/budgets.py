"""Claims of budgets, about machines of `rounds` and services, and their rules.

    claim    {"verdict": "DP", "budget": number, "at least": null | number}
             | {"verdict": "Not_DP", "budget": null | number}

A budget B serves if the machine is (B eps, 0)-differentially private for every eps > 0. Not_DP says
that no budget up to this one serves, or none at all; `at least`, that none below that number does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dipapprox.kernel.errors import BadProof
from dipapprox.kernel.judgements import Budgets, Judgement
from dipapprox.kernel.reading import as_number, as_record, as_word
from dipapprox.kernel.rounds import Rounds
from dipapprox.kernel.services import Service


@dataclass(frozen=True, slots=True)
class BudgetClaim:
    """A claim; `at_least` is None for none, `budget` for all of them."""

    verdict: str
    budget: Fraction | None
    at_least: Fraction | None

    def follows_from(self, judgement: Judgement | None) -> bool:
        """Whether a judgement says as much."""
        if not isinstance(judgement, Budgets):
            return False
        serves, below = judgement.budget, judgement.below
        if self.verdict == "DP":
            least = self.at_least is None or (below is not None and self.at_least <= below)
            claimed = self.budget is not None and serves is not None and serves <= self.budget
            return claimed and least
        fails = below is None or (self.budget is not None and self.budget < below)
        return fails and serves is None


def is_budget(json: object) -> bool:
    """Whether a claim is one of a budget."""
    return isinstance(json, dict) and "budget" in json


def read_budget(json: object) -> BudgetClaim:
    """Read a claim of a budget."""
    private = isinstance(json, dict) and json.get("verdict") == "DP"
    fields = ("verdict", "budget", "at least") if private else ("verdict", "budget")
    record = as_record(json, "the claim", fields)
    verdict = as_word(record["verdict"], "the verdict", ("DP", "Not_DP"))
    numbers = (record["budget"], record.get("at least"))
    if private and numbers[0] is None:
        raise BadProof("a budget is claimed that is none")
    return BudgetClaim(verdict, *[None if n is None else as_number(n, "a budget") for n in numbers])


def least_budget(
    machine: Rounds | Service, step: Mapping[str, Any], serves: Budgets, fails: Budgets
) -> Budgets:
    """One budget serves, and none below another one does.

    Step: nothing; premises: a potential and a ray, or chances; or couplings and a trace.
    """
    if serves.budget is None or fails.budget is not None or fails.below is None:
        raise BadProof("it is not that one budget serves, and none below another one")
    return replace(fails, budget=serves.budget)
