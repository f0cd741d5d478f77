"""Rules of finite verdicts: what a machine does for some inputs, and what follows of pairs.

Intervals. Let all noise have densities f and scales c eps^k, let no weight read eps, and let there
be no loops that end by chance. Fix inputs and a set S of outputs. Which samples lead there does not
depend on eps, so with t = ln eps only their law moves: P_S' = E[s; S], P_S'' = E[s^2 + s'; S],
where s is the derivative of the log-density of all samples that are drawn, the sum of -k (1 +
z g(z)), z standard, g = f' / f; and s' that of k^2 z (g(z) + z g'(z)), at most 0: f rises up to 0,
falls from there, and is log-concave (`laws`). Whatever was drawn before, terms of s have the mean
0, so E s^2 is the mean of the sum of k^2 E (1 + z g(z))^2, at most I, the largest sum along a run.
Both s and s^2 + s' have the mean 0. Hence |P_S''| <= E|s^2 + s'| / 2 <= I, and

    |P_S'| <= E|s| / 2 <= sqrt(I) / 2 <= (1 + I) / 4.

Let a = e^y, y = c eps^n, c >= 0, n = 0 or 1: a' = n y a, and a'' = n (y + y^2) a. So, with y at the
right end, the second derivative of P_S(u) - a P_S(u') is at least -C,

    C = I + a (I + n (y + y^2 + y (1 + I) / 2)).

Between l and r that is at most the larger one of its values there plus C ln(r / l)^2 / 8, and
ln(r / l)^2 <= (r - l)^2 / (l r).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.expressions import formula_of
from dipapprox.kernel.forward import read_inputs
from dipapprox.kernel.judgements import Distributions, ExactDistributions, Private, Violated
from dipapprox.kernel.laws import FAMILIES, RealFamily, cost_of
from dipapprox.kernel.loading import named
from dipapprox.kernel.machine import Block, mentions
from dipapprox.kernel.proofs import (
    Proof,
    Step,
    claimed,
    growth_bound,
    kept,
    largest_of,
    pair_of,
    positive,
    read_output,
    stated,
)
from dipapprox.kernel.reading import as_integer, as_list
from dipapprox.kernel.signs import Epsilons, Signs, read_epsilons

PLACES = 64
"""Of upper bounds of e ** eps_prv."""


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
    inputs = read_inputs(proof.machine, step["inputs"])
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

    Step: "eps_prv", "delta", "input", "adjacent", "outputs";
    one premise: distributions for both inputs.
    """
    (eps_prv, delta), machine, pair = claimed(step), proof.machine, pair_of(proof, step)
    known = found.bounds if isinstance(found, Distributions) else found.values
    if not all(input in known for input in pair):
        raise Refuted("an input of the pair has no distribution")
    outputs = tuple(read_output(machine, each) for each in as_list(step["outputs"], "outputs"))
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


def between_eps(proof: Proof, step: Step, first: Private, then: Private, *more: Private) -> Private:
    """A claim on an interval, as between any two eps delta is hardly larger than at one of them.

    Theorem: probabilities bend little as eps moves, so for every set S of outputs f_S is at most
    the larger one of its values at both ends of a part and C ln(r / l)^2 / 8 (`rules`).

    Step: "eps", "eps_prv", "delta": the claim, eps_prv a multiple of eps, or a constant; premises:
    privacy at ascending eps, from the least to the greatest one.
    """
    epsilons, said, bend = read_epsilons(step["eps"]), stated(step), information(proof.machine.body)
    signs = Signs(epsilons)
    eps_prv, delta = (formula_of(each, signs) for each in said)
    match eps_prv.numerator.terms, eps_prv.denominator:
        case (), ():
            multiple, power = Fraction(0), 0
        case ((((0, (0 | 1) as power), own),), ()):
            multiple = Fraction(own)
        case _:
            raise Refused("eps_prv is no multiple of eps, and no constant")
    known: list[tuple[Fraction, Fraction]] = []
    for each in (first, then, *more):
        match each:
            case Private(Fraction() as eps, Fraction() as least, Fraction() as most, proof.pairs):
                if least > multiple * eps**power:
                    raise Refuted("what is claimed is stronger at one eps")
                known.append((eps, most))
            case _:
                raise BadProof("privacy of the same pairs is wanted, in numbers, at one eps")
    if (epsilons.lower, epsilons.upper) != (known[0][0], known[-1][0]):
        raise Refuted("the interval has other ends")
    for (low, one), (high, other) in pairwise(known):
        if low > high:
            raise BadProof("privacy is wanted at ascending eps")
        y = multiple * high**power
        bent = bend + power * y * (1 + y + (1 + bend) / 2)
        least = bend + growth_bound(y, PLACES, above=True) * bent
        error = least * (high - low) ** 2 / (8 * low * high)
        spend(5 * (cost_of(high) + cost_of(error) + cost_of(y)))
        slack = delta + Ratio.constant(-max(one, other) - error)
        if not signs.tell(slack.numerator, positive=False, on=Epsilons(low, high)):
            raise Refuted("delta is not known to be as small between two eps")
    return Private(epsilons.value, *said, proof.pairs, first.count, first.in_sets)


def information(block: Block) -> Fraction:
    """Return I for a block, at most."""
    found = Fraction(0)
    for statement in block:
        spend(4)
        match statement:
            case "draw", _, name, _, (_, power):
                family = FAMILIES[name]
                if not isinstance(family, RealFamily):
                    raise Refused("integer noise, between two eps")
                found += power**2 * family.information
            case "if", _, then, otherwise:
                found += max(information(then), information(otherwise))
            case "repeat", turns, body:
                found += turns * information(body)
            case (("while" | "choose"), *_) if mentions(statement, "while", "eps"):
                raise Refused("loops or weights that depend on eps, between two of them")
    return found
