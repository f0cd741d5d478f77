"""Bounds of delta for machines with real outputs.

For inputs u, u' and a label (`published`) let f, g be the measures of z, and a = e^eps_prv. Then

    delta_{u,u'} <= sum over labels of the integral of max(0, f - a g),

as outputs follow from z. Where f and g are sums, the terms are paired in any way: the integral is
at most the sum of theirs. Let f = p f_1 ... f_k and g = q g_1 ... g_k.

1. Without functions the integral is max(0, p - a q). At most it is the mass of f.
2. If p <= e^b0 q and f_i <= e^b_i g_i everywhere: 0 if the sum of all b is at most eps_prv.
3. If only f_1 differs from g_1, and f_1 / g_1 falls: let cuts part the line into cells with the
   masses F_i, G_i of f and g. For some c in some cell i the integral is that of f - a g up to c
   (`ratios`): over the cells before, plus a part of cell i, where f G_j <= F_j g for the cell j
   before, so f - a g <= f (1 - a G_j / F_j). Hence the integral is at most the largest
   sum_(j < i) (F_j - a G_j) + F_i max(0, 1 - a G_(i-1) / F_(i-1)), with 1 as the factor of F_0.
   Mirrored, if f_1 / g_1 rises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import pairwise, zip_longest

from flint import arb

from dipapprox.kernel.budget import spend
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.published import Label, Published
from dipapprox.kernel.ratios import Ratios


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
            ratio = growth * other / mass
            own = (1 - ratio).nonnegative_part() if ratio.is_finite() else arb(1)
            # Without functions the ratio is the same everywhere.
            reached = before + mass * (own if self.functions is None else factor)
            largest, factor = largest.max(reached.upper()), own
            before += mass - growth * other
        return largest


class Excesses:
    """The labels of pairs of inputs, for functions of a graph."""

    def __init__(self, graph: Graph, eps: Fraction, eps_prv: Fraction) -> None:
        self._graph = graph
        self._eps_prv = eps_prv
        self._ratios = Ratios(graph, eps)
        self._known: dict[tuple[Published, Published | None], Excess | None] = {}

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
