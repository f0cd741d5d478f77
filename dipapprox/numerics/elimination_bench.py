"""Benches: a grid with its algebra and the functions computed on it, for many order events.

In: order events and stars, and how fine and precise to work (`Rung`). Out: an `Enclosure` of each
probability: the value computed with restricted laws is at most the probability and misses at most
the lost mass (`grid`). All memory is bounded; what does not fit is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from dipapprox.distributions import Distribution
from dipapprox.events.event import Star
from dipapprox.limits import Limits
from dipapprox.numerics.balls import BallAlgebra, BallFunction
from dipapprox.numerics.elimination_plan import FunctionTable, Terms, eliminate, eliminate_star
from dipapprox.numerics.elimination_value import Evaluation
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.float64 import Float64Algebra
from dipapprox.numerics.grid import build_grid
from dipapprox.numerics.order_event import OrderEvent
from dipapprox.numerics.sampled import Sampled

Order = OrderEvent | Star


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

    def bytes(self, panels: int) -> int:
        """Return about how much memory a function takes."""
        if self.bits:
            return panels * (self.degree + 1) * (64 + self.bits // 8)
        return panels * 232


@dataclass(frozen=True, slots=True)
class Needs:
    """What some events ask of a grid.

    Attributes:
        laws: Of their samples.
        points: Constants that samples are compared with.
        samples: The most that one of them has.
    """

    laws: frozenset[Distribution]
    points: frozenset[Fraction]
    samples: int

    @classmethod
    def of(cls, order: Order) -> Needs:
        """Read an event's needs."""
        match order:
            case Star(centre, below, above):
                leaves = (*below, *above)
                laws = frozenset((centre, *(law for law, _ in leaves)))
                return cls(laws, frozenset(), 1 + sum(count for _, count in leaves))
            case OrderEvent(samples):
                shared = {id(sample.law): sample.law for sample in samples}  # laws hash slowly
                bounds = {bound for each in samples for bound in (each.lower, each.upper)}
                points = frozenset(bound for bound in bounds if bound is not None)
                return cls(frozenset(shared.values()), points, len(samples))
            case _:
                assert_never(order)

    def scope(self) -> tuple[frozenset[Distribution], frozenset[Fraction]]:
        """The laws and the points."""
        return self.laws, self.points

    def __or__(self, other: Needs) -> Needs:
        if other <= self:
            return self
        samples = max(self.samples, other.samples)
        return Needs(self.laws | other.laws, self.points | other.points, samples)

    def __le__(self, other: Needs) -> bool:
        return (
            self.samples <= other.samples
            and self.points <= other.points
            and self.laws <= other.laws
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """An event and its needs."""

    order: Order
    needs: Needs


_MEMORY = 2**28
"""Bytes that the functions of one bench may take, about."""

_TABLE = 200_000
"""Most functions in a table, computed or not."""

_TOGETHER = 128
"""Events planned before their functions are computed."""


class Bench:
    """An algebra on a grid, and what was computed on it.

    Args:
        needs: What the grid is for.
        kept: It keeps all but 2**(1 - kept) of every law.
        algebra: On the grid.
        capacity: Most functions to remember.
    """

    def __init__(
        self, needs: Needs, kept: int, algebra: Float64Algebra | BallAlgebra, capacity: int
    ) -> None:
        self.needs = needs
        self.kept = kept
        self._algebra = algebra
        self._capacity = capacity
        self._lost = max(span.lost for span in algebra.grid.spans.values())
        self._forget()

    def _forget(self) -> None:
        self._table = FunctionTable()
        self._begin()

    def _begin(self) -> None:
        self._evaluation: Evaluation[Sampled] | Evaluation[BallFunction]
        match self._algebra:
            case Float64Algebra():
                self._evaluation = Evaluation(self._algebra, self._table)
            case BallAlgebra():
                self._evaluation = Evaluation(self._algebra, self._table)

    def enclose(self, asked: Sequence[Asked], limits: Limits) -> list[Enclosure | NotEnclosed]:
        """Enclose the probabilities of events whose needs this bench meets."""
        found: list[Enclosure | NotEnclosed] = []
        for start in range(0, len(asked), _TOGETHER):
            if len(self._table) > _TABLE:
                self._forget()
            batch = asked[start : start + _TOGETHER]
            values = self._values([each.order for each in batch], limits)
            found += [
                value
                if isinstance(value, NotEnclosed)
                # The mass that the restricted laws of the samples lack.
                else Enclosure(value.lower, value.upper + self._lost * each.needs.samples)
                for value, each in zip(values, batch, strict=True)
            ]
        return found

    def _values(self, orders: Sequence[Order], limits: Limits) -> list[Enclosure | NotEnclosed]:
        plans = [self._plan(order, limits) for order in orders]
        known = [plan for plan in plans if not isinstance(plan, NotEnclosed)]
        if self._evaluation.remembered + self._evaluation.cost(known) <= self._capacity:
            values = iter(self._evaluation.values(known, limits))
        else:
            values = iter([self._alone(plan, limits) for plan in known])
        return [plan if isinstance(plan, NotEnclosed) else next(values) for plan in plans]

    def _plan(self, order: Order, limits: Limits) -> Terms | NotEnclosed:
        if isinstance(order, Star):
            return eliminate_star(order, self._table)
        return eliminate(order, limits, self._table)

    def _alone(self, plan: Terms, limits: Limits) -> Enclosure | NotEnclosed:
        """The value of one plan, after forgetting what was computed if there is no room."""
        if self._evaluation.remembered + self._evaluation.cost((plan,)) > self._capacity:
            self._begin()
            needed = self._evaluation.cost((plan,))
            if needed > self._capacity:
                return NotEnclosed(f"it needs {needed} functions, more than the memory holds")
        return self._evaluation.values((plan,), limits)[0]


def new_bench(needs: Needs, kept: int, rung: Rung, max_panels: int) -> Bench | NotEnclosed:
    """Make a bench with a grid of at most `max_panels` panels."""
    grid = build_grid(sorted(needs.laws, key=repr), needs.points, kept, rung.fineness, max_panels)
    if isinstance(grid, NotEnclosed):
        return grid
    capacity = max(_MEMORY // rung.bytes(grid.panels), 32)
    if rung.bits:
        return Bench(needs, kept, BallAlgebra(grid, rung.bits, rung.degree), capacity)
    try:
        return Bench(needs, kept, Float64Algebra(grid), capacity)
    except ValueError as error:
        return NotEnclosed(str(error))
