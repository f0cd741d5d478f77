"""How two functions f, g >= 0 compare, or two scalars, as far as their making tells.

    price    b >= 0 with f <= e^b g everywhere
    falls    f(s) g(t) >= f(t) g(s) for almost all s < t;  rises: <= instead

Theorem (falls; mirrored for rises): for every a >= 0 there is a c in [-inf, inf] such that
f - a g >= 0 before c and f - a g <= 0 after it, almost everywhere. For if f(t) > a g(t) and s < t,
then f(s) g(t) >= f(t) g(s) >= a g(t) g(s), so f(s) >= a g(s) where g(t) > 0; and where g(t) = 0,
f(t) g(s) <= 0 says g(s) = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import Refused
from dipapprox.kernel.laws import FAMILIES
from dipapprox.kernel.nodes import Graph, Node

MOST_FACTORS = 10_000
"""Of products that are compared."""

DEEPEST = 200
"""How deep functions that are compared may stand in each other."""

Place = tuple[bool, Fraction]
Powers = tuple[tuple[Node, int], ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is known of f and g; None and False say nothing."""

    price: Fraction | None = None
    falls: bool = False
    rises: bool = False


class Ratios:
    """Comparisons of nodes of a graph at one eps > 0."""

    def __init__(self, graph: Graph, eps: Fraction) -> None:
        self._graph = graph
        self._eps = eps
        self._depth = 0
        self._places: dict[Node, Fraction] = {}
        self._known: dict[tuple[Node, Node], Comparison] = {}

    def place(self, number: Node) -> Fraction:
        """Return the least mean of the laws that a node is made of; 0 if there are none."""
        if number not in self._places:
            node = self._graph.nodes[number]
            own = node.data[0].mean if node.kind == "density" else Fraction(0)
            self._deeper(1)
            found = [self.place(part) for part in self._graph.parts_of(number)]
            self._deeper(-1)
            self._places[number] = min(found, default=own)
        return self._places[number]

    def compare(self, f: Node, g: Node) -> Comparison:
        """Compare two nodes."""
        if f == g:
            return Comparison(Fraction(0), falls=True, rises=True)
        if (f, g) not in self._known:
            self._deeper(1)
            self._known[f, g] = self._compared(f, g)
            self._deeper(-1)
        return self._known[f, g]

    def _compared(self, f: Node, g: Node) -> Comparison:
        match self._graph.nodes[f], self._graph.nodes[g]:
            case ("density", _, (law, factor)), ("density", _, (other, size)) if law.is_like(other):
                # Laws are log-concave (`laws`).
                shift = (law.mean - other.mean) / law.scale(self._eps)
                sign = (shift > 0) - (shift < 0)
                bounded = factor <= size and sign in (0, *FAMILIES[law.family].shifts)
                return Comparison(abs(shift) if bounded else None, shift <= 0, shift >= 0)
            case ("restrict", (inner,), ends), ("restrict", (other_inner,), other_ends):
                # Of indicators: if t is in that of f and s < t in that of g, both are in both, as
                # one interval begins and ends no later than the other.
                found = self.compare(inner, other_inner)
                (start, end), (begin, stop) = _ends(*ends), _ends(*other_ends)
                return Comparison(
                    found.price if begin <= start and end <= stop else None,
                    falls=found.falls and start <= begin and end <= stop,
                    rises=found.rises and start >= begin and end >= stop,
                )
            case ("running", (inner,), left), ("running", (other_inner,), way) if left == way:
                # For s < t, of integrals F, G from the left: F(s) (G(t) - G(s)) is the integral
                # of f(x) g(y) over x <= s < y <= t, that of f(y) g(x) is (F(t) - F(s)) G(s).
                return self.compare(inner, other_inner)
            case ("total", (inner,), _), ("total", (other_inner,), _):
                return Comparison(self.compare(inner, other_inner).price)
            case ("rational", _, (p,)), ("rational", _, (q,)) if 0 <= p <= q:
                return Comparison(Fraction(0))
            case ("product", *ours), ("product", *theirs):
                return self._products(*(tuple(zip(*own, strict=True)) for own in (ours, theirs)))
            case _:
                return Comparison()

    def _products(self, ours: Powers, theirs: Powers) -> Comparison:
        """Pair up the factors that are not common: from left to right, though any pairs do."""
        sides = []
        spend(sum(min(count, MOST_FACTORS) for _, count in ours + theirs))
        for powers, others in ((ours, dict(theirs)), (theirs, dict(ours))):
            left = [(node, count - others.get(node, 0)) for node, count in powers]
            if sum(max(count, 0) for _, count in left) > MOST_FACTORS:
                raise Refused(f"products of more than {MOST_FACTORS} factors are compared")
            sides.append(sorted((n for n, count in left for _ in range(count)), key=self._order))
        if len(sides[0]) != len(sides[1]) or self._graph.minus_one in dict(ours + theirs):
            return Comparison()
        found = [self.compare(one, other) for one, other in zip(*sides, strict=True)]
        prices = [each.price for each in found if each.price is not None]
        return Comparison(
            sum(prices, Fraction(0)) if len(prices) == len(found) else None,
            falls=all(each.falls for each in found),
            rises=all(each.rises for each in found),
        )

    def _order(self, number: Node) -> tuple[Node, Fraction]:
        """What a function is when its first mean is moved to 0, and where that is."""
        node, place = self._graph.nodes[number], self.place(number)
        if node.kind == "total":
            return self._order(*node.parts)
        return self._graph.moved(number, Fraction(1), place), place

    def _deeper(self, change: int) -> None:
        self._depth += change
        if self._depth > DEEPEST:
            raise Refused("functions too deep in each other are compared")


def _ends(lower: Fraction | None, upper: Fraction | None) -> tuple[Place, Place]:
    """The ends of an interval such that they compare: -inf is first, inf is last."""
    zero = Fraction(0)
    return (lower is not None, lower or zero), (upper is None, upper or zero)
