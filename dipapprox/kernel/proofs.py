"""What steps are about, what several rules read of them or do, and the rules of finite verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from importlib import import_module
from math import floor, prod
from typing import Any, NamedTuple

from dipapprox.kernel.balls import lower_at, precision, to_ball, upper_at
from dipapprox.kernel.errors import BadProof, Refused, Refuted, spend
from dipapprox.kernel.judgements import Distributions, ExactDistributions, Private, Violated
from dipapprox.kernel.machine import (
    Input,
    Inputs,
    Machine,
    Tree,
    adjacent_pairs,
    all_inputs,
    read_input,
    read_weight,
)
from dipapprox.kernel.reading import as_integer, as_list, as_number
from dipapprox.kernel.signs import Signs, read_epsilons

Step = Mapping[str, Any]
MANY = 200_000  # cells of all inputs: pairs of more are not gone through, if numbers are published


def named(name: str) -> Any:
    """Return what "module.function" names: a proof loads what it rests on, when first wanted.

    Names are constants of the kernel; none of them is read from a proof.
    """
    module, function = name.split(".")
    return getattr(import_module(f"dipapprox.kernel.{module}"), function)


class Proof(NamedTuple):
    """What steps are about: a machine, and the ordered pairs that are meant; None: all adjacent."""

    machine: Machine
    pairs: tuple[Inputs, ...] | None

    @property
    def in_sets(self) -> bool:
        """Whether some pairs have the largest delta of all that are meant (`sets`).

        Of real inputs; and of very many that do nothing but move what is published.
        """
        machine, finite = self.machine, self.machine.finite
        if self.pairs is not None or machine.adjacency.norm == "pairs":
            return False
        many = bool(machine.reals) and len(finite) * prod(map(len, finite)) > MANY
        return len(finite) < len(machine.inputs) or (many and named("motion.is_moved")(machine))


def pairs_of(proof: Proof, cost: int = 4) -> Iterator[Inputs]:
    """Yield the pairs that are meant, or some of which one has the largest delta, at a cost."""
    machine, pairs = proof.machine, iter(proof.pairs or ())
    if proof.in_sets:
        pairs = iter(named("sets.representatives")(machine))
    elif proof.pairs is None:
        pairs = adjacent_pairs(machine.adjacency, machine.domains)
    for pair in pairs:
        spend(cost)
        yield pair


def pair_of(proof: Proof, step: Step) -> Inputs:
    """Read one of the pairs that are meant: "input" and "adjacent"."""
    first, second = (read_input(step[n], proof.machine.domains) for n in ("input", "adjacent"))
    if proof.pairs is not None:
        if (first, second) not in proof.pairs:
            raise Refuted("the pair is not listed")
    elif not proof.machine.adjacency.holds(first, second):
        raise Refuted("the inputs are not adjacent")
    return first, second


def claimed(step: Step, broken: bool = False) -> tuple[Any, Fraction]:
    """Read the numbers of a claim; if it is broken, eps_prv may be null, for every one."""
    every = broken and step["eps_prv"] is None
    eps_prv = as_number(0 if every else step["eps_prv"], "eps_prv")
    delta = as_number(step["delta"], "delta")
    if eps_prv < 0 or not 0 <= delta <= 1:
        raise BadProof("eps_prv is below 0, or delta not in [0, 1]")
    return None if every else eps_prv, delta


def stated(step: Step, broken: bool = False) -> tuple[Tree, Tree]:
    """Read the same, or formulas in eps."""
    if isinstance(step["eps_prv"], list) or isinstance(step["delta"], list):
        return read_weight(step["eps_prv"]), read_weight(step["delta"])
    return claimed(step, broken)


def positive(json: object, what: str) -> Fraction:
    """Read a number > 0."""
    value = as_number(json, what)
    if value <= 0:
        raise BadProof(f"{what} is not above 0")
    return value


def growth_bound(eps_prv: Fraction, places: int, above: bool) -> Fraction:
    """Return a multiple of 2 ** -places that is at most e ** eps_prv, or at least that."""
    if eps_prv > MOST_EPS_PRV:
        raise Refused(f"eps_prv is above {MOST_EPS_PRV}")
    with precision(places + 2 * max(int(eps_prv), 0) + 32):
        ball = to_ball(eps_prv).exp()
        return Fraction((upper_at if above else lower_at)(ball, places), 1 << places)


MOST_EPS_PRV = 1000


def largest_of(found: Distributions, eps_prv: Fraction) -> Callable[[Input, Input], int]:
    """Return what bounds f_S for two inputs and every S but {}, in units of 2 ** -places."""
    bounds = found.bounds
    factor, divisor = growth_bound(eps_prv, found.places, above=False).as_integer_ratio()
    scaled = cache(lambda input: [factor * low // divisor for low in bounds[input][0]])

    def largest(first: Input, second: Input) -> int:
        spend(20 + len(found.outputs) // 8)
        if first not in bounds or second not in bounds:
            raise Refuted("an input of a pair has no distribution")
        excesses = [h - s for h, s in zip(bounds[first][1], scaled(second), strict=True)]
        return sum([each for each in excesses if each > 0]) or max(excesses)

    return largest


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
    if inputs is None:
        inputs = all_inputs(domains)
        spend(500 * prod(map(len, proof.machine.finite)))
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
    said: tuple[Tree, Tree] = stated(step)
    if isinstance(found, ExactDistributions):
        hold, eps = named("closed.Sums")(found, said).hold, found.epsilons.value
    elif proof.pairs is None and not (proof.in_sets or proof.machine.adjacency.norm == "pairs"):
        count = named("evaluate.pairs_within")(found, *claimed(step), proof.machine)
        return Private(found.eps, *said, None, count)
    else:
        eps_prv, delta = claimed(step)
        largest, most = largest_of(found, eps_prv), floor(delta * (1 << found.places))
        hold, eps = lambda u, v: largest(u, v) <= most, found.eps
    count = 0
    for pair in pairs_of(proof):
        count += 1
        if not hold(*pair):
            raise Refuted(f"delta is not known to bound {pair[0]}, {pair[1]}")
    return Private(eps, *said, proof.pairs, count, proof.in_sets)


def violation(proof: Proof, step: Step, found: Distributions | ExactDistributions) -> Violated:
    """A set S of outputs with Pr[S | u] - e^eps_prv Pr[S | u'] > delta, for a pair that is meant.

    At every eps_prv, null, that is so where Pr[S | u'] = 0, as its upper bound is.

    One premise: distributions for both inputs.
    """
    (eps_prv, delta), machine, pair = claimed(step, True), proof.machine, pair_of(proof, step)
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
        growth = growth_bound(eps_prv or Fraction(0), found.places, above=True)
        above = likely - growth * unlikely > delta * (1 << found.places)
        above = above and (eps_prv is not None or not unlikely)
    if not above:
        raise Refuted("Pr[S | u] - e^eps_prv Pr[S | u'] is not above delta")
    return Violated(eps, eps_prv, delta, pair, outputs)
