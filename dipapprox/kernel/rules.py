"""Rules of finite verdicts: from bounds at one eps, or closed forms there and on intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain, combinations

from dipapprox.kernel.adjacency import Input, all_inputs
from dipapprox.kernel.balls import lower_at, precision, to_ball, upper_at
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.evaluate import evaluate, most_factors
from dipapprox.kernel.exact import exact_values
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.expressions import formula_of
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
    largest_of,
    pair_of,
    pairs_of,
    positive,
)
from dipapprox.kernel.reading import as_integer, as_list
from dipapprox.kernel.signs import (
    Epsilons,
    Sign,
    Signs,
    product_is_signed,
    read_epsilons,
    read_factor,
)

MOST_ENTRIES = 4_000_000
"""Most probabilities that one step may ask for."""

Scalars = tuple[Node, ...]
"""They add up to a probability."""

MOST_FREE = 10
"""Outputs of one pair whose excesses have no known sign on one part of an interval."""

PLACES = 256
"""Of the lower bound of e ** eps_prv where that is no function of the kind."""


def sign(about: object, step: Step) -> Sign:
    """A product of functions of eps is >= 0 if those with odd exponents are (`signs`).

    An interval is cut into pieces. On each a factor rises from the lower end on, until all
    coefficients are > 0, or Taylor's formula around the middle, in balls, leaves out 0.

    Step: "eps", "factors".
    """
    factors = [read_factor(each) for each in as_list(step["factors"], "factors")]
    return product_is_signed(read_epsilons(step["eps"]), factors)


def exact_distributions(proof: Proof, step: Step, *signs: Sign) -> ExactDistributions:
    """The machine is run for some inputs, all probabilities in closed form (`exact`).

    At all eps that are meant, weights of choices are >= 0 and add up to 1, nothing is divided by 0,
    and loops go on with probabilities below 1: by exact signs at one eps, by premises on intervals.

    Step: "eps", "inputs", "cuts"; premises: signs.
    """
    return closed_forms(proof, Signs(read_epsilons(step["eps"]), signs), step)


def closed_forms(proof: Proof, signs: Signs, step: Step) -> ExactDistributions:
    """Return the probabilities of all outputs as functions of eps."""
    if not signs.epsilons.upper and signs.epsilons.point is not None:
        raise BadProof("eps is 0")
    graph, outputs, sums, rows = outcomes(proof, signs, step)
    values, point = exact_values(graph, chain(*sums), signs), signs.epsilons.point
    forms: dict[Ratio, int] = {}
    places = []
    for own in sums:
        form = sum((values[scalar] for scalar in own), Ratio.constant(0))
        form = form if point is None else form.at(point)
        places.append(forms.setdefault(form, len(forms)))
    found = {input: [places[k] for k in row] for input, row in rows.items()}
    return ExactDistributions(signs.epsilons, outputs, list(forms), found)


def growth_of(eps_prv: Tree, signs: Signs) -> Ratio:
    """Return e ** eps_prv, or less."""
    value, point = formula_of(eps_prv, signs), signs.epsilons.point
    match value.numerator.terms, value.denominator:
        case (), ():
            return Ratio.constant(Fraction(1))
        case ((((0, 1), factor),), ()) if factor > 0:
            return Ratio(Sum.exponential(factor))
        case ((((0, 0), constant),), ()) if constant > 0:
            if point is not None:
                return Ratio(Sum.exponential(constant / point))
            return Ratio.constant(growth_bound(Fraction(constant), PLACES, above=False))
        case _:
            raise Refused("eps_prv is no multiple of eps, and no constant")


class Sums:
    """Sums of max(0, g_o) over the outputs o, g_o = Pr[o | u] - growth * Pr[o | u'], at most delta.

    Theorem: let the interval be cut. On a part where g_o >= 0 for o in A, g_o <= 0 for o in B, and
    C are the other outputs, the sum is at every eps that over A and some of C. So it is at most
    delta if delta - (sum of g_o over A and D) >= 0 on the part for every D in C.

    Args:
        found: The probabilities.
        signs: What is known of signs.
        claim: e ** eps_prv, or less, and delta.
        cuts: Of the interval, ascending.
    """

    def __init__(
        self,
        found: ExactDistributions,
        signs: Signs,
        claim: tuple[Ratio, Ratio],
        cuts: Sequence[Fraction],
    ) -> None:
        on, self._found, self._signs = signs.epsilons, found, signs
        self._growth, self._delta = claim
        if cuts and not (on.lower < cuts[0] and (on.upper is None or cuts[-1] < on.upper)):
            raise BadProof("cuts are not inside of the interval")
        starts, ends = (on.lower, *cuts), (*cuts, on.upper)
        self._parts = list(map(Epsilons, starts, ends))
        self._excesses: dict[tuple[int, int], Ratio] = {}
        self._kinds: dict[tuple[int, int], list[int]] = {}
        self._known: dict[tuple[tuple[int, int], ...], bool] = {}

    def hold(self, first: Input, second: Input) -> bool:
        """Whether the sum for a pair is known to be at most delta."""
        values = self._found.values
        if first not in values or second not in values:
            raise Refuted("an input of a pair has no distribution")
        spend(10 + 2 * len(self._found.outputs))
        pairs = tuple(sorted(zip(values[first], values[second], strict=True)))
        if pairs not in self._known:
            for pair in pairs:
                if pair not in self._excesses:
                    p, q = (self._found.forms[k] for k in pair)
                    excess = self._excesses[pair] = p - self._growth * q
                    self._kinds[pair] = [self._kind(excess, part) for part in self._parts]
            parts = enumerate(self._parts)
            self._known[pairs] = all(self._hold_on(part, pairs, k) for k, part in parts)
        return self._known[pairs]

    def _kind(self, excess: Ratio, on: Epsilons) -> int:
        """1 if the excess is >= 0, -1 if it is <= 0, and 0 if neither is known."""
        for kind in (-1, 1):
            if self._signs.tell(excess.numerator.scaled(kind), positive=False, on=on):
                return kind
        return 0

    def _hold_on(self, on: Epsilons, pairs: Sequence[tuple[int, int]], place: int) -> bool:
        always = [self._excesses[pair] for pair in pairs if self._kinds[pair][place] > 0]
        # Positive multiples of one function have the same sign.
        free: dict[Sum, list[Ratio]] = {}
        for pair in pairs:
            if not self._kinds[pair][place]:
                excess = self._excesses[pair]
                free.setdefault(excess.numerator.parts()[1], []).append(excess)
        if len(free) > MOST_FREE:
            raise Refused(f"more than {MOST_FREE} excesses of one pair without a known sign")
        slack = sum((each.scaled(-1) for each in always), self._delta)
        for size in range(len(free) + 1):
            for some in combinations(free.values(), size):
                less = sum(chain(*some), Ratio.constant(0))
                if not self._signs.tell((slack - less).numerator, positive=False, on=on):
                    return False
        return True


def violated_somewhere(
    proof: Proof, step: Step, found: Violated, *known: ExactDistributions | Sign
) -> Violated:
    """A claim about an interval of eps is violated if it is at one eps of them.

    At that eps the violated numbers are at least eps_prv and delta. On the whole interval these are
    >= 0, and runs have probabilities: there are no choices and loops, or there are closed forms.

    Step: "eps", "eps_prv", "delta"; premises: the violation, closed forms for all inputs that are
    meant if they are needed, signs.
    """
    on, eps = read_epsilons(step["eps"]), found.eps
    if not isinstance(eps, Fraction) or not on.holds(eps, eps):
        raise Refuted("the violation is at another eps")
    closed = [each for each in known if isinstance(each, ExactDistributions)]
    if needs_meaning(proof.machine.body):
        inputs = {input for each in closed if each.epsilons == on for input in each.values}
        pairs = proof.pairs
        listed_inputs = (u for pair in pairs or () for u in pair)
        meant = all_inputs(proof.machine.domains) if pairs is None else listed_inputs
        if not all(input in inputs for input in meant):
            raise Refuted("no closed forms say that the machine has probabilities")
    signs = [each for each in known if isinstance(each, Sign)]
    here, everywhere = Signs.at(eps), Signs(on, signs)
    formulas = read_weight(step["eps_prv"]), read_weight(step["delta"])
    for formula, value in zip(formulas, (found.eps_prv, found.delta), strict=True):
        slack = Ratio.constant(value) - formula_of(formula, here)
        if not here.tell(slack.numerator, positive=False):
            raise Refuted("the violation is of less than what is claimed")
        if not everywhere.tell(formula_of(formula, everywhere).numerator, positive=False):
            raise Refuted("what is claimed is not known to be >= 0")
    return Violated(on, *formulas, found.pair, found.outputs)


def needs_meaning(tree: Tree) -> bool:
    """Whether there are choices or loops, which may be none for some eps."""
    parts = tree if isinstance(tree, tuple) else ()
    return any(part in ("choose", "while") or needs_meaning(part) for part in parts)


def outcomes(
    proof: Proof, signs: Signs, step: Step
) -> tuple[Graph, tuple[Output, ...], list[Scalars], dict[Input, list[int]]]:
    """Run the machine for all inputs (null), or some.

    Returns:
        A graph; all outputs; what probabilities are sums of, each once; and for each input the
        places of its sums, in the order of outputs.
    """
    domains = proof.machine.domains
    inputs: Iterable[Input] = (
        all_inputs(domains)
        if step["inputs"] is None
        else [read_input(each, domains) for each in as_list(step["inputs"], "inputs")]
    )
    cuts = tuple(ascending(each) for each in as_list(step["cuts"], "cuts"))
    graph = Graph()
    run = Run(proof.machine, signs, graph)
    found: dict[Input, dict[Output, list[Node]]] = {}
    for input in inputs:
        spend(100)
        if input in found:
            raise BadProof("an input twice")
        found[input] = run.outcomes(input, cuts)
    outputs = tuple(dict.fromkeys(output for own in found.values() for output in own))
    if len(outputs) * len(found) > MOST_ENTRIES:
        raise Refused(f"more than {MOST_ENTRIES} probabilities")
    places: dict[Scalars, int] = {}
    rows = {
        input: [places.setdefault(tuple(own.get(each, ())), len(places)) for each in outputs]
        for input, own in found.items()
    }
    return graph, outputs, list(places), rows


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
    graph, outputs, sums, rows = outcomes(proof, Signs.at(eps), step)
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
