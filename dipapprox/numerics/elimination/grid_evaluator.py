"""Order events in, enclosures out: a grid with its algebra and the functions computed on it.

In: plans, what they require of a grid, and how fine and precise to work (`RefinementLevel`). Out:
an `Enclosure` of each probability: the value computed with restricted laws is at most the
probability and misses at most the lost mass (`grid`). All memory is bounded; what does not fit is
refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.cache import Cache
from dipapprox.data_classes import dataclass
from dipapprox.deferred import Deferred
from dipapprox.laws.distribution import law_order
from dipapprox.laws.tails import cutoff_interval
from dipapprox.limits import Limits
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.algebras.grid import build_grid, build_lattice
from dipapprox.numerics.elimination.plan import Evaluation, FunctionTable, Terms, enclosed_sum
from dipapprox.numerics.elimination.refinement import (
    GridRequirements,
    RefinementLevel,
    bytes_per_panel,
    has_few_laws,
    is_small,
)
from dipapprox.numerics.elimination.stars import StarBounds, Stars

if TYPE_CHECKING:
    from dipapprox.numerics.algebras import balls
else:
    balls = Deferred("dipapprox.numerics.algebras.balls")


@dataclass(frozen=True, slots=True)
class Planned:
    """The plan of an event."""

    terms: Terms  # the probability, but for `error`
    samples: int  # how many samples and sums the event has
    error: Fraction = Fraction(0)  # the terms' distance from the probability


MEMORY = 2**28
"""Bytes that the functions of one evaluator may take, about."""


class GridEvaluator:
    """An algebra on a grid, which keeps all but 2**(1 - kept) of every law it is required for.

    It remembers at most `capacity` functions, of a table, that were computed on it.
    """

    def __init__(
        self,
        required: GridRequirements,
        kept: int,
        algebra: Float64Algebra | balls.BallAlgebra,
        table: FunctionTable,
        capacity: int,
    ) -> None:
        self.required = required
        self.kept = kept
        self._algebra = algebra
        self._table = table
        self._capacity = capacity
        self._lost = max(span.lost for span in algebra.grid.spans.values())
        self._forget()

    @property
    def fullness(self) -> float:
        """The share of its memory that an evaluator has used."""
        used = self._evaluation.remembered / self._capacity
        if isinstance(self._algebra, Float64Algebra):
            return used
        return max(used, self._algebra.off_grid / self._algebra.room)

    def _forget(self) -> None:
        if not isinstance(self._algebra, Float64Algebra):
            self._algebra.off_grid = 0
        # Of what kind the functions are, the algebra and its evaluation alone know.
        self._evaluation: Evaluation[Any, Enclosure | NotEnclosed] = Evaluation(
            self._algebra, self._table
        )

    def enclose(self, plans: Sequence[Planned], limits: Limits) -> list[Enclosure | NotEnclosed]:
        """Enclose the probabilities of events whose requirements this evaluator meets."""
        if not isinstance(self._algebra, Float64Algebra):
            self._algebra.limits = limits
        terms = [plan.terms for plan in plans]
        values = self._values(terms, limits) or [self._alone(each, limits) for each in terms]
        # The mass that the restricted laws of the samples lack, for every number of samples.
        lost = {count: self._lost * count for count in {plan.samples for plan in plans}}
        found: list[Enclosure | NotEnclosed] = []
        for value, plan in zip(values, plans, strict=True):
            if isinstance(value, Enclosure):
                most = value.upper + lost[plan.samples] + plan.error
                value = Enclosure(value.lower - plan.error, most).intersect(UNIT, "elimination")
            found.append(value)
        return found

    def enclose_stars(self, stars: Stars, limits: Limits) -> Iterator[StarBounds]:
        """Bound the probabilities of stars whose requirements this evaluator in doubles meets."""
        assert isinstance(self._algebra, Float64Algebra)
        lost = max(float(self._lost), 2.0**-1000)  # a power of two, which may underflow
        return stars.bounds(self._algebra, lost, limits)

    def _values(
        self, plans: Sequence[Terms], limits: Limits
    ) -> list[Enclosure | NotEnclosed] | None:
        """The values of some plans; None if there is no room for their functions."""
        if self._evaluation.remembered + self._evaluation.cost(plans) > self._capacity:
            return None
        try:
            return [enclosed_sum(each) for each in self._evaluation.values(plans, limits)]
        except balls.TooManyPanels:
            return None

    def _alone(self, plan: Terms, limits: Limits) -> Enclosure | NotEnclosed:
        """The value of one plan, after forgetting what was computed if there is no room."""
        found = self._values((plan,), limits)
        if found is None:
            self._forget()
            found = self._values((plan,), limits)
        if found is None:
            return NotEnclosed("its functions are more than the memory holds")
        return found[0]


def new_evaluator(
    required: GridRequirements,
    kept: int,
    level: RefinementLevel,
    table: FunctionTable,
    max_panels: int,
) -> GridEvaluator | NotEnclosed:
    """Make an evaluator with a grid of at most `max_panels` panels."""
    algebra: Algebra | NotEnclosed = NotEnclosed("not looked for")
    if not level.bits and has_few_laws(required) and is_small(required):
        key = required.scope(), kept, level, min(max_panels, _SHARED)
        algebra = _shared.find(key, lambda: open_algebra(required, *key[1:]))
    if isinstance(algebra, NotEnclosed):
        algebra = open_algebra(required, kept, level, max_panels)
    if isinstance(algebra, NotEnclosed):
        return algebra
    each = bytes_per_panel(level) * algebra.grid.panels
    return GridEvaluator(required, kept, algebra, table, max(MEMORY // each, 32))


if TYPE_CHECKING:
    Algebra = Float64Algebra | balls.BallAlgebra


def open_algebra(
    required: GridRequirements, kept: int, level: RefinementLevel, max_panels: int
) -> Algebra | NotEnclosed:
    """Make an algebra on a grid; see `GridEvaluator` and `new_evaluator`."""
    laws, points = sorted(required.laws, key=law_order), required.points
    if required.moved:
        points = points.union(*(cutoff_interval(law, kept) for law in laws))
    if required.sums:
        if level.bits:
            max_panels = min(max_panels, _MOST_IN_BALLS)
        grid = build_lattice(laws, points, required.sums, kept, level.fineness, max_panels)
    else:
        grid = build_grid(laws, points, kept, level.fineness, max_panels)
    if isinstance(grid, NotEnclosed):
        return grid
    try:
        if not level.bits:
            doubles = Float64Algebra(grid)
            if required.sums:
                doubles.require_sums()
            return doubles
        # Panels of one width are narrow for all but the narrowest laws.
        degree = 3 * level.degree // 5 if required.sums else level.degree
        exact = balls.BallAlgebra(grid.also_in(required.shifts), level.bits, degree)
        exact.room = MEMORY // bytes_per_panel(level)
        return exact
    except ValueError as error:
        return NotEnclosed(str(error))


_MOST_IN_BALLS = 512  # most panels of one width in balls: a sum takes up to a second for so many
_SHARED = 256  # most panels of a grid that the process remembers

_Key = tuple[tuple[object, ...], int, RefinementLevel, int]

_shared: Cache[_Key, Algebra | NotEnclosed] = Cache(16)
"""Grids in doubles for few laws, with the node values of these, which take longer to prove than to
use: inputs, runs and, as events have normal forms, values of eps share them. A function takes
at most 60 kB and a law at most seven times as much, so that all of them stay below 90 MB; commonly
it is 1 MB."""


def forget_grids() -> None:
    """Forget what the process remembers; for measurements of what the first run costs."""
    _shared.clear()
