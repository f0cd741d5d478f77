"""Pipelines whose least delta is known exactly, as sums over outcomes, and proofs about them.

The truth is computed without losses, grids or convolutions: runs have finitely many outcomes with
rational probabilities, and H of what remains is a recursion over them.
"""

from collections.abc import Sequence
from fractions import Fraction

from flint import arb, ctx, fmpq

from dipapprox.kernel.compositions import read_pipeline
from dipapprox.kernel.judgements import LossesOf
from dipapprox.kernel.replay import apply
from dipapprox.proof_steps.machines import number_json
from kernel.machines import RUN, Json, finite

Outcomes = list[tuple[arb, arb]]

BITS = 300


def ball(value: Fraction | int) -> arb:
    """An exact number."""
    return arb(fmpq(Fraction(value).numerator, Fraction(value).denominator))


def machine(rows: Sequence[Sequence[Fraction]]) -> Json:
    """A machine that chooses an output with the probabilities of its input, all adjacent."""
    body: Json = []
    for q, row in enumerate(rows):
        options = [[o, number_json(p)] for o, p in enumerate(row)]
        body.append(
            ["if", ["=", ["cell", "q"], q], [["choose", ["cell", "o"], options, False]], []]
        )
    inputs = [["q", {"from": 0, "to": len(rows) - 1}]]
    return finite(body, inputs=inputs, outputs=[["o", list(range(len(rows[0])))]])


def pairs_of(what: Json) -> list[Outcomes]:
    """The pairs that a run may have, in both orders."""
    match what:
        case {"mechanism": "randomised_response", "probability": p, "values": n}:
            p, n = Fraction(p), Fraction(n)
            other = (1 - p) / (n - 1)
            one = [(ball(a), ball(b)) for a, b in ((p, other), (other, p))]
            one += [(ball(other), ball(other))] * int(n - 2)
            return [one]
        case {"mechanism": "approx_dp", "eps": eps, "delta": delta}:
            odds, sure = ball(Fraction(eps)).exp(), ball(Fraction(delta))
            likely, unlikely = ((1 - sure) * each / (1 + odds) for each in (odds, arb(1)))
            return [[(sure, arb(0)), (arb(0), sure), (likely, unlikely), (unlikely, likely)]]
        case {"machine": {"body": body, "outputs": [["o", outputs]]}}:
            rows = []
            for q, each in enumerate(body):
                ((_, _, options, _),) = each[2]
                choices = {str(o): Fraction(p) for o, p in options}
                row = [choices.get(str(o), Fraction(0)) for o in outputs]
                choice = ["choose", ["cell", "o"], options, False]
                if each != ["if", ["=", ["cell", "q"], q], [choice], []]:
                    raise ValueError("not of this kind")
                rows.append([ball(p) for p in row])
            return [list(zip(u, v, strict=True)) for u in rows for v in rows if u is not v]
        case _:
            raise ValueError("not of this kind")


def least_delta(pipeline: Json, eps_prv: Fraction) -> arb:
    """The largest H of either direction, pairs chosen by what came before."""
    before, ctx.prec = ctx.prec, BITS
    try:
        found = arb(0)
        for added in (False, True):
            runs = []
            for run in pipeline["runs"]:
                rate = ball(Fraction(1 if run["subsample"] is None else run["subsample"]))
                own = []
                for pair in pairs_of(run["what"]):
                    sampled = [(rate * p + (1 - rate) * q, q) for p, q in pair]
                    own.append([(q, p) for p, q in sampled] if added else sampled)
                runs += [own] * run["times"]
            found = found.max(largest(runs, 0, ball(eps_prv).exp()))
        return found
    finally:
        ctx.prec = before


def largest(runs: list[list[Outcomes]], place: int, factor: arb) -> arb:
    """The largest sum of (p - factor q)_+, from a run on."""
    if place == len(runs):
        return (1 - factor).max(arb(0))
    found = arb(0)
    for pair in runs[place]:
        value = arb(0)
        for p, q in pair:
            if q.is_zero():
                value += p
            elif not p.is_zero():
                value += p * largest(runs, place + 1, factor * q / p)
        found = found.max(value)
    return found


# --- proofs --------------------------------------------------------------------------------------


def steps_of(
    pipeline: Json, kept: bool, step: Fraction, reach: int, pair: Json = None
) -> list[list[Json]]:
    """Steps up to the losses of all runs, one list for each direction."""
    found = []
    grid = {"step": number_json(step), "offset": 0, "places": 100, "knots": [[-reach, reach, 1]]}
    for added in (False, True):
        steps: list[Json] = []
        whole = None
        for number_of_run, run in enumerate(pipeline["runs"]):
            rate = run["subsample"]
            of = {"of": {"run": number_of_run}}
            fields = {**of, "sample": None if rate is None else [rate, added], **grid}
            premises: list[int] = []
            named = {"input": None, "adjacent": None}
            if "machine" in run["what"]:
                what = run["what"]
                steps.append({**RUN, "eps": what["eps"], "bits": 120, **of})
                source = len(steps) - 1
                premises = [source]
                if not kept:
                    named = {"input": pair[0], "adjacent": pair[1]}
            fields |= {"orders": [], "above": kept, **named}
            steps.append({"rule": "losses", "from": premises, **fields})
            once = len(steps) - 1
            for _ in range(run["times"]):
                if whole is None:
                    whole = once
                else:
                    steps.append({"rule": "composed", "from": [whole, once], "cut": [5, 3]})
                    whole = len(steps) - 1
        found.append(steps)
    return found


def adaptive_steps(
    pipeline: Json, kept: bool, added: bool, step: Fraction, reach: int, pairs: Json
) -> list[Json]:
    """Steps of the first run, a machine whose pairs are chosen as it goes, after all others."""
    first, *others = pipeline["runs"]
    alone = {**pipeline, "runs": others}
    steps = steps_of(alone, kept, step, reach)[added] if others else []
    for each in steps:
        if "of" in each:
            each["of"] = {"run": each["of"]["run"] + 1}
    of = {"of": {"run": 0}}
    steps.append({**RUN, "eps": first["what"]["eps"], "bits": 120, **of})
    rate = first["subsample"]
    fields = {"step": number_json(step), "offset": 0, "places": 100, "knots": [[-reach, reach, 1]]}
    fields |= {"sample": None if rate is None else [rate, added], "above": kept, "pairs": pairs}
    fields |= {"margin": "1/1000000000", "times": first["times"], "reach": reach}
    steps.append({"rule": "adaptive", "from": [len(steps) - 1], **of, **fields})
    if others:
        last = len(steps) - 1
        steps.append({"rule": "composed", "from": [last, last - 2], "cut": [0, 0]})
    return steps


def losses(pipeline: Json, steps: list[Json]) -> LossesOf:
    read, known = read_pipeline(pipeline), {}
    for place, step in enumerate(steps):
        known[place] = apply(read, known, step)
    found = known[len(steps) - 1]
    assert isinstance(found, LossesOf)
    return found
