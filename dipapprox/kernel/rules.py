"""The rules of finite verdicts at one eps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dipapprox.kernel.adjacency import Input
from dipapprox.kernel.balls import lower_at, precision, to_ball, upper_at
from dipapprox.kernel.budget import spend
from dipapprox.kernel.closed_forms import Sums, growth_of
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.evaluate import evaluate, most_factors
from dipapprox.kernel.excesses import Excess, Excesses
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.forward import Run
from dipapprox.kernel.grid import accuracy
from dipapprox.kernel.judgements import (
    Distributions,
    ExactDistributions,
    Output,
    Private,
    Violated,
)
from dipapprox.kernel.machine import Machine, Tree, read_input, read_value, read_weight
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.proofs import (
    Proof,
    Step,
    ascending,
    claimed,
    growth_bound,
    outcomes,
    pair_of,
    pairs_of,
    positive,
    rows_of,
)
from dipapprox.kernel.published import Label, Published
from dipapprox.kernel.reading import as_integer, as_list
from dipapprox.kernel.sets import largest_of
from dipapprox.kernel.signs import Epsilons, Sign, Signs
from dipapprox.kernel.weights import formula_of


def distributions(proof: Proof, step: Step) -> Distributions:
    """The machine is run for some inputs, and what comes out is enclosed.

    Theorem: a run's states are disjoint and cover all runs up to null sets (`forward`), so the
    scalars of an output add up to its probability; `evaluate` encloses each. Outputs of no state
    have probability 0. The bounds of an input's outputs add up to an interval around 1, or the
    kernel has an error.

    Step: "eps", "inputs" (null: all; or a list), "bits": the accuracy that is aimed at;
    for machines with real outputs "cuts" of each (`forward`).
    """
    eps, bits = positive(step["eps"], "eps"), as_integer(step["bits"], "bits")
    graph, found, outputs = outcomes(proof, Signs.at(eps), step)
    wanted = {scalar for own in found.values() for scalars in own.values() for scalar in scalars}
    aim = accuracy(bits, most_factors(graph, wanted))
    values = evaluate(graph, wanted, eps, aim)
    places = bits + 16
    bounds = {}

    def ends(scalars: Sequence[Node]) -> tuple[int, int]:
        ball = sum((values[scalar] for scalar in scalars), to_ball(0))
        return max(lower_at(ball, places), 0), min(upper_at(ball, places), 1 << places)

    with precision(aim.precision):
        for input, row in rows_of(found, outputs, ends):
            low, high = [low for low, _ in row], [high for _, high in row]
            if not sum(low) <= 1 << places <= sum(high):
                raise Refuted("probabilities that do not add up to 1")
            bounds[input] = low, high
    return Distributions(eps, places, outputs, bounds)


def every_pair(
    proof: Proof, step: Step, found: Distributions | ExactDistributions, *known: Sign
) -> Private:
    """delta_{u,u'} = sum over outputs of max(0, Pr[o | u] - e^eps_prv Pr[o | u']) <= delta.

    Theorem (DiPApprox, Lemma 2): the sum is the largest Pr[S | u] - e^eps_prv Pr[S | u'] over all
    sets S of outputs. From bounds it is bounded above with upper bounds of Pr[o | u] and lower
    bounds of Pr[o | u'] and e^eps_prv, in integers. In closed form signs tell (`Sums`): delta may
    be attained, and all eps of an interval are meant.

    Step: "eps_prv", "delta"; throughout an interval "cuts", and they are formulas in eps, the first
    a multiple of eps, or a constant. Premises: distributions for all inputs of the pairs, as bounds
    or in closed form; then signs.
    """
    _no_reals(proof)
    eps: Fraction | Epsilons | None
    throughout = "cuts" in step
    stated: tuple[Tree, Tree] = (
        (read_weight(step["eps_prv"]), read_weight(step["delta"])) if throughout else claimed(step)
    )
    if isinstance(found, ExactDistributions):
        signs, cuts = Signs(found.epsilons, known), ascending(step.get("cuts", []))
        eps = found.epsilons if throughout else found.epsilons.point
        claim = growth_of(stated[0], signs), formula_of(stated[1], signs)
        hold = Sums(found, signs, claim, cuts).hold
    elif throughout or known:
        raise BadProof("closed forms are wanted")
    else:
        eps, (eps_prv, delta) = found.eps, claimed(step)
        largest, most = largest_of(found, eps_prv), delta * (1 << found.places)

        def hold(first: Input, second: Input) -> bool:
            return largest(first, second) <= most

    if eps is None:
        raise BadProof("closed forms at one eps are wanted")
    count = 0
    for first, second in pairs_of(proof):
        count += 1
        if not hold(first, second):
            raise Refuted(f"delta is not known to bound {first}, {second}")
    return Private(eps, stated[0], stated[1], proof.pairs, count)


def published_pairs(proof: Proof, step: Step) -> Private:
    """For machines with real outputs every delta_{u,u'} is bounded as in `excesses`.

    Step: "eps", "eps_prv", "delta", "bits", "cuts".
    """
    eps, bits = positive(step["eps"], "eps"), as_integer(step["bits"], "bits")
    (eps_prv, delta), cuts = claimed(step), ascending(step["cuts"])
    machine, graph = proof.machine, Graph()
    run = Run(machine, Signs.at(eps), graph)
    excesses = Excesses(graph, eps, eps_prv)
    found: dict[Input, Mapping[Label, list[Published]]] = {}
    sums: dict[tuple[Excess, ...], tuple[Input, Input]] = {}
    count = 0
    for pair in pairs_of(proof):
        spend(100)
        count += 1
        for input in pair:
            if input not in found:
                found[input] = run.published(input)
        sums.setdefault(excesses.of_pair(found[pair[0]], found[pair[1]]), pair)
    cells = {each: each.cells(graph, cuts) for own in sums for each in own}
    wanted = {node for own in cells.values() for nodes in own for node in nodes}
    aim, places = accuracy(bits, most_factors(graph, wanted)), bits + 16
    values = evaluate(graph, wanted, eps, aim)
    with precision(aim.precision):
        growth = to_ball(growth_bound(eps_prv, places, above=False))
        bounds = {
            each: upper_at(each.bound([(values[x], values[y]) for x, y in own], growth), places)
            for each, own in cells.items()
        }
    for parts, pair in sums.items():
        if sum(bounds[each] for each in parts) > delta * (1 << places):
            raise Refuted(f"the bound of delta for {pair[0]}, {pair[1]} is larger")
    return Private(eps, eps_prv, delta, proof.pairs, count)


def violation(proof: Proof, step: Step, found: Distributions | ExactDistributions) -> Violated:
    """A set S of outputs with Pr[S | u] - e^eps_prv Pr[S | u'] > delta, for a pair that is meant.

    Step: "eps_prv", "delta", "input", "adjacent", "outputs";
    one premise: distributions for both inputs, as bounds or in closed form.
    """
    eps_prv, delta = claimed(step)
    first, second = pair_of(proof, step)
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
        eps = found.epsilons.point
        if eps is None:
            raise Refused("a violation on an interval of eps")
        # e ** eps_prv is the value of this function at eps.
        factor, forms = Ratio(Sum.exponential(eps_prv / eps)), found.forms
        rows = [(found.values[first][k], found.values[second][k]) for k in numbers]
        excess = sum((forms[p] - factor * forms[q] for p, q in rows), Ratio.constant(-delta))
        if not Signs(found.epsilons).tell(excess.numerator, positive=True):
            raise Refuted("Pr[S | u] - e^eps_prv Pr[S | u'] is not above delta")
        return Violated(eps, eps_prv, delta, (first, second), outputs)
    low, high = found.bounds[first][0], found.bounds[second][1]
    likely, unlikely = (sum(bound[number] for number in numbers) for bound in (low, high))
    growth = growth_bound(eps_prv, found.places, above=True)
    if likely - growth * unlikely <= delta * (1 << found.places):
        raise Refuted("the bound of Pr[S | u] - e^eps_prv Pr[S | u'] is not above delta")
    return Violated(found.eps, eps_prv, delta, (first, second), outputs)


def _output(machine: Machine, json: object) -> Output:
    """Read the finite outputs, and for each real one a number or the name of an interval."""
    size = len(machine.outputs)
    values = as_list(json, "an output", size + len(machine.reals))
    known = read_input(values[:size], tuple(domain for _, domain in machine.outputs))
    return (*known, *map(read_value, values[size:]))


def _no_reals(proof: Proof) -> None:
    if proof.machine.reals:
        raise BadProof("intervals of real outputs do not bound delta")
