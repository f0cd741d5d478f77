"""What is claimed, and of what: claims of finite verdicts and of budgets, read.

    claim    {"verdict": "DP" | "Not_DP", "eps": number, "eps_prv": number, "delta": number,
              "pairs": null | [[input, input], …]}
             the same with "eps": {"from": number, "to": number | null}; then "eps_prv" and
             "delta" are weights (`machine`) without cells
    budget   {"verdict": "DP", "budget": number, "at least": null | number}
             | {"verdict": "Not_DP", "budget": null | number}

A budget B serves if the machine is (B eps, 0)-differentially private for every eps > 0. Not_DP says
that no budget up to this one serves, or none at all; `at least`, that none below that number does.
Claims of budgets are about machines of `rounds` and services.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Union

from dipapprox.kernel.errors import BadProof
from dipapprox.kernel.judgements import Budgets, Judgement, Private, Violated
from dipapprox.kernel.loading import named
from dipapprox.kernel.machine import Machine, read_machine, read_pairs
from dipapprox.kernel.proofs import Proof, stated
from dipapprox.kernel.reading import as_number, as_record, as_word
from dipapprox.kernel.signs import read_epsilons

if TYPE_CHECKING:
    from dipapprox.kernel.compositions import Pipeline
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
    return _has(json, "budget")


def _has(json: object, field: str) -> bool:
    return isinstance(json, dict) and field in json


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


def read_claim(json: object, machine: Machine) -> tuple[Private | Violated, Proof]:
    """Read a claim about a machine: the judgement that is claimed, and what steps are about."""
    record = as_record(json, "the claim", ("verdict", "eps", "eps_prv", "delta", "pairs"))
    verdict = as_word(record["verdict"], "the verdict", ("DP", "Not_DP"))
    pairs = None
    if record["pairs"] is not None:
        pairs = read_pairs(record["pairs"], machine.domains)
        if not pairs or len(set(pairs)) < len(pairs):
            raise BadProof("no pair is listed, or one twice")
    eps, (eps_prv, delta) = read_epsilons(record["eps"]).value, stated(record)
    about = Proof(machine, pairs)
    if verdict == "DP":
        return Private(eps, eps_prv, delta, about.pairs), about
    # Rules ask whether the pair that is violated is meant.
    return Violated(eps, eps_prv, delta), about


def least_budget(
    about: object, step: Mapping[str, Any], serves: Budgets, fails: Budgets
) -> Budgets:
    """One budget serves, and none below another one does.

    Step: nothing; premises: a potential and a ray, or chances; or couplings and a trace.
    """
    if serves.budget is None or fails.budget is not None or fails.below is None:
        raise BadProof("it is not that one budget serves, and none below another one")
    return replace(fails, budget=serves.budget)


Claim = Private | Violated | BudgetClaim

Subject = Union[Proof, "Rounds", "Service", "Pipeline"]


def read(machine: object, claim: object) -> tuple[Claim, Subject]:
    """Read a claim, and what it is about: what there is none of is not loaded."""
    if _has(machine, "calls"):
        return read_budget(claim), named("services.read_service")(machine)
    if is_budget(claim):
        return read_budget(claim), named("rounds.read_rounds")(machine)
    if _has(machine, "runs"):
        composed, pipeline = map(
            named, ("compositions.read_composed", "compositions.read_pipeline")
        )
        return composed(claim), pipeline(machine)
    return read_claim(claim, read_machine(machine))
