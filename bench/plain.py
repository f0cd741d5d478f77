"""NOT RIGOROUS: the yardstick for the certified engine, a plain evaluation in numpy.

In: reduced, connected events, as the certified engine gets them. Out: doubles, near the
probabilities: Gauss-Legendre quadrature as one writes it by hand, no error bounds anywhere, nothing
here may ever support a verdict. It is meant to be fast: vectorised over nodes and events,
distribution functions from scipy, equal parts shared, and the analysis of the events done
beforehand (`Prepared`), outside what is timed.

    trees, stars    functions on nodes, from the leaves to a root, all of one height at once
    two centres l < h  ∫∫ f(l) g(l + t) Π (F(l + t) - F(l)) … dt dl
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, pairwise, permutations, product

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from bench.timing import NoAnswer
from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.events.event import Chosen, Connected, Mixture, Star
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN, LAPLACE
from dipapprox.laws.family import Family
from dipapprox.numerics.elimination.planning import OrderEvent, order_event

Array = NDArray[np.float64]

NODES = 16
"""Of a panel."""


_REACH: dict[Family, float] = {GAUSSIAN: 8.3, LAPLACE: 36.0}
"""In scales: beyond lies less than one rounding error."""

_WIDTH = 3.0
"""Of a panel, in the smallest scale of all laws: 16 nodes are exact to rounding there."""


def pdf(law: Distribution, x: Array) -> Array:
    """Evaluate the density."""
    scale = float(law.scale)
    z = (x - float(law.mean)) / scale
    if law.family is GAUSSIAN:
        return np.exp(-0.5 * z * z) * (1 / (scale * math.sqrt(2 * math.pi)))
    return np.exp(-np.abs(z)) * (0.5 / scale)


def cdf(law: Distribution, x: Array) -> Array:
    """Evaluate the distribution function."""
    z = (x - float(law.mean)) / float(law.scale)
    if law.family is GAUSSIAN:
        found: Array = ndtr(z)
        return found
    half = 0.5 * np.exp(-np.abs(z))
    return np.where(z < 0, half, 1 - half)


def survival(law: Distribution, x: Array) -> Array:
    """Evaluate 1 - the distribution function; the laws are symmetric."""
    return cdf(law, 2 * float(law.mean) - x)


@cache
def _legendre() -> tuple[Array, Array, Array]:
    """Nodes and weights on [0, 1], and the matrix values -> running integrals from 0."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    basis = np.polynomial.legendre.legvander(nodes, NODES - 1)
    # The antiderivative of P_k that vanishes at -1 is (P_{k+1} - P_{k-1}) / (2k + 1).
    higher = np.polynomial.legendre.legvander(nodes, NODES)
    antiderivative = np.empty((NODES, NODES))
    antiderivative[:, 0] = nodes + 1
    for k in range(1, NODES):
        antiderivative[:, k] = (higher[:, k + 1] - higher[:, k - 1]) / (2 * k + 1)
    return (nodes + 1) / 2, weights / 2, antiderivative @ np.linalg.inv(basis) / 2


class Grid:
    """Gauss-Legendre nodes on panels.

    Args:
        breaks: Ends of the panels, ascending.
    """

    def __init__(self, breaks: Array) -> None:
        nodes, weights, self._running = _legendre()
        self._lengths = np.diff(breaks)
        self.x = (breaks[:-1, None] + self._lengths[:, None] * nodes).ravel()
        self.weights = (self._lengths[:, None] * weights).ravel()

    def running(self, values: Array) -> Array:
        """Integrate from the left end to every node, along the last axis."""
        parts = values.reshape(*values.shape[:-1], len(self._lengths), NODES)
        within = (parts @ self._running.T) * self._lengths[:, None]
        totals = (parts @ _legendre()[1]) * self._lengths
        before = np.cumsum(totals, axis=-1) - totals
        return (within + before[..., None]).reshape(values.shape)


def grid_for(integrated: Iterable[Distribution], others: Sequence[Distribution]) -> Grid:
    """Make a grid over the support of some laws, for products with functions of `others`."""
    laws = list(integrated)
    if any(law.family not in _REACH for law in (*laws, *others)):
        raise NoAnswer("a law that is neither Gaussian nor Laplace")
    width = _WIDTH * min(float(law.scale) for law in (*laws, *others))
    ends: list[float] = []
    kinks = {float(law.mean) for law in (*laws, *others) if law.family is LAPLACE}
    for law in laws:
        reach = _REACH[law.family] * float(law.scale)
        ends += (float(law.mean) - reach, float(law.mean) + reach)
    low, high = min(ends), max(ends)
    inner = {low, high, *(kink for kink in kinks if low < kink < high)}
    corners = sorted(inner)
    breaks = [corners[0]]
    for left, right in pairwise(corners):
        pieces = max(1, math.ceil((right - left) / width))
        breaks += [left + (right - left) * k / pieces for k in range(1, pieces + 1)]
    return Grid(np.array(breaks))


