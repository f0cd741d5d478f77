"""Claims that follow from a budget: one of all numbers between those that inputs may be.

Theorem. Let the inputs of a machine be numbers. It is one of `rounds` without a round: its inputs
are among the numbers from the least to the largest of each domain, the same statements are run, and
what is seen are its outputs, also where it exits. Its pairs are adjacent there, too. So where a
budget B serves that machine, every one of these pairs is (B eps, 0)-private at every eps > 0, and
(eps_prv, delta)-private where B eps <= eps_prv and 0 <= delta.
That is said of the values that outputs hold, in their domains or not.

Inputs that are read through a clamp or a modulus alone are inputs of smaller ranges (`clamps`): the
bounds of delta of that machine hold for this one.

At one eps a scale c eps^k is c eps^(k + 1) / eps: a budget of the machine with these serves there.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.kernel.errors import BadProof, Refuted, spend
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.judgements import Private
from dipapprox.kernel.laws import cost_of
from dipapprox.kernel.machine import Domain, Machine, Range, Tree, compares
from dipapprox.kernel.potential import potential
from dipapprox.kernel.proofs import Proof, Step, named, stated
from dipapprox.kernel.reading import as_flag
from dipapprox.kernel.rounds import Rounds
from dipapprox.kernel.signs import Signs, read_epsilons
from dipapprox.kernel.walk import formula_of


def served(proof: Proof, step: Step) -> Private:
    """A budget serves all numbers between the inputs, at every eps, and so the claim.

    Theorem (`served`, `potential`): it is enough that B eps <= eps_prv, and 0 <= delta.

    Step: "eps": one or an interval, of which "eps_prv" and "delta" are formulas; "whole": whether
    inputs are integers; "nodes" of a potential.
    """
    epsilons, said = read_epsilons(step["eps"]), stated(step)
    adjacent = proof.machine.adjacency.holds
    if not all(u == v or adjacent(u, v) for u, v in proof.pairs or ()):
        raise Refuted("listed pairs are not adjacent")
    machine = all_numbers(proof.machine, step["whole"], epsilons.point)
    budget = potential(machine, {"nodes": step["nodes"], "quiet": []}).budget or Fraction(0)
    signs = Signs(epsilons)
    eps_prv, delta = (formula_of(each, signs) for each in said)
    spare = eps_prv + Ratio(Sum.of([((Fraction(0), 1), -budget)]))
    if not all(signs.tell(each.numerator, positive=False) for each in (spare, delta)):
        raise Refuted("a budget is not known to be as small as what is claimed")
    return Private(epsilons.value, *said, proof.pairs)


def all_numbers(machine: Machine, whole: object, eps: Fraction | None) -> Rounds:
    """Return the machine of all numbers, or integers, between inputs; of scales c / eps at one."""
    integers = as_flag(whole, "'whole'")
    inputs = {name: _between(domain, integers) for name, domain in machine.inputs}
    outputs = *(name for name, _ in machine.outputs), *machine.reals
    if machine.adjacency.norm == "pairs":
        raise BadProof("pairs that are listed")
    numbers = frozenset(inputs)
    if not integers and numbers.isdisjoint(outputs) and compares(machine.body, numbers):
        held = machine._replace(inputs=tuple(inputs.items()))
        machine = named("clamps.without_clamps")(held)
        inputs = {name: own for name, own in machine.inputs if isinstance(own, Range)}
    seen, body = ((), outputs, ()), machine.body if eps is None else _rescaled(machine.body, eps)
    return Rounds(inputs, integers, machine.adjacency, body, None, *seen, True, None)


def _rescaled(tree: Tree, eps: Fraction) -> Tree:
    match tree:
        case "draw", target, family, mean, (coefficient, power):
            scale = coefficient * eps ** (power + 1)
            spend(2 + cost_of(scale))
            return "draw", target, family, mean, (scale, -1)
        case tuple():
            return tuple([_rescaled(part, eps) for part in tree])
    return tree


def _between(domain: Domain, whole: bool) -> Range:
    if isinstance(domain, Range):
        if whole:
            raise BadProof("real inputs are no integers")
        return domain
    numbers = [Fraction(value) for value in domain if not isinstance(value, str)]
    if len(numbers) < len(domain) or (whole and any(each.denominator > 1 for each in numbers)):
        raise BadProof("an input that is no number, or no integer")
    return Range(min(numbers), max(numbers))
