"""Sets of pairs (u, u') of inputs that are real numbers, in parts, each with a bound of delta.

Of every input, (u_i, u'_i) is a point of a convex polygon, a `Zone`, told by its vertices; a finite
input has one. A set is a product of zones. For a set S of outputs and a = e^eps_prv let
f_S(u, u') = P_S(u) - a P_S(u'); delta_{u,u'} is the largest f_S.

    part    null | ["cut", i, side, number, part, part] | ["ends", i, part, part]
    side    "first" | "second" | "change"

1. `cut`: u_i, u'_i or the change is at most the number, or at least.
2. `ends`: if P_S moves in one direction with u_i for every S (`motion`), then f_S does not fall as
   u_i moves that way, or u'_i the other way. So it is largest where neither can: in a zone that is
   where the change is least, or for the other direction largest. (If not, u_i or u'_i could move;
   where both are at their ends, the change is, too.)
3. null: all vertices of the zones together are pairs (v, v'). A point of a zone is a convex
   combination of its vertices. Let u_i, u'_i be replaced by vertices, at random with the weights of
   this combination, one input after the other. A function whose second derivative is at most c_i
   in modulus is, at the mean of points in an interval of the length l, at most its mean there plus
   c_i l^2 / 8. So

       f_S(u, u') <= max f_S(v, v') + sum_i c_i (l_i^2 + a l'_i^2) / 8.

   For S = {} f_S is 0, and for all outputs 1 - a. For the others the largest f_S(v, v') is the sum
   of P_o(v) - a P_o(v') over the o where it is positive; if none is, it is the largest of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product, zip_longest
from math import floor, prod
from typing import Any

from dipapprox.kernel.adjacency import Input, Number, Range
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.judgements import Distributions, Private, Representatives
from dipapprox.kernel.machine import Machine
from dipapprox.kernel.motion import Motion
from dipapprox.kernel.proofs import Proof, Step, claimed, growth_bound, largest_of
from dipapprox.kernel.reading import as_integer, as_list, as_number, as_word

MOST_VERTICES = 10_000
"""Of one part."""

SIDES = ("first", "second", "change")

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


@dataclass(frozen=True, slots=True)
class Sets:
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
        low, high = extent(self.zone(place), "change")
        if self.radius is not None:
            low, high = max(low, Fraction(0)), min(high, Fraction(0))
        return self._clipped(place, "change", low, 1), self._clipped(place, "change", high, -1)

    def zone(self, place: int) -> Zone:
        """Return a zone of more than one pair."""
        if not (0 <= place < len(self.zones) and len(self.zones[place]) > 1):
            raise BadProof("no real input with more pairs than one is there")
        return self.zones[place]

    def _clipped(self, place: int, side: str, at: Fraction, sign: int) -> Sets | None:
        zone = clipped(self.zone(place), side, at, sign)
        if not zone:
            return None
        zones = (*self.zones[:place], zone, *self.zones[place + 1 :])
        if self.radius is not None:
            changes = [extent(each, "change") for each in zones]
            if sum([max(low, -high, Fraction(0)) for low, high in changes]) > self.radius:
                return None
        return replace(self, zones=zones)

    def vertices(self) -> Iterator[tuple[Input, Input]]:
        """Yield the vertices of all zones together."""
        if prod(map(len, self.zones)) > MOST_VERTICES:
            raise Refused(f"a part with more than {MOST_VERTICES} vertices")
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
        spend(10 + len(domains))
        price = adjacency.total(values)
        if price is None:
            continue
        left = Fraction(radius - price)
        ranges = {k: _ends(domain, left, norm, is_shift) for k, domain in real.items()}
        alone = norm == "l1" and is_shift and all(b - a >= left for a, b in ranges.values())
        count = int(left) if norm == "l0" else 1 if alone else len(real)
        for moving in combinations(real, min(count, len(real))):
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


def undivided(parts: list[object], motion: Motion) -> Iterator[Sets]:
    """Yield the sets that a proof leaves undivided, of the parts of every set of `all_sets`."""
    for part, pairs in zip_longest(parts, all_sets(motion.machine, motion.is_shift)):
        if not isinstance(pairs, Sets):
            raise BadProof("there are parts of more sets")
        yield from _undivided(part, pairs, motion)


def _undivided(part: object, pairs: Sets | None, motion: Motion) -> Iterator[Sets]:
    spend(20 + 10 * len(motion.machine.inputs))
    if pairs is None or part is None:
        if part is not None:
            raise BadProof("an empty set in parts")
        yield from [] if pairs is None else [pairs]
        return
    match as_list(part, "a part"):
        case ["cut", place, side, at, *parts] if len(parts) == 2:
            where = as_integer(place, "an input"), as_word(side, "a side", SIDES)
            halves = pairs.cut(*where, as_number(at, "where to cut"))
        case ["ends", place, *parts] if len(parts) == 2:
            halves = pairs.ends(as_integer(place, "an input"))
            if not motion.is_ordered(place):
                raise Refuted("probabilities do not move in one direction with this input")
        case _:
            raise BadProof("no part of a set")
    for each, half in zip(parts, halves, strict=True):
        yield from _undivided(each, half, motion)


def error_of(motion: Motion, pairs: Sets, eps: Fraction, growth: Fraction) -> Fraction:
    """Return what f_S may be above its largest value at the vertices; growth >= e^eps_prv."""
    error = Fraction(0)
    for place, zone in enumerate(pairs.zones):
        if len(zone) > 1:
            (a, b), (c, d) = extent(zone, "first"), extent(zone, "second")
            squares = (b - a) ** 2 + growth * (d - c) ** 2
            error += motion.curvature(place, eps) * squares / 8
    return error


def representatives(proof: Proof, step: Step) -> Representatives:
    """Pairs of which one has at least the delta of any adjacent pair, at every eps and eps_prv.

    Theorem: where for every set S of outputs Pr[S | u] moves in one direction with u_i (`motion`),
    Pr[S | u] - e^eps_prv Pr[S | u'] is largest where u'_i - u_i is least or largest, so a set of
    pairs may be replaced by these ends. So it may where delta depends on u' - u alone, and is
    largest at ends of each change; then one pair with this change is enough.

    Step: "parts": one for each of `all_sets`.
    """
    motion, found = _motion(proof), []
    for pairs in undivided(as_list(step["parts"], "parts"), motion):
        for low, high in (extent(zone, "change") for zone in pairs.zones if len(zone) > 1):
            if low < high or not motion.is_shift:
                raise Refuted("a set of more pairs than one")
        found.append(next(pairs.vertices()))
    return Representatives(tuple(dict.fromkeys(found)))


def every_real_pair(proof: Proof, step: Step, found: Distributions) -> Private:
    """delta of all adjacent pairs of real inputs, bounded part by part from vertices (`sets`).

    Step: "eps_prv", "delta", "parts": one for each of `all_sets`; one premise: distributions for
    all vertices.
    """
    motion = _motion(proof)
    if proof.machine.reals:
        raise BadProof("intervals of real outputs do not bound delta")
    eps_prv, delta = claimed(step)
    # Of outputs that no vertex can have f_o is 0.
    others = [] if motion.ends <= {(output,) for output in found.outputs} else [0]
    largest, count = largest_of(found, eps_prv, others), 0
    growth = growth_bound(eps_prv, found.places, above=True)
    for pairs in undivided(as_list(step["parts"], "parts"), motion):
        count += 1
        error = error_of(motion, pairs, found.eps, growth)
        most = floor((delta - error) * 2**found.places)
        for pair in pairs.vertices():
            if largest(*pair) > most:
                raise Refuted(f"the bound of delta around {pair[0]}, {pair[1]} is larger")
    return Private(found.eps, eps_prv, delta, None, count, in_sets=True)


def _motion(proof: Proof) -> Motion:
    if proof.pairs is not None:
        raise BadProof("listed pairs are no sets")
    return Motion(proof.machine)
