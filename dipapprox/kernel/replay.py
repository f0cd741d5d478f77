"""A proof replayed: machine, claim and steps in, what is proved out.

    proof    {"machine": machine, "claim": claim, "steps": [step, …]}
    claim    {"verdict": "DP" | "Not_DP", "eps": number, "eps_prv": number, "delta": number,
              "pairs": null | [[input, input], …]}
             | a claim of `budgets`
             the same with "eps": {"from": number, "to": number | null}; then "eps_prv" and
             "delta" are weights (`machine`) without cells
    step     {"rule": name, "from": [numbers of earlier steps], …}

A rule is one function (about, step, *premises) -> judgement. A step has exactly the fields that its
rule reads; with "of" it is about a run or a part (`compositions`), and so are its premises. Claims
of budgets are about machines of `rounds` and services. The last step has to conclude the claim. A
premise whose number stands as -n - 1 is step n, which nobody needs any more: it is forgotten, so
that memory does not grow with the number of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from inspect import signature
from typing import Any, get_type_hints

from dipapprox.kernel.budget import budget
from dipapprox.kernel.budgets import BudgetClaim, is_budget, least_budget, read_budget
from dipapprox.kernel.chances import chances
from dipapprox.kernel.compositions import (
    Pipeline,
    composed,
    inside,
    is_pipeline,
    losses_of,
    private,
    read_composed,
    read_pipeline,
    violated,
)
from dipapprox.kernel.couplings import couplings
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.excesses import published_pairs
from dipapprox.kernel.judgements import Judgement, LossesOf, Of, Private, Representatives, Violated
from dipapprox.kernel.machine import Machine, read_machine, read_pairs, read_weight
from dipapprox.kernel.potential import potential
from dipapprox.kernel.proofs import Proof, Step, claimed, positive
from dipapprox.kernel.rays import ray
from dipapprox.kernel.reading import as_integer, as_list, as_record, as_word
from dipapprox.kernel.rounds import Rounds, read_rounds
from dipapprox.kernel.rules import (
    distributions,
    every_pair,
    exact_distributions,
    sign,
    violated_somewhere,
    violation,
)
from dipapprox.kernel.services import Service, is_service, read_service
from dipapprox.kernel.sets import every_real_pair, representatives, smaller_eps
from dipapprox.kernel.signs import Epsilons, read_epsilons
from dipapprox.kernel.traces import repetition, trace

MOST_STEPS = 1_000_000


_CLAIM = ("eps_prv", "delta")
_GRID = ("step", "offset", "places", "knots")
_PARTS = ("parts", "eps", *_CLAIM)

RULES: Mapping[str, tuple[Callable[..., Judgement], tuple[str, ...]]] = {
    "distributions": (distributions, ("eps", "inputs", "bits", "cuts")),
    "exact distributions": (exact_distributions, ("eps", "inputs", "cuts")),
    "every published pair": (published_pairs, ("eps", *_CLAIM, "bits", "cuts")),
    "every pair": (every_pair, _CLAIM),
    "sign": (sign, ("eps", "factors")),
    "every pair throughout": (every_pair, (*_CLAIM, "cuts")),
    "smaller eps": (smaller_eps, ("eps", *_CLAIM, "point")),
    "representatives": (representatives, ("parts",)),
    "every real pair": (every_real_pair, (*_CLAIM, "parts")),
    "violated somewhere": (violated_somewhere, ("eps", *_CLAIM)),
    "violation": (violation, (*_CLAIM, "input", "adjacent", "outputs")),
    "losses": (losses_of, (*_GRID, "sample", "orders", "lean", "input", "adjacent")),
    "composed": (composed, ("cut",)),
    "private composition": (private, _PARTS),
    "violated composition": (violated, (*_PARTS, "input", "adjacent")),
    "potential": (potential, ("nodes", "quiet")),
    "ray": (ray, ("eps", "paths", "inputs", "noise", "parts", "multipliers")),
    "chances": (chances, ("eps", "bits", "paths", "inputs", "shown", "budget")),
    "couplings": (
        couplings,
        ("budget", "held", "symbols", "exact", "stores", "changes", "pairs"),
    ),
    "trace": (trace, ("events", "budget", "eps")),
    "repetition": (repetition, ("events", "turns", "store", "eps")),
    "least budget": (least_budget, ()),
}
"""By name: the function, and the fields of its steps besides "rule", "from" and "of"."""

REPRESENTED = ("every published pair", "every pair", "every pair throughout")
"""Rules that may go through representatives in place of all pairs, if they are the last premise."""


@cache
def kinds_of(function: Callable[..., Judgement]) -> tuple[Any, list[Any], Any]:
    """Return what a rule is about, its first premises, and any further ones: annotated types."""
    kinds = get_type_hints(function)
    about, _, *premises = signature(function).parameters.values()
    first = [kinds[p.name] for p in premises if p.kind is not p.VAR_POSITIONAL]
    # No object is one of no types.
    return kinds[about.name], first, kinds[premises[-1].name] if len(first) < len(premises) else ()


def conclude(name: str, about: object, step: Step, premises: Sequence[Judgement]) -> Judgement:
    """Apply a rule, if what it is given is of its kinds."""
    match premises:
        case [*others, Representatives(pairs)] if name in REPRESENTED and isinstance(about, Proof):
            found = conclude(name, replace(about, pairs=pairs), step, others)
            if isinstance(found, Private):
                return replace(found, pairs=None, in_sets=True)
    function, _ = RULES[name]
    kind, first, more = kinds_of(function)
    kinds = [kind, *first, *[more] * (len(premises) - len(first))]
    if len(premises) < len(first) or not all(map(isinstance, (about, *premises), kinds)):
        raise BadProof(f"the rule '{name}' is not about this, or rests on other premises")
    return function(about, step, *premises)


def apply(about: object, known: MutableMapping[int, Judgement], json: object) -> Judgement:
    """Replay one step.

    Args:
        about: What it is about: a machine, with the pairs that are meant, or a pipeline.
        known: What the steps before it concluded, by number.
        json: The step; with "of" it is about a run or a part (`inside`), and so are its premises.
    """
    if not isinstance(json, dict):
        raise BadProof("a step is no object")
    name = as_word(json.get("rule"), "a rule", tuple(RULES))
    of = ("of",) if "of" in json else ()
    step = as_record(json, "a step", ("rule", "from", *of, *RULES[name][1]))
    premises = []
    for number in as_list(step["from"], "premises"):
        last_use = as_integer(number, "a premise") < 0
        wanted = -number - 1 if last_use else number
        if wanted not in known:
            raise BadProof(f"there is no step {wanted} before, or it was forgotten")
        premises.append(known.pop(wanted) if last_use else known[wanted])
    with budget():
        if not of:
            return conclude(name, about, step, premises)
        about = inside(about, step["of"])
        machine = about.machine if isinstance(about, Proof) else None
        own = [p.judgement for p in premises if isinstance(p, Of) and p.machine == machine]
        if len(own) < len(premises):
            raise BadProof("a premise is about something else")
        found = conclude(name, about, step, own)
        return found if isinstance(found, LossesOf) or machine is None else Of(machine, found)


Claim = Private | Violated | BudgetClaim


def read_claim(json: object, machine: Machine) -> tuple[Private | Violated, Proof]:
    """Read a claim about a machine: the judgement that is claimed, and what steps are about."""
    record = as_record(json, "the claim", ("verdict", "eps", "eps_prv", "delta", "pairs"))
    verdict = as_word(record["verdict"], "the verdict", ("DP", "Not_DP"))
    pairs = None
    if record["pairs"] is not None:
        pairs = read_pairs(record["pairs"], machine.domains)
        if not pairs or len(set(pairs)) < len(pairs):
            raise BadProof("no pair is listed, or one twice")
    eps: Fraction | Epsilons
    if isinstance(record["eps"], dict):
        weights = (read_weight(record[name]) for name in ("eps_prv", "delta"))
        eps, (eps_prv, delta) = read_epsilons(record["eps"]), weights
    else:
        eps, (eps_prv, delta) = positive(record["eps"], "eps"), claimed(record)
    about = Proof(machine, pairs)
    if verdict == "DP":
        return Private(eps, eps_prv, delta, about.pairs), about
    # Rules ask whether the pair that is violated is meant.
    return Violated(eps, eps_prv, delta), about


def read(machine: object, claim: object) -> tuple[Claim, Proof | Rounds | Service | Pipeline]:
    """Read a claim, and what it is about."""
    if is_service(machine):
        return read_budget(claim), read_service(machine)
    if is_budget(claim):
        return read_budget(claim), read_rounds(machine)
    if is_pipeline(machine):
        return read_composed(claim), read_pipeline(machine)
    return read_claim(claim, read_machine(machine))


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
            stated, about = read(machine, claim)
        for number, step in enumerate(steps):
            if number >= MOST_STEPS:
                raise BadProof(f"more than {MOST_STEPS} steps")
            last = apply(about, known, step)
            told(number, last)
            known[number] = last
    except RecursionError:
        raise Refused("what is nested is nested too deeply") from None
    holds = stated.follows_from(last) if isinstance(stated, BudgetClaim) else stated == last
    if last is None or not holds:
        raise Refuted("the last step does not conclude the claim")
    return last
