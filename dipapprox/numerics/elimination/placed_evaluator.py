"""Plans with functions at shifted places in, enclosures out: on panels of their own (`placed`)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from math import lcm

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.laws.distribution import Distribution
from dipapprox.limits import Limits
from dipapprox.numerics.algebras.grid import Grid, build_grid
from dipapprox.numerics.algebras.placed import PlacedAlgebra, TooManyPanels
from dipapprox.numerics.elimination.grid_evaluator import MEMORY, Planned
from dipapprox.numerics.elimination.order_event import OrderEvent
from dipapprox.numerics.elimination.plan import FunctionTable, Terms
from dipapprox.numerics.elimination.refinement import RefinementLevel, bytes_per_panel
from dipapprox.numerics.elimination.value import Evaluation, enclosed_sum


def enclose_placed(
    events: Sequence[OrderEvent],
    plans: Sequence[Planned],
    bits: int,
    level: RefinementLevel,
    table: FunctionTable,
    limits: Limits,
) -> list[Enclosure | NotEnclosed]:
    """Enclose the probabilities of events at one level.

    Args:
        events: Comparisons with offsets.
        plans: Theirs.
        bits: About 2**-bits of each law is lost.
        level: How fine, in balls.
        table: The functions of the plans.
        limits: Asked throughout.

    Raises:
        LimitReached: If the limits run out.
    """
    kept = max(bits, 48) + max(plan.samples for plan in plans).bit_length() + 4
    try:
        evaluator = PlacedEvaluator(events, kept, level, table, limits)
    except ValueError as error:
        return [NotEnclosed(str(error))] * len(plans)
    return [evaluator.enclose(plan.terms, plan.samples) for plan in plans]


class PlacedEvaluator:
    """Plans at one level of refinement; what they share is computed once.

    Args:
        events: Whose plans will come.
        kept: Every law is kept but for 2**(1 - kept).
        level: How fine, in balls.
        table: The functions of the plans.
        limits: Asked throughout.

    Raises:
        ValueError: If the laws' panels are out of range; the argument says how.
    """

    def __init__(
        self,
        events: Collection[OrderEvent],
        kept: int,
        level: RefinementLevel,
        table: FunctionTable,
        limits: Limits,
    ) -> None:
        self._kept, self._level, self._table, self._limits = kept, level, table, limits
        self._grids: dict[Distribution, Grid] = {}
        for law in {sample.law for event in events for sample in event.samples}:
            centred = law.affine(_ONE, -law.mean)
            if centred not in self._grids:
                grid = build_grid((centred,), (), kept, level.fineness)
                if isinstance(grid, NotEnclosed):
                    raise ValueError(grid.reason)
                self._grids[centred] = grid
        self._unit = lcm(
            *(grid.unit for grid in self._grids.values()),
            *(number.denominator for event in events for number in _constants(event)),
        )
        self._begin()

    def _begin(self) -> None:
        level, most = self._level, MEMORY // bytes_per_panel(self._level)
        self._algebra = PlacedAlgebra(
            self._unit, self._grids, level.bits, level.degree, most, self._limits
        )
        self._evaluation = Evaluation(self._algebra, self._table)

    def enclose(self, terms: Terms, samples: int) -> Enclosure | NotEnclosed:
        """Enclose the probability of an event of so many samples.

        Raises:
            LimitReached: If the limits run out.
        """
        if self._algebra.fullness > 0.5:
            self._begin()
        try:
            (values,) = self._evaluation.values((terms,), self._limits)
        except TooManyPanels:
            self._begin()
            return NotEnclosed("functions at shifted places need too many panels")
        except ValueError as error:
            return NotEnclosed(str(error))
        value = enclosed_sum(values)
        if isinstance(value, NotEnclosed):
            return value
        return Enclosure(value.lower, value.upper + samples * Fraction(2, 2**self._kept))


_ONE = Fraction(1)


def _constants(event: OrderEvent) -> list[Fraction]:
    """All numbers that functions are moved by, or cut at."""
    found = [w for _, _, w in event.bounds]
    for sample in event.samples:
        found.append(sample.law.mean)
        found += [end for end in (sample.lower, sample.upper) if end is not None]
    return found
