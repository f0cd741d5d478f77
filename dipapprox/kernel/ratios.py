"""How two functions f, g >= 0 compare, or two scalars, as far as their making tells.

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
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from dipapprox.kernel.budget import spend
from dipapprox.kernel.laws import FAMILIES
from dipapprox.kernel.nodes import Graph, Node


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
