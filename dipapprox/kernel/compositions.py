"""Compositions: pipelines, and the rules of what they cost.

    pipeline    {"adjacency": "add/remove" | "substitution", "runs": [run, …]}
    run         {"what": mechanism | {"machine": machine, "eps": number},
                 "subsample": null | number, "times": integer}
    claim       {"verdict": "DP" | "Not_DP", "eps_prv": number, "delta": number}

All is run on the same data, one after the other, and may depend on what came before. Of adjacent
data sets one has a record more, or another record; a machine gets any two of its adjacent inputs,
and its adjacency is symmetric. `subsample` is the rate of a Poisson sample, of one record more. A
pipeline is private if all that it may run is; it is not, if something that it may run is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dipapprox.kernel.adjacency import Input
from dipapprox.kernel.balls import between, precision, to_ball
from dipapprox.kernel.errors import BadProof, Refuted
from dipapprox.kernel.judgements import (
    Composed,
    Distributions,
    Judgement,
    LossesOf,
    Of,
    Private,
)
from dipapprox.kernel.losses import Grid, Losses
from dipapprox.kernel.machine import Machine, read_machine
from dipapprox.kernel.mechanisms import Finite, Known, Pair, Sampled, read_mechanism
from dipapprox.kernel.proofs import Proof, Step, claimed, pair_of, positive
from dipapprox.kernel.reading import as_integer, as_list, as_number, as_record, as_word
from dipapprox.kernel.rules import RULES as OF_MACHINES
from dipapprox.kernel.rules import Rules, apply

MOST_RUNS = 10**9
"""Of one thing."""

BOTH = frozenset(("removed", "added"))
"""What happens to a record, from the first data set to the second one."""


@dataclass(frozen=True, slots=True)
class PipelineRun:
    """What is run: a machine at an eps; or None, and a mechanism as JSON."""

    name: str
    machine: tuple[Machine, Fraction] | None
    mechanism: object
    rate: Fraction | None
    times: int


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What claims are about."""

    runs: tuple[PipelineRun, ...]


def about_run(pipeline: Pipeline, premises: Sequence[Judgement], step: Step) -> Of:
    """What a rule about machines concludes holds of the machine of a run.

    Step: "run", "step": without its "from"; its premises are about the same run.
    """
    run = _run(pipeline, step)
    if run.machine is None:
        raise BadProof("a run of no machine")
    return about(Proof(run.machine[0], None), run.name, premises, step["step"])


def about(proof: Proof, what: str | Machine, premises: Sequence[Judgement], step: object) -> Of:
    """Conclude something by a rule about machines, from premises about the same one."""
    known: dict[int, Judgement] = {}
    for place, premise in enumerate(premises):
        if not isinstance(premise, Of) or premise.what != what:
            raise BadProof("a premise is about something else")
        known[place] = premise.judgement
    if not isinstance(step, dict) or "from" in step:
        raise BadProof("no step without premises of its own")
    return Of(what, apply(OF_MACHINES, proof, known, {**step, "from": list(known)}))


def from_above(pipeline: Pipeline, premises: Sequence[Judgement], step: Step) -> LossesOf:
    """Losses through bounds of H at some knots are above a run (`Grid.above`).

    Theorem: where all that may be run, whatever came before, has H <= h at every knot, so has their
    supremum, and the losses are above each. For mechanisms that is `mechanisms`. For machines the
    premises bound delta for all adjacent inputs, which is H at e^eps_prv.

    Step: "run", "added", grid (`losses`), "orders": of zCDP.
    """
    run, grid = _run(pipeline, step), Grid(step)
    with precision(grid.bits):
        if run.machine is not None:
            known: Pair = known_deltas(premises, run.name, run.machine[1], None)
        else:
            orders = [as_number(each, "an order") for each in as_list(step["orders"], "orders")]
            known = read_mechanism(_alone(run, premises), orders)
        return _bounded(run, step, lambda pair: grid.above(pair.most), known)


