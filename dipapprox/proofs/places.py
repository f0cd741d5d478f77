"""Lower bounds between two inputs: what an output loses there as eps grows.

**Theorem.** Let noise of rate r have the density (r eps / c) · exp(-r eps |e|), c = 2, or 1 on one
side, or be discrete Laplace noise of that rate; Gaussian noise has a standard deviation s / eps.
An output is the union of final states; if the program has real outputs, it is that these lie in
intervals of length 2η around some numbers, too. With the V of `two_inputs`, let W(q) be the least
V among the states of the output that are possible at q. Finite choices have weights without eps. If
q, q' are adjacent and W(q) is finite, then no budget D < W(q') - W(q) serves every eps, and none at
all if W(q') = ∞.

Proof. Let y be the flow of a state at q', f = Σ_g y_g G_g. In the state f·e <= -V(q'), or so but
for a multiple of η; where V(q') = ∞, f is about Gaussian noise, and noise bound on its side, alone.
By Markov's inequality, for every θ < 1, Pr(q') <= exp(-θ eps (V(q') - O(η))) · Π E[exp(θ eps f_i
e_i)], factors that are bounded as eps grows: (1 - θ)^-1 at most, πθ / sin πθ, Γ(1 - θ),
e^(θ² f² s² / 2), and for integers what tends to 1. If V(q') = ∞, f may be multiplied by any number:
by eps, so that Pr(q') falls like exp(-κ eps²), κ > 0, or is 0 (for Gumbel noise E exp(-k eps Z) =
Γ(1 + k eps) is e^O(eps ln eps)). At q the noise e that is cheapest has an open set of noises of the
state within a distance 1 / eps, of a volume that is a power of eps at least: the state is convex
and has inner points (integers: e itself will do). So Pr(q) >= exp(-eps W(q)) times a power of eps.
Then η goes to 0. What parts that share no noise lose adds up. ∎

**Impossible outputs.** An output of which some state is possible at q, and none at an adjacent q',
has no budget at any eps: densities are positive within the support, and states at q' are convex
sets without inner points, so null; or integer noise has no point in them.

Where inputs lie between bounds this is what is left of rays (`worst_change`), which leave them.
Pairs of ends of the intervals are tried, of inputs that make a guard an equality without noise, and
of points as far from these as inputs may change. From the best pair others are tried that are
moved a little, again and again, as W bends where several guards do. Where an output is possible at
one point and impossible at another, what lies between is halved until the two are adjacent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import floor, prod

from dipapprox.data_classes import Record, replace
from dipapprox.language.core import Value
from dipapprox.linear.form import Symbol
from dipapprox.linear.programme import Optimum
from dipapprox.proofs.real_proof import PartProof
from dipapprox.proofs.two_inputs import (
    CostOfPoints,
    LostOutput,
    Point,
    PointCost,
    RealInputs,
    Shown,
    TwoInputs,
    climbed,
    lost_between,
    most_lost,
)

FAR = 4  # radii from 0, where inputs without bounds are looked at one by one
MOST_POINTS = 64
MOST_COSTS = 4_000
"""Points times final states times numbers that are shown; moving pairs may double them."""

MOST_HALVINGS = 64  # between two points
MOST_CLIMBED = 6  # pairs, the best ones, from which better ones are looked for
_ZERO = Fraction(0)


class _Event(Record):
    """An output of a part, and what its real outputs are close to."""

    part: int
    place: int
    output: tuple[Value, ...]
    shown: Shown
    states: tuple[CostOfPoints, ...]

    def costs(self, point: Point) -> tuple[PointCost | None, ...]:
        """Return what its states cost; None where one is impossible."""
        return tuple(
            [each.at(point, self.shown) if each.is_open(point) else None for each in self.states]
        )


_Costs = tuple[PointCost | None, ...]


def between_places(
    parts: Sequence[PartProof], inputs: RealInputs, tried: Sequence[Point] = ()
) -> TwoInputs | None:
    """Return the best two adjacent inputs found, where none has bounds, not far from 0.

    None if nothing is lost between any. Tried are some points, or ends of the intervals and others.
    """
    far = FAR * inputs.radius
    inputs = replace(inputs, bounds=tuple([each or (-far, far) for each in inputs.bounds]))
    points = list(tried) or _points(inputs, turns_of(parts, inputs))
    states = sum(len(output.states) for part in parts for output in part.outputs)
    if len(points) > MOST_POINTS or len(points) * states > MOST_COSTS:
        return None
    events: list[_Event] = []
    for number, part in enumerate(parts):
        own = list(dict.fromkeys(_own(point, part.inputs) for point in points))
        for place, output in enumerate(part.outputs):
            costs = [CostOfPoints(each.cone, inputs.integers) for each in output.states]
            events += _events(number, place, output.output, tuple(costs), own)
    if len(points) * sum(len(event.states) for event in events) > MOST_COSTS:
        return None
    return _Search(events, points, [part.inputs for part in parts], inputs).best()


def _events(
    part: int,
    place: int,
    output: tuple[Value, ...],
    states: tuple[CostOfPoints, ...],
    points: Sequence[Point],
) -> Iterator[_Event]:
    """Yield an output with the numbers that it shows when noise is cheapest at some points."""
    shown = dict[Shown, None]()
    for state in states:
        for point in points:
            found = state.at(point, None)
            if isinstance(found, Optimum):
                shown[state.shown_at(point, found.shift)] = None
    for each in shown:
        yield _Event(part, place, output, each, states)


class _Search:
    def __init__(
        self,
        events: Sequence[_Event],
        points: Sequence[Point],
        read: Sequence[Sequence[int]],
        inputs: RealInputs,
    ) -> None:
        self._events, self._points, self._read, self._inputs = events, points, read, inputs
        self._known = dict[tuple[int, Point], _Costs]()
        self._left = 2 * MOST_COSTS

    def best(self) -> TwoInputs | None:
        known = list[TwoInputs]()
        for first, second in self._pairs():
            found = self._between(first, second)
            if found is not None:
                known.append(found)
                if found.loss is None:
                    return found
        for place in range(len(self._events)):
            for first, second in self._pairs():
                costs = self._costs(place, first), self._costs(place, second)
                if _least(costs[0]) is not None and _least(costs[1]) is None:
                    crossed = self._crossing(place, first, second)
                    if crossed is not None:
                        return crossed
        known.sort(key=lambda each: each.dearness, reverse=True)
        tops = known[:MOST_CLIMBED]
        return most_lost([climbed(each, self._near, lambda one: one.dearness) for each in tops])

    def _near(self, known: TwoInputs) -> Iterator[TwoInputs]:
        for pair in self._inputs.near(known.first, known.second):
            if self._left < 0:
                return
            found = self._between(*pair)
            if found is not None:
                yield found

    def _between(self, first: Point, second: Point) -> TwoInputs | None:
        """Return what is lost from one point to another; None if nothing is."""
        if not self._inputs.allows(first, second):
            return None
        return lost_between(first, second, self._losses(first, second))

    def _losses(
        self, first: Point, second: Point, among: Sequence[int] = ()
    ) -> Iterator[LostOutput]:
        """Yield what events lose from one point to another: all of them, or some."""
        for place in among or range(len(self._events)):
            event, after = self._events[place], self._costs(place, second)
            before = self._costs(place, first)
            likely, most = _least(before), _least(after)
            if likely is None or (most is not None and most.value <= likely.value):
                continue
            if self._inputs.integers and any(e.denominator != 1 for e in likely.shift.values()):
                continue
            loss = None if most is None else most.value - likely.value
            yield LostOutput(event.part, event.output, loss, event.shown, after, event.place)

    def _pairs(self) -> Iterator[tuple[Point, Point]]:
        return ((a, b) for a in self._points for b in self._points if a != b)

    def _costs(self, place: int, point: Point) -> _Costs:
        event = self._events[place]
        own = _own(point, self._read[event.part])
        if (place, own) not in self._known:
            self._known[place, own] = event.costs(own)
            self._left -= len(event.states)
        return self._known[place, own]

    def _crossing(self, place: int, first: Point, second: Point) -> TwoInputs | None:
        """Halve what lies between a point where an output costs something and one where it is ∞."""
        for _ in range(MOST_HALVINGS):
            if self._inputs.allows(first, second):
                return lost_between(first, second, self._losses(first, second, [place]))
            middle = tuple([(a + b) / 2 for a, b in zip(first, second, strict=True)])
            if self._inputs.integers:
                middle = tuple([Fraction(floor(each)) for each in middle])
            if middle in (first, second):
                break
            if _least(self._costs(place, middle)) is None:
                second = middle
            else:
                first = middle
        return None


def _least(costs: _Costs) -> Optimum[Symbol] | None:
    """Return the least cost; None if all are ∞."""
    known = (each for each in costs if isinstance(each, Optimum))
    return min(known, key=lambda each: each.value, default=None)


def _own(point: Point, inputs: Sequence[int]) -> Point:
    return tuple([point[k] for k in inputs])


def turns_of(parts: Sequence[PartProof], inputs: RealInputs) -> list[set[Fraction]]:
    """Return, for every input, where a guard about it alone is an equality without noise."""
    found = [set[Fraction]() for _ in inputs.bounds]
    for part in parts:
        for cone in (state.cone for output in part.outputs for state in output.states):
            for form in cone.guards:
                names = form.inputs()
                if len(names) == 1:
                    value = -form.constant / form.coefficient(names[0])
                    place = part.inputs[cone.inputs[names[0]]]
                    found[place] |= {Fraction(floor(value))} if inputs.integers else {value}
    return found


def _points(inputs: RealInputs, turns: Sequence[set[Fraction]]) -> list[Point]:
    """Return points to try: ends of the intervals and turns, and what is a change, or half of one,
    away from them; of these whatever does not make them too many.
    """

    radius = inputs.radius

    def near(values: Sequence[Sequence[Fraction]], steps: Iterable[Fraction]) -> Iterator[Point]:
        moved = [{value + step for value in each for step in steps} for each in values]
        few = [sorted(v for v in own if inputs.has(k, v)) for k, own in enumerate(moved)]
        return product(*few) if prod(map(len, few)) <= MOST_POINTS else iter(())

    ends = [sorted({*(each or ())}) for each in inputs.bounds]
    both = [each + sorted(turn) for each, turn in zip(ends, turns, strict=True)]
    largest = -radius, _ZERO, radius
    sizes = {sign * size for size in inputs.sizes for sign in (-1, 1)}.union(largest)
    halves = () if inputs.integers else (-radius / 2, radius / 2)
    found = dict.fromkeys(product(*ends))
    for values, steps in (
        (ends, largest),
        (both, largest),
        (both, {*largest, *halves}),
        (ends, sizes),
        (both, sizes),
        (both, sizes.union(halves)),
    ):
        more = found | dict.fromkeys(near(values, steps))
        found = more if len(more) <= MOST_POINTS else found
    return list(found)
