"""NOT RIGOROUS: probabilities of events by plain numpy; see `plain`.

In: reduced, connected events, as the certified engine gets them. Out: doubles, near the
probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.plain import Array, NoPlainEvaluation, cdf, grid_for, half_line, pdf, survival
from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.events.event import Chosen, Connected, Leaves, Mixture, Star
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN
from dipapprox.numerics.elimination.planning import OrderEvent, order_event


@dataclass(slots=True)
class _Stars:
    """Stars round one law: exponents of distribution functions and survivals, by event."""

    centre: Distribution
    places: list[int] = field(default_factory=list)
    sides: list[tuple[Leaves, Leaves]] = field(default_factory=list)
    laws: tuple[Distribution, ...] = ()
    exponents: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def close(self) -> None:
        """Tabulate the exponents: columns for cdf of every law, then for survivals."""
        known = dict.fromkeys(law for pair in self.sides for side in pair for law, _ in side)
        self.laws = tuple(known)
        column = {law: k for k, law in enumerate(self.laws)}
        self.exponents = np.zeros((len(self.places), 2 * len(self.laws)))
        for row, (below, above) in enumerate(self.sides):
            for law, count in below:
                self.exponents[row, column[law]] = count
            for law, count in above:
                self.exponents[row, len(self.laws) + column[law]] = count

    def evaluate(self, found: Array) -> None:
        """Write the probabilities to their places."""
        grid = grid_for((self.centre,), self.laws)
        factors = [cdf(law, grid.x) for law in self.laws]
        factors += [survival(law, grid.x) for law in self.laws]
        logarithms = np.log(np.maximum(factors, 1e-300))
        weights = grid.weights * pdf(self.centre, grid.x)
        found[self.places] = np.exp(self.exponents @ logarithms) @ weights


@dataclass(slots=True)
class _Trees:
    """Messages m(x) = ∫ f(t) Π (children's messages)(t) dt over t < x or t > x, by level.

    Message 0 is the constant 1; equal messages of all events are computed once.
    """

    laws: dict[Distribution, int] = field(default_factory=dict)
    numbers: dict[tuple[Distribution, tuple[int, ...], bool], int] = field(default_factory=dict)
    levels: list[list[tuple[int, tuple[int, ...], bool]]] = field(default_factory=list)
    order: list[list[int]] = field(default_factory=list)
    height: dict[int, int] = field(default_factory=lambda: {0: 0})
    places: list[int] = field(default_factory=list)
    roots: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)

    def add(self, place: int, order: OrderEvent) -> None:
        """Plan a tree, rooted at a vertex of many neighbours."""
        laws = _laws(order)
        neighbours: list[list[tuple[int, bool]]] = [[] for _ in laws]
        for low, high, _ in order.bounds:
            neighbours[low].append((high, False))
            neighbours[high].append((low, True))  # True: the neighbour lies below

        def children(vertex: int, parent: int) -> tuple[int, ...]:
            found = [message(n, vertex, below) for n, below in neighbours[vertex] if n != parent]
            return tuple(sorted(found))

        def message(vertex: int, parent: int, below: bool) -> int:
            return self._message(laws[vertex], children(vertex, parent), below)

        root = max(range(len(laws)), key=lambda v: len(neighbours[v]))
        law = self._law(laws[root])
        self.places.append(place)
        self.roots.append((law, children(root, -1)))

    def _law(self, law: Distribution) -> int:
        return self.laws.setdefault(law, len(self.laws))

    def _message(self, law: Distribution, inner: tuple[int, ...], below: bool) -> int:
        key = law, inner, below
        if key not in self.numbers:
            number = self.numbers[key] = len(self.numbers) + 1
            level = max((self.height[child] for child in inner), default=0)
            self.height[number] = level + 1
            if level == len(self.levels):
                self.levels.append([])
                self.order.append([])
            self.levels[level].append((self._law(law), inner, below))
            self.order[level].append(number)
        return self.numbers[key]

    def evaluate(self, found: Array) -> None:
        """Write the probabilities to their places."""
        laws = list(self.laws)
        grid = grid_for(laws, ())
        densities = np.array([pdf(law, grid.x) for law in laws])
        messages = np.ones((len(self.numbers) + 1, len(grid.x)))
        for level, numbers in zip(self.levels, self.order, strict=True):
            own = np.array([law for law, _, _ in level])
            integrands = densities[own] * _products(messages, [inner for _, inner, _ in level])
            running = grid.running(integrands)
            below = np.array([[flag] for _, _, flag in level])
            if not below.all():
                running = np.where(below, running, (integrands @ grid.weights)[:, None] - running)
            messages[numbers] = running
        weights = densities[[law for law, _ in self.roots]] * grid.weights
        products = _products(messages, [inner for _, inner in self.roots])
        found[self.places] = (weights * products).sum(axis=1)


def _products(messages: Array, children: Sequence[tuple[int, ...]]) -> Array:
    most = max(map(len, children))
    padded = np.array([inner + (0,) * (most - len(inner)) for inner in children], np.int64)
    return messages[padded].prod(axis=1) if most else np.ones((len(children), messages.shape[1]))


@dataclass(slots=True)
class _Centres:
    """Two samples l < h, and others each compared with one or both of them."""

    place: int
    low: Distribution
    high: Distribution
    between: list[Distribution] = field(default_factory=list)
    under: dict[str, list[Distribution]] = field(default_factory=dict)

    def evaluate(self, found: Array) -> None:
        """Write the probability to its place."""
        laws = [self.low, self.high, *self.between, *(w for ws in self.under.values() for w in ws)]
        outer = grid_for((self.low,), laws)
        scale = 8.3 * (float(self.low.scale) + float(self.high.scale))
        reach = scale + abs(float(self.high.mean - self.low.mean))
        inner = half_line(laws, reach)
        high = outer.x[:, None] + inner.x
        first = outer.weights * pdf(self.low, outer.x)
        second = inner.weights * pdf(self.high, high)
        for law in self.under.get("below low", ()):
            first = first * cdf(law, outer.x)
        for law in self.under.get("above low", ()):
            first = first * survival(law, outer.x)
        for law in self.under.get("below high", ()):
            second = second * cdf(law, high)
        for law in self.under.get("above high", ()):
            second = second * survival(law, high)
        for law in dict.fromkeys(self.between):
            gap = cdf(law, high) - cdf(law, outer.x)[:, None]
            second = second * gap ** self.between.count(law)
        found[self.place] = first @ second.sum(axis=1)


class Prepared:
    """The plan of a plain evaluation; `evaluate` is what gets timed.

    Args:
        events: Connected and reduced.

    Raises:
        NoPlainEvaluation: If some event has no shape that is known here.
    """

    def __init__(self, events: Sequence[Connected]) -> None:
        self._count = len(events)
        self._stars: dict[Distribution, _Stars] = {}
        self._trees = _Trees()
        self._centres: list[_Centres] = []
        for place, event in enumerate(events):
            if isinstance(event, Chosen | Mixture):
                raise NoPlainEvaluation("a choice has no density")
            if isinstance(event, Star):
                stars = self._stars.setdefault(event.centre, _Stars(event.centre))
                stars.places.append(place)
                stars.sides.append((event.below, event.above))
                continue
            order = order_event(event)
            if isinstance(order, NotEnclosed):
                raise NoPlainEvaluation(order.reason)
            if order.has_offsets:
                raise NoPlainEvaluation("comparisons with offsets")
            if any(each.lower is not None or each.upper is not None for each in order.elements):
                raise NoPlainEvaluation("a comparison with a constant")
            if len(order.bounds) == len(order.elements) - 1:
                self._trees.add(place, order)
            else:
                self._centres.append(_centres(place, order))
        for stars in self._stars.values():
            stars.close()

    def evaluate(self) -> Array:
        """Return about the probabilities, in the order of the events."""
        found = np.full(self._count, np.nan)
        for stars in self._stars.values():
            stars.evaluate(found)
        if self._trees.places:
            self._trees.evaluate(found)
        for centres in self._centres:
            centres.evaluate(found)
        return found


def _laws(order: OrderEvent) -> list[Distribution]:
    laws = [element.law for element in order.elements]
    if None in laws:
        raise NoPlainEvaluation("a sum of samples")
    return [law for law in laws if law is not None]


def _centres(place: int, order: OrderEvent) -> _Centres:
    size = len(order.elements)
    above: list[set[int]] = [set() for _ in range(size)]
    below: list[set[int]] = [set() for _ in range(size)]
    edges = {(low, high) for low, high, _ in order.bounds}
    for low, high in edges:
        above[low].add(high)
        below[high].add(low)
    for low in range(size):
        for high in range(size):
            if not (low != high and (high in above[low] or above[low] & below[high])):
                continue
            others = [v for v in range(size) if v not in (low, high)]
            if all(above[v] | below[v] <= {low, high} for v in others):
                return _arranged(place, order, low, high, others)
    raise NoPlainEvaluation("neither a tree nor two centres")


def _arranged(place: int, order: OrderEvent, low: int, high: int, others: list[int]) -> _Centres:
    laws = _laws(order)
    if any(law.family is not GAUSSIAN for law in laws):
        raise NoPlainEvaluation("two centres of laws that are not smooth")
    centres = _Centres(place, laws[low], laws[high])
    edges = {(one, other) for one, other, _ in order.bounds}
    for vertex in others:
        lower, upper = (low, vertex) in edges, (vertex, high) in edges
        if lower and upper:
            centres.between.append(laws[vertex])
            continue
        pairs = {
            "below low": (vertex, low),
            "above low": (low, vertex),
            "below high": (vertex, high),
            "above high": (high, vertex),
        }
        for side, edge in pairs.items():
            if edge in edges:
                centres.under.setdefault(side, []).append(laws[vertex])
    return centres
