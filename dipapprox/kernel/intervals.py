"""Claims on intervals of eps: of privacy at some eps what it says of those in between.

Less noise. Let all noise have a density and a scale s_j / eps, let no weight read eps, and let
every form that is compared be 0 at u = v, but for its noise: so it is k·(u - v) plus a sum of
c_j s_j Z_j / eps with standard Z_j. Times eps / eps', that is the form at eps' and the input
v + (u - v) eps / eps'. So the same Z lead to the same output in both; finite inputs stay the same.

If v is in the ranges of the inputs, and eps <= eps', what happens at eps and the inputs v + w and
v + w' happens at eps' and v + r w and v + r w', r = eps / eps'. As r <= 1, and ranges are convex
and hold v, these are inputs; and adjacent if the others are, by every norm. So what no pair exceeds
at eps', no pair does at eps, for the same eps_prv.

Bends. Let all noise have scales c eps^k, let no weight read eps, and let there be no loops that end
by chance. Fix inputs and a set S of outputs. Which samples lead there does not depend on eps, so
with t = ln eps only their law moves: P_S' = E[s; S], P_S'' = E[s^2 + s'; S], where s is the
derivative of the log-density, or mass, of all samples that are drawn: a sum of what the scales of
each say (`laws`), times k; and s', with k^2, at most 0. Whatever was drawn before, terms of s have
the mean 0, so E s^2 is the mean of the sum of k^2 times their information, at most I, the largest
sum along a run. Both s and s^2 + s' have the mean 0. Hence |P_S''| <= E|s^2 + s'| / 2 <= I, and

    |P_S'| <= E|s| / 2 <= sqrt(I) / 2 <= (1 + I) / 4.

Let a = e^y, y = c eps^n, n = 0 or 1, at most the claimed eps_prv between l and r; c >= 0, as y is
at least an eps_prv that is kept: a' = n y a, and a'' = n (y + y^2) a. So, with y at the right end,
the second derivative of P_S(u) - a P_S(u') is at least -C,

    C = I + a (I + n (y + y^2 + y (1 + I) / 2)).

Between l and r that is at most the larger one of its values there plus C ln(r / l)^2 / 8, and
ln(r / l)^2 <= (r - l)^2 / (l r).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise

from dipapprox.kernel.errors import BadProof, Refused, Refuted, spend
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.judgements import Private
from dipapprox.kernel.laws import FAMILIES, RealFamily, cost_of
from dipapprox.kernel.machine import Block, Range, Tree, mentions
from dipapprox.kernel.motion import Motion
from dipapprox.kernel.proofs import Proof, Step, growth_bound, named, stated
from dipapprox.kernel.reading import as_list, as_number
from dipapprox.kernel.signs import Epsilons, Signs, read_epsilons
from dipapprox.kernel.walk import formula_of

PLACES = 64  # of upper bounds of e ** eps_prv


def _ascending(premises: Iterable[Private], pairs: object) -> list[tuple[Fraction, ...]]:
    """Return eps, eps_prv and delta of privacy of some pairs, by ascending eps."""
    found: list[tuple[Fraction, ...]] = []
    for each in premises:
        match each:
            case Private(Fraction() as eps, Fraction() as eps_prv, Fraction() as delta, of):
                if of != pairs or (found and eps < found[-1][0]):
                    raise BadProof("privacy of the same pairs is wanted, at ascending eps")
                found.append((eps, eps_prv, delta))
            case _:
                raise BadProof("privacy is wanted in numbers, at one eps")
    return found


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

    Theorem (less noise): the largest delta for a fixed eps_prv does not fall as eps grows. So what
    holds at the greatest eps of a part does in all of it, if no less is claimed there.

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
    signs, said, lower = Signs(epsilons), stated(step), epsilons.lower
    formulas = [formula_of(each, signs) for each in said]
    for eps, *numbers in _ascending(premises, None):
        if eps <= lower:
            raise BadProof("privacy at an eps of the interval is wanted")
        part, lower = Epsilons(lower, eps), eps
        for formula, value in zip(formulas, numbers, strict=True):
            slack = formula + Ratio.constant(-value)
            if not signs.tell(slack.numerator, positive=False, on=part):
                raise Refuted("what is claimed is not known to be weaker")
    if not premises or lower != epsilons.upper:
        raise Refuted("the interval is longer")
    count = sum([each.count for each in premises])
    return Private(epsilons.value, *said, None, count, in_sets=True)


def between_eps(proof: Proof, step: Step, first: Private, then: Private, *more: Private) -> Private:
    """A claim on an interval, as between any two eps delta is hardly larger than at one of them.

    Theorem: probabilities bend little as eps moves, so for every set S of outputs f_S is at most
    the larger one of its values at both ends of a part and C ln(r / l)^2 / 8.

    Step: "eps", "eps_prv", "delta": the claim; premises: privacy at ascending eps, from the least
    to the greatest one.
    """
    epsilons, said, bend = read_epsilons(step["eps"]), stated(step), information(proof.machine.body)
    signs, delta = Signs(epsilons), formula_of(said[1], Signs(epsilons))
    known = _ascending((first, then, *more), proof.pairs)
    if (epsilons.lower, epsilons.upper) != (known[0][0], known[-1][0]):
        raise Refuted("the interval has other ends")
    for (low, least, one), (high, most, other) in pairwise(known):
        multiple, power = multiple_below(said[0], Epsilons(low, high))
        y = multiple * high**power
        if least > multiple * low**power or most > y:
            raise Refuted("what is claimed is stronger at one eps")
        bent = bend + power * y * (1 + y + (1 + bend) / 2)
        bent = bend + growth_bound(y, PLACES, above=True) * bent
        error = bent * (high - low) ** 2 / (8 * low * high)
        spend(5 * (cost_of(high) + cost_of(error) + cost_of(y)))
        slack = delta + Ratio.constant(-max(one, other) - error)
        if not signs.tell(slack.numerator, positive=False, on=Epsilons(low, high)):
            raise Refuted("delta is not known to be as small between two eps")
    return Private(epsilons.value, *said, proof.pairs, first.count, first.in_sets)


def multiple_below(eps_prv: Tree, on: Epsilons) -> tuple[Fraction, int]:
    """Return c and n, 0 or 1, with c eps^n at most a formula on an interval: what it is, if so."""
    with suppress(Refused):
        value = formula_of(eps_prv, Signs(on))
        match value.numerator.terms, value.denominator:
            case (), ():
                return Fraction(0), 0
            case ((((0, (0 | 1) as power), own),), ()):
                return Fraction(own), power
    return named("closed.lowest")(eps_prv, on), 0


def information(block: Block) -> Fraction:
    """Return I for a block, at most."""
    found = Fraction(0)
    for statement in block:
        spend(4)
        match statement:
            case "draw", _, name, _, (_, power):
                found += power**2 * FAMILIES[name].information
            case "if", _, then, otherwise:
                found += max(information(then), information(otherwise))
            case "repeat", turns, body:
                found += turns * information(body)
            case (("while" | "choose"), *_) if mentions(statement, "while", "eps"):
                raise Refused("loops or weights that depend on eps, between two of them")
    return found
