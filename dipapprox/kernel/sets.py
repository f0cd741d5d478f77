"""Sets of pairs (u, u') of real inputs, and intervals of eps, in parts with a bound of delta each.

Of every input, (u_i, u'_i) is a point of a convex polygon, a `Zone`, told by its vertices; a finite
input has one. A set is a product of zones. For a set S of outputs and a = e^eps_prv let
f_S(u, u') = P_S(u) - a P_S(u'); delta_{u,u'} is the largest f_S.

1. Ends: if P_S moves in one direction with u_i for every S (`motion`), then f_S does not fall as
   u_i moves that way, or u'_i the other way. So it is largest where neither can: in a zone that is
   where the change is least, or for the other direction largest. (If not, u_i or u'_i could move;
   where both are at their ends, the change is, too.)
2. All vertices of the zones together are pairs (v, v'). A point of a zone is a convex combination
   of its vertices. Let u_i, u'_i be replaced by vertices, at random with the weights of this
   combination, one input after the other. A function whose second derivative is at most c_i in
   modulus is, at the mean of points in an interval of the length l, at most its mean there plus
   c_i l^2 / 8. So

       f_S(u, u') <= max f_S(v, v') + sum_i c_i (l_i^2 + a l'_i^2) / 8.

   For S = {} f_S is 0, and for all outputs 1 - a. For the others the largest f_S(v, v') is the sum
   of P_o(v) - a P_o(v') over the o where it is positive; if none is, it is the largest of these.

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

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import floor, prod
from typing import Any, NamedTuple

from dipapprox.kernel.errors import BadProof, Refused, Refuted, spend
from dipapprox.kernel.evaluate import enclosed
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.grid import accuracy
from dipapprox.kernel.judgements import Distributions, Private
from dipapprox.kernel.laws import FAMILIES, RealFamily, cost_of
from dipapprox.kernel.machine import (
    Block,
    Input,
    Inputs,
    Machine,
    Number,
    Range,
    Tree,
    adjacent_pairs,
    mentions,
)
from dipapprox.kernel.motion import Motion
from dipapprox.kernel.proofs import (
    Proof,
    Step,
    claimed,
    growth_bound,
    largest_of,
    named,
    positive,
    stated,
)
from dipapprox.kernel.reading import as_integer, as_list, as_number
from dipapprox.kernel.signs import Epsilons, Signs, read_epsilons
from dipapprox.kernel.walk import formula_of

MOST_PARTS = 50_000

Zone = tuple[tuple[Any, Any], ...]
"""Pairs (u_i, u'_i): of a real input numbers, the vertices of a convex polygon; else one pair."""


def extent(zone: Zone, side: str) -> tuple[Fraction, Fraction]:
    """Return the least and the largest value of a side: linear functions have them at vertices."""
    values = [_value(point, side) for point in zone]
    return min(values), max(values)


def _value(point: tuple[Any, Any], side: str) -> Fraction:
    first, second = point
    found: Fraction = first if side == "first" else second if side == "second" else second - first
    return found


def clipped(zone: Zone, side: str, at: Fraction, sign: int) -> Zone:
    """Return the part of a zone where a side is at most a number (sign 1), or at least that (-1).

    Its vertices are those of the zone on this side of a line, and at most two on the line: the ends
    of what it has in common with edges, or with any segments between vertices.
    """
    over = {point: sign * (_value(point, side) - at) for point in zone}
    found = [point for point in zone if over[point] < 0]
    line = [point for point in zone if over[point] == 0]
    for below, above in product(found, [point for point in zone if over[point] > 0]):
        share = over[below] / (over[below] - over[above])
        (u, v), (x, y) = below, above
        line.append((u + share * (x - u), v + share * (y - v)))
    return tuple(sorted({*found, min(line), max(line)} if line else found))


class Sets(NamedTuple):
    """A set of pairs: the zones of all inputs; what l1 allows all changes together, if not None."""

    zones: tuple[Zone, ...]
    radius: Number | None = None

    def cut(self, place: int, side: str, at: Fraction) -> tuple[Sets | None, Sets | None]:
        """Return where a side of an input is at most a number, and at least; None if nowhere."""
        return self._clipped(place, side, at, 1), self._clipped(place, side, at, -1)

    def ends(self, place: int) -> tuple[Sets | None, Sets | None]:
        """Return where the change of an input is least, and where it is largest; of l1: no larger,
        and no less, than 0, if it can be: so far a move makes the sum of the changes no larger.
        """
        low, high = extent(self.zones[place], "change")
        if self.radius is not None:
            low, high = max(low, Fraction(0)), min(high, Fraction(0))
        return self._clipped(place, "change", low, 1), self._clipped(place, "change", high, -1)

    def _clipped(self, place: int, side: str, at: Fraction, sign: int) -> Sets | None:
        zone = clipped(self.zones[place], side, at, sign)
        if not zone:
            return None
        zones = (*self.zones[:place], zone, *self.zones[place + 1 :])
        if self.radius is not None:
            changes = [extent(each, "change") for each in zones]
            if sum([max(low, -high, Fraction(0)) for low, high in changes]) > self.radius:
                return None
        return self._replace(zones=zones)

    def vertices(self) -> Iterator[Inputs]:
        """Yield the vertices of all zones together."""
        spend(100 * prod(map(len, self.zones)))
        for vertex in product(*self.zones):
            yield tuple([u for u, _ in vertex]), tuple([v for _, v in vertex])


def all_sets(machine: Machine, is_shift: bool) -> Iterator[Sets]:
    """Yield sets that hold all adjacent pairs; of finite inputs every pair of values.

    If delta depends on changes alone, with convex sublevel sets (`motion`), they hold what is
    enough for all changes: of an endless range a part that is as wide as changes, and of those that
    l1 allows, if ranges are so wide, changes of one input, whose hull has all.
    """
    adjacency, domains = machine.adjacency, machine.domains
    norm, radius = adjacency.norm, adjacency.radius
    if norm == "pairs":
        raise Refused("pairs that are listed are no sets")
    real = {k: domain for k, domain in enumerate(domains) if isinstance(domain, Range)}
    listed = {k: domain for k, domain in enumerate(domains) if not isinstance(domain, Range)}
    spend(100 * sum([len(domain) ** 2 for domain in listed.values()]))
    for values in product(*(product(domain, domain) for domain in listed.values())):
        spend(10)
        price = adjacency.total(values)
        if price is None:
            continue
        left = Fraction(radius - price)
        ranges = {k: _ends(domain, left, norm, is_shift) for k, domain in real.items()}
        alone = norm == "l1" and is_shift and all(b - a >= left for a, b in ranges.values())
        count = int(left) if norm == "l0" else 1 if alone else len(real)
        for moving in combinations(real, min(count, len(real))):
            spend(60 * len(domains))
            zones: dict[int, Zone] = {k: (pair,) for k, pair in zip(listed, values, strict=True)}
            for k, (low, high) in ranges.items():
                least, most = adjacency.change(high - low, left) if k in moving else (0, 0)
                square = tuple(sorted({*product((low, high), (low, high))}))
                below = clipped(square, "change", Fraction(most), 1)
                zones[k] = clipped(below, "change", Fraction(least), -1)
            shared = radius if norm == "l1" and len(moving) > 1 else None
            yield Sets(tuple([zones[k] for k in range(len(domains))]), shared)


def _ends(domain: Range, most: Fraction, norm: str, is_shift: bool) -> tuple[Fraction, Fraction]:
    low, high = domain.low, domain.high
    if low is not None and high is not None:
        return low, high
    if not is_shift or norm in ("all", "l0"):
        raise Refused("a real input without ends")
    low = high - most if low is None and high is not None else low or Fraction(0)
    return low, low + most


def undivided(motion: Motion, is_shift: bool) -> Iterator[Sets]:
    """Yield sets of pairs in which one has at least the delta of any other: all ends of sets."""
    waiting = list(all_sets(motion.machine, is_shift))
    while waiting:
        spend(20 + 10 * len(motion.machine.inputs))
        pairs = waiting.pop()
        for place, zone in enumerate(pairs.zones):
            halves = pairs.ends(place) if len(zone) > 1 and motion.is_ordered(place) else (pairs,)
            if pairs not in halves:
                waiting += [half for half in halves if half is not None]
                break
        else:
            yield pairs


def errors_of(
    motion: Motion, pairs: Sets, eps: Fraction, growth: Fraction
) -> dict[tuple[int, str], Fraction]:
    """Return what f_S may be above its largest value at the vertices, by sides of inputs.

    They add up; growth >= e^eps_prv.
    """
    errors = {}
    for place, zone in enumerate(pairs.zones):
        if len(zone) > 1:
            for side, factor in (("first", Fraction(1)), ("second", growth)):
                low, high = extent(zone, side)
                errors[place, side] = motion.curvature(place, eps) * factor * (high - low) ** 2 / 8
    return errors


def representatives(machine: Machine) -> tuple[Inputs, ...]:
    """Return pairs of which one has at least the delta of any adjacent one, at all eps and eps_prv.

    They are ends of sets, as above (1); where delta depends on u' - u alone, and is largest at the
    ends of each change, one pair with this change is enough. Where no input is real, one of each
    difference is enough if delta depends on u' - u alone.
    """
    if len(machine.finite) == len(machine.inputs):
        return tuple(adjacent_pairs(machine.adjacency, machine.domains, by_difference=True))
    motion, found = Motion(machine), dict[Inputs, None]()
    for pairs in undivided(motion, motion.is_shift):
        for low, high in (extent(zone, "change") for zone in pairs.zones if len(zone) > 1):
            if low < high or not motion.is_shift:
                raise Refuted("a set of more pairs than one")
        found[next(pairs.vertices())] = None
    return tuple(found)


def every_real_pair(proof: Proof, step: Step) -> Private:
    """delta of all adjacent pairs of real inputs, bounded part by part from vertices (`sets`).

    A part that vertices do not bound is halved, across the side that its error comes from most.
    """
    if proof.pairs is not None:
        raise BadProof("listed pairs are no sets")
    motion, eps = Motion(proof.machine), positive(step["eps"], "eps")
    bits = as_integer(step["bits"], "bits")
    accuracy(bits)  # which refuses what is too much
    if proof.machine.reals:
        raise BadProof("published numbers are bounded pair by pair")
    (eps_prv, delta), bounds = claimed(step), dict[Input, tuple[list[int], list[int]]]()
    outputs = tuple(output for (output,) in motion.ends)
    places = {output: place for place, output in enumerate(outputs)}
    # Of outputs that no vertex can have f_o is 0.
    all_known = Distributions(eps, bits + 16, outputs, bounds)
    unit = 1 << all_known.places
    largest = largest_of(all_known, eps_prv)
    growth = growth_bound(eps_prv, all_known.places, above=True)
    waiting, count = list(undivided(motion, False)), 0
    while waiting:
        vertices = (u for pairs in waiting for pair in pairs.vertices() for u in pair)
        found = enclosed(proof, eps, [u for u in dict.fromkeys(vertices) if u not in bounds], bits)
        for input, known in found.bounds.items():
            own = bounds[input] = [0] * len(outputs), [0] * len(outputs)
            for row, values in zip(own, known, strict=True):
                for output, value in zip(found.outputs, values, strict=True):
                    # Others are those of runs that are seen to be impossible.
                    if output in places:
                        row[places[output]] = value
        whole, waiting = waiting, []
        for pairs in whole:
            spend(20 + 10 * len(pairs.zones))
            count += 1
            errors = errors_of(motion, pairs, eps, growth)
            error = sum(errors.values(), Fraction(0))
            most = max(largest(u, v) for u, v in pairs.vertices())
            if most <= floor((delta - error) * unit):
                continue
            if not error or most > floor(delta * unit):
                if pairs.radius is not None:
                    raise Refused("sets whose changes share a radius have corners that are none")
                raise Refuted("the bound of delta at a pair is larger")
            if count > MOST_PARTS:
                raise Refused(f"more than {MOST_PARTS} sets of pairs")
            place, side = max(errors, key=lambda each: errors[each])
            middle = sum(extent(pairs.zones[place], side), Fraction(0)) / 2
            waiting += [half for half in pairs.cut(place, side, middle) if half is not None]
    return Private(eps, eps_prv, delta, None, count, in_sets=True)


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
