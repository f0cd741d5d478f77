"""Claims about real inputs on intervals of eps, where a smaller eps is as good as smaller inputs.

Let all noise have a density and a scale s_j / eps, let no weight read eps, and let every form that
is compared be 0 at u = v, but for its noise: so it is k·(u - v) plus a sum of c_j s_j Z_j / eps
with standard Z_j. Times eps / eps', that is the form at eps' and the input
v + (u - v) eps / eps'. So the same Z lead to the same output in both.

If v is in the ranges of the inputs, and eps <= eps', what happens at eps and the inputs v + w and
v + w' happens at eps' and v + r w and v + r w', r = eps / eps'. As r <= 1, and ranges are convex
and hold v, these are inputs; and adjacent if the others are, by every norm. So what no pair exceeds
at eps', no pair does at eps, for the same eps_prv.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dipapprox.kernel.adjacency import Range
from dipapprox.kernel.errors import BadProof, Refuted
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.expressions import formula_of
from dipapprox.kernel.judgements import Private
from dipapprox.kernel.laws import FAMILIES, RealFamily
from dipapprox.kernel.machine import mentions
from dipapprox.kernel.motion import Motion
from dipapprox.kernel.proofs import Proof, Step, stated
from dipapprox.kernel.reading import as_list, as_number
from dipapprox.kernel.signs import Epsilons, Signs, read_epsilons


def shrinks(motion: Motion, point: Mapping[int, Fraction]) -> bool:
    """Whether less noise at inputs nearer to a point makes no difference."""
    noise = all(
        power == -1 and isinstance(FAMILIES[name], RealFamily)
        for _, (name, _, power), _ in motion.noise
    )
    count, machine = len(motion.machine.inputs), motion.machine
    ties = all(
        form.constant + sum(c * point[a] for a, c in form.terms if a < count) == 0
        for form in motion.forms
    )
    return noise and ties and not (mentions(machine.body, "eps") or machine.reals)


def smaller_eps(proof: Proof, step: Step, *premises: Private) -> Private:
    """A claim on an interval, as of every part of it the greatest eps keeps one that is as strong.

    Theorem: where all comparisons are ties at some inputs but for noise of scales c / eps, an eps
    that is smaller is as good as inputs and changes that are. So the largest delta for a fixed
    eps_prv does not fall as eps grows, and what holds at the greatest eps of a part holds in all of
    it, if eps_prv and delta are no larger than what is claimed there.

    Step: "eps", "eps_prv", "delta": the claim; "point": those inputs, the real ones; premises:
    privacy at ascending eps.
    """
    machine, epsilons = proof.machine, read_epsilons(step["eps"])
    real = {k: domain for k, (_, domain) in enumerate(machine.inputs) if isinstance(domain, Range)}
    values = [as_number(each, "an input") for each in as_list(step["point"], "a point", len(real))]
    point = dict(zip(real, values, strict=True))
    if not all(point[k] in domain for k, domain in real.items()):
        raise BadProof("a point that is no input")
    if machine.adjacency.norm == "pairs" or not shrinks(Motion(machine), point):
        raise Refuted("a smaller eps is not known to be as good as smaller inputs")
    signs = Signs(epsilons)
    eps_prv, delta = stated(step)
    formulas = [formula_of(each, signs) for each in (eps_prv, delta)]
    lower, count = epsilons.lower, 0
    for each in premises:
        if each.pairs is not None or not isinstance(each.eps, Fraction) or each.eps <= lower:
            raise BadProof("privacy of all pairs is wanted, at ascending eps of the interval")
        if not isinstance(each.eps_prv, Fraction) or not isinstance(each.delta, Fraction):
            raise BadProof("numbers are wanted")
        part, lower, count = Epsilons(lower, each.eps), each.eps, count + each.count
        for formula, value in zip(formulas, (each.eps_prv, each.delta), strict=True):
            slack = formula + Ratio.constant(-value)
            if not signs.tell(slack.numerator, positive=False, on=part):
                raise Refuted("what is claimed is not known to be weaker")
    if not premises or lower != epsilons.upper:
        raise Refuted("the interval is longer")
    return Private(epsilons.value, eps_prv, delta, None, count, in_sets=True)
