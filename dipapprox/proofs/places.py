"""Lower bounds between two inputs: what an output loses there as eps grows.

**Theorem.** Let noise of rate r have the density (r eps / c) · exp(-r eps |e|), c = 2, or 1 on one
side, or be discrete Laplace noise of that rate; Gaussian noise has a standard deviation s / eps.
An output is the union of final states; if the program has real outputs, it is that these lie in
intervals of length 2η around some numbers, too. With the V of `point_costs`, let W(q) be the least
V among the states of the output that are possible at q. Finite choices have weights without eps. If
q, q' are adjacent and W(q) is finite, then no budget D < W(q') - W(q) serves every eps, and none at
all if W(q') = ∞.

Proof. Let y be the flow of a state at q', f = Σ_g y_g G_g. In the state f·e <= -V(q'), or so but
for a multiple of η; where V(q') = ∞, f is about Gaussian noise, and noise bound on its side, alone.
By Markov's inequality, for every θ < 1, Pr(q') <= exp(-θ eps (V(q') - O(η))) · Π E[exp(θ eps f_i
e_i)], factors that are bounded as eps grows: (1 - θ)^-1 at most, e^(θ² f² s² / 2), and for integers
what tends to 1. If V(q') = ∞, f may be multiplied by any number: by eps, so that Pr(q') falls like
exp(-κ eps²), κ > 0, or is 0. At q the noise e that is cheapest has an open set of noises of the
state within a distance 1 / eps, of a volume that is a power of eps at least: the state is convex
and has inner points (integers: e itself will do). So Pr(q) >= exp(-eps W(q)) times a power of eps.
Then η goes to 0. What parts that share no noise lose adds up. ∎

**Impossible outputs.** An output of which some state is possible at q, and none at an adjacent q',
has no budget at any eps: densities are positive within the support, and states at q' are convex
sets without inner points, so null; or integer noise has no point in them.

Where inputs lie between bounds this is what is left of the rays of `rays`, which leave the bounds.
Pairs of ends of the intervals are tried, of inputs that make a guard an equality without noise, and
of points as far from these as inputs may change. From the best pair others are tried that are
moved a little, again and again, as W bends where several guards do. Where an output is possible at
one point and impossible at another, what lies between is halved until the two are adjacent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import ceil, floor, prod

from dipapprox.data_classes import dataclass
from dipapprox.language.core import Adjacency
from dipapprox.limits import Limits
from dipapprox.proofs.changes import allows
from dipapprox.proofs.cones import Cone
from dipapprox.proofs.point_costs import CostOfPoints, Point, PointCost, Shown

Bounds = Sequence[tuple[Fraction, Fraction]]

MOST_POINTS = 64
MOST_COSTS = 4_000
"""Points times final states times numbers that are shown; moving pairs may double them."""

MOST_HALVINGS = 64
"""Between two points."""

MOST_CLIMBED = 6
"""Pairs, the best ones, from which better ones are looked for."""

STEPS = (Fraction(1), Fraction(1, 2), Fraction(1, 4))
"""By which they are moved, in multiples of the largest change of an input."""

_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class PlaceLoss:
    """What an output of a part loses between two inputs.

    Attributes:
        part, output: Their numbers.
        shown: What the real outputs are close to.
        costs: Of all states of the output at the second input; None where one is impossible.
        loss: In multiples of eps; None for ∞.
    """

    part: int
    output: int
    shown: Shown
    costs: tuple[PointCost | None, ...]
    loss: Fraction | None


@dataclass(frozen=True, slots=True)
class Places:
    """Two adjacent inputs, and what the outputs of some parts lose between them.

    Attributes:
        first, second: The inputs; the outputs are likelier at the first.
        losses: Of the parts; a single one if it is ∞.
    """

    first: Point
    second: Point
    losses: tuple[PlaceLoss, ...]

    @property
    def loss(self) -> Fraction | None:
        """What is lost in multiples of eps; None for ∞."""
        total = Fraction(0)
        for each in self.losses:
            if each.loss is None:
                return None
            total += each.loss
        return total

    @property
    def is_impossible(self) -> bool:
        """Whether no state of the output has a positive probability at the second input."""
        return all(cost is None for each in self.losses for cost in each.costs)


@dataclass(frozen=True, slots=True)
class _Event:
    """An output of a part, and what its real outputs are close to."""

    part: int
    output: int
    shown: Shown
    states: tuple[CostOfPoints, ...]

    def costs(self, point: Point) -> tuple[PointCost | None, ...]:
        """Return what its states cost; None where one is impossible."""
        return tuple(
            [each.at(point, self.shown) if each.is_open(point) else None for each in self.states]
        )


_Costs = tuple[PointCost | None, ...]


def between_places(
    outputs: Sequence[Sequence[Sequence[Cone]]],
    inputs: Sequence[Sequence[int]],
    bounds: Bounds,
    adjacency: Adjacency,
    radius: Fraction,
    integers: bool,
    limits: Limits,
    tried: Sequence[Point] = (),
) -> Places | None:
    """Look for two adjacent inputs between which much is lost.

    Args:
        outputs: For every independent part and each of its outputs the possible final states.
        inputs: Where the inputs of each part stand among all.
        bounds: Of all inputs.
        adjacency: Of the program.
        radius: How far from the ends of the intervals points are tried, too.
        integers: Whether inputs and noise are integers.
        limits: Asked again and again.
        tried: What points are tried; if none, ends of the intervals and others.

    Returns:
        The best pair found; None if nothing is lost between any.
    """
    if integers:
        bounds = [(Fraction(ceil(lo)), Fraction(floor(hi))) for lo, hi in bounds]
        radius = Fraction(floor(radius))
    turns = turns_of(outputs, inputs, len(bounds), integers)
    points = list(tried) or _points(bounds, radius, turns, integers)
    states = sum(len(cones) for part in outputs for cones in part)
    if len(points) > MOST_POINTS or len(points) * states > MOST_COSTS:
        return None
    events = [
        event
        for part, (of_part, own) in enumerate(zip(outputs, inputs, strict=True))
        for output, cones in enumerate(of_part)
        for event in _events(
            part,
            output,
            tuple([CostOfPoints(cone, integers, limits) for cone in cones]),
            list(dict.fromkeys(_own(point, own) for point in points)),
        )
    ]
    if len(points) * sum(len(event.states) for event in events) > MOST_COSTS:
        return None
    return _Search(events, points, inputs, adjacency, integers, bounds, radius).best()


def _events(
    part: int, output: int, states: tuple[CostOfPoints, ...], points: Sequence[Point]
) -> Iterator[_Event]:
    """Yield an output with the numbers that it shows when noise is cheapest at some points."""
    shown = dict[Shown, None]()
    for state in states:
        for point in points:
            found = state.at(point, None)
            if found.cost is not None:
                shown[state.shown_at(point, found.noise)] = None
    for each in shown:
        yield _Event(part, output, each, states)


class _Search:
    def __init__(
        self,
        events: Sequence[_Event],
        points: Sequence[Point],
        inputs: Sequence[Sequence[int]],
        adjacency: Adjacency,
        integers: bool,
        bounds: Bounds,
        radius: Fraction,
    ) -> None:
        self._events, self._points, self._inputs = events, points, inputs
        self._adjacency, self._integers = adjacency, integers
        self._bounds, self._radius = bounds, radius
        self._known = dict[tuple[int, Point], _Costs]()
        self._left = 2 * MOST_COSTS

    def best(self) -> Places | None:
        """Return the best pair found."""
        known = list[Places]()
        for first, second in self._pairs():
            found = self._between(first, second)
            if found is not None:
                known.append(found)
                if found.loss is None:
                    return found
        for place, event in enumerate(self._events):
            for first, second in self._pairs():
                costs = self._costs(place, first), self._costs(place, second)
                if _least(costs[0]) is not None and _least(costs[1]) is None:
                    crossed = self._crossing(event, place, first, second)
                    if crossed is not None:
                        return crossed
        known.sort(key=lambda each: each.loss or _ZERO, reverse=True)
        return max(map(self._climbed, known[:MOST_CLIMBED]), key=_dearness, default=None)

    def _climbed(self, best: Places) -> Places:
        """Return a pair, close to a known one, at which nothing near it loses more."""
        known: Places | None = None
        while best is not known and best.loss is not None:
            known = best
            for first, second in self._near(known):
                if self._left < 0:
                    return best
                found = self._between(first, second)
                if found is not None and _dearness(found) > _dearness(best):
                    best = found
                    break
        return best

    def _near(self, known: Places) -> Iterator[tuple[Point, Point]]:
        """Yield pairs of which one input is moved: of both points, or of the second one."""
        for step in STEPS:
            if self._integers and step < 1:
                break
            for place in range(len(self._bounds)):
                for move in (step * self._radius, -step * self._radius):
                    second = self._moved(known.second, place, move)
                    first = self._moved(known.first, place, move)
                    if second is not None and first is not None:
                        yield first, second
                    if second is not None:
                        yield known.first, second

    def _moved(self, point: Point, place: int, move: Fraction) -> Point | None:
        value, (low, high) = point[place] + move, self._bounds[place]
        return (*point[:place], value, *point[place + 1 :]) if low <= value <= high else None

    def _between(self, first: Point, second: Point) -> Places | None:
        """Return what is lost from one point to another; None if nothing is."""
        if first == second or not self._allows(first, second):
            return None
        losses = dict[int, PlaceLoss]()
        for place, event in enumerate(self._events):
            costs = self._costs(place, first), self._costs(place, second)
            loss = _loss(event, *costs, self._integers)
            if loss is not None:
                if loss.loss is None:
                    return Places(first, second, (loss,))
                known = losses.get(event.part)
                if known is None or known.loss is None or loss.loss > known.loss:
                    losses[event.part] = loss
        return Places(first, second, tuple(losses.values())) if losses else None

    def _pairs(self) -> Iterator[tuple[Point, Point]]:
        return ((a, b) for a in self._points for b in self._points if a != b)

    def _allows(self, first: Point, second: Point) -> bool:
        return allows(self._adjacency, [b - a for a, b in zip(first, second, strict=True)])

    def _costs(self, place: int, point: Point) -> _Costs:
        event = self._events[place]
        own = _own(point, self._inputs[event.part])
        if (place, own) not in self._known:
            self._known[place, own] = event.costs(own)
            self._left -= len(event.states)
        return self._known[place, own]

    def _crossing(self, event: _Event, place: int, first: Point, second: Point) -> Places | None:
        """Halve what lies between a point where an output costs something and one where it is ∞."""
        for _ in range(MOST_HALVINGS):
            if self._allows(first, second):
                costs = self._costs(place, first), self._costs(place, second)
                loss = _loss(event, *costs, self._integers)
                return None if loss is None else Places(first, second, (loss,))
            middle = tuple([(a + b) / 2 for a, b in zip(first, second, strict=True)])
            if self._integers:
                middle = tuple([Fraction(floor(each)) for each in middle])
            if middle in (first, second):
                break
            if _least(self._costs(place, middle)) is None:
                second = middle
            else:
                first = middle
        return None


def _loss(event: _Event, before: _Costs, after: _Costs, integers: bool) -> PlaceLoss | None:
    """Return what an event loses from one point to another; None if that is nothing."""
    least, most = _least(before), _least(after)
    if least is None or (most is not None and most[0] <= least[0]):
        return None
    likely = before[least[1]]
    if integers and likely is not None and any(e.denominator != 1 for e in likely.noise):
        return None
    loss = None if most is None else most[0] - least[0]
    return PlaceLoss(event.part, event.output, event.shown, after, loss)


def _least(costs: _Costs) -> tuple[Fraction, int] | None:
    """Return the least cost, with its state; None if all are ∞."""
    known = [(c.cost, k) for k, c in enumerate(costs) if c is not None and c.cost is not None]
    return min(known, default=None)


def _own(point: Point, inputs: Sequence[int]) -> Point:
    return tuple([point[k] for k in inputs])


def _dearness(found: Places) -> tuple[bool, Fraction]:
    return found.loss is None, found.loss or _ZERO


def turns_of(
    outputs: Sequence[Sequence[Sequence[Cone]]],
    inputs: Sequence[Sequence[int]],
    count: int,
    integers: bool,
) -> list[set[Fraction]]:
    """Return, for every input, where a guard about it alone is an equality without noise."""
    found = [set[Fraction]() for _ in range(count)]
    for part, own in zip(outputs, inputs, strict=True):
        for cone in (cone for cones in part for cone in cones):
            for form in cone.guards:
                names = form.inputs()
                if len(names) == 1:
                    value = -form.constant / form.coefficient(names[0])
                    place = own[cone.inputs[names[0]]]
                    found[place] |= {Fraction(floor(value))} if integers else {value}
    return found


def _points(
    bounds: Bounds, radius: Fraction, turns: Sequence[set[Fraction]], integers: bool
) -> list[Point]:
    """Return points to try: ends of the intervals and turns, and what is a change, or half of one,
    away from them; fewer where these would be too many.
    """

    def near(
        values: Sequence[Sequence[Fraction]], steps: Sequence[Fraction]
    ) -> list[list[Fraction]]:
        moved = [{value + step for value in each for step in steps} for each in values]
        return [
            sorted(each for each in own if low <= each <= high)
            for own, (low, high) in zip(moved, bounds, strict=True)
        ]

    ends = [sorted({lo, hi}) for lo, hi in bounds]
    both = [each + sorted(turn) for each, turn in zip(ends, turns, strict=True)]
    whole = (-radius, _ZERO, radius)
    halves = () if integers else (-radius / 2, radius / 2)
    several = near(ends, whole), near(both, whole), near(both, (*whole, *halves))
    few = [each for each in several if prod(map(len, each)) <= MOST_POINTS]
    return list(dict.fromkeys(point for each in (ends, *few) for point in product(*each)))
