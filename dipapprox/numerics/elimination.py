"""The main engine: order events by elimination over a function algebra (`elimination`).

    event -> order event -> elimination plan -> float64 on a grid -> narrow enough?  yes -> done
                                                  ^                     | no
                                                  +-- finer; balls, more bits and degrees --+

In: an `Event`. Out: an `Enclosure` of its probability, or why the guards have no such plan. The
value computed with restricted laws is at most the probability and misses at most the lost mass
(`grid`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import assert_never

from dipapprox.distributions import Distribution
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Connected, Event, Star
from dipapprox.limits import Limits
from dipapprox.numerics.balls import BallAlgebra, BallFunction
from dipapprox.numerics.elimination_plan import (
    Function,
    eliminate,
    eliminate_star,
)
from dipapprox.numerics.elimination_value import Evaluation
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.float64 import Float64Algebra
from dipapprox.numerics.grid import Grid, build_grid
from dipapprox.numerics.order_event import OrderEvent, order_event
from dipapprox.numerics.sampled import Sampled


@dataclass(frozen=True, slots=True)
class Rung:
    """One attempt: how fine the grid is and which algebra works on it.

    Attributes:
        fineness: See `build_grid`.
        bits: Precision of the balls; 0 for doubles.
        degree: Of the balls' polynomials.
    """

    fineness: int
    bits: int = 0
    degree: int = 0

    def algebra(self, grid: Grid) -> Float64Algebra | BallAlgebra | NotEnclosed:
        """Make the algebra on a grid."""
        if self.bits:
            return BallAlgebra(grid, self.bits, self.degree)
        try:
            return Float64Algebra(grid)
        except ValueError as error:
            return NotEnclosed(str(error))


class Tier(Enum):
    """Which algebras may be used; the value is the word on the command line."""

    AUTO = "auto"
    FLOAT64 = "float64"
    BALLS = "balls"


def ladder(bits: int, tier: Tier = Tier.AUTO) -> list[Rung]:
    """The attempts for a wanted width of 2**-bits.

    Doubles first, as long as they are likely to be good enough; balls in steps of 64 bits.
    """
    doubles = [Rung(1), Rung(3)]
    balls = [
        Rung(fineness, precision, precision // 4 + 12)
        for precision, fineness in (
            (_rounded_up(bits + 24), 2),
            (_rounded_up(bits + 88), 4),
            (_rounded_up(2 * bits + 152), 8),
        )
    ]
    match tier:
        case Tier.FLOAT64:
            return doubles
        case Tier.BALLS:
            return balls
        case Tier.AUTO:
            return [*doubles, *balls] if bits <= _DOUBLES else balls
        case _:
            assert_never(tier)


_DOUBLES = 48
"""Doubles are not tried for enclosures narrower than 2**-48."""


def _rounded_up(bits: int) -> int:
    return -(-bits // 64) * 64


class Eliminated:
    """The method `elimination`. It remembers grids and functions: similar events share them.

    Args:
        tier: Which algebras may be used.
    """

    def __init__(self, tier: Tier = Tier.AUTO) -> None:
        self._tier = tier
        self._benches: dict[Rung, _Bench] = {}
        self._furthest: Rung | None = None

    @property
    def name(self) -> str:
        """The word in reports, with the furthest algebra that was needed so far."""
        match self._furthest:
            case None:
                return "elimination"
            case Rung(bits=0):
                return "elimination (float64)"
            case Rung(bits=bits):
                return f"elimination (balls, {bits} bits)"
            case _:
                assert_never(self._furthest)

    def enclose_many(
        self, events: Sequence[Connected], bits: int, limits: Limits
    ) -> list[Enclosure | NotEnclosed]:
        """Enclose Pr[event] for every event; see `Method.enclose_many`."""
        # The event with the most laws first: its grid may serve the others.
        order = sorted(range(len(events)), key=lambda i: -_variety(events[i]))
        found = {i: self.enclose(events[i], bits, limits) for i in order}
        return [found[i] for i in range(len(events))]

    def enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        """Enclose Pr[event]; see `Method.enclose`."""
        order = event if isinstance(event, Star) else order_event(event)
        if isinstance(order, NotEnclosed):
            return order
        best: Enclosure | NotEnclosed = NotEnclosed("no attempt succeeded")
        for rung in ladder(bits, self._tier):
            found = self._attempt(order, bits, rung, limits)
            if isinstance(found, NotEnclosed):
                best = best if isinstance(best, Enclosure) else found
                continue
            if isinstance(best, Enclosure) and not found.meets(best):
                raise BrokenInvariant("elimination: disjoint enclosures of one probability")
            best = found.intersect(best) if isinstance(best, Enclosure) else found
            if self._furthest is None or rung.bits > self._furthest.bits:
                self._furthest = rung
            if best.width <= Fraction(1, 2**bits):
                break
        return best

    def _attempt(
        self, order: OrderEvent | Star, bits: int, rung: Rung, limits: Limits
    ) -> Enclosure | NotEnclosed:
        counts, points = _laws_and_points(order)
        laws = set(counts)
        # In steps of 16, so that events of different sizes find the same grid good enough.
        kept = -(-(max(bits, 48) + counts.total().bit_length() + 4) // 16) * 16
        bench = self._benches.get(rung)
        if bench is None or not bench.fits(laws, points, kept):
            made = _new_bench(bench, laws, points, kept, rung)
            if isinstance(made, NotEnclosed):
                return made
            bench = self._benches[rung] = made
        value = bench.value(order, limits)
        if isinstance(value, NotEnclosed):
            return value
        spans = bench.algebra.grid.spans
        lost = sum((spans[law].lost * count for law, count in counts.items()), Fraction(0))
        return Enclosure(value.lower, value.upper + lost).intersect(UNIT)


def _variety(event: Connected) -> int:
    """How many laws an event has, like ones counted once in a star."""
    match event:
        case Star(_, below, above):
            return len(below) + len(above)
        case Event(samples):
            return len(set(samples))
        case _:
            assert_never(event)


def _laws_and_points(order: OrderEvent | Star) -> tuple[Counter[Distribution], set[Fraction]]:
    """The laws of all samples, counted, and the constants that samples are compared with."""
    match order:
        case Star(centre, below, above):
            counts = Counter({centre: 1})
            for law, count in (*below, *above):
                counts[law] += count
            return counts, set()
        case OrderEvent(samples):
            bounds = {bound for sample in samples for bound in (sample.lower, sample.upper)}
            points = {bound for bound in bounds if bound is not None}
            return Counter(sample.law for sample in samples), points
        case _:
            assert_never(order)


_LAWS_TOGETHER = 12
"""Most laws that one grid serves for the sake of sharing."""

_FUNCTIONS = 20_000
"""Most functions that one grid remembers."""


@dataclass(frozen=True, slots=True)
class _Bench:
    """A grid with its algebra and all functions computed on it.

    Attributes:
        kept: The grid keeps all but 2**(1 - kept) of every law.
        points: Constants that are boundaries.
        table: The functions' indices.
    """

    algebra: Float64Algebra | BallAlgebra
    kept: int
    points: frozenset[Fraction]
    table: dict[Function, int]
    evaluation: Evaluation[Sampled] | Evaluation[BallFunction]

    def fits(self, laws: set[Distribution], points: set[Fraction], kept: int) -> bool:
        """Whether an event with these laws and constants can be evaluated here."""
        return (
            kept <= self.kept
            and points <= self.points
            and laws <= self.algebra.grid.spans.keys()
            and len(self.table) + self.evaluation.remembered < _FUNCTIONS
        )

    def value(self, order: OrderEvent | Star, limits: Limits) -> Enclosure | NotEnclosed:
        """Enclose the event's probability for restricted laws."""
        if isinstance(order, Star):
            plan = eliminate_star(order, self.table)
        else:
            plan = eliminate(order, limits, self.table)
        return self.evaluation.value(plan, limits)


def _new_bench(
    old: _Bench | None, laws: set[Distribution], points: set[Fraction], kept: int, rung: Rung
) -> _Bench | NotEnclosed:
    """Make a bench, for the laws of the old one as well if they are few."""
    if old is not None and len(old.algebra.grid.spans.keys() | laws) <= _LAWS_TOGETHER:
        laws = old.algebra.grid.spans.keys() | laws
        points, kept = points | old.points, max(kept, old.kept)
        made = _new_bench(None, laws, points, kept, rung)
        if isinstance(made, _Bench):
            return made
    grid = build_grid(sorted(laws, key=repr), points, kept, rung.fineness)
    if isinstance(grid, NotEnclosed):
        return grid
    algebra = rung.algebra(grid)
    shared = kept, frozenset(points), dict[Function, int]()
    match algebra:
        case NotEnclosed():
            return algebra
        case Float64Algebra():
            return _Bench(algebra, *shared, Evaluation(algebra))
        case BallAlgebra():
            return _Bench(algebra, *shared, Evaluation(algebra))
