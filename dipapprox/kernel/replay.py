"""A proof replayed: machine, claim and steps in, what is proved out.

    proof    {"machine": machine, "claim": claim, "steps": [step, …]}
    claim    as in `claims`
    step     {"rule": name, "from": [numbers of earlier steps], …}

A rule is one function (about, step, *premises) -> judgement. A step has exactly the fields that its
rule reads; with "of" it is about a run or a part (`compositions`), and so are its premises. The
last step has to conclude the claim, or more. A premise whose number stands as -n - 1 is step n,
which nobody needs any more: it is forgotten, so that memory does not grow with the number of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from functools import cache
from inspect import signature
from typing import Any, get_type_hints

from dipapprox.kernel.budget import budget
from dipapprox.kernel.claims import follows, read
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.judgements import Judgement, LossesOf, Of
from dipapprox.kernel.loading import named
from dipapprox.kernel.proofs import Proof, Step
from dipapprox.kernel.reading import as_integer, as_list, as_record, as_word

MOST_STEPS = 1_000_000


_CLAIM = ("eps_prv", "delta")
_LOSSES = ("step", "offset", "places", "knots", "sample", "orders", "above", "input", "adjacent")
_PARTS = ("parts", "eps", *_CLAIM)

RULES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "distributions": ("rules.distributions", ("eps", "inputs", "bits", "cuts")),
    "every published pair": ("excesses.published_pairs", ("eps", *_CLAIM, "bits", "cuts")),
    "every pair": ("rules.every_pair", _CLAIM),
    "served": ("served.served", ("eps", *_CLAIM, "whole", "nodes")),
    "smaller eps": ("shrinking.smaller_eps", ("eps", *_CLAIM, "point")),
    "every real pair": ("sets.every_real_pair", ("eps", *_CLAIM, "bits")),
    "violated somewhere": ("closed.violated_somewhere", ("eps", *_CLAIM)),
    "violation": ("rules.violation", (*_CLAIM, "input", "adjacent", "outputs")),
    "losses": (
        "compositions.losses_of",
        _LOSSES,
    ),
    "composed": ("compositions.composed", ("cut",)),
    "private composition": ("compositions.private", _PARTS),
    "violated composition": ("compositions.violated", (*_PARTS, "input", "adjacent")),
    "potential": ("potential.potential", ("nodes", "quiet")),
    "ray": ("rays.ray", ("eps", "paths", "inputs", "noise", "parts", "multipliers")),
    "couplings": ("couplings.couplings", ("budget", "held", "followed", "changes", "pairs")),
    "trace": ("traces.trace", ("events", "budget", "eps")),
    "repetition": ("traces.repetition", ("events", "turns", "store", "eps")),
    "least budget": ("claims.least_budget", ()),
}
"""By name: module and function, and the fields of its steps besides "rule", "from" and "of"."""


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
        about = named("compositions.inside")(about, step["of"])
        machine = about.machine if isinstance(about, Proof) else None
        own = [p.judgement for p in premises if isinstance(p, Of) and p.machine == machine]
        if len(own) < len(premises):
            raise BadProof("a premise is about something else")
        found = conclude(name, about, step, own)
        return found if isinstance(found, LossesOf) or machine is None else Of(machine, found)


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
        The last judgement: the claim, or more. What does not prove it raises (`errors`).
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
    if last is None or not follows(stated, last):
        raise Refuted("the last step does not conclude the claim")
    return last
