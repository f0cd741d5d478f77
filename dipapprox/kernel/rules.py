"""Rules of finite verdicts: what a machine does for some inputs, and what follows of pairs."""

from __future__ import annotations

from dipapprox.kernel.adjacency import all_inputs
from dipapprox.kernel.errors import BadProof, Refuted
from dipapprox.kernel.judgements import Distributions, ExactDistributions, Private, Violated
from dipapprox.kernel.loading import named
from dipapprox.kernel.machine import read_input
from dipapprox.kernel.proofs import (
    Proof,
    Step,
    claimed,
    growth_bound,
    kept,
    largest_of,
    pair_of,
    positive,
    stated,
)
from dipapprox.kernel.reading import as_integer, as_list
from dipapprox.kernel.signs import Signs, read_epsilons


def distributions(proof: Proof, step: Step) -> Distributions | ExactDistributions:
    """The machine is run for some inputs, and what comes out is enclosed, or known in closed form.

    Theorem: a run's states are disjoint and cover all runs up to null sets (`forward`), so the
    scalars of an output add up to its probability; `evaluate` encloses each. Outputs of no state
    have probability 0. The bounds of an input's outputs add up to an interval around 1, or the
    kernel has an error. In closed form (`exact`), at all eps that are meant, weights of choices are
    >= 0 and add up to 1, nothing is divided by 0, and loops go on with probabilities below 1
    (`signs`).

    Step: "eps", "inputs" (null: all; or a list), "bits": the accuracy that is aimed at, null for
    closed forms.
    """
    domains, inputs = proof.machine.domains, step["inputs"]
    if inputs is not None:
        inputs = [read_input(each, domains) for each in as_list(inputs, "inputs")]
    inputs = all_inputs(domains) if inputs is None else inputs
    if step["bits"] is None:
        signs = Signs(read_epsilons(step["eps"]))
        exact: ExactDistributions = named("closed.closed_forms")(proof, signs, inputs)
        return exact
    eps, bits = positive(step["eps"], "eps"), as_integer(step["bits"], "bits")
    enclosures: Distributions = named("evaluate.enclosed")(proof, eps, inputs, bits)
    return enclosures


def every_pair(proof: Proof, step: Step, found: Distributions | ExactDistributions) -> Private:
    """delta_{u,u'} = sum over outputs of max(0, Pr[o | u] - e^eps_prv Pr[o | u']) <= delta.

    Theorem (DiPApprox, Lemma 2): the sum is the largest Pr[S | u] - e^eps_prv Pr[S | u'] over all
    sets S of outputs. It is bounded above with upper bounds of Pr[o | u] and lower bounds of
    Pr[o | u'] and e^eps_prv, in integers; or signs of closed forms tell (`closed.Sums`): delta may
    be attained, and all eps of an interval are meant. Of real inputs some pairs are enough, at
    ends of sets of pairs (`sets`, 1): f_S is largest there where every Pr[S | u] moves in one
    direction with u_i (`motion`), or delta depends on u' - u alone, and is largest at its ends.

    Step: "eps_prv", "delta"; throughout an interval they are formulas in eps, the first a multiple
    of eps, or a constant. One premise: distributions for all inputs of the pairs.
    """
    if isinstance(found, ExactDistributions):
        said = stated(step)
        return kept(proof, found.epsilons.value, said, named("closed.Sums")(found, said).hold)
    eps_prv, delta = claimed(step)
    largest, most = largest_of(found, eps_prv), delta * (1 << found.places)
    return kept(proof, found.eps, (eps_prv, delta), lambda u, v: largest(u, v) <= most)


def violation(proof: Proof, step: Step, found: Distributions | ExactDistributions) -> Violated:
    """A set S of outputs with Pr[S | u] - e^eps_prv Pr[S | u'] > delta, for a pair that is meant.

    One premise: distributions for both inputs.
    """
    (eps_prv, delta), machine, pair = claimed(step), proof.machine, pair_of(proof, step)
    known = found.bounds if isinstance(found, Distributions) else found.values
    if not all(input in known for input in pair):
        raise Refuted("an input of the pair has no distribution")
    cells = tuple(domain for _, domain in machine.outputs)
    outputs = tuple(read_input(each, cells) for each in as_list(step["outputs"], "outputs"))
    if len(set(outputs)) < len(outputs):
        raise BadProof("an output twice")
    # What no state ends with has probability 0 for both inputs.
    places = {output: number for number, output in enumerate(found.outputs)}
    numbers = [places[output] for output in outputs if output in places]
    if isinstance(found, ExactDistributions):
        above = named("closed.exceeds")(found, pair, numbers, eps_prv, delta)
        eps = found.epsilons.value
    else:
        low, high, eps = found.bounds[pair[0]][0], found.bounds[pair[1]][1], found.eps
        likely, unlikely = (sum(bound[number] for number in numbers) for bound in (low, high))
        growth = growth_bound(eps_prv, found.places, above=True)
        above = likely - growth * unlikely > delta * (1 << found.places)
    if not above:
        raise Refuted("Pr[S | u] - e^eps_prv Pr[S | u'] is not above delta")
    return Violated(eps, eps_prv, delta, pair, outputs)
