"""A proof replayed: machine, claim and steps in, what is proved out.

    proof    {"machine": machine, "claim": claim, "steps": [step, …]}
    claim    {"verdict": "DP" | "Not_DP", "eps": number, "eps_prv": number, "delta": number,
              "pairs": null | [[input, input], …]}
             of Not_DP "eps_prv" may be null: it is so at every one
             the same with "eps": {"from": number, "to": number | null}; then "eps_prv" and
             "delta" are weights (`machine`) without cells
             | {"verdict": "DP", "budget": number, "at least": null | number}
             | {"verdict": "Not_DP", "budget": null | number}
             the same with "eps": number, about a service at this one
             | a claim about a pipeline (`compositions`)
    step     {"rule": name, "from": [numbers of earlier steps], …}

A budget B serves if the machine is (B eps, 0)-differentially private for every eps > 0. Not_DP says
that no budget up to this one serves, or none at all; `at least`, that none below that number does.
Claims of budgets are about machines of `rounds` and services.

A rule is one function (about, step, *premises) -> judgement. A step has exactly the fields that its
rule reads; with "of" it is about a run or a part (`compositions`), and so are its premises. The
last step has to conclude the claim, or more. A premise whose number stands as -n - 1 is step n,
which nobody needs any more: it is forgotten, so that memory does not grow with the number of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from inspect import signature
from typing import Any, get_type_hints

from dipapprox.kernel.errors import BadProof, Refused, Refuted, budget
from dipapprox.kernel.judgements import Budgets, Judgement, LossesOf, Of, Private, Violated
from dipapprox.kernel.machine import Machine, Range, compares, read_machine, read_pairs
from dipapprox.kernel.proofs import Proof, Step, named, positive, stated
from dipapprox.kernel.reading import as_integer, as_list, as_number, as_record, as_word
from dipapprox.kernel.signs import read_epsilons

_CLAIM = ("eps_prv", "delta")
_PAIR = ("input", "adjacent")
_GRID = ("step", "offset", "places", "knots")
_ONE_RUN = (*_GRID, "sample", "above")
_PARTS = ("parts", "eps")

RULES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "distributions": ("proofs.distributions", ("eps", "inputs", "bits")),
    "every published pair": ("excesses.published_pairs", ("eps", *_CLAIM, "bits")),
    "published violation": ("excesses.published_violation", ("eps", *_CLAIM, "bits", *_PAIR)),
    "every pair": ("proofs.every_pair", _CLAIM),
    "served": ("served.served", ("eps", *_CLAIM, "whole", "nodes")),
    "between eps": ("intervals.between_eps", ("eps", *_CLAIM)),
    "smaller eps": ("intervals.smaller_eps", ("eps", *_CLAIM, "point")),
    "every real pair": ("sets.every_real_pair", ("eps", *_CLAIM, "bits")),
    "violated somewhere": ("closed.violated_somewhere", ("eps", *_CLAIM)),
    "violation": ("proofs.violation", (*_CLAIM, *_PAIR, "outputs")),
    "losses": ("compositions.losses_of", (*_ONE_RUN, "orders", *_PAIR)),
    "losses above parts": ("compositions.above_parts", (*_GRID, *_PARTS)),
    "losses below parts": ("compositions.below_parts", (*_PARTS, *_PAIR)),
    "adaptive": ("compositions.adaptive", (*_ONE_RUN, "pairs", "margin", "times", "reach")),
    "composed": ("compositions.composed", ("cut",)),
    "private composition": ("compositions.private", (*_PARTS, *_CLAIM)),
    "violated composition": ("compositions.violated", (*_PARTS, *_CLAIM, *_PAIR)),
    "potential": ("potential.potential", ("nodes", "quiet")),
    "ray": ("rays.ray", ("eps", "paths", "inputs", "noise", "parts", "multipliers")),
    "couplings": ("couplings.couplings", ("eps", "budget", "held", "followed", "changes", "pairs")),
    "trace": ("traces.trace", ("events", "budget", "eps")),
    "repetition": ("traces.repetition", ("events", "turns", "store", "eps")),
    "least budget": ("replay.least_budget", ()),
}
"""By name: module and function, and the fields of its steps besides "rule", "from" and "of"."""


def has(json: object, field: str) -> bool:
    """Whether an object has a field."""
    return isinstance(json, dict) and field in json


def read_budget(json: object) -> Budgets:
    """Read a claim of a budget; what fails stands in `below`."""
    more = ("at least",) if isinstance(json, dict) and json.get("verdict") == "DP" else ()
    only = ("eps",) if has(json, "eps") else ()
    record = as_record(json, "the claim", ("verdict", "budget", *more, *only))
    eps = positive(record["eps"], "eps") if only else None
    as_word(record["verdict"], "the verdict", ("DP", "Not_DP"))
    numbers = record["budget"], record.get("at least")
    budget, least = (None if n is None else as_number(n, "a budget") for n in numbers)
    if more and budget is None:
        raise BadProof("a budget is claimed that is none")
    return Budgets(budget, least, eps=eps) if more else Budgets(None, budget, eps=eps)


def read_claim(json: object, machine: Machine) -> tuple[Private | Violated, Proof]:
    """Read a claim about a machine: the judgement that is claimed, and what steps are about."""
    record = as_record(json, "the claim", ("verdict", "eps", "eps_prv", "delta", "pairs"))
    verdict = as_word(record["verdict"], "the verdict", ("DP", "Not_DP"))
    pairs = None
    if record["pairs"] is None:
        real = [name for name, domain in machine.inputs if isinstance(domain, Range)]
        if real and compares(machine.body, frozenset(real)):
            machine = named("clamps.without_clamps")(machine)
    else:
        pairs = read_pairs(record["pairs"], machine.domains)
        if not pairs or len(set(pairs)) < len(pairs):
            raise BadProof("no pair is listed, or one twice")
    eps, (eps_prv, delta) = read_epsilons(record["eps"]).value, stated(record, verdict != "DP")
    about = Proof(machine, pairs)
    if verdict == "DP":
        return Private(eps, eps_prv, delta, about.pairs), about
    # Rules ask whether the pair that is violated is meant.
    return Violated(eps, eps_prv, delta), about


def least_budget(about: object, step: Step, serves: Budgets, fails: Budgets) -> Budgets:
    """One budget serves, by a potential or couplings, and none below one of a ray or a trace."""
    if serves.budget is None or fails.budget is not None or fails.below is None:
        raise BadProof("it is not that one budget serves, and none below another one")
    if serves.eps not in (None, fails.eps):
        raise BadProof("budgets at different eps")
    return fails._replace(budget=serves.budget, eps=serves.eps)


Claim = Private | Violated | Budgets


def follows(claim: Claim, found: Judgement) -> bool:
    """Whether a judgement says as much as a claim.

    Theorem: as Pr[S | u] - a Pr[S | u'] does not rise with a, what is private stays so with a
    larger eps_prv and delta, and what is not with smaller ones; what is not at every one, at each.
    """
    match claim, found:
        case Budgets(budget=None, below=claimed, eps=eps), Budgets(budget=None, below=fails):
            # This one fails, too.
            below = fails is None or (claimed is not None and claimed < fails)
            return below and eps in (None, found.eps)
        case Budgets(budget=budget, below=least, eps=eps), Budgets(budget=serves, below=fails):
            below = least is None or (fails is not None and least <= fails)
            known = budget is not None and serves is not None and serves <= budget
            return below and known and eps == found.eps
        case (Private() as more, Private() as less) | (Violated() as less, Violated() as more):
            for one, other in (more.eps_prv, less.eps_prv), (more.delta, less.delta):
                numbers = isinstance(one, Fraction) and isinstance(other, Fraction)
                if one is not None and not (one >= other if numbers else one == other):
                    return False
            return replace(less, eps_prv=more.eps_prv, delta=more.delta) == more
    return False


def read(machine: object, claim: object) -> tuple[Claim, object]:
    """Read a claim, and what it is about: what there is none of is not loaded."""
    if has(machine, "calls"):
        return read_budget(claim), named("services.read_service")(machine)
    if has(claim, "budget"):
        return read_budget(claim), named("rounds.read_rounds")(machine)
    if has(machine, "runs"):
        stated: Claim = named("compositions.read_composed")(claim)
        return stated, named("compositions.read_pipeline")(machine)
    return read_claim(claim, read_machine(machine))


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
    function: Callable[..., Judgement] = named(RULES[name][0])
    kind, first, more = kinds_of(function)
    kinds = [kind, *first, *[more] * (len(premises) - len(first))]
    if len(premises) < len(first) or not all(map(isinstance, (about, *premises), kinds)):
        raise BadProof(f"the rule '{name}' is not about this, or rests on other premises")
    return function(about, step, *premises)


def apply(about: object, known: MutableMapping[int, Judgement], json: object) -> Judgement:
    """Replay one step; `known` is what those before it concluded, by number.

    With "of" it is about a run or a part (`inside`), and so are its premises.
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
        about = named("compositions.inside")(about, step["of"])
        machine = about.machine if isinstance(about, Proof) else None
        # They are about this, or say what they are about.
        if not all(isinstance(p, LossesOf | Of) for p in premises):
            raise BadProof("a premise is about something else")
        own = [p.judgement if isinstance(p, Of) and p.machine == machine else p for p in premises]
        found = conclude(name, about, step, own)
        return found if isinstance(found, LossesOf) or machine is None else Of(machine, found)


_SHARING = 4  # steps that share what a machine with rounds does; memory does not grow with more


def replay(
    machine: object,
    claim: object,
    steps: Iterable[object],
    told: Callable[[int, Judgement], None] = lambda number, judgement: None,
) -> Judgement:
    """Replay a proof, told in JSON, of a machine or a pipeline, step by step.

    Return the last judgement: the claim, or more. What does not prove it raises (`errors`). `told`
    is called with the number of every step and what it concludes.
    """
    known: dict[int, Judgement] = {}
    last: Judgement | None = None
    try:
        with budget():
            stated, about = read(machine, claim)
        for number, step in enumerate(steps):
            last = apply(about, known, step)
            told(number, last)
            known[number] = last
            if number >= _SHARING:
                getattr(about, "__dict__", {}).pop("follower", None)
    except RecursionError:
        raise Refused("what is nested is nested too deeply") from None
    if last is None or not follows(stated, last):
        raise Refuted("the last step does not conclude the claim")
    return last
