"""Bounds of delta for machines with real outputs.

For inputs u, u' and a label (`published`) let f, g be the measures of z, and a = e^eps_prv. Then

    delta_{u,u'} <= sum over labels of the integral of max(0, f - a g),

as outputs follow from z. Where f and g are sums, the terms are paired in any way: the integral is
at most the sum of theirs. Let f = p f_1 ... f_k and g = q g_1 ... g_k.

1. Without functions the integral is max(0, p - a q). At most it is the mass of f.
2. If p <= e^b0 q and f_i <= e^b_i g_i everywhere: 0 if the sum of all b is at most eps_prv.
3. If only f_1 differs from g_1, and f_1 / g_1 falls: let cuts part the line into cells with the
   masses F_i, G_i of f and g. For some c in some cell i the integral is that of f - a g up to c
   (as below): over the cells before, plus a part of cell i, where f G_j <= F_j g for the cell j
   before, so f - a g <= f (1 - a G_j / F_j). Hence the integral is at most the largest
   sum_(j < i) (F_j - a G_j) + F_i max(0, 1 - a G_(i-1) / F_(i-1)), with 1 as the factor of F_0,
   over the i with F_k <= a G_k for all k > i: else f > a g somewhere in cell k, and c is not in i.
   Mirrored, if f_1 / g_1 rises.

How two functions f, g >= 0 compare, or two scalars, as far as their making tells:

    price     b >= 0 with f <= e^b g everywhere
    way -1    f / g falls: f(s) g(t) >= f(t) g(s) for almost all s < t
    way 1     f / g rises: f(s) g(t) <= f(t) g(s)

Theorem (falls; mirrored for rises): for every a >= 0 there is a c in [-inf, inf] such that
f - a g >= 0 before c and f - a g <= 0 after it, almost everywhere. For if f(t) > a g(t) and s < t,
then f(s) g(t) >= f(t) g(s) >= a g(t) g(s), so f(s) >= a g(s) where g(t) > 0; and where g(t) = 0,
f(t) g(s) <= 0 says g(s) = 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import pairwise, zip_longest
from typing import NamedTuple

from flint import arb

from dipapprox.kernel.adjacency import Input, Inputs
from dipapprox.kernel.balls import precision, to_ball, upper_at
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import Refuted
from dipapprox.kernel.evaluate import evaluate, most_factors
from dipapprox.kernel.forward import Run
from dipapprox.kernel.grid import accuracy
from dipapprox.kernel.judgements import Private
from dipapprox.kernel.laws import FAMILIES
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.proofs import Proof, Step, claimed, growth_bound, pairs_of, positive
from dipapprox.kernel.published import Label, Published, published
from dipapprox.kernel.reading import as_integer, ascending
from dipapprox.kernel.signs import Signs


class Comparison(NamedTuple):
    """What is known of f and g: a price, or None; and all ways that are."""

    price: Fraction | None = None
    ways: frozenset[int] = frozenset()


SAME = Comparison(Fraction(0), frozenset({-1, 1}))


class Ratios:
    """Comparisons of nodes of a graph at one eps > 0."""

    def __init__(self, graph: Graph, eps: Fraction) -> None:
        self._graph = graph
        self._eps = eps
        self._places: dict[Node, Fraction] = {}
        self._known: dict[tuple[Node, Node], Comparison] = {}

    def place(self, number: Node) -> Fraction:
        """Return the least mean of the laws that a node is made of; 0 if there are none."""
        if number not in self._places:
            node = self._graph.nodes[number]
            own = node.data[0].mean if node.kind == "density" else Fraction(0)
            found = [self.place(part) for part in self._graph.parts_of(number)]
            self._places[number] = min(found, default=own)
        return self._places[number]

    def compare(self, f: Node, g: Node) -> Comparison:
        """Compare two nodes."""
        if f == g:
            return SAME
        if (f, g) not in self._known:
            self._known[f, g] = self._compared(f, g)
        return self._known[f, g]

    def compare_all(self, pairs: Iterable[tuple[Node, Node]]) -> Comparison:
        """Compare the product of the first ones of some pairs with that of the second ones."""
        found = [self.compare(*pair) for pair in pairs]
        prices = [each.price for each in found if each.price is not None]
        price = sum(prices, Fraction(0)) if len(prices) == len(found) else None
        return Comparison(price, SAME.ways.intersection(*(each.ways for each in found)))

    def _compared(self, f: Node, g: Node) -> Comparison:
        match self._graph.nodes[f], self._graph.nodes[g]:
            case ("density", _, (law, factor)), ("density", _, (other, size)) if law.is_like(other):
                # Laws are log-concave (`laws`).
                shift = (law.mean - other.mean) / law.scale(self._eps)
                sign = (shift > 0) - (shift < 0)
                bounded = factor <= size and sign in (0, *FAMILIES[law.family].shifts)
                ways = {way for way in SAME.ways if way * sign >= 0}
                return Comparison(abs(shift) if bounded else None, frozenset(ways))
            case ("restrict", (inner,), ends), ("restrict", (other_inner,), other_ends):
                # Of indicators: if t is in that of f and s < t in that of g, both are in both, as
                # one interval begins and ends no later than the other.
                found = self.compare(inner, other_inner)
                (start, end), (begin, stop) = (
                    ((low is not None, low or 0), (high is None, high or 0))
                    for low, high in (ends, other_ends)
                )
                ways = {-1} if start <= begin and end <= stop else set()
                ways |= {1} if start >= begin and end >= stop else set()
                price = found.price if begin <= start and end <= stop else None
                return Comparison(price, found.ways & ways)
            case ("running", (inner,), left), ("running", (other_inner,), way) if left == way:
                # For s < t, of integrals F, G from the left: F(s) (G(t) - G(s)) is the integral
                # of f(x) g(y) over x <= s < y <= t, that of f(y) g(x) is (F(t) - F(s)) G(s).
                return self.compare(inner, other_inner)
            case ("total", (inner,), _), ("total", (other_inner,), _):
                return Comparison(self.compare(inner, other_inner).price)
            case ("rational", _, (p,)), ("rational", _, (q,)) if 0 <= p <= q:
                return Comparison(Fraction(0))
            case ("product", *ours), ("product", *theirs):
                return self._products(
                    *(Counter(dict(zip(*own, strict=True))) for own in (ours, theirs))
                )
            case _:
                return Comparison()

    def _products(self, ours: Counter[Node], theirs: Counter[Node]) -> Comparison:
        """Pair up the factors that are not common: from left to right, though any pairs do."""
        sides = [ours - theirs, theirs - ours]
        spend(20 * sum(side.total() for side in sides))
        left, right = (sorted(side.elements(), key=self._order) for side in sides)
        if len(left) != len(right) or self._graph.minus_one in ours | theirs:
            return Comparison()
        return self.compare_all(zip(left, right, strict=True))

    def _order(self, number: Node) -> tuple[Node, Fraction]:
        """What a function is when its first mean is moved to 0, and where that is."""
        node, place = self._graph.nodes[number], self.place(number)
        if node.kind == "total":
            return self._order(*node.parts)
        return self._graph.moved(number, Fraction(1), place), place


@dataclass(frozen=True, slots=True)
class Excess:
    """What bounds the integral for one label.

    Attributes:
        scalars: p and q, times the masses of functions that are the same.
        functions: f_1 and g_1, if they differ.
        way: Whether their ratio falls (-1) or rises (1).
    """

    scalars: tuple[Node, Node]
    functions: tuple[Node, Node] | None = None
    way: int = -1

    def cells(self, graph: Graph, cuts: Sequence[Fraction]) -> list[tuple[Node, Node]]:
        """Return (F_i, G_i) for ascending cuts, in the order in which the ratio falls."""
        if self.functions is None:
            return [self.scalars]
        found = []
        for low, high in pairwise([None, *cuts, None]):
            parts = (graph.total(graph.restrict(f, low, high)) for f in self.functions)
            mass, other = map(graph.times, self.scalars, parts)
            found.append((mass, other))
        return found[:: -self.way]

    def bound(self, cells: Sequence[tuple[arb, arb]], growth: arb) -> arb:
        """Return a ball whose upper end is not below the integral, if `growth` is at most a."""
        largest, before, factor = arb(0), arb(0), arb(1)
        for mass, other in cells:
            ratio, excess = growth * other / mass, mass - growth * other
            if excess > 0:
                largest = arb(0)  # c is in no cell before
            own = (1 - ratio).nonnegative_part() if ratio.is_finite() else arb(1)
            # Without functions the ratio is the same everywhere.
            reached = before + mass * (own if self.functions is None else factor)
            largest, factor = largest.max(reached.upper()), own
            before += excess
        return largest


class Excesses:
    """The labels of pairs of inputs, for functions of a graph."""

    def __init__(self, graph: Graph, eps: Fraction, eps_prv: Fraction) -> None:
        self._graph = graph
        self._eps_prv = eps_prv
        self._ratios = Ratios(graph, eps)
        self._known: dict[tuple[Published, Published | None], Excess | None] = {}

    def of_pairs(
        self, run: Run, pairs: Iterable[Inputs]
    ) -> tuple[dict[tuple[Excess, ...], Inputs], int]:
        """Return sums that pairs have, each with one that has it; and how many pairs there are."""
        found: dict[Input, Mapping[Label, list[Published]]] = {}
        sums: dict[tuple[Excess, ...], Inputs] = {}
        count = 0
        for pair in pairs:
            spend(100)
            count += 1
            for input in pair:
                if input not in found:
                    found[input] = published(run, input)
            sums.setdefault(self.of_pair(found[pair[0]], found[pair[1]]), pair)
        return sums, count

    def of_pair(
        self, first: Mapping[Label, list[Published]], second: Mapping[Label, list[Published]]
    ) -> tuple[Excess, ...]:
        """Return what the bounds of a pair add up over; what is 0 is left out."""
        found: list[Excess] = []
        for label, own in first.items():
            parts: list[Excess] = []
            spend(10 * len(own))
            for f, g in zip_longest(own, second.get(label, [])[: len(own)]):
                places = [self._ratios.place(function) for function in f.functions]
                like = g is not None and f.shares == g.shares
                key = self._moved(f, places), self._moved(g, places) if like else None
                if key not in self._known:
                    self._known[key] = self._excess(*key)
                excess = self._known[key]
                parts += [] if excess is None else [excess]
            if parts and None not in label:
                # One point. What was left out is not above 0.
                p, q = zip(*(each.scalars for each in parts), strict=True)
                parts = [Excess((reduce(self._graph.plus, p), reduce(self._graph.plus, q)))]
            found += parts
        return tuple(found)

    def _moved(self, f: Published, places: Sequence[Fraction]) -> Published:
        """Move every z_i by a number, for f and g alike: integrals stay what they are."""
        both = zip(f.functions, places, strict=True)
        moved = [self._graph.moved(function, Fraction(1), place) for function, place in both]
        return Published((), f.scalar, tuple(moved))

    def _excess(self, f: Published, g: Published | None) -> Excess | None:
        if g is None:
            return Excess((self._mass(f.scalar, f.functions), self._graph.zero))
        pairs = list(zip(f.functions, g.functions, strict=True))
        price = self._ratios.compare_all([(f.scalar, g.scalar), *pairs]).price
        if price is not None and price <= self._eps_prv:
            return None
        ways = self._ratios.compare_all(pairs).ways
        differ = [(one, other) for one, other in pairs if one != other]
        if len(differ) > 1 or not ways:
            return self._excess(f, None)
        same = [one for one, other in pairs if one == other]
        scalars = self._mass(f.scalar, same), self._mass(g.scalar, same)
        return Excess(scalars, differ[0] if differ else None, min(ways))

    def _mass(self, scalar: Node, functions: Sequence[Node]) -> Node:
        return reduce(self._graph.times, map(self._graph.total, functions), scalar)


def published_pairs(proof: Proof, step: Step) -> Private:
    """For machines with real outputs every delta_{u,u'} is bounded as above.

    Step: "eps", "eps_prv", "delta", "bits", "cuts".
    """
    eps, bits = positive(step["eps"], "eps"), as_integer(step["bits"], "bits")
    (eps_prv, delta), cuts = claimed(step), ascending(step["cuts"])
    graph = Graph()
    run = Run(proof.machine, Signs.at(eps), graph)
    sums, count = Excesses(graph, eps, eps_prv).of_pairs(run, pairs_of(proof))
    cells = {each: each.cells(graph, cuts) for own in sums for each in own}
    wanted = {node for own in cells.values() for nodes in own for node in nodes}
    aim, places = accuracy(bits, most_factors(graph, wanted)), bits + 16
    values = evaluate(graph, wanted, eps, aim)
    with precision(aim.precision):
        growth = to_ball(growth_bound(eps_prv, places, above=False))
        bounds = {
            each: upper_at(each.bound([(values[x], values[y]) for x, y in own], growth), places)
            for each, own in cells.items()
        }
    for parts, pair in sums.items():
        if sum(bounds[each] for each in parts) > delta * (1 << places):
            raise Refuted(f"the bound of delta for {pair[0]}, {pair[1]} is larger")
    return Private(eps, eps_prv, delta, proof.pairs, count, proof.in_sets)
