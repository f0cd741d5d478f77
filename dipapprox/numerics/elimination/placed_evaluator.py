"""Comparisons with offsets in, enclosures of their probabilities out: functions at shifted places.

plan (`differences`) -> doubles on panels of their own (`placed`) -> narrow enough?  yes -> done
                                          ^                          | no
                                          +---- finer; balls --------+
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from math import lcm
from typing import TypeVar

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.laws.distribution import Distribution
from dipapprox.limits import Limits
from dipapprox.numerics.algebras.ball_panels import BallPanels
from dipapprox.numerics.algebras.balls import BallFunction
from dipapprox.numerics.algebras.grid import Grid, build_grid
from dipapprox.numerics.algebras.placed import Placed, PlacedAlgebra, TooManyPanels
from dipapprox.numerics.algebras.sampled import Sampled
from dipapprox.numerics.algebras.sampled_panels import SampledPanels
from dipapprox.numerics.elimination.differences import eliminate_differences
from dipapprox.numerics.elimination.order_event import DifferenceEvent
from dipapprox.numerics.elimination.plan import FunctionTable, Terms
from dipapprox.numerics.elimination.refinement import (
    RefinementLevel,
    ball_levels,
    better,
    bytes_per_panel,
    double_levels,
    doubles_may_do,
    leading_zeros,
)
from dipapprox.numerics.elimination.value import Evaluation, enclosed_sum
from dipapprox.numerics.tier import Tier

F = TypeVar("F")
V = TypeVar("V")

_MEMORY = 2**28
"""Bytes that the functions of one evaluator may take, about."""


class PlacedEvaluator:
    """Plans at one level of refinement; what they share is computed once.

    Args:
        events: Whose plans will come.
        kept: Every law is kept but for 2**(1 - kept).
        level: How fine, and in which numbers.
        table: The functions of the plans.
        limits: Asked throughout.

    Raises:
        ValueError: If the laws' panels are out of range; the argument says how.
    """

    def __init__(
        self,
        events: Collection[DifferenceEvent],
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
        self._evaluation: (
            Evaluation[Placed[Sampled], Enclosure | NotEnclosed]
            | Evaluation[Placed[BallFunction], Enclosure | NotEnclosed]
        )
        self._algebra: PlacedAlgebra[Sampled] | PlacedAlgebra[BallFunction]
        most = _MEMORY // bytes_per_panel(self._level)
        if self._level.bits:
            balls = BallPanels(self._level.bits, self._level.degree, self._limits)
            in_balls = PlacedAlgebra(balls, self._unit, self._grids, most)
            self._algebra, self._evaluation = in_balls, Evaluation(in_balls, self._table)
        else:
            sampled = PlacedAlgebra(SampledPanels(), self._unit, self._grids, most)
            self._algebra, self._evaluation = sampled, Evaluation(sampled, self._table)

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


class Ladder:
    """Events climb until they are enclosed narrowly enough, as in `engine`.

    Args:
        events: By position.
        excess: How much wider each enclosure is going to be made.
        bits: Wanted width: then at most 2**-bits.
        tier: Which algebras may be used.
        limits: Asked throughout.

    Attributes:
        furthest: The finest level with an answer.
    """

    def __init__(
        self,
        events: Mapping[int, DifferenceEvent],
        excess: Mapping[int, Fraction],
        bits: int,
        tier: Tier,
        limits: Limits,
    ) -> None:
        self._events, self._excess = events, excess
        self._bits, self._tier, self._limits = bits, tier, limits
        self._table = FunctionTable()
        self.furthest: RefinementLevel | None = None

    def enclose(self) -> dict[int, Enclosure | NotEnclosed]:
        """Enclose all probabilities, or say why not.

        Raises:
            LimitReached: If the limits run out.
        """
        found: dict[int, Enclosure | NotEnclosed] = {}
        pending: dict[int, Terms] = {}
        for place, event in self._events.items():
            terms = eliminate_differences(event, self._limits, self._table)
            if isinstance(terms, NotEnclosed):
                found[place] = terms
            else:
                pending[place] = terms
        hopeful = pending
        before: dict[int, Enclosure | NotEnclosed] = {}
        for level in double_levels(self._tier):
            self._climb(level, hopeful, pending, found)
            hopeful = {
                place: terms
                for place, terms in pending.items()
                if place in hopeful and doubles_may_do(before.get(place), found[place], self._bits)
            }
            before = {place: found[place] for place in hopeful}
        spared = leading_zeros(pending, found, self._bits)
        for level in ball_levels(self._bits + 1 - spared, self._tier):
            self._climb(level, dict(pending), pending, found)
        return found

    def _climb(
        self,
        level: RefinementLevel,
        chosen: Mapping[int, Terms],
        pending: dict[int, Terms],
        found: dict[int, Enclosure | NotEnclosed],
    ) -> None:
        """Try to enclose the chosen events; drop from `pending` what is narrow enough now."""
        if not chosen:
            return
        events = [self._events[place] for place in chosen]
        samples = max(len(event.samples) for event in events)
        kept = max(self._bits, 48) + samples.bit_length() + 4
        try:
            evaluator = PlacedEvaluator(events, kept, level, self._table, self._limits)
        except ValueError as error:
            for place in chosen:
                found[place] = better(found.get(place), NotEnclosed(str(error)))
            return
        wanted = Fraction(1, 2**self._bits)
        for place, terms in list(chosen.items()):
            answer = evaluator.enclose(terms, len(self._events[place].samples))
            best = found[place] = better(found.get(place), answer)
            if isinstance(answer, Enclosure):
                self.furthest = level
            if isinstance(best, Enclosure) and best.width + self._excess[place] <= wanted:
                del pending[place]


_ONE = Fraction(1)


def _constants(event: DifferenceEvent) -> list[Fraction]:
    """All numbers that functions are moved by, or cut at."""
    found = [w for _, _, w in event.bounds]
    for sample in event.samples:
        found.append(sample.law.mean)
        found += [end for end in (sample.lower, sample.upper) if end is not None]
    return found
