"""Bounds of delta for machines with real outputs.

For inputs u, u' and a label (`published`) let f, g be the measures of z, and a = e^eps_prv. Then

    delta_{u,u'} <= sum over labels of the integral of max(0, f - a g),

as outputs follow from z. Where f and g are sums, the terms are paired in any way: the integral is
at most the sum of theirs. Let f = p f_1 ... f_k and g = q g_1 ... g_k.

1. Without functions the integral is max(0, p - a q). At most it is the mass of f.
2. If p <= e^b0 q and f_i <= e^b_i g_i everywhere: 0 if the sum of all b is at most eps_prv.
3. If only f_1 differs from g_1, it is that of max(0, p f_1 - a q g_1), times the masses of what is
   the same: the integral over panels, cut until the sign is known.
4. If all that differ are densities of Gaussian laws, d_i deviations apart, the line through both
   means tells all: it is that of two such laws d apart, d^2 the sum of d_i^2. It grows with d, as
   smaller distances are made of larger ones by a factor and more noise (Dong, Roth, Su 2022).
5. If others differ, it is bounded by their losses (`several`).

From below it is what f and g are, where they are one product each.

A price is b >= 0 with f <= e^b g everywhere, or of two scalars, as far as their making tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial, reduce
from itertools import chain, zip_longest
from math import isqrt, prod
from typing import Any, cast

from flint import arb, arb_poly

from dipapprox.kernel.balls import between, lower_at, precision, to_ball, upper_at
from dipapprox.kernel.errors import Refused, Refuted, spend
from dipapprox.kernel.evaluate import evaluate, most_factors
from dipapprox.kernel.forward import Run
from dipapprox.kernel.grid import ZERO, accuracy
from dipapprox.kernel.judgements import Private, Violated
from dipapprox.kernel.laws import FAMILIES, Law
from dipapprox.kernel.machine import Inputs, Machine
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.panels import PLACES, Factor, whole
from dipapprox.kernel.proofs import (
    Proof,
    Step,
    claimed,
    growth_bound,
    named,
    pair_of,
    pairs_of,
    positive,
)
from dipapprox.kernel.published import Label, Published, added_up, published
from dipapprox.kernel.reading import as_integer
from dipapprox.kernel.signs import Signs

Sum = tuple[Node, ...]
MOST_DEPTH = 200  # halves of halves of a panel
LINE = 1 << 64  # distances are rounded up to multiples of 1 / `LINE`


class Prices:
    """Prices of nodes of a graph at one eps > 0."""

    def __init__(self, graph: Graph, eps: Fraction) -> None:
        self._graph, self._eps = graph, eps
        self.place, self.price = cache(self._place), cache(self._price)

    def _place(self, number: Node) -> Fraction:
        """Return the least mean of the laws that a node is made of; 0 if there are none."""
        node = self._graph.nodes[number]
        own = node.data[0].mean if node.kind == "density" else Fraction(0)
        return min(map(self.place, self._graph.parts_of(number)), default=own)

    def of_all(self, pairs: Iterable[tuple[Node, Node]]) -> Fraction | None:
        """Return the price of the product of the first ones of some pairs to that of the second."""
        prices = [self.price(*pair) for pair in pairs]
        known = [price for price in prices if price is not None]
        return sum(known, Fraction(0)) if len(known) == len(prices) else None

    def _price(self, f: Node, g: Node) -> Fraction | None:
        """Return the price of two nodes, if one is known."""
        if f == g:
            return Fraction(0)
        match self._graph.nodes[f], self._graph.nodes[g]:
            case ("density", _, (law, factor)), ("density", _, (other, size)) if law.is_like(other):
                shift = (law.mean - other.mean) / law.scale(self._eps)
                sign = (shift > 0) - (shift < 0)
                bounded = factor <= size and sign in (0, *FAMILIES[law.family].shifts)
                return abs(shift) if bounded else None
            case ("restrict", (inner,), (start, end)), ("restrict", (other_inner,), (begin, stop)):
                inside = begin is None or (start is not None and begin <= start)
                inside = inside and (stop is None or (end is not None and end <= stop))
                return self.price(inner, other_inner) if inside else None
            case ("running", (inner,), left), ("running", (other_inner,), way) if left == way:
                return self.price(inner, other_inner)
            case ("total", (inner,), _), ("total", (other_inner,), _):
                return self.price(inner, other_inner)
            case ("product", *ours), ("product", *theirs):
                return self._products(
                    *(Counter(dict(zip(*own, strict=True))) for own in (ours, theirs))
                )
        return None

    def _products(self, ours: Counter[Node], theirs: Counter[Node]) -> Fraction | None:
        """Pair up the factors that are not common: from left to right, though any pairs do."""
        sides = [ours - theirs, theirs - ours]
        spend(20 * sum(side.total() for side in sides))
        left, right = (sorted(side.elements(), key=self._order) for side in sides)
        if len(left) != len(right) or self._graph.minus_one in ours | theirs:
            return None
        return self.of_all(zip(left, right, strict=True))

    def _order(self, number: Node) -> tuple[Node, Fraction]:
        """What a function is when its first mean is moved to 0, and where that is."""
        place = self.place(number)
        return self._graph.moved(number, Fraction(1), place), place


class Excesses:
    """Integrals for pairs of inputs, of functions of a graph: from above, or from below."""

    def __init__(
        self, graph: Graph, eps: Fraction, eps_prv: Fraction, places: int, above: bool = True
    ) -> None:
        self._graph, self._eps, self._eps_prv, self._above = graph, eps, eps_prv, above
        self.made: tuple[Any, ...] = "excess", growth_bound(eps_prv, places, not above), above
        self._prices, self._known = Prices(graph, eps), cache(self._excess)

    def values(self, sums: Collection[Sum], bits: int) -> dict[Sum, int]:
        """Return bounds of some sums, on their side, in units of 2^-(bits + 16)."""
        nodes, bound = {node for own in sums for node in own}, upper_at if self._above else lower_at
        aim = accuracy(bits, most_factors(self._graph, nodes))
        with precision(aim.precision):
            values = evaluate(self._graph, nodes, self._eps, aim)
            found = {node: bound(value, bits + 16) for node, value in values.items()}
        return {own: sum(map(found.__getitem__, own)) for own in sums}

    def of_pair(
        self,
        first: Mapping[Label, list[Published]],
        second: Mapping[Label, list[Published]],
        added: bool = False,
    ) -> Sum:
        """Return what the bounds of a pair add up over; what is 0 or nothing tells is left out."""
        found, nothing = list[Node](), Published((), self._graph.zero, ())
        for label, terms in first.items():
            parts: list[Node] = []
            own, theirs = (
                added_up(self._graph, each) if added and each else each
                for each in (terms, second.get(label, []))
            )
            if self._above:
                theirs = theirs[: len(own)]
            elif None in label and not (len(own) == 1 >= len(theirs) and alike(own + theirs)):
                continue
            spend(10 * len(own))
            for one, g in zip_longest(own, theirs):
                f = one or nothing
                places = [self._prices.place(function) for function in f.functions]
                other = self._moved(g, places) if g is not None and alike([f, g]) else None
                excess = self._known(self._moved(f, places), other, added)
                parts += [] if excess is None else [excess]
            if parts and None not in label:
                # One point. What was left out is not above 0.
                p, q = zip(*(self._graph.nodes[each].parts for each in parts), strict=True)
                parts = [self._part(reduce(self._graph.plus, p), reduce(self._graph.plus, q))]
            found += parts
        return tuple(found)

    def _moved(self, f: Published, places: Sequence[Fraction]) -> Published:
        """Move every z_i by a number, for f and g alike: integrals stay what they are."""
        both = zip(f.functions, places, strict=True)
        moved = [self._graph.moved(function, Fraction(1), place) for function, place in both]
        return Published((), f.scalar, tuple(moved))

    def _excess(self, f: Published, g: Published | None, added: bool) -> Node | None:
        if g is None:
            return self._part(self._mass(f.scalar, f.functions), self._graph.zero)
        pairs = list(zip(f.functions, g.functions, strict=True))
        price = self._prices.of_all([(f.scalar, g.scalar), *pairs])
        if self._above and price is not None and price <= self._eps_prv:
            return None
        differ = [pair for pair in pairs if pair[0] != pair[1]]
        if len(differ) > 1:
            differ = self._on_a_line(differ) or differ
        if len(differ) > 1 and not added:
            return self._excess(f, None, added)
        same = [one for one, other in pairs if one == other]
        return self._part(self._mass(f.scalar, same), self._mass(g.scalar, same), *differ)

    def _on_a_line(self, pairs: Iterable[tuple[Node, Node]]) -> list[tuple[Node, Node]]:
        """Return one pair for several of Gaussian densities; none where others are among them."""
        shifts = [*_shifts(self._graph, self._eps, pairs)]
        if any(family != "Gauss" for family, *_ in shifts):
            return []
        square = sum([far**2 for _, far, *_ in shifts], Fraction(0))
        distance = Fraction(isqrt((square * LINE**2).__floor__()) + self._above, LINE)
        laws = [Law("Gauss", mean, Fraction(1), 0) for mean in (distance, Fraction(0))]
        sides = zip(laws, zip(*(factors for *_, factors in shifts), strict=True), strict=True)
        one, other = (self._graph.density(law, prod(own, start=Fraction(1))) for law, own in sides)
        return [(one, other)]

    def _part(self, p: Node, q: Node, *pairs: tuple[Node, Node]) -> Node:
        """Return the integral for p, q, times the masses of what is the same, and f_i, g_i."""
        kind, *data = self.made
        return self._graph.add(kind, (*chain(*pairs), p, q), *data)

    def _mass(self, scalar: Node, functions: Sequence[Node]) -> Node:
        return reduce(self._graph.times, map(self._graph.total, functions), scalar)


def _shifts(
    graph: Graph, eps: Fraction, pairs: Iterable[tuple[Node, Node]]
) -> Iterator[tuple[str, Fraction, tuple[Fraction, Fraction]]]:
    """Yield of densities that differ the family, how many scales they are apart, and their factors;
    no family of other functions."""
    for one, other in ([graph.nodes[each] for each in both] for both in pairs if len({*both}) > 1):
        if one.kind == other.kind == "density" and one.data[0].is_like(other.data[0]):
            (law, factor), (moved, size) = one.data, other.data
            yield law.family, abs(law.mean - moved.mean) / law.scale(eps), (factor, size)
        else:
            yield "", Fraction(0), (Fraction(0), Fraction(0))


def _has_no_end(graph: Graph, eps: Fraction, part: Node, pure: bool) -> bool:
    """Whether the integral of a part is what it is at any eps_prv, or, if `pure`, above 0 there."""
    *functions, _, q = graph.nodes[part].parts
    shifts = _shifts(graph, eps, zip(functions[::2], functions[1::2], strict=True))
    return q == graph.zero or (pure and any(name == "Gauss" and far for name, far, _ in shifts))


def noise(machine: Machine, eps: Fraction) -> tuple[str, Fraction] | None:
    """Return a law, which moved dominates all pairs of a machine, some of which has this pair.

    That is so where there is one label, and all that inputs move is means of independent numbers:
    Gaussian ones, by 4 as far as the largest distance; or one Laplace number. So far it is moved:
    the square in variances, or in scales.
    """
    graph, sizes = Graph(), set[tuple[str, Fraction]]()
    known = cache(partial(published, Run(machine, Signs.at(eps), graph)))
    for pair in pairs_of(Proof(machine, None), 150):
        match [[(label, f) for label, own in known(u).items() for f in own] for u in pair]:
            case [[(label, f)], [(same, g)]] if label == same and alike([f, g]):
                shifts = [*_shifts(graph, eps, zip(f.functions, g.functions, strict=True))]
            case _:
                return None
        families = {family for family, *_ in shifts}
        like = f.scalar == g.scalar and all(own == factor for *_, (own, factor) in shifts)
        if not (like and machine.adjacency.holds(*pair)) or (
            families - {"Gauss"} and not (families == {"Lap"} and len(shifts) == 1)
        ):
            return None
        for family in families:
            power = 2 if family == "Gauss" else 1
            sizes.add((family, sum([far**power for _, far, _ in shifts], Fraction(0))))
    family, size = max(sizes, default=("", Fraction(0)))
    alone = all(each == family for each, _ in sizes)
    return (family, size) if size and alone else None


def alike(terms: Iterable[Published]) -> bool:
    """Whether numbers are told by the same z."""
    return len({each.shares for each in terms}) == 1


def excess(factors: Sequence[Factor], p: arb, q: arb, growth: Fraction, above: bool) -> arb:
    """Enclose the integral of max(0, p f - growth q g); of several factors one end bounds it."""
    factor = q * to_ball(growth)
    if not factors:
        return (p - factor).nonnegative_part()
    (space, f, g), *others = factors
    if others:
        return cast(arb, named("several.bounded")(factors, p, q, growth, above))
    spend(10 * space.size)
    # Beyond the grid it is at most p f's.
    found = between(ZERO, p * (f.left.whole + f.right.whole))
    for one, other, half in zip(f.cells, g.cells, space.halves, strict=True):
        found += positive_part(one * p - other * factor) * half
    return found


def positive_part(held: arb_poly) -> arb:
    """Enclose the integral of max(0, f) from -1 to 1, by halves where the sign of f is not known.

    If f is <= v on a part it is at most v times its length; that ends it where f hardly varies.
    """
    found, waiting = ZERO, [(held, 0)]
    while waiting:
        part, depth = waiting.pop()
        values = part(PLACES)
        if values >= 0:
            found += whole(part) / (1 << depth)
        elif not values <= 0:
            spend(1 + len(part) ** 2 // 8)
            if depth == MOST_DEPTH or values.rad() <= 4 * sum(
                (c.rad() for c in part.coeffs()), ZERO
            ):
                found += between(ZERO, 2 * values).nonnegative_part() / (1 << depth)
            else:
                waiting += [(part(arb_poly([arb(s) / 2, arb(1) / 2])), depth + 1) for s in (-1, 1)]
    return found


def published_pairs(proof: Proof, step: Step) -> Private:
    """For machines with real outputs every delta_{u,u'} is bounded as above."""
    eps, bits = positive(step["eps"], "eps"), as_integer(step["bits"], "bits")
    accuracy(bits)  # refuses what is out of range
    (eps_prv, delta), graph, left = claimed(step), Graph(), [*pairs_of(proof, 150)]
    excesses, count = Excesses(graph, eps, eps_prv, bits + 16), len(left)
    known = cache(partial(published, Run(proof.machine, Signs.at(eps), graph)))
    # No enclosure is 0.
    for added in (False, True) if delta else (False,):
        sums = {(u, v): excesses.of_pair(known(u), known(v), added) for u, v in left}
        bounds, most = excesses.values({*sums.values()}, bits), delta * (1 << bits + 16)
        left = [pair for pair, own in sums.items() if bounds[own] > most]
    if left:
        raise Refuted(f"the bound of delta for {left[0][0]}, {left[0][1]} is larger")
    return Private(eps, eps_prv, delta, proof.pairs, count, proof.in_sets)


def published_violation(proof: Proof, step: Step) -> Violated:
    """With real outputs delta_{u,u'} is bounded from below, for a pair that is meant.

    At every eps_prv, null, it is at least the mass of f where g is 0. If delta is 0, it is above
    that where the integral at eps_prv = 0 is, so p > 0, and f_i, g_i are Gaussian densities of one
    scale with other means: ln(f_i / g_i) is a line, and f / g has no end where f > 0.
    """
    eps, bits = positive(step["eps"], "eps"), as_integer(step["bits"], "bits")
    accuracy(bits)  # refuses what is out of range
    (eps_prv, delta), pair, graph = claimed(step, True), pair_of(proof, step), Graph()
    run = Run(proof.machine, Signs.at(eps), graph)
    excesses = Excesses(graph, eps, eps_prv or Fraction(0), bits + 16, above=False)
    first, second = (published(run, input) for input in pair)
    own = excesses.of_pair(first, second, added=True)
    if eps_prv is None:
        own = tuple([each for each in own if _has_no_end(graph, eps, each, not delta)])
    if excesses.values([own], bits)[own] <= delta * (1 << bits + 16):
        raise Refuted("the bound of delta is not larger")
    return Violated(eps, eps_prv, delta, pair)


def cells(
    machine: Machine, eps: Fraction, inputs: Inputs, step: Fraction, places: int, sample: object
) -> list[tuple[arb, arb]]:
    """Return the masses of disjoint sets of outputs; for a sample from both sides, to be mixed.

    Theorem: sets of z are sets of outputs, which determine z, where f and g are one product each;
    labels without densities are points, others are left out. Gaussian laws that are closer on a
    line are had from theirs by a factor and more noise.
    """
    graph = Graph()
    run = Run(machine, Signs.at(eps), graph)
    excesses = Excesses(graph, eps, Fraction(0), places, above=False)
    excesses.made = "sets", step
    nodes = excesses.of_pair(published(run, inputs[0]), published(run, inputs[1]), added=True)
    if sample is not None and any(len(graph.parts_of(each)) > 4 for each in nodes):
        raise Refused("samples of several numbers")
    values = evaluate(graph, nodes, eps, accuracy(places, most_factors(graph, nodes)))
    return [own for each in nodes for own in values[each]]