def half_line(laws: Sequence[Distribution], reach: float) -> Grid:
    """Make a grid on [0, reach]."""
    width = _WIDTH * min(float(law.scale) for law in laws)
    return Grid(np.linspace(0.0, reach, max(1, math.ceil(reach / width)) + 1))


# --- Events ---------------------------------------------------------------------------------------

Counts = tuple[tuple[int, int], ...]
"""Messages, and how often each is a factor."""


@dataclass(slots=True)
class _Trees:
    """Messages m(x) = ∫ f(t) Π (children's messages)(t) dt over t < x or t > x, by height.

    Equal messages of all events are computed once; those of leaves are distribution functions.
    """

    laws: dict[Distribution, int] = field(default_factory=dict)
    numbers: dict[tuple[int, Counts, bool], int] = field(default_factory=dict)
    heights: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    roots: list[tuple[int, Counts]] = field(default_factory=list)
    levels: list[tuple[list[int], Array]] = field(default_factory=list)
    exponents: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def add_star(self, place: int, star: Star) -> None:
        """Plan a star: its centre is the root."""
        sides = ((star.below, True), (star.above, False))
        inner = [
            (self._message(self._law(law), (), below), count)
            for leaves, below in sides
            for law, count in leaves
        ]
        self._add(place, star.centre, tuple(inner))

    def add_tree(self, place: int, order: OrderEvent) -> None:
        """Plan a tree, rooted at a vertex of many neighbours, and of a short range."""
        laws = _laws(order)
        neighbours: list[list[tuple[int, bool]]] = [[] for _ in laws]
        for low, high, _ in order.bounds:
            neighbours[low].append((high, False))
            neighbours[high].append((low, True))  # True: the neighbour lies below

        def children(vertex: int, parent: int) -> Counts:
            found: dict[int, int] = {}
            for n, below in neighbours[vertex]:
                if n != parent:
                    message = self._message(self._law(laws[n]), children(n, vertex), below)
                    found[message] = found.get(message, 0) + 1
            return tuple(sorted(found.items()))

        root = max(range(len(laws)), key=lambda v: (len(neighbours[v]), -laws[v].scale))
        self._add(place, laws[root], children(root, -1))

    def _add(self, place: int, root: Distribution, inner: Counts) -> None:
        self.places.append(place)
        self.roots.append((self._law(root), inner))

    def _law(self, law: Distribution) -> int:
        return self.laws.setdefault(law, len(self.laws))

    def _message(self, law: int, inner: Counts, below: bool) -> int:
        number = self.numbers.setdefault((law, inner, below), len(self.numbers))
        if number == len(self.heights):
            self.heights.append(1 + max((self.heights[child] for child, _ in inner), default=-1))
        return number

    def close(self) -> None:
        """Tabulate the exponents of messages: in those of each height, and at the roots."""
        by_height = sorted(self.numbers.values(), key=self.heights.__getitem__)
        inner = [children for _, children, _ in self.numbers]
        for _, level in groupby(by_height, self.heights.__getitem__):
            numbers = list(level)
            self.levels.append((numbers, self._exponents([inner[k] for k in numbers])))
        self.exponents = self._exponents([children for _, children in self.roots])

    def _exponents(self, rows: Sequence[Counts]) -> Array:
        found = np.zeros((len(rows), len(self.numbers)))
        for row, counts in enumerate(rows):
            for child, count in counts:
                found[row, child] = count
        return found

    def evaluate(self, found: Array) -> None:
        """Write the probabilities to their places."""
        laws, messages = list(self.laws), list(self.numbers)
        inner = [law for law, children, _ in messages if children]
        own = [law for law, _ in self.roots]
        grid = grid_for([laws[law] for law in {*inner, *own}], laws)
        densities = np.array([pdf(law, grid.x) for law in laws])
        logarithms = np.zeros((len(messages), len(grid.x)))
        for numbers, exponents in self.levels:
            level = [messages[number] for number in numbers]
            if exponents.any():
                products = np.exp(exponents @ logarithms)
                integrands = densities[[law for law, _, _ in level]] * products
                values = grid.running(integrands)
                whole = (integrands @ grid.weights)[:, None]
                values = np.where([[below] for _, _, below in level], values, whole - values)
            else:
                values = np.array(
                    [(cdf if below else survival)(laws[law], grid.x) for law, _, below in level]
                )
            logarithms[numbers] = np.log(np.maximum(values, 1e-300))
        products = np.exp(self.exponents @ logarithms)
        by_law = products @ (densities * grid.weights).T
        found[self.places] = by_law[np.arange(len(own)), own]


