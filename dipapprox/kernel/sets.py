"""Sets of pairs (u, u') of inputs that are real numbers, in parts, each with a bound of delta.

Of a real input, u_i, u'_i and u'_i - u_i lie between two numbers each: a `Zone`, which is convex. A
set is a product of zones, with values of the other inputs. For a set S of outputs and a = e^eps_prv
let f_S(u, u') = P_S(u) - a P_S(u'); delta_{u,u'} is the largest f_S.

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product, zip_longest

from dipapprox.kernel.adjacency import Input, Number, Range, Value
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.judgements import Distributions, Judgement, Private, Representatives
from dipapprox.kernel.machine import Machine
from dipapprox.kernel.motion import Motion
from dipapprox.kernel.proofs import Proof, Step, claimed, growth_bound
from dipapprox.kernel.reading import as_integer, as_list, as_number, as_word

DEEPEST = 200
"""How often a set is cut."""

MOST_VERTICES = 10_000
"""Of one part."""

Ends = tuple[Fraction, Fraction]

SIDES = ("first", "second", "change")


@dataclass(frozen=True, slots=True)
class Zone:
    """Pairs of numbers: where the first, the second and their change (second - first) may be.

    All ends are attained, by `tight`.
    """

    first: Ends
    second: Ends
    change: Ends

    @property
    def is_point(self) -> bool:
        """Whether it is one pair."""
        return self.first[0] == self.first[1] and self.second[0] == self.second[1]

    def cut(self, side: str, at: Fraction) -> tuple[Zone | None, Zone | None]:
        """Return the pairs where a side is at most a number, and where it is at least that."""
        sides = {each: getattr(self, each) for each in SIDES}
        low, high = sides[side]
        below, above = (low, min(high, at)), (max(low, at), high)
        return tight(**{**sides, side: below}), tight(**{**sides, side: above})

    def vertices(self) -> set[tuple[Fraction, Fraction]]:
        """Return points whose convex hull is the zone; all lie in it.

        As all ends are attained, every vertex has a first or second number at an end.
        """
        (low, high), (low2, high2), (least, most) = self.first, self.second, self.change
        found = set()
        for u in self.first:
            found |= {(u, max(low2, u + least)), (u, min(high2, u + most))}
        for u in self.second:
            found |= {(max(low, u - most), u), (min(high, u - least), u)}
        return found


def tight(first: Ends, second: Ends, change: Ends) -> Zone | None:
    """Return a zone, whose ends may say too little; None if it is empty.

    Bounds of two differences add up to one of the third (u, u' and 0 being three numbers); as there
    are three, that is all that follows (shortest paths have at most two edges).
    """
    (a, b), (c, d), (e, f) = first, second, change
    ends = (
        (max(a, c - f), min(b, d - e)),
        (max(c, a + e), min(d, b + f)),
        (max(e, c - b), min(f, d - a)),
    )
    return None if any(low > high for low, high in ends) else Zone(*ends)


@dataclass(frozen=True, slots=True)
class Sets:
    """A set of pairs: what its inputs are, by place, zones or pairs of values; `left` of l1."""

    cells: tuple[Zone | tuple[Value, Value], ...]
    left: Number | None = None

    def cut(self, place: int, side: str, at: Fraction) -> tuple[Sets | None, Sets | None]:
        """Return the pairs where a side of an input is at most a number, and at least that."""
        below, above = self.zone(place).cut(side, at)
        return self._with(place, below), self._with(place, above)

    def ends(self, place: int) -> tuple[Sets | None, Sets | None]:
        """Return where the change of an input is least, and where it is largest; of l1: no larger,
        and no less, than 0, if it can be: so far a move makes the sum of the changes no larger.
        """
        zone = self.zone(place)
        low, high = zone.change
        if self.left is not None:
            low, high = max(low, Fraction(0)), min(high, Fraction(0))
        least, most = zone.cut("change", low)[0], zone.cut("change", high)[1]
        return self._with(place, least), self._with(place, most)

    def _with(self, place: int, zone: Zone | None) -> Sets | None:
        """Return the set with another zone; None if it is empty, or changes add up to too much."""
        if zone is None:
            return None
        cells = (*self.cells[:place], zone, *self.cells[place + 1 :])
        changes = [cell.change for cell in cells if isinstance(cell, Zone)]
        least = sum((max(a, -b, Fraction(0)) for a, b in changes), Fraction(0))
        if self.left is not None and least > self.left:
            return None
        return Sets(cells, self.left)

    def zone(self, place: int) -> Zone:
        """Return the zone of an input."""
        cell = self.cells[place] if 0 <= place < len(self.cells) else None
        if not isinstance(cell, Zone):
            raise BadProof("no real input is there")
        return cell

    def vertices(self) -> Iterator[tuple[Input, Input]]:
        """Yield the vertices of all zones together."""
        sides = [
            sorted(cell.vertices()) if isinstance(cell, Zone) else [cell] for cell in self.cells
        ]
        count = 1
        for side in sides:
            count *= len(side)
            if count > MOST_VERTICES:
                raise Refused(f"a part with more than {MOST_VERTICES} vertices")
        for vertex in product(*sides):
            yield tuple([_plain(u) for u, _ in vertex]), tuple([_plain(v) for _, v in vertex])


def all_sets(machine: Machine, is_shift: bool) -> Iterator[Sets]:
    """Yield sets that hold all adjacent pairs; of finite inputs every pair of values.

    If delta depends on changes alone, with convex sublevel sets (`motion`), they hold what is
    enough for all changes: of an endless range a part that is as wide as changes, and of those that
    l1 allows, if ranges are so wide, changes of one input, whose hull has all.
    """
    norm, radius = machine.adjacency.norm, machine.adjacency.radius
    if norm == "pairs":
        raise Refused("pairs that are listed are no sets")
    real = {k: domain for k, (_, domain) in enumerate(machine.inputs) if isinstance(domain, Range)}
    domains = [domain for _, domain in machine.inputs if not isinstance(domain, Range)]
    spend(100 * sum([len(domain) ** 2 for domain in domains]))
    for pairs in product(*(product(domain, domain) for domain in domains)):
        spend(10 + len(machine.inputs))
        prices = [machine.adjacency.price(u, v) for u, v in pairs]
        known = [price for price in prices if price is not None]
        if len(known) < len(prices) or not machine.adjacency.allows(sum(known)):
            continue
        left = Fraction(radius - sum(known))
        ranges = {k: _ends(domain, left, norm, is_shift) for k, domain in real.items()}
        alone = norm == "l1" and is_shift and all(b - a >= left for a, b in ranges.values())
        count = min(int(left), len(real)) if norm == "l0" else 1 if alone else len(real)
        for moving in combinations(real, min(count, len(real))):
            values = iter(pairs)
            cells: list[Zone | tuple[Value, Value]] = []
            for k in range(len(machine.inputs)):
                if k in ranges:
                    low, high = ranges[k]
                    most = high - low if norm in ("all", "l0") else min(high - low, left)
                    most *= k in moving
                    change = -most * (norm != "increasing"), most * (norm != "decreasing")
                    cells.append(Zone((low, high), (low, high), change))
                else:
                    cells.append(next(values))
            yield Sets(tuple(cells), left if norm == "l1" and len(moving) > 1 else None)


def _ends(domain: Range, most: Fraction, norm: str, is_shift: bool) -> Ends:
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
        yield from _undivided(part, pairs, motion, 0)


def _undivided(part: object, pairs: Sets | None, motion: Motion, depth: int) -> Iterator[Sets]:
    spend(20 + 10 * len(motion.machine.inputs))
    if pairs is None or part is None:
        if part is not None:
            raise BadProof("an empty set in parts")
        yield from [] if pairs is None else [pairs]
        return
    if depth > DEEPEST:
        raise Refused("a set in too many parts")
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
        yield from _undivided(each, half, motion, depth + 1)


class Largest:
    """The largest f_S at pairs of inputs with known distributions, and around them.

    Attributes:
        growth: At least e^eps_prv.
    """

    def __init__(self, motion: Motion, found: Distributions, eps_prv: Fraction) -> None:
        self._motion = motion
        self._found = found
        self._none = [] if motion.outputs <= set(found.outputs) else [0]
        self._below, self._shift = growth_bound(eps_prv, found.places, above=False)
        above, shift = growth_bound(eps_prv, found.places, above=True)
        self.growth = Fraction(above, 1 << shift)

    def error(self, pairs: Sets) -> Fraction:
        """Return what f_S may be above its largest value at the vertices of a set."""
        error = Fraction(0)
        for place, cell in enumerate(pairs.cells):
            if isinstance(cell, Zone) and not cell.is_point:
                (a, b), (c, d) = cell.first, cell.second
                squares = (b - a) ** 2 + self.growth * (d - c) ** 2
                error += self._motion.curvature(place, self._found.eps) * squares / 8
        return error

    def is_at_most(self, most: Fraction, first: Input, second: Input) -> bool:
        """Whether f_S(v, v') is at most a number for every S but {}."""
        bounds = self._found.bounds
        spend(20 + len(self._found.outputs) // 8)
        if first not in bounds or second not in bounds:
            raise Refuted("an input of a pair has no distribution")
        pairs = zip(bounds[first][1], bounds[second][0], strict=True)
        terms = [high - (self._below * low >> self._shift) for high, low in pairs]
        # For outputs that no vertex can have it is 0.
        largest = sum([term for term in terms if term > 0]) or max(terms + self._none)
        return largest * most.denominator <= most.numerator << self._found.places


def representatives(proof: Proof, premises: Sequence[Judgement], step: Step) -> Representatives:
    """Pairs of which one has at least the delta of any adjacent pair, at every eps and eps_prv.

    Theorem: where for every set S of outputs Pr[S | u] moves in one direction with u_i (`motion`),
    Pr[S | u] - e^eps_prv Pr[S | u'] is largest where u'_i - u_i is least or largest, so a set of
    pairs may be replaced by these ends. So it may where delta depends on u' - u alone, and is
    largest at ends of each change; then one pair with this change is enough.

    Step: "parts": one for each of `all_sets`.
    """
    motion, found = _motion(proof, premises), []
    for pairs in undivided(as_list(step["parts"], "parts"), motion):
        zones = [cell for cell in pairs.cells if isinstance(cell, Zone)]
        fixed = all(zone.change[0] == zone.change[1] for zone in zones)
        if not (motion.is_shift and fixed) and not all(zone.is_point for zone in zones):
            raise Refuted("a set of more pairs than one")
        found.append(next(pairs.vertices()))
    return Representatives(tuple(dict.fromkeys(found)))


def every_real_pair(proof: Proof, premises: Sequence[Judgement], step: Step) -> Private:
    """delta of all adjacent pairs of real inputs, bounded part by part from vertices (`sets`).

    Step: "eps_prv", "delta", "parts": one for each of `all_sets`; one premise: distributions for
    all vertices.
    """
    match premises:
        case [Distributions() as found]:
            motion = _motion(proof, [])
        case _:
            raise BadProof("one premise is wanted: distributions")
    if proof.machine.reals:
        raise BadProof("intervals of real outputs do not bound delta")
    eps_prv, delta = claimed(step)
    largest, count = Largest(motion, found, eps_prv), 0
    for pairs in undivided(as_list(step["parts"], "parts"), motion):
        count += 1
        most = delta - largest.error(pairs)
        for pair in pairs.vertices():
            if not largest.is_at_most(most, *pair):
                raise Refuted(f"the bound of delta around {pair[0]}, {pair[1]} is larger")
    return Private(found.eps, eps_prv, delta, None, count, in_sets=True)


def _motion(proof: Proof, premises: Sequence[Judgement]) -> Motion:
    if premises:
        raise BadProof("no premise is wanted")
    if proof.pairs is not None:
        raise BadProof("listed pairs are no sets")
    return Motion(proof.machine)


def _plain(value: Value) -> Value:
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value
