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
from itertools import pairwise

from dipapprox.kernel.balls import between, precision, to_ball
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.judgements import (
    Composed,
    Distributions,
    Judgement,
    LossesOf,
    OfRun,
    Private,
)
from dipapprox.kernel.losses import MOST_LOSSES, Losses, above, below, require_grid
from dipapprox.kernel.machine import Machine, read_input, read_machine
from dipapprox.kernel.mechanisms import Finite, Known, Pair, Sampled, read_mechanism
from dipapprox.kernel.proofs import Proof, Step, claimed, positive
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

    machine: tuple[Machine, Fraction] | None
    mechanism: object
    rate: Fraction | None
    times: int


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What claims are about; `ask` is called all the time, what it raises ends the replay."""

    runs: tuple[PipelineRun, ...]
    ask: Callable[[], None]


def about_run(pipeline: Pipeline, premises: Sequence[Judgement], step: Step) -> OfRun:
    """What a rule about machines concludes holds of the machine of a run.

    Step: "run", "step": without its "from"; its premises are about the same run.
    """
    number = _run(pipeline, step)
    own = pipeline.runs[number].machine
    if own is None or not isinstance(step["step"], dict):
        raise BadProof("a run of no machine, or no step")
    known: dict[int, Judgement] = {}
    for place, premise in enumerate(premises):
        if not isinstance(premise, OfRun) or premise.run != number:
            raise BadProof("a premise is about something else")
        known[place] = premise.judgement
    inner = {**step["step"], "from": list(known)}
    return OfRun(number, apply(OF_MACHINES, Proof(own[0], None, pipeline.ask), known, inner))


def from_above(pipeline: Pipeline, premises: Sequence[Judgement], step: Step) -> LossesOf:
    """Losses through bounds of H at some knots are above a run (`losses.above`).

    Theorem: where all that may be run, whatever came before, has H <= h at every knot, so has their
    supremum, and the losses are above each. For mechanisms that is `mechanisms`. For machines the
    premises bound delta for all adjacent inputs, which is H at e^eps_prv.

    Step: "run", "added", "step", "offset", "places"; "knots": [first, last, stride] of losses, in
    steps; "orders": of zCDP.
    """
    grid = _Grid(pipeline, step)
    points: dict[Fraction, Fraction] = {}
    for premise in premises:
        match premise:
            case OfRun(run, Private(Fraction() as eps, eps_prv, delta, None)) if run == grid.number:
                grid.machine(eps)
                points[eps_prv] = min(delta, points.get(eps_prv, delta))
            case _:
                raise BadProof("a premise bounds no delta of the run")
    with precision(grid.bits):
        orders = [as_number(each, "an order") for each in as_list(step["orders"], "orders")]
        known = Known(points) if points else read_mechanism(grid.run.mechanism, orders)
        pair, bounds = grid.sampled(known), []
        for k in grid.knots:
            pipeline.ask()
            bounds.append(pair.most(k * grid.step + grid.offset))
        return grid.bounded(above(grid.knots, bounds, grid.step, grid.offset, grid.places))


def from_below(pipeline: Pipeline, premises: Sequence[Judgement], step: Step) -> LossesOf:
    """Sets that are about best between two knots give losses below a pair (`losses.below`).

    Step: "run", "added", "step", "offset", "places", "knots" as above; "lean": where between two
    knots, 0 to 1.
    """
    if premises:
        raise BadProof("mechanisms have no premises")
    grid = _Grid(pipeline, step)
    with precision(grid.bits):
        return _below(grid, read_mechanism(grid.run.mechanism, ()), step)


def of_inputs(pipeline: Pipeline, premises: Sequence[Judgement], step: Step) -> LossesOf:
    """The same for two adjacent inputs of a machine, and sets of its outputs.

    Step: as "losses from below"; "input", "adjacent"; one premise: distributions for both inputs.
    """
    grid = _Grid(pipeline, step)
    match premises:
        case [OfRun(run, Distributions() as found)] if run == grid.number:
            machine = grid.machine(found.eps)
        case _:
            raise BadProof("one premise is wanted: distributions of the run")
    domains = tuple(domain for _, domain in machine.inputs)
    first, second = (read_input(step[name], domains) for name in ("input", "adjacent"))
    if not machine.adjacency.holds(first, second):
        raise Refuted("the inputs are not adjacent")
    if first not in found.bounds or second not in found.bounds:
        raise Refuted("an input has no distribution")
    with precision(max(grid.bits, found.places + 8)):
        unit = Fraction(1, 1 << found.places)
        rows = []
        for input in (first, second):
            both = zip(*found.bounds[input], strict=True)
            rows.append([between(to_ball(a * unit), to_ball(b * unit)) for a, b in both])
        return _below(grid, Finite(list(zip(*rows, strict=True))), step)


def _below(grid: _Grid, known: Pair, step: Step) -> LossesOf:
    lean, lines = as_number(step["lean"], "where between knots"), []
    pair = grid.sampled(known)
    for left, right in pairwise(grid.knots):
        grid.pipeline.ask()
        lines.append(pair.line((left + lean * (right - left)) * grid.step + grid.offset))
    found = below(grid.knots, lines, pair.infinite, grid.step, grid.offset, grid.places)
    return grid.bounded(found)


def composed(pipeline: Pipeline, premises: Sequence[Judgement], step: Step) -> LossesOf:
    """Losses of runs that follow each other are convolved (`losses`).

    Step: two premises, which may be one step; "cut": units of mass to be cut off, low and high.
    """
    match premises:
        case [LossesOf() as one, LossesOf() as other]:
            pass
        case _:
            raise BadProof("two premises are wanted: losses")
    low, high = (as_integer(each, "a cut") for each in as_list(step["cut"], "cuts", 2))
    times = tuple(a + b for a, b in zip(one.times, other.times, strict=True))
    pipeline.ask()
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
        if premise.times != tuple(run.times for run in pipeline.runs):
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
    if any(n > run.times for n, run in zip(times, pipeline.runs, strict=True)):
        raise Refuted("there are not so many runs")
    if losses.delta(eps_prv) <= delta:
        raise Refuted("the bound of delta is not larger")
    return Composed("Not_DP", eps_prv, delta)


_GRID = ("run", "added", "step", "offset", "places", "knots")

RULES: Rules = {
    "about run": (about_run, ("run", "step")),
    "losses from above": (from_above, (*_GRID, "orders")),
    "losses from below": (from_below, (*_GRID, "lean")),
    "losses of inputs": (of_inputs, (*_GRID, "lean", "input", "adjacent")),
    "composed": (composed, ("cut",)),
    "private composition": (private, ("eps_prv", "delta")),
    "violated composition": (violated, ("eps_prv", "delta")),
}
"""By name: the function, and the fields of its steps besides "rule" and "from"."""


# --- reading -------------------------------------------------------------------------------------


def is_pipeline(json: object) -> bool:
    """Whether it is a pipeline, not a machine."""
    return isinstance(json, dict) and "runs" in json


def read_pipeline(json: object, ask: Callable[[], None] = lambda: None) -> Pipeline:
    """Read a pipeline."""
    record = as_record(json, "a pipeline", ("adjacency", "runs"))
    adjacency = as_word(record["adjacency"], "an adjacency", ("add/remove", "substitution"))
    runs = []
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
        runs.append(PipelineRun(machine, what, rate, times))
    if not runs:
        raise BadProof("a pipeline of no runs")
    return Pipeline(tuple(runs), ask)


def read_composed(json: object) -> Composed:
    """Read a claim about a pipeline."""
    record = as_record(json, "the claim", ("verdict", "eps_prv", "delta"))
    return Composed(as_word(record["verdict"], "the verdict", ("DP", "Not_DP")), *claimed(record))


def _run(pipeline: Pipeline, step: Step) -> int:
    number = as_integer(step["run"], "a run")
    if not 0 <= number < len(pipeline.runs):
        raise BadProof(f"there is no run {number}")
    return number


class _Grid:
    """What a step says of where the losses of a run lie."""

    def __init__(self, pipeline: Pipeline, step: Step) -> None:
        self.pipeline = pipeline
        self.number = _run(pipeline, step)
        self.run = pipeline.runs[self.number]
        self.step, self.offset = (as_number(step[name], name) for name in ("step", "offset"))
        self.places, self._added = as_integer(step["places"], "places"), step["added"]
        require_grid(self.step, self.offset, self.places)
        if type(self._added) is not bool:
            raise BadProof("'added' is true or false")
        # What is lost to differences at neighbouring losses does not matter.
        self.bits = self.places + 3 * self.step.denominator.bit_length() + 64
        self.knots: list[int] = []
        for each in as_list(step["knots"], "knots"):
            first, last, stride = (as_integer(n, "a knot") for n in as_list(each, "knots", 3))
            if stride < 1 or (last - first) // stride + len(self.knots) > MOST_LOSSES:
                raise Refused(f"more than {MOST_LOSSES} losses")
            self.knots += range(first, last + 1, stride)
        if not self.knots or any(a >= b for a, b in pairwise(self.knots)):
            raise BadProof("knots do not ascend, or there are none")

    def machine(self, eps: Fraction) -> Machine:
        """The machine of the run, if what is known of it holds at its eps."""
        if self.run.machine is None or self.run.machine[1] != eps:
            raise BadProof("a premise is about no machine, or about another eps")
        return self.run.machine[0]

    def sampled(self, pair: Pair) -> Pair:
        """A pair on the sample of the run."""
        return pair if self.run.rate is None else Sampled(pair, self.run.rate, self._added)

    def bounded(self, losses: Losses) -> LossesOf:
        """One run has these losses, for the directions that were looked at."""
        times = tuple(int(k == self.number) for k in range(len(self.pipeline.runs)))
        own = frozenset(("added" if self._added else "removed",))
        return LossesOf(times, BOTH if self.run.rate is None else own, losses)