def known_deltas(
    premises: Sequence[Judgement],
    what: str | Machine,
    wanted: Fraction,
    meant: frozenset[tuple[Input, Input]] | None,
) -> Known:
    """Bounds of delta for some pairs, all of them with their reverse, at one eps."""
    points: dict[Fraction, Fraction] = {}
    for premise in premises:
        match premise:
            case Of(name, Private(Fraction() as eps, eps_prv, delta, pairs)):
                if (name, eps, pairs) != (what, wanted, meant):
                    raise BadProof("a premise is about something else")
                points[eps_prv] = min(delta, points.get(eps_prv, delta))
            case _:
                raise BadProof("a premise bounds no delta")
    return Known(points)


def from_below(pipeline: Pipeline, premises: Sequence[Judgement], step: Step) -> LossesOf:
    """Sets that are about best between two knots give losses below a pair (`Grid.below`).

    Step: "run", "added", grid (`losses`), "lean": where between two knots, 0 to 1.
    """
    run, grid = _run(pipeline, step), Grid(step)
    with precision(grid.bits):
        known = read_mechanism(_alone(run, premises), ())
        return _bounded(run, step, lambda pair: lowered(grid, pair, step), known)


def of_inputs(pipeline: Pipeline, premises: Sequence[Judgement], step: Step) -> LossesOf:
    """The same for two adjacent inputs of a machine, and sets of its outputs.

    Step: as "losses from below"; "input", "adjacent"; one premise: distributions for both inputs.
    """
    run, grid = _run(pipeline, step), Grid(step)
    if run.machine is None:
        raise BadProof("a run of no machine")
    machine, eps = run.machine
    inputs = pair_of(Proof(machine, None), step)
    with precision(grid.bits):
        known = outcomes_of(premises, run.name, eps, inputs)
        return _bounded(run, step, lambda pair: lowered(grid, pair, step), known)


def outcomes_of(
    premises: Sequence[Judgement], what: str | Machine, eps: Fraction, inputs: tuple[Input, Input]
) -> Finite:
    """The outputs of two inputs as a pair, from one premise: distributions for both."""
    match premises:
        case [Of(name, Distributions() as found)] if (name, found.eps) == (what, eps):
            pass
        case _:
            raise BadProof("one premise is wanted: distributions of the same machine")
    if any(input not in found.bounds for input in inputs):
        raise Refuted("an input has no distribution")
    unit = Fraction(1, 1 << found.places)
    rows = []
    for input in inputs:
        both = zip(*found.bounds[input], strict=True)
        rows.append([between(to_ball(a * unit), to_ball(b * unit)) for a, b in both])
    return Finite(list(zip(*rows, strict=True)))


def lowered(grid: Grid, pair: Pair, step: Step) -> Losses:
    """Losses below a pair."""
    return grid.below(pair.line, pair.infinite, as_number(step["lean"], "where between knots"))


def _bounded(run: PipelineRun, step: Step, bound: Callable[[Pair], Losses], pair: Pair) -> LossesOf:
    """Bound a pair on the sample of a run, for the directions that are meant."""
    added = step["added"]
    if type(added) is not bool:
        raise BadProof("'added' is true or false")
    if run.rate is None:
        return LossesOf({run.name: 1}, BOTH, bound(pair))
    own = frozenset(("added" if added else "removed",))
    return LossesOf({run.name: 1}, own, bound(Sampled(pair, run.rate, added)))


def composed(proof: Any, premises: Sequence[Judgement], step: Step) -> LossesOf:
    """Losses of what follows each other, or is independent, are convolved (`losses`).

    Step: two premises, which may be one step; "cut": units of mass to be cut off, low and high.
    """
    match premises:
        case [LossesOf() as one, LossesOf() as other]:
            pass
        case _:
            raise BadProof("two premises are wanted: losses")
    low, high = (as_integer(each, "a cut") for each in as_list(step["cut"], "cuts", 2))
    times = dict(one.times)
    for what, count in other.times.items():
        times[what] = times.get(what, 0) + count
    losses = one.losses.composed(other.losses, (low, high))
    return LossesOf(times, one.directions & other.directions, losses)


