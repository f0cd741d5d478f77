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
from dataclasses import replace
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


def has(json: object, field: str) -> bool:
    """Whether an object has a field."""
    return isinstance(json, dict) and field in json


def read_budget(json: object) -> Budgets:
    """Read a claim of a budget; what fails stands in `below`."""
    more = ("at least",) if isinstance(json, dict) and json.get("verdict") == "DP" else ()
    record = as_record(json, "the claim", ("verdict", "budget", *more))
    as_word(record["verdict"], "the verdict", ("DP", "Not_DP"))
    numbers = record["budget"], record.get("at least")
    budget, least = (None if n is None else as_number(n, "a budget") for n in numbers)
    if more and budget is None:
        raise BadProof("a budget is claimed that is none")
    return Budgets(budget, least) if more else Budgets(None, budget)


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

    Step: nothing; premises: a potential, or couplings, and a ray or a trace.
    """
    if serves.budget is None or fails.budget is not None or fails.below is None:
        raise BadProof("it is not that one budget serves, and none below another one")
    return replace(fails, budget=serves.budget)


Claim = Private | Violated | Budgets


def follows(claim: Claim, found: Judgement) -> bool:
    """Whether a judgement says as much as a claim.

    Theorem: as Pr[S | u] - a Pr[S | u'] does not rise with a, what is private stays so with a
    larger eps_prv and delta, and what is not with smaller ones.
    """
    match claim, found:
        case Budgets(budget=None, below=claimed), Budgets(budget=None, below=fails):
            # This one fails, too.
            return fails is None or (claimed is not None and claimed < fails)
        case Budgets(budget=budget, below=least), Budgets(budget=serves, below=fails):
            below = least is None or (fails is not None and least <= fails)
            return below and budget is not None and serves is not None and serves <= budget
        case (Private() as more, Private() as less) | (Violated() as less, Violated() as more):
            for one, other in (more.eps_prv, less.eps_prv), (more.delta, less.delta):
                numbers = isinstance(one, Fraction) and isinstance(other, Fraction)
                if not (one >= other if numbers else one == other):
                    return False
            return replace(less, eps_prv=more.eps_prv, delta=more.delta) == more
    return False


Subject = Union[Proof, "Rounds", "Service", "Pipeline"]


def read(machine: object, claim: object) -> tuple[Claim, Subject]:
    """Read a claim, and what it is about: what there is none of is not loaded."""
    if has(machine, "calls"):
        return read_budget(claim), named("services.read_service")(machine)
    if has(claim, "budget"):
        return read_budget(claim), named("rounds.read_rounds")(machine)
    if has(machine, "runs"):
        composed, pipeline = map(
            named, ("compositions.read_composed", "compositions.read_pipeline")
        )
        return composed(claim), pipeline(machine)
    return read_claim(claim, read_machine(machine))
