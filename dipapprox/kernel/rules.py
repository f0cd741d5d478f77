"""Rules of finite verdicts at one eps, from bounds of probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import chain

from dipapprox.kernel.adjacency import Input
from dipapprox.kernel.balls import lower_at, precision, to_ball, upper_at
from dipapprox.kernel.errors import Refuted
from dipapprox.kernel.evaluate import evaluate, most_factors
from dipapprox.kernel.forward import Cuts, outcomes, read_cuts, read_inputs
from dipapprox.kernel.grid import accuracy
from dipapprox.kernel.judgements import Distributions, Private, Violated
from dipapprox.kernel.proofs import (
    Proof,
    Step,
    claimed,
    growth_bound,
    kept,
    largest_of,
    positive,
    violating_set,
)
from dipapprox.kernel.reading import as_integer
from dipapprox.kernel.signs import Signs


def distributions(proof: Proof, step: Step) -> Distributions:
    """The machine is run for some inputs, and what comes out is enclosed.

    Theorem: a run's states are disjoint and cover all runs up to null sets (`forward`), so the
    scalars of an output add up to its probability; `evaluate` encloses each. Outputs of no state
    have probability 0. The bounds of an input's outputs add up to an interval around 1, or the
    kernel has an error.

    Step: "eps", "inputs" (null: all; or a list), "bits": the accuracy that is aimed at;
    for machines with real outputs "cuts" of each (`forward`).
    """
    eps, inputs = positive(step["eps"], "eps"), read_inputs(proof.machine, step["inputs"])
    return enclosed(proof, eps, inputs, as_integer(step["bits"], "bits"), read_cuts(step["cuts"]))


def enclosed(
    proof: Proof, eps: Fraction, inputs: Iterable[Input], bits: int, cuts: Cuts = ()
) -> Distributions:
    """Enclose what comes out for some inputs."""
    graph, outputs, sums, rows = outcomes(proof.machine, Signs.at(eps), inputs, cuts)
    aim, places = accuracy(bits, most_factors(graph, chain(*sums))), bits + 16
    values, bounds = evaluate(graph, chain(*sums), eps, aim), {}
    with precision(aim.precision):
        balls = [sum((values[each] for each in own), to_ball(0)) for own in sums]
        lows = [max(lower_at(ball, places), 0) for ball in balls]
        highs = [min(upper_at(ball, places), 1 << places) for ball in balls]
    for input, row in rows.items():
        low, high = ([ends[k] for k in row] for ends in (lows, highs))
        if not sum(low) <= 1 << places <= sum(high):
            raise Refuted("probabilities that do not add up to 1")
        bounds[input] = low, high
    return Distributions(eps, places, outputs, bounds)


def every_pair(proof: Proof, step: Step, found: Distributions) -> Private:
    """delta_{u,u'} = sum over outputs of max(0, Pr[o | u] - e^eps_prv Pr[o | u']) <= delta.

    Theorem (DiPApprox, Lemma 2): the sum is the largest Pr[S | u] - e^eps_prv Pr[S | u'] over all
    sets S of outputs. It is bounded above with upper bounds of Pr[o | u] and lower bounds of
    Pr[o | u'] and e^eps_prv, in integers.

    Step: "eps_prv", "delta"; one premise: distributions for all inputs of the pairs.
    """
    eps_prv, delta = claimed(step)
    largest, most = largest_of(found, eps_prv), delta * (1 << found.places)
    return kept(proof, found.eps, (eps_prv, delta), lambda u, v: largest(u, v) <= most)


def violation(proof: Proof, step: Step, found: Distributions) -> Violated:
    """A set S of outputs with Pr[S | u] - e^eps_prv Pr[S | u'] > delta, for a pair that is meant.

    Step: "eps_prv", "delta", "input", "adjacent", "outputs";
    one premise: distributions for both inputs.
    """
    eps_prv, delta = claimed(step)
    outputs, (first, second), numbers = violating_set(proof, step, found.outputs, found.bounds)
    low, high = found.bounds[first][0], found.bounds[second][1]
    likely, unlikely = (sum(bound[number] for number in numbers) for bound in (low, high))
    growth = growth_bound(eps_prv, found.places, above=True)
    if likely - growth * unlikely <= delta * (1 << found.places):
        raise Refuted("the bound of Pr[S | u] - e^eps_prv Pr[S | u'] is not above delta")
    return Violated(found.eps, eps_prv, delta, (first, second), outputs)
