"""Two measures on the line in, proved signs of f - growth · g out: on a grid, at one level.

    parts -> plans of densities -> one grid for all -> functions -> Σ weight · density, f and g
                                                                   -> f - growth · g -> signs

The grid keeps nearly all of every law and of every sum: the densities on it, f' <= f and g' <= g,
lack a mass of at most `lost` each, wherever that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import Any

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed, enclosing, sure
from dipapprox.data_classes import dataclass, replace
from dipapprox.limits import Limits
from dipapprox.numerics.algebras.balls import BallAlgebra, BallFunction
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.algebras.grid import MAX_PANELS
from dipapprox.numerics.elimination.grid_evaluator import open_algebra
from dipapprox.numerics.elimination.plan import FunctionTable
from dipapprox.numerics.elimination.refinement import RefinementLevel
from dipapprox.numerics.elimination.value import Evaluation
from dipapprox.numerics.real_outputs.cells import Cells, cells_of
from dipapprox.numerics.real_outputs.coordinates import DensityPlan
from dipapprox.numerics.real_outputs.panel_polynomials import Combination, combination
from dipapprox.numerics.real_outputs.signs import (
    LineSigns,
    collected,
    combination_in_balls,
    signs_in_balls,
    signs_in_doubles,
)

_LARGEST = Fraction(2) ** 900
"""Factors above this are left to balls."""

_ONE = Enclosure.exact(1)

Weighted = Sequence[tuple[Enclosure, DensityPlan]]
"""Σ weight · density."""


@dataclass(frozen=True, slots=True, eq=False)
class Densities:
    """Two densities on one grid; see `open_densities`."""

    _algebra: Float64Algebra | BallAlgebra
    _first: Combination | BallFunction
    _second: Combination | BallFunction
    lost: tuple[Fraction, Fraction]  # for both, the mass they lack on the grid: at most

    @enclosing
    def signs(self, growth: Enclosure, spare: Fraction, limits: Limits) -> LineSigns:
        """Prove signs of first - growth · second, growth >= 0; `excess` with what the grid lacks.

        `spare`: what ∫ |first - growth · second| over all that is undecided may be, if possible.
        """
        # A few times as many leaves as panels are undecided at most, as a rule.
        own = spare / (4 * self._algebra.grid.panels)
        negative = Enclosure(-growth.upper, -growth.lower)
        if isinstance(self._algebra, Float64Algebra):
            assert isinstance(self._first, Combination) and isinstance(self._second, Combination)
            if growth.upper > _LARGEST:
                return sure(NotEnclosed("the factor is beyond the range of doubles"))
            doubles = ((_ONE, self._first), (negative, self._second))
            function = combination(doubles, self._algebra.rule, self._algebra.grid.panels)
            leaves = signs_in_doubles(function, self._algebra, max(float(own), 2.0**-900))
        else:
            assert not isinstance(self._first, Combination)
            assert not isinstance(self._second, Combination)
            terms = ((_ONE, self._first), (negative, self._second))
            difference = combination_in_balls(terms, self._algebra)
            leaves = signs_in_balls(difference, self._algebra, own, limits)
        found = collected(sure(leaves), self._algebra.grid)
        return replace(found, excess=found.excess + self.lost[0] + growth.upper * self.lost[1])

    def cells(self, spread: float, negligible: float, limits: Limits) -> Cells | NotEnclosed:
        """Cut the grid into cells; see `cells_of`. Only in doubles."""
        if not isinstance(self._algebra, Float64Algebra):
            return NotEnclosed("cells are cut in doubles only")
        assert isinstance(self._first, Combination) and isinstance(self._second, Combination)
        return cells_of(self._first, self._second, self._algebra, spread, negligible, limits)


def open_densities(
    first: Weighted,
    second: Weighted,
    kept: int,
    level: RefinementLevel,
    table: FunctionTable,
    limits: Limits,
) -> Densities | NotEnclosed:
    """Compute two densities, not both 0, on a grid.

    Args:
        kept: The grid keeps all but 2**(1 - kept) of every law and of every sum.
        table: The functions of all plans.
    """
    required = reduce(or_, (plan.required for _, plan in (*first, *second)))
    algebra = open_algebra(required, kept, level, MAX_PANELS)
    if isinstance(algebra, NotEnclosed):
        return algebra
    lost = Fraction(2, 2**kept)
    lacks = [
        sum((w.upper * plan.required.samples * lost for w, plan in side), Fraction(0))
        for side in (first, second)
    ]
    try:
        if not isinstance(algebra, Float64Algebra):
            algebra.limits = limits
        functions: Evaluation[Any, Any] = Evaluation(algebra, table)
        sides: list[Combination | BallFunction] = []
        for side in (first, second):
            terms = _weighted(functions, side, limits)
            if isinstance(algebra, Float64Algebra):
                terms = [(weight, Combination.of(each, algebra.rule)) for weight, each in terms]
                sides.append(combination(terms, algebra.rule, algebra.grid.panels))
            else:
                sides.append(combination_in_balls(terms, algebra))
        return Densities(algebra, sides[0], sides[1], (lacks[0], lacks[1]))
    except ValueError as error:
        return NotEnclosed(str(error))


def _weighted(
    functions: Evaluation[Any, Any], side: Weighted, limits: Limits
) -> list[tuple[Enclosure, Any]]:
    """Return the functions of a side, each with its factor."""
    products = functions.products([plan.terms for _, plan in side], limits)
    return [
        (_times(weight, c), function)
        for (weight, _), own in zip(side, products, strict=True)
        for c, function in own
    ]


def _times(weight: Enclosure, factor: int) -> Enclosure:
    ends = weight.lower * factor, weight.upper * factor
    return Enclosure(min(ends), max(ends))
