"""Sets of pairs (u, u') of real inputs, in parts with a bound of delta each.

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
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from math import floor, prod
from typing import Any, NamedTuple

from dipapprox.kernel.errors import BadProof, Refused, Refuted, spend
from dipapprox.kernel.evaluate import enclosed
from dipapprox.kernel.grid import accuracy
from dipapprox.kernel.judgements import Distributions, Private
from dipapprox.kernel.machine import Input, Inputs, Machine, Number, Range, adjacent_pairs
from dipapprox.kernel.motion import Motion
from dipapprox.kernel.proofs import Proof, Step, claimed, growth_bound, largest_of, positive
from dipapprox.kernel.reading import as_integer

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