def private(pipeline: Pipeline, premises: Sequence[Judgement], step: Step) -> Composed:
    """H(e^eps_prv) <= delta, for all runs and both directions (`losses`, composition).

    Step: "eps_prv", "delta"; premises: losses above all runs, for every direction.
    """
    eps_prv, delta = claimed(step)
    told: frozenset[str] = frozenset()
    for premise in premises:
        if not isinstance(premise, LossesOf) or not premise.losses.above:
            raise BadProof("a premise is no losses from above")
        if premise.times != {run.name: run.times for run in pipeline.runs}:
            raise Refuted("not all runs are composed, or too many")
        if premise.losses.delta(eps_prv) > delta:
            raise Refuted("the bound of delta is larger")
        told |= premise.directions
    if told != BOTH:
        raise Refuted("a direction is missing")
    return Composed("DP", eps_prv, delta)


def violated(pipeline: Pipeline, premises: Sequence[Judgement], step: Step) -> Composed:
    """H(e^eps_prv) > delta, for some runs that do not depend on each other, and a direction.

    What further runs reveal does not lower it.

    Step: "eps_prv", "delta"; one premise: losses below runs that the pipeline has.
    """
    eps_prv, delta = claimed(step)
    match premises:
        case [LossesOf(times, directions, losses)] if not losses.above and directions:
            pass
        case _:
            raise BadProof("one premise is wanted: losses from below")
    if any(times.get(run.name, 0) > run.times for run in pipeline.runs):
        raise Refuted("there are not so many runs")
    if losses.delta(eps_prv) <= delta:
        raise Refuted("the bound of delta is not larger")
    return Composed("Not_DP", eps_prv, delta)


GRID = ("step", "offset", "places", "knots")

RULES: Rules = {
    "about run": (about_run, ("run", "step")),
    "losses from above": (from_above, ("run", "added", *GRID, "orders")),
    "losses from below": (from_below, ("run", "added", *GRID, "lean")),
    "losses of inputs": (of_inputs, ("run", "added", *GRID, "lean", "input", "adjacent")),
    "composed": (composed, ("cut",)),
    "private composition": (private, ("eps_prv", "delta")),
    "violated composition": (violated, ("eps_prv", "delta")),
}
"""By name: the function, and the fields of its steps besides "rule" and "from"."""


# --- reading -------------------------------------------------------------------------------------


def is_pipeline(json: object) -> bool:
    """Whether it is a pipeline, not a machine."""
    return isinstance(json, dict) and "runs" in json


def read_pipeline(json: object) -> Pipeline:
    """Read a pipeline."""
    record = as_record(json, "a pipeline", ("adjacency", "runs"))
    adjacency = as_word(record["adjacency"], "an adjacency", ("add/remove", "substitution"))
    runs: list[PipelineRun] = []
    for each in as_list(record["runs"], "runs"):
        run = as_record(each, "a run", ("what", "subsample", "times"))
        times, rate, what = as_integer(run["times"], "times"), run["subsample"], run["what"]
        if not 1 <= times <= MOST_RUNS:
            raise BadProof("too many runs, or none")
        if rate is not None:
            rate = as_number(rate, "a rate")
            if adjacency != "add/remove" or not 0 < rate <= 1:
                raise BadProof("no rate of a sample, or of no record more")
        machine = None
        if isinstance(what, dict) and "machine" in what:
            own = as_record(what, "a program", ("machine", "eps"))
            machine = read_machine(own["machine"]), positive(own["eps"], "eps")
            if not machine[0].adjacency.symmetric:
                raise BadProof("inputs are adjacent in one order only")
        else:
            with precision(64):
                read_mechanism(what, ())
        runs.append(PipelineRun(f"run {len(runs)}", machine, what, rate, times))
    if not runs:
        raise BadProof("a pipeline of no runs")
    return Pipeline(tuple(runs))


def read_composed(json: object) -> Composed:
    """Read a claim about a pipeline."""
    record = as_record(json, "the claim", ("verdict", "eps_prv", "delta"))
    return Composed(as_word(record["verdict"], "the verdict", ("DP", "Not_DP")), *claimed(record))


def _run(pipeline: Pipeline, step: Step) -> PipelineRun:
    number = as_integer(step["run"], "a run")
    if not 0 <= number < len(pipeline.runs):
        raise BadProof(f"there is no run {number}")
    return pipeline.runs[number]


def _alone(run: PipelineRun, premises: Sequence[Judgement]) -> object:
    if premises:
        raise BadProof("mechanisms have no premises")
    return run.mechanism