_Factor = tuple[Callable[[Distribution, Array], Array], Distribution]


@dataclass(slots=True)
class _Centres:
    """Two samples l < h, and others each compared with one or both of them.

    Attributes:
        sides: For l and for h: what the others are compared with it alone, each with `cdf` if it is
            below, or `survival`.
    """

    place: int
    low: Distribution
    high: Distribution
    between: Counter[Distribution] = field(default_factory=Counter)
    sides: tuple[list[_Factor], list[_Factor]] = field(default_factory=lambda: ([], []))

    def evaluate(self, found: Array) -> None:
        """Write the probability to its place."""
        others = (law for side in self.sides for _, law in side)
        laws = [self.low, self.high, *self.between, *others]
        outer = grid_for((self.low,), laws)
        scale = 8.3 * (float(self.low.scale) + float(self.high.scale))
        reach = scale + abs(float(self.high.mean - self.low.mean))
        inner = half_line(laws, reach)
        high = outer.x[:, None] + inner.x
        first = outer.weights * pdf(self.low, outer.x)
        second = inner.weights * pdf(self.high, high)
        for function, law in self.sides[0]:
            first = first * function(law, outer.x)
        for function, law in self.sides[1]:
            second = second * function(law, high)
        for law, count in self.between.items():
            second = second * (cdf(law, high) - cdf(law, outer.x)[:, None]) ** count
        found[self.place] = first @ second.sum(axis=1)


class Prepared:
    """The plan of a plain evaluation; `evaluate` is what gets timed.

    Args:
        events: Connected and reduced.

    Raises:
        NoAnswer: If some event has no shape that is known here.
    """

    def __init__(self, events: Sequence[Connected]) -> None:
        self._count = len(events)
        self._trees = _Trees()
        self._centres: list[_Centres] = []
        for place, event in enumerate(events):
            if isinstance(event, Chosen | Mixture):
                raise NoAnswer("a choice has no density")
            if isinstance(event, Star):
                self._trees.add_star(place, event)
                continue
            order = order_event(event)
            if isinstance(order, NotEnclosed):
                raise NoAnswer(order.reason)
            if order.has_offsets:
                raise NoAnswer("comparisons with offsets")
            if any(each.lower is not None or each.upper is not None for each in order.elements):
                raise NoAnswer("a comparison with a constant")
            if len(order.bounds) == len(order.elements) - 1:
                self._trees.add_tree(place, order)
            else:
                self._centres.append(_centres(place, order))
        self._trees.close()

    def evaluate(self) -> Array:
        """Return about the probabilities, in the order of the events."""
        found = np.full(self._count, np.nan)
        if self._trees.places:
            self._trees.evaluate(found)
        for centres in self._centres:
            centres.evaluate(found)
        return found


def _laws(order: OrderEvent) -> list[Distribution]:
    laws = [element.law for element in order.elements]
    if None in laws:
        raise NoAnswer("a sum of samples")
    return [law for law in laws if law is not None]


def _centres(place: int, order: OrderEvent) -> _Centres:
    laws = _laws(order)
    edges = {(low, high) for low, high, _ in order.bounds}
    vertices = range(len(laws))
    for low, high in permutations(vertices, 2):
        others = [v for v in vertices if v not in (low, high)]
        between = [v for v in others if {(low, v), (v, high)} <= edges]
        covered = all(low in edge or high in edge for edge in edges)
        if not covered or not ((low, high) in edges or between):
            continue
        if any(law.family is not GAUSSIAN for law in laws):
            raise NoAnswer("two centres of laws that are not smooth")
        found = _Centres(place, laws[low], laws[high], Counter(laws[v] for v in between))
        for v, (centre, side) in product(others, zip((low, high), found.sides, strict=True)):
            if v not in between and (v, centre) in edges:
                side.append((cdf, laws[v]))
            if v not in between and (centre, v) in edges:
                side.append((survival, laws[v]))
        return found
    raise NoAnswer("neither a tree nor two centres")
