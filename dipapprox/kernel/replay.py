"""A proof replayed: machine, claim and steps in, what is proved out.

    proof    {"machine": machine, "claim": claim, "steps": [step, …]}
    claim    {"verdict": "DP" | "Not_DP", "eps": number, "eps_prv": number, "delta": number,
              "pairs": null | [[input, input], …]}
             | a claim of `budgets`
             the same with "eps": {"from": number, "to": number | null}; then "eps_prv" and
             "delta" are weights (`machine`) without cells
    step     {"rule": name, "from": [numbers of earlier steps], …}

Claims of budgets are about machines of `rounds` and services. The last step has to conclude the
claim. A premise whose number stands as -n - 1 is step n, which nobody needs any more: it is
forgotten, so that memory does not grow with the number of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from dipapprox.kernel import budgets, compositions, parts
from dipapprox.kernel.adjacency import Input
from dipapprox.kernel.budget import budget
from dipapprox.kernel.budgets import BudgetClaim, is_budget, read_budget
from dipapprox.kernel.compositions import Pipeline, is_pipeline, read_composed, read_pipeline
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.judgements import (
    Composed,
    Judgement,
    Private,
    Violated,
    ViolatedSomewhere,
)
from dipapprox.kernel.machine import Machine, Tree, read_machine, read_pairs, read_weight
from dipapprox.kernel.proofs import Proof, claimed, positive
from dipapprox.kernel.reading import as_record, as_word
from dipapprox.kernel.rounds import Rounds, read_rounds
from dipapprox.kernel.rules import RULES, Rules, apply
from dipapprox.kernel.services import Service, is_service, read_service
from dipapprox.kernel.signs import Epsilons, read_epsilons

MOST_STEPS = 1_000_000


OF_MACHINES: Rules = {**RULES, **parts.RULES}
"""What proofs about machines may use."""

ALL_RULES: Rules = {
    **OF_MACHINES,
    **compositions.RULES,
    **budgets.RULES,
    **budgets.OF_SERVICES,
}


@dataclass(frozen=True, slots=True)
class Claim:
    """What a proof is said to prove.

    Attributes:
        verdict: "DP" or "Not_DP".
        eps: The machine's, > 0: one, or an interval. Then eps_prv and delta are formulas in eps.
        eps_prv: The budget, >= 0.
        delta: In [0, 1].
        pairs: The ordered pairs that are meant; None for all adjacent ones.
    """

    verdict: str
    eps: Fraction | Epsilons
    eps_prv: Tree
    delta: Tree
    pairs: tuple[tuple[Input, Input], ...] | None


def read_claim(json: object, machine: Machine) -> Claim:
    """Read a claim about a machine."""
    record = as_record(json, "the claim", ("verdict", "eps", "eps_prv", "delta", "pairs"))
    verdict = as_word(record["verdict"], "the verdict", ("DP", "Not_DP"))
    pairs = None
    if record["pairs"] is not None:
        pairs = read_pairs(record["pairs"], machine.domains)
        if not pairs or len(set(pairs)) < len(pairs):
            raise BadProof("no pair is listed, or one twice")
    if not isinstance(record["eps"], dict):
        return Claim(verdict, positive(record["eps"], "eps"), *claimed(record), pairs)
    eps_prv, delta = (read_weight(record[name]) for name in ("eps_prv", "delta"))
    return Claim(verdict, read_epsilons(record["eps"]), eps_prv, delta, pairs)


def replay(
    machine: object,
    claim: object,
    steps: Iterable[object],
    told: Callable[[int, Judgement], None] = lambda number, judgement: None,
) -> Judgement:
    """Replay a proof.

    Args:
        machine: As JSON; or a pipeline.
        claim: As JSON.
        steps: As JSON, one after the other.
        told: Called with the number of every step and what it concludes.

    Returns:
        The judgement that is the claim; what does not prove it raises (`errors`).
    """
    known: dict[int, Judgement] = {}
    last: Judgement | None = None
    try:
        with budget():
            stated: Claim | BudgetClaim | Composed
            proof: Proof | Rounds | Service | Pipeline
            rules: Rules
            if is_service(machine):
                stated, rules = read_budget(claim), budgets.OF_SERVICES
                proof = read_service(machine)
            elif is_budget(claim):
                stated, rules = read_budget(claim), budgets.RULES
                proof = read_rounds(machine)
            elif is_pipeline(machine):
                stated, rules = read_composed(claim), compositions.RULES
                proof = read_pipeline(machine)
            else:
                read = read_machine(machine)
                stated, rules = read_claim(claim, read), OF_MACHINES
                proof = Proof(read, stated.pairs)
        for number, step in enumerate(steps):
            if number >= MOST_STEPS:
                raise BadProof(f"more than {MOST_STEPS} steps")
            last = apply(rules, proof, known, step)
            told(number, last)
            known[number] = last
    except RecursionError:
        raise Refused("what is nested is nested too deeply") from None
    if last is None or not _concludes(last, stated):
        raise Refuted("the last step does not conclude the claim")
    return last


def _concludes(judgement: Judgement, claim: Claim | BudgetClaim | Composed) -> bool:
    if isinstance(claim, Composed):
        return judgement == claim
    if isinstance(claim, BudgetClaim):
        return claim.follows_from(judgement)
    match judgement:
        case Private(eps, eps_prv, delta, pairs):
            listed = None if claim.pairs is None else frozenset(claim.pairs)
            same = pairs == listed and claim.verdict == "DP"
        case Violated(eps, eps_prv, delta) | ViolatedSomewhere(eps, eps_prv, delta):
            # The rule has asked whether the pair is meant.
            same = claim.verdict == "Not_DP"
        case _:
            return False
    return same and (eps, eps_prv, delta) == (claim.eps, claim.eps_prv, claim.delta)
