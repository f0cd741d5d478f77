"""Plans with functions at shifted places in, enclosures out: on panels of their own (`placed`)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.laws.distribution import Distribution
from dipapprox.limits import Limits
from dipapprox.numerics.algebras.grid import Grid, build_grid
from dipapprox.numerics.algebras.placed import Placed, PlacedAlgebra, TooManyPanels, Value
from dipapprox.numerics.elimination.grid_evaluator import MEMORY, Planned
from dipapprox.numerics.elimination.order_event import OrderEvent
from dipapprox.numerics.elimination.plan import FunctionTable
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
    grids: dict[Distribution, Grid] = {}
    for law in {sample.law for event in events for sample in event.samples}:
        centred = law.affine(_ONE, -law.mean)
        grid = grids.get(centred) or build_grid((centred,), (), kept, level.fineness)
        if isinstance(grid, NotEnclosed):
            return [grid] * len(plans)
        grids[centred] = grid
    unit = lcm(
        *(grid.unit for grid in grids.values()),
        *(number.denominator for event in events for number in _constants(event)),
    )
    most = MEMORY // bytes_per_panel(level)

    def begun() -> tuple[PlacedAlgebra, Evaluation[Placed, Value]]:
        algebra = PlacedAlgebra(unit, grids, level.bits, level.degree, most, limits)
        return algebra, Evaluation(algebra, table)

    algebra, evaluation = begun()
    found: list[Enclosure | NotEnclosed] = []
    for plan in plans:
        if algebra.fullness > 0.5:
            algebra, evaluation = begun()
        try:
            (values,) = evaluation.values((plan.terms,), limits)
        except TooManyPanels:
            algebra, evaluation = begun()
            found.append(NotEnclosed("functions at shifted places need too many panels"))
            continue
        value = enclosed_sum(values)
        if isinstance(value, Enclosure):
            lost = plan.samples * Fraction(2, 2**kept)
            value = Enclosure(value.lower, value.upper + lost)
        found.append(value)
    return found


_ONE = Fraction(1)


def _constants(event: OrderEvent) -> list[Fraction]:
    """All numbers that functions are moved by, or cut at."""
    found = [w for _, _, w in event.bounds]
    for sample in event.samples:
        found.append(sample.law.mean)
        found += [end for end in (sample.lower, sample.upper) if end is not None]
    return found
