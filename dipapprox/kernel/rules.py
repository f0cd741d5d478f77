"""The rules of finite verdicts at one eps: steps to judgements.

Each rule is one function (proof, premises, step) -> judgement. A step has exactly the fields that
its rule reads. Rules raise `Refuted` where a step does not hold, `Refused` where it asks for more
than the kernel spends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dipapprox.kernel.accuracy import accuracy
from dipapprox.kernel.adjacency import Input
from dipapprox.kernel.balls import lower_at, precision, to_ball, upper_at
from dipapprox.kernel.budget import budget, spend
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.evaluate import evaluate, most_factors
from dipapprox.kernel.exact import exact_values
from dipapprox.kernel.excesses import Excess, Excesses
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.forward import Run
from dipapprox.kernel.judgements import (
    Distributions,
    ExactDistributions,
    Judgement,
    Output,
    Private,
    Violated,
)
from dipapprox.kernel.machine import Machine, read_input, read_value
from dipapprox.kernel.nodes import Graph
from dipapprox.kernel.pairs import adjacent_pairs, all_inputs
from dipapprox.kernel.published import Label, Published
from dipapprox.kernel.reading import as_integer, as_list, as_number, as_record, as_word

MOST_ENTRIES = 4_000_000
"""Most probabilities that one step may ask for."""

MOST_INPUTS = 500_000
"""Most inputs that a machine is run for in one step."""

MOST_PAIRS = 20_000_000
"""Most pairs of inputs that one step may go through."""

Step = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Proof:
    """What all steps are about: a machine, and which pairs of its inputs are meant.

    Attributes:
        machine: The machine.
        pairs: The listed ordered pairs; None for all adjacent ones.
        ask: Called all the time; what it raises ends the replay.
    """

    machine: Machine
    pairs: tuple[tuple[Input, Input], ...] | None
    ask: Callable[[], None]


def distributions(proof: Proof, premises: Sequence[Judgement], step: Step) -> Distributions:
    """The machine is run for some inputs, and what comes out is enclosed.

    Theorem: a run's states are disjoint and cover all runs up to null sets (`forward`), so the
    scalars of an output add up to its probability; `evaluate` encloses each. Outputs of no state
    have probability 0. The bounds of an input's outputs add up to an interval around 1, or the
    kernel has an error.

    Step: "eps", "inputs" (null: all; or a list), "bits": the accuracy that is aimed at;
    for machines with real outputs "cuts" of each (`forward`).
    """
    _no(premises)
    eps, bits = _positive(step["eps"], "eps"), as_integer(step["bits"], "bits")
    graph, found, outputs = _outcomes(proof, eps, step)
    wanted = {scalar for own in found.values() for scalars in own.values() for scalar in scalars}
    aim = accuracy(bits, most_factors(graph, wanted))
    values = evaluate(graph, wanted, eps, aim, proof.ask)
    places = bits + 16
    bounds = {}
    with precision(aim.precision):
        sums: dict[tuple[int, ...], tuple[int, int]] = {}
        for input, own in found.items():
            low, high = [], []
            for output in outputs:
                key = tuple(own.get(output, ()))
                if key not in sums:
                    ball = sum((values[scalar] for scalar in key), to_ball(0))
                    top = 1 << places
                    ends = max(lower_at(ball, places), 0), min(upper_at(ball, places), top)
                    sums[key] = ends
                low.append(sums[key][0])
                high.append(sums[key][1])
            if not sum(low) <= 1 << places <= sum(high):
                raise Refuted("probabilities that do not add up to 1")
            bounds[input] = low, high
    return Distributions(eps, places, outputs, bounds)


def exact_distributions(
    proof: Proof, premises: Sequence[Judgement], step: Step
) -> ExactDistributions:
    """The same in closed form (`exact`).

    Step: "eps", "inputs", "cuts".
    """
    _no(premises)
    eps = _positive(step["eps"], "eps")
    graph, found, outputs = _outcomes(proof, eps, step)
    wanted = {scalar for own in found.values() for scalars in own.values() for scalar in scalars}
    values = exact_values(graph, wanted, eps, proof.ask)
    nothing = Ratio.constant(Fraction(0))
    sums: dict[tuple[int, ...], Ratio] = {}
    rows = {}
    for input, own in found.items():
        row = []
        for output in outputs:
            key = tuple(own.get(output, ()))
            if key not in sums:
                sums[key] = sum((values[scalar] for scalar in key), nothing).at(eps)
            row.append(sums[key])
        rows[input] = row
    return ExactDistributions(eps, outputs, rows)


def _outcomes(
    proof: Proof, eps: Fraction, step: Step
) -> tuple[Graph, dict[Input, dict[Output, list[int]]], tuple[Output, ...]]:
    """Run the machine for all inputs (None), or some: the scalars of outputs, and all outputs."""
    domains = tuple(domain for _, domain in proof.machine.inputs)
    inputs: Iterable[Input] = (
        all_inputs(proof.machine)
        if step["inputs"] is None
        else [read_input(each, domains) for each in as_list(step["inputs"], "inputs")]
    )
    cuts = tuple(_ascending(each) for each in as_list(step.get("cuts", []), "cuts"))
    graph = Graph()
    run = Run(proof.machine, eps, graph, proof.ask)
    found: dict[Input, dict[Output, list[int]]] = {}
    entries = 0
    for input in inputs:
        spend(100)
        if len(found) >= MOST_INPUTS:
            raise Refused(f"more than {MOST_INPUTS} inputs")
        if input in found:
            raise BadProof("an input twice")
        found[input] = run.outcomes(input, cuts)
        entries += sum(len(scalars) for scalars in found[input].values())
        if entries > MOST_ENTRIES:
            raise Refused(f"more than {MOST_ENTRIES} probabilities")
    outputs = tuple(dict.fromkeys(output for own in found.values() for output in own))
    if len(outputs) * len(found) > MOST_ENTRIES:
        raise Refused(f"more than {MOST_ENTRIES} probabilities")
    return graph, found, outputs


def every_pair_exactly(proof: Proof, premises: Sequence[Judgement], step: Step) -> Private:
    """The same sum, all signs in closed form: delta may be attained.

    Step: "eps_prv", "delta"; one premise: closed forms for all inputs of the pairs.
    """
    match premises:
        case [ExactDistributions(eps, outputs, values)]:
            pass
        case _:
            raise BadProof("one premise is wanted: distributions in closed form")
    _no_reals(proof)
    eps_prv, delta = claimed(step)
    growth = _negative_growth(eps_prv, eps)
    excesses: dict[tuple[Ratio, Ratio], Ratio | None] = {}
    pairs = adjacent_pairs(proof.machine) if proof.pairs is None else proof.pairs
    count = 0
    for first, second in pairs:
        count += 1
        proof.ask()
        spend(10 + 10 * len(outputs))
        if first not in values or second not in values:
            raise Refuted("an input of a pair has no distribution")
        terms = []
        for key in zip(values[first], values[second], strict=True):
            if key not in excesses:
                excess = (key[0] + growth * key[1]).at(eps)
                excesses[key] = excess if excess.sign(eps) > 0 else None
            found = excesses[key]
            if found is not None:
                terms.append(found)
        total = sum(terms, Ratio.constant(-delta))
        if total.sign(eps) > 0:
            raise Refuted(f"delta of {first}, {second} is larger")
    listed = None if proof.pairs is None else frozenset(proof.pairs)
    return Private(eps, eps_prv, delta, listed, count)


def every_pair(proof: Proof, premises: Sequence[Judgement], step: Step) -> Private:
    """delta_{u,u'} = sum over outputs of max(0, Pr[o | u] - e^eps_prv Pr[o | u']) <= delta.

    Theorem (DiPApprox, Lemma 2): the sum is the largest Pr[S | u] - e^eps_prv Pr[S | u'] over all
    sets S of outputs. It is bounded above with upper bounds of Pr[o | u] and lower bounds of
    Pr[o | u'] and e^eps_prv, in integers.

    Step: "eps_prv", "delta"; one premise: distributions for all inputs of the pairs.
    """
    found = _distributions(premises)
    _no_reals(proof)
    eps_prv, delta = claimed(step)
    factor, shift = _growth(eps_prv, found.places, above=False)
    # delta in units of 2 ** -places, rounded down.
    most = (delta.numerator << found.places) // delta.denominator
    pairs = adjacent_pairs(proof.machine) if proof.pairs is None else proof.pairs
    bounds = found.bounds
    scaled: dict[Input, list[int]] = {}
    count = 0
    for first, second in pairs:
        count += 1
        if not count & 1023:
            proof.ask()
        spend(1 + len(found.outputs) // 16)
        if count > MOST_PAIRS:
            raise Refused(f"more than {MOST_PAIRS} pairs")
        if first not in bounds or second not in bounds:
            raise Refuted("an input of a pair has no distribution")
        if second not in scaled:
            scaled[second] = [factor * low >> shift for low in bounds[second][0]]
        high = bounds[first][1]
        total = sum([h - s for h, s in zip(high, scaled[second], strict=True) if h > s])
        if total > most:
            raise Refuted(f"the bound of delta for {first}, {second} is larger")
    listed = None if proof.pairs is None else frozenset(proof.pairs)
    return Private(found.eps, eps_prv, delta, listed, count)


def published_pairs(proof: Proof, premises: Sequence[Judgement], step: Step) -> Private:
    """For machines with real outputs every delta_{u,u'} is bounded as in `excesses`.

    Step: "eps", "eps_prv", "delta", "bits", "cuts".
    """
    _no(premises)
    eps, bits = _positive(step["eps"], "eps"), as_integer(step["bits"], "bits")
    (eps_prv, delta), cuts = claimed(step), _ascending(step["cuts"])
    machine, graph = proof.machine, Graph()
    run, excesses = Run(machine, eps, graph, proof.ask), Excesses(graph, eps, eps_prv)
    found: dict[Input, Mapping[Label, list[Published]]] = {}
    sums: dict[tuple[Excess, ...], tuple[Input, Input]] = {}
    count = 0
    for pair in adjacent_pairs(machine) if proof.pairs is None else proof.pairs:
        count += 1
        proof.ask()
        spend(100)
        if count > MOST_PAIRS or len(found) > MOST_INPUTS:
            raise Refused(f"more than {MOST_PAIRS} pairs, or {MOST_INPUTS} inputs")
        for input in pair:
            if input not in found:
                found[input] = run.published(input)
        sums.setdefault(excesses.of_pair(found[pair[0]], found[pair[1]]), pair)
    cells = {each: each.cells(graph, cuts) for own in sums for each in own}
    wanted = {node for own in cells.values() for nodes in own for node in nodes}
    aim, places = accuracy(bits, most_factors(graph, wanted)), bits + 16
    values = evaluate(graph, wanted, eps, aim, proof.ask)
    factor, shift = _growth(eps_prv, places, above=False)
    with precision(aim.precision):
        growth = to_ball(Fraction(factor, 1 << shift))
        bounds = {
            each: upper_at(each.bound([(values[x], values[y]) for x, y in own], growth), places)
            for each, own in cells.items()
        }
    for parts, pair in sums.items():
        if sum(bounds[each] for each in parts) * delta.denominator > delta.numerator << places:
            raise Refuted(f"the bound of delta for {pair[0]}, {pair[1]} is larger")
    listed = None if proof.pairs is None else frozenset(proof.pairs)
    return Private(eps, eps_prv, delta, listed, count)


def violation(proof: Proof, premises: Sequence[Judgement], step: Step) -> Violated:
    """A set S of outputs with Pr[S | u] - e^eps_prv Pr[S | u'] > delta, for a pair that is meant.

    Step: "eps_prv", "delta", "input", "adjacent", "outputs";
    one premise: distributions for both inputs, as bounds or in closed form.
    """
    match premises:
        case [Distributions() | ExactDistributions() as found]:
            pass
        case _:
            raise BadProof("one premise is wanted: distributions")
    eps_prv, delta = claimed(step)
    domains = tuple(domain for _, domain in proof.machine.inputs)
    first, second = (read_input(step[name], domains) for name in ("input", "adjacent"))
    if proof.pairs is None:
        if not proof.machine.adjacency.holds(first, second):
            raise Refuted("the inputs are not adjacent")
    elif (first, second) not in proof.pairs:
        raise Refuted("the pair is not listed")
    known = found.bounds if isinstance(found, Distributions) else found.values
    if first not in known or second not in known:
        raise Refuted("an input of the pair has no distribution")
    outputs = tuple(_output(proof.machine, each) for each in as_list(step["outputs"], "outputs"))
    if len(set(outputs)) < len(outputs):
        raise BadProof("an output twice")
    # What no state ends with has probability 0 for both inputs.
    places = {output: number for number, output in enumerate(found.outputs)}
    numbers = [places[output] for output in outputs if output in places]
    if proof.machine.reals and len(numbers) < len(outputs):
        raise Refuted("an output that is not among them, or no such interval")
    if isinstance(found, ExactDistributions):
        growth, nothing = _negative_growth(eps_prv, found.eps), Ratio.constant(-delta)
        ours, theirs = found.values[first], found.values[second]
        excess = sum((ours[k] + growth * theirs[k] for k in numbers), nothing)
        if excess.sign(found.eps) <= 0:
            raise Refuted("Pr[S | u] - e^eps_prv Pr[S | u'] is not above delta")
        return Violated(found.eps, eps_prv, delta, first, second, outputs)
    factor, shift = _growth(eps_prv, found.places, above=True)
    low, high = found.bounds[first][0], found.bounds[second][1]
    likely = sum(low[number] for number in numbers)
    unlikely = -(-factor * sum(high[number] for number in numbers) >> shift)
    if (likely - unlikely) * delta.denominator <= delta.numerator << found.places:
        raise Refuted("the bound of Pr[S | u] - e^eps_prv Pr[S | u'] is not above delta")
    return Violated(found.eps, eps_prv, delta, first, second, outputs)


def _output(machine: Machine, json: object) -> Output:
    """Read the finite outputs, and for each real one a number or the name of an interval."""
    size = len(machine.outputs)
    values = as_list(json, "an output", size + len(machine.reals))
    known = read_input(values[:size], tuple(domain for _, domain in machine.outputs))
    return (*known, *map(read_value, values[size:]))


def _no_reals(proof: Proof) -> None:
    if proof.machine.reals:
        raise BadProof("intervals of real outputs do not bound delta")


def _ascending(json: object) -> tuple[Fraction, ...]:
    cuts = tuple(as_number(each, "a cut") for each in as_list(json, "cuts"))
    if any(a >= b for a, b in pairwise(cuts)):
        raise BadProof("cuts do not ascend")
    return cuts


def _negative_growth(eps_prv: Fraction, eps: Fraction) -> Ratio:
    """Return -e ** eps_prv as a function that has this value at eps."""
    return Ratio(Sum.exponential(eps_prv / eps), Sum.constant(Fraction(-1)))


def _growth(eps_prv: Fraction, places: int, above: bool) -> tuple[int, int]:
    """Return (k, shift): k / 2 ** shift is at most e ** eps_prv, or at least that."""
    if eps_prv > MOST_EPS_PRV:
        raise Refused(f"eps_prv is above {MOST_EPS_PRV}")
    with precision(places + 2 * int(eps_prv) + 32):
        ball = to_ball(eps_prv).exp()
        return (upper_at if above else lower_at)(ball, places), places


MOST_EPS_PRV = 1000


def claimed(step: Step) -> tuple[Fraction, Fraction]:
    """Read eps_prv and delta."""
    eps_prv, delta = as_number(step["eps_prv"], "eps_prv"), as_number(step["delta"], "delta")
    if eps_prv < 0 or not 0 <= delta <= 1:
        raise BadProof("eps_prv is below 0, or delta not in [0, 1]")
    return eps_prv, delta


def _positive(json: object, what: str) -> Fraction:
    value = as_number(json, what)
    if value <= 0:
        raise BadProof(f"{what} is not above 0")
    return value


def _no(premises: Sequence[Judgement]) -> None:
    if premises:
        raise BadProof("a run has no premises")


def _distributions(premises: Sequence[Judgement]) -> Distributions:
    match premises:
        case [Distributions() as found]:
            return found
        case _:
            raise BadProof("one premise is wanted: distributions")


Rules = Mapping[str, tuple[Callable[..., Judgement], tuple[str, ...]]]

RULES: Rules = {
    "distributions": (distributions, ("eps", "inputs", "bits")),
    "exact distributions": (exact_distributions, ("eps", "inputs")),
    "distributions by intervals": (distributions, ("eps", "inputs", "bits", "cuts")),
    "exact distributions by intervals": (exact_distributions, ("eps", "inputs", "cuts")),
    "every published pair": (published_pairs, ("eps", "eps_prv", "delta", "bits", "cuts")),
    "every pair exactly": (every_pair_exactly, ("eps_prv", "delta")),
    "every pair": (every_pair, ("eps_prv", "delta")),
    "violation": (violation, ("eps_prv", "delta", "input", "adjacent", "outputs")),
}
"""By name: the function, and the fields of its steps besides "rule" and "from"."""


def apply(
    rules: Rules,
    proof: object,
    known: MutableMapping[int, Judgement],
    json: object,
) -> Judgement:
    """Replay one step.

    Args:
        rules: Those that the proof may use.
        proof: What it is about.
        known: What the steps before it concluded, by number.
        json: The step.
    """
    if not isinstance(json, dict):
        raise BadProof("a step is no object")
    rule, fields = rules[as_word(json.get("rule"), "a rule", tuple(rules))]
    step = as_record(json, "a step", ("rule", "from", *fields))
    premises = []
    for number in as_list(step["from"], "premises"):
        last_use = as_integer(number, "a premise") < 0
        wanted = -number - 1 if last_use else number
        if wanted not in known:
            raise BadProof(f"there is no step {wanted} before, or it was forgotten")
        premises.append(known.pop(wanted) if last_use else known[wanted])
    with budget():
        return rule(proof, premises, step)
