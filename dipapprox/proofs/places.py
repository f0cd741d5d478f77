"""Lower bounds between two inputs: what an output loses there as eps grows.

**Theorem.** Let noise have densities Π (rate eps / c) · exp(-rate eps |e|), c = 2, or 1 on one
side. For a final state j, the noises {e: G e + H q + h <= 0}, let V_j(q) = min Σ rate |e| over
them, ∞ if there are none, and V = min_j V_j over the states of an output. If q, q' are adjacent,
both V are finite, and a state with the least V_j(q) has an open set of noises at q, then no budget
D < V(q') - V(q) serves every eps.

Proof. Write r(e) = Σ rate |e|. Pr_j(q') <= Pr[r(e) >= V_j(q')]: by Markov's inequality, for every
θ < 1, at most exp(-θ eps V_j(q')) · Π E[exp(θ eps rate |e|)], expectations that are (1 - θ)^-1 for
every eps. At q an open set of noises has r(e) <= V(q) + η, however small η is: the state is convex,
and has inner points close to its cheapest one. So Pr(q) >= exp(-eps (V(q) + η)) times a power of
eps, and liminf of ln(Pr(q) / Pr(q')) / eps is at least V(q') - V(q) as eps goes to ∞. What parts
that share no noise lose adds up. ∎

**Impossible outputs.** An output whose states have an open set of noises at q, some of them, and
none of them at an adjacent q', has no budget at all: Π is positive within its support, and the
states at q' are convex sets without inner points, so null. With probability > 0 at q and 0 at q'
no eps has a budget. (V(q') need not be ∞: the states may keep a boundary.)

Where inputs lie between bounds this is what is left of the rays of `rays`, which leave the bounds.
Pairs of ends of the intervals are tried, and of points as far from them as inputs may change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import lcm

from dipapprox.data_classes import dataclass
from dipapprox.language.core import Adjacency
from dipapprox.limits import Limits
from dipapprox.linear_programme import LinearProgramme, Optimum, Side
from dipapprox.proofs.changes import allows
from dipapprox.proofs.cones import Cone
from dipapprox.semantics.linear import LinearForm, Symbol
from dipapprox.semantics.polyhedra import has_interior

Point = tuple[Fraction, ...]
"""A value of every input."""

Bounds = Sequence[tuple[Fraction, Fraction]]

MOST_POINTS = 64
MOST_COSTS = 4_000
"""Points times final states."""


@dataclass(frozen=True, slots=True)
class Places:
    """Two adjacent inputs, and what the outputs of some parts lose between them.

    Attributes:
        first, second: The inputs; the outputs are likelier at the first.
        outputs: Numbers of parts and of their outputs.
        loss: In multiples of eps; None for ∞, where the output is impossible at the second.
    """

    first: Point
    second: Point
    outputs: tuple[tuple[int, int], ...]
    loss: Fraction | None


class CostOfPoints:
    """The V_j of one final state.

    Args:
        cone: Of a state with Laplace or one-sided noise, of scales that are multiples of 1/eps.
        limits: Asked again and again.
    """

    def __init__(self, cone: Cone, limits: Limits) -> None:
        self._cone, self._limits = cone, limits
        rates = [source.rate or Fraction(1) for source in cone.sources]
        self._unit = Fraction(1, lcm(*(rate.denominator for rate in rates)))
        self._scales = []
        rows = []
        for form in cone.guards:
            noise = {int(s): c for s, c in form.terms if isinstance(s, int)}
            scale = lcm(*(c.denominator for c in noise.values()))
            self._scales.append(scale)
            rows.append({place: int(c * scale) for place, c in noise.items()})
        self._programme = LinearProgramme(
            rows,
            [int(rate / self._unit) for rate in rates],
            [source.side for source in cone.sources],
            limits,
        )

    def at(self, point: Point) -> Fraction | None:
        """Return V_j; None for ∞."""
        self._limits.check()
        sides = [
            -form.constant * scale
            for form, scale in zip(self._fixed(point), self._scales, strict=True)
        ]
        common = lcm(*(side.denominator for side in sides))
        found = self._programme.solve([int(side * common) for side in sides])
        return found.value * self._unit / common if isinstance(found, Optimum) else None

    def _fixed(self, point: Point) -> list[LinearForm]:
        return _guards_at(self._cone, point)

    def is_open(self, point: Point) -> bool:
        """Whether an open set of noises leads to the state."""
        return is_open(self._cone, point)


def is_open(cone: Cone, point: Point) -> bool:
    """Whether an open set of noises leads to a state; one-sided noise asks for more."""
    supports = [
        LinearForm.of({place: Fraction(-1 if source.side is Side.AT_LEAST_ZERO else 1)})
        for place, source in enumerate(cone.sources)
        if source.side is not Side.ANY
    ]
    return has_interior([*_guards_at(cone, point), *supports])


def _guards_at(cone: Cone, point: Point) -> list[LinearForm]:
    values: dict[Symbol, Fraction] = {s: point[k] for s, k in cone.inputs.items()}
    return [form.at(values) for form in cone.guards]


def between_places(
    outputs: Sequence[Sequence[Sequence[Cone]]],
    inputs: Sequence[Sequence[int]],
    bounds: Bounds,
    adjacency: Adjacency,
    radius: Fraction,
    limits: Limits,
) -> Places | None:
    """Look for two adjacent inputs between which much is lost.

    Args:
        outputs: For every independent part and each of its outputs the possible final states.
        inputs: Where the inputs of each part stand among all.
        bounds: Of all inputs.
        adjacency: Of the program.
        radius: How far from the ends of the intervals points are tried, too.
        limits: Asked again and again.

    Returns:
        The best pair found; None if nothing is lost between any.
    """
    points = list(_points(bounds, radius))
    states = sum(len(cones) for part in outputs for cones in part)
    if len(points) > MOST_POINTS or len(points) * states > MOST_COSTS:
        return None
    costs = [
        [_values([CostOfPoints(cone, limits) for cone in cones], points, own) for cones in part]
        for part, own in zip(outputs, inputs, strict=True)
    ]
    best: Places | None = None
    most = Fraction(0)
    for (i, first), (j, second) in product(enumerate(points), repeat=2):
        change = [b - a for a, b in zip(first, second, strict=True)]
        if i == j or not allows(adjacency, change):
            continue
        for k, part in enumerate(costs):
            gone = _impossible(part, i, j)
            if gone is not None:
                return Places(first, second, ((k, gone),), None)
        losses = [_best(part, i, j) for part in costs]
        total = sum((loss for loss, _ in losses), Fraction(0))
        if total > most:
            lost = tuple((k, output) for k, (loss, output) in enumerate(losses) if loss)
            best, most = Places(first, second, lost, total), total
    return best


_Value = tuple[Fraction | None, bool, bool]
"""V of an output at a point, None for ∞; whether it is as likely as that says, or likely at all."""


def _values(
    states: Sequence[CostOfPoints], points: Sequence[Point], own: Sequence[int]
) -> list[_Value]:
    found = list[_Value]()
    for point in points:
        here = tuple(point[k] for k in own)
        known = [(cost, state) for state in states if (cost := state.at(here)) is not None]
        least = min((cost for cost, _ in known), default=None)
        is_open = any(cost == least and state.is_open(here) for cost, state in known)
        is_possible = is_open or any(state.is_open(here) for _, state in known)
        found.append((least, is_open, is_possible))
    return found


def _impossible(part: Sequence[Sequence[_Value]], first: int, second: int) -> int | None:
    """Return an output of a part that is possible at a point and impossible at another."""
    for number, values in enumerate(part):
        if values[first][2] and not values[second][2]:
            return number
    return None


def _best(part: Sequence[Sequence[_Value]], first: int, second: int) -> tuple[Fraction, int]:
    """Return the most that an output of a part loses from a point to another, and which."""
    best = Fraction(0), 0
    for number, values in enumerate(part):
        (before, is_open, _), (after, _, _) = values[first], values[second]
        if before is not None and after is not None and is_open and after - before > best[0]:
            best = after - before, number
    return best


def _points(bounds: Bounds, radius: Fraction) -> Iterator[Point]:
    """Yield points to try: ends of the intervals, and what is a change away from them."""
    several = [
        sorted({lo, hi, *(each for each in (lo + radius, hi - radius) if lo <= each <= hi)})
        for lo, hi in bounds
    ]
    size = 1
    for each in several:
        size *= len(each)
    ends = [sorted({lo, hi}) for lo, hi in bounds]
    yield from product(*(several if size <= MOST_POINTS else ends))
