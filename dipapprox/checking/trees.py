"""Probabilities of trees of comparisons, one message at a time: the checker's own evaluator.

A tree is rooted at its sample with most neighbours and numbered by its content, so that equal
subtrees are integrated once:

    message of a child c below its parent:  m(t) = ∫_{-∞}^t f_c(x) Π messages to c (x) dx
    of one above:                           m(t) = ∫_t^∞ …           probability = ∫ f_root Π …
    of one in a band:                       m(t) = M(t + h) - M(t + l),  M the first of these

M(t + h) is the M of the subtree moved by -h, all of its samples: it is planted twice.

Each law is cut off at its reach; what that loses is added to the upper end only. Where the samples
are integers, integrals are sums, with x <= t and x >= t for what is below and above.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

from flint import arb

from dipapprox.checking.cycles import Order, Sample
from dipapprox.checking.integers import IntegerRange, Values
from dipapprox.checking.panels import Function, Grid
from dipapprox.data_classes import dataclass
from dipapprox.distributions import Distribution
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.precision import give_way, precision, to_enclosure

_MOST_PANELS = 6_000
_ATTEMPTS = 3
_MOST_INTEGERS = 200_000
_GUARD_BITS = 40

_NOWHERE = Fraction(0)

F = TypeVar("F")


class Integrands(Protocol[F]):
    """Functions that messages are made of."""

    def density(self, law: Distribution, lower: Fraction | None, upper: Fraction | None) -> F:
        """The density between two bounds."""

    def product(self, left: F, right: F) -> F:
        """left * right."""

    def difference(self, left: F, right: F) -> F:
        """left - right, two masses of which the first is the larger one."""

    def running(self, density: F, *, from_left: bool) -> F:
        """t -> the mass at or below t, or at or above t."""


class Functions(Integrands[F], Protocol[F]):
    """The same on a grid, known by balls."""

    laws: frozenset[Distribution]
    bits: int

    @property
    def points(self) -> Sequence[Fraction]:
        """The grid, or its ends."""

    def lost(self, law: Distribution) -> arb:
        """Bound the mass of a law that the grid leaves out."""

    def total(self, density: F) -> arb:
        """Enclose the whole mass."""


Child = tuple[int, bool, int]
"""(number of the child's node, whether it is below this one, number of the node whose message is
taken away; -1: none)."""


@dataclass(frozen=True, slots=True)
class Node:
    """A sample and its children."""

    sample: Sample
    children: tuple[Child, ...]


class Forest:
    """Rooted trees, each distinct one once; they are known by number."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._numbers: dict[Node, int] = {}

    def plant(self, order: Order) -> int:
        """Return the number of a connected order without cycles.

        The root's mean becomes 0: a shift of all samples changes no probability. A published sample
        is the root, and stays where it is.
        """
        neighbours: dict[int, list[tuple[int, bool]]] = defaultdict(list)
        for a, b in order.edges:
            neighbours[a].append((b, False))
            neighbours[b].append((a, True))

        def rank(k: int) -> tuple[object, ...]:
            law = order.samples[k].law
            published = order.samples[k].published
            return not published, -len(neighbours[k]), law.family.value, law.scale, law.mean

        root = min(range(len(order.samples)), key=rank)
        start = _NOWHERE if order.samples[root].published else -order.samples[root].law.mean
        # Every vertex is planted at the places that its parent's need; these are found first.
        places: dict[int, dict[Fraction, None]] = {root: {start: None}}
        parent = {root: -1}
        top_down = [root]
        widths = {(a, b): w for a, b, w in order.bands}
        for vertex in top_down:
            for other, low in neighbours[vertex]:
                if other != parent[vertex]:
                    parent[other] = vertex
                    top_down.append(other)
                    moves = self._moves(order, vertex, other, low, widths)
                    places[other] = {
                        at + move: None for at in places[vertex] for move in moves or (_NOWHERE,)
                    }
        numbers: dict[tuple[int, Fraction], int] = {}
        for vertex in reversed(top_down):
            for at in places[vertex]:
                children: list[Child] = []
                for other, low in neighbours[vertex]:
                    if other == parent[vertex]:
                        continue
                    moves = self._moves(order, vertex, other, low, widths)
                    if moves is None:
                        children.append((numbers[other, at], low, -1))
                    else:
                        near, far = (numbers[other, at + move] for move in moves)
                        children.append((near, True, far))
                sample = order.samples[vertex].shifted(at)
                numbers[vertex, at] = self._number(Node(sample, tuple(sorted(children))))
        return numbers[root, start]

    @staticmethod
    def _moves(
        order: Order, parent: int, child: int, low: bool, widths: Mapping[tuple[int, int], Fraction]
    ) -> tuple[Fraction, Fraction] | None:
        """-h and -l of a child in a band; None for the others."""
        width = widths.get((child, parent) if low else (parent, child))
        if width is None:
            return None
        # Between integers both ends belong to the band.
        step = int(order.samples[child].law.family.is_discrete)
        return (_NOWHERE, width + step) if low else (-width, _NOWHERE + step)

    def _number(self, node: Node) -> int:
        number = self._numbers.setdefault(node, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
        return number

    def members(self, tree: int) -> list[Sample]:
        """Return the samples of a tree, with repetitions."""
        found, waiting = [], [tree]
        while waiting:
            node = self.nodes[waiting.pop()]
            found.append(node.sample)
            waiting += [
                child for near, _, far in node.children for child in (near, far) if child >= 0
            ]
        return found


class TreeValues:
    """Enclosures of the probabilities of a forest's trees, remembered at one number of bits.

    Args:
        forest: May grow.
        bits: Wanted width: 2**-bits; what comes back is proved even if it is wider.
        limits: Asked before every message.
    """

    def __init__(self, forest: Forest, bits: int, limits: Limits) -> None:
        self._forest = forest
        self._bits = bits
        self._limits = limits
        self._known: dict[int, Enclosure] = {}
        self._passes: dict[object, _Pass[Function] | _Pass[Values]] = {}

    def value(self, tree: int) -> Enclosure | NotEnclosed:
        """Enclose the probability of a tree, inside [0, 1]."""
        known = self._known.get(tree)
        if known is not None:
            return known
        samples = self._forest.members(tree)
        best = UNIT
        for fineness in range(_ATTEMPTS):
            found = self._pass(samples, fineness)
            if isinstance(found, NotEnclosed):
                break
            best = best.intersect(found.value(tree, samples))
            if best.width <= Fraction(1, 2**self._bits) or samples[0].law.family.is_discrete:
                break
        if best == UNIT:
            return NotEnclosed("laws of too different sizes for the checker's panels")
        self._known[tree] = best
        return best

    def _pass(
        self, samples: list[Sample], fineness: int
    ) -> _Pass[Function] | _Pass[Values] | NotEnclosed:
        laws = frozenset(sample.law for sample in samples)
        cuts = frozenset(c for s in samples for c in (s.lower, s.upper) if c is not None)
        key = laws, cuts, fineness
        if key not in self._passes:
            tail_bits = self._bits + 2 + len(samples).bit_length()
            if any(law.family.is_discrete for law in laws):
                integers = IntegerRange(laws, tail_bits)
                if integers.size > _MOST_INTEGERS:
                    return NotEnclosed("too wide discrete laws for the checker's sums")
                self._passes[key] = _Pass(self._forest, integers, self._limits)
                return self._passes[key]
            if len(laws) * 2 * tail_bits << fineness > _MOST_PANELS:
                return NotEnclosed("too many different laws for the checker's panels")
            grid = Grid(laws, cuts, tail_bits, fineness)
            self._passes[key] = _Pass(self._forest, grid, self._limits)
        return self._passes[key]


class _Pass(Generic[F]):
    """Trees on one grid."""

    def __init__(self, forest: Forest, grid: Functions[F], limits: Limits) -> None:
        self._grid = grid
        self._messages = Messages(forest, grid, limits)
        scales = min(law.scale for law in grid.laws)
        extent = max(abs(point) for point in grid.points) / scales
        # A point's rounding matters relative to the narrowest law.
        self._working = grid.bits + _GUARD_BITS + int(extent).bit_length()

    def value(self, tree: int, samples: list[Sample]) -> Enclosure:
        with precision(self._working):
            found = to_enclosure(self._grid.total(self._messages.weighted(tree)))
            tails = arb(0)
            for sample in samples:
                tails = tails + self._grid.lost(sample.law)
            missing = to_enclosure(tails.upper())
        assert isinstance(found, Enclosure) and isinstance(missing, Enclosure)
        return Enclosure(found.lower, found.upper + missing.upper).intersect(UNIT)


class Messages(Generic[F]):
    """Messages of the trees of a forest, each computed once."""

    def __init__(self, forest: Forest, functions: Integrands[F], limits: Limits) -> None:
        self._forest = forest
        self._grid = functions
        self._limits = limits
        self._densities: dict[Sample, F] = {}
        self._messages: dict[Child, F] = {}
        self._products: dict[tuple[Child, ...], F] = {}

    def weighted(self, tree: int) -> F:
        """The density of a tree's root times the messages of its children."""
        # Children first, without recursion: chains may be long.
        waiting, order = [tree], []
        while waiting:
            number = waiting.pop()
            order.append(number)
            for near, below, far in self._forest.nodes[number].children:
                for each in (near, far):
                    if each >= 0 and (each, below, -1) not in self._messages:
                        waiting.append(each)
        for number in reversed(order):
            for child in self._forest.nodes[number].children:
                self._message(child)
        return self._density_times(self._forest.nodes[tree])

    def _message(self, child: Child) -> F:
        known = self._messages.get(child)
        if known is None:
            near, below, far = child
            if far < 0:
                density = self._density_times(self._forest.nodes[near])
                known = self._grid.running(density, from_left=below)
            else:
                whole = self._message((near, below, -1))
                known = self._grid.difference(whole, self._message((far, below, -1)))
            self._messages[child] = known
        return known

    def _density_times(self, node: Node) -> F:
        self._limits.check()
        give_way()
        sample = node.sample
        if sample not in self._densities:
            self._densities[sample] = self._grid.density(sample.law, sample.lower, sample.upper)
        density = self._densities[sample]
        if not node.children:
            return density
        return self._grid.product(density, self._product(node.children))

    def _product(self, children: tuple[Child, ...]) -> F:
        known = len(children)
        while known > 1 and children[:known] not in self._products:
            known -= 1
        shared = self._products.get(children[:known])
        result = self._messages[children[0]] if shared is None else shared
        for k in range(max(known, 1), len(children)):
            self._limits.check()
            result = self._grid.product(result, self._messages[children[k]])
            self._products[children[: k + 1]] = result
        return result
