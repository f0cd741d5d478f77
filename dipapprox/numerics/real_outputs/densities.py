"""Two measures on the line in, proved signs of f - growth · g out: on a grid, at one level.

    parts -> plans of densities -> one grid for all -> functions -> Σ weight · density, f and g
                                                                   -> f - growth · g -> signs

The grid keeps nearly all of every law and of every sum: the densities on it, f' <= f and g' <= g,
lack a mass of at most `lost` each, wherever that is.

Signs are proved on parts of panels; out of them comes a union of intervals on which h is positive.
Where signs are proved to change, some point of the undecided gap between them is taken: any is as
good, as the whole gap counts as undecided.

In: h = Σ c_i f_i, f_i of an algebra. Out: for each panel, sub-panels on which h is proved to be
positive, or negative, and a bound of ∫ |h| on each of the others.

In balls h is a polynomial Σ a_k u^k and a remainder r on each panel. If |a_0| > Σ_{k>0} |a_k| + r,
the sign of h is that of a_0 on the panel; otherwise the panel is halved, u = (w ∓ 1) / 2. On what
is left undecided ∫ |h| is at most the width times Σ |a_k| + r.

In doubles, with coefficients c_k and a distance from h (`panel_polynomials`): if |c_0| > Σ_{k>0}
|c_k| + distance, the sign of h is that of c_0 on the whole panel. Otherwise the panel is halved.
Near a simple zero at most two sub-panels stay undecided at every step, and the bound (width) (Σ
|c_k| + distance) of ∫ |h| there falls by four each time. What is below `spare`, or is no more than
the distance itself, is left undecided. Sums and products of nonnegative doubles with fewer than
2^20 roundings are multiplied by 1 + 2^-30.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from math import isfinite
from operator import or_
from typing import Any

import numpy as np
from flint import arb, arb_poly

from dipapprox.arithmetic.enclosure import Enclosure, Missing, NotEnclosed, enclosing, sure
from dipapprox.arithmetic.precision import give_way, precision, to_ball, to_enclosure
from dipapprox.arithmetic.rounding import SAFE
from dipapprox.data_classes import Record, replace
from dipapprox.events.event import Interval
from dipapprox.limits import check_limits
from dipapprox.numerics.algebras.balls import (
    BallAlgebra,
    BallFunction,
    BallPiece,
    PanelPiece,
    one_norm,
)
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.algebras.grid import MAX_PANELS, Grid
from dipapprox.numerics.algebras.piecewise import Piecewise
from dipapprox.numerics.elimination.grid_evaluator import open_algebra
from dipapprox.numerics.elimination.plan import Evaluation, FunctionTable
from dipapprox.numerics.elimination.refinement import RefinementLevel
from dipapprox.numerics.real_outputs.coordinates import DensityPlan
from dipapprox.numerics.real_outputs.panel_polynomials import (
    OVERFLOW,
    Cells,
    Combination,
    PanelPolynomials,
    cells_of,
    combination,
    integral,
)

_LARGEST = Fraction(2) ** 900  # factors above this are left to balls
_ONE = Enclosure.exact(1)
_NONE = Fraction(0)
Weighted = Sequence[tuple[Enclosure, DensityPlan]]  # Σ weight · density


class Densities(Record, eq=False):
    """Densities on one grid; see `open_densities`."""

    _algebra: Float64Algebra | BallAlgebra
    _functions: Sequence[Any]  # combinations in doubles, or functions in balls
    # For each, the mass it lacks on the grid, at most; and what it has too much, where negative
    # weights lack some: at most. Both count alike for signs, as what ∫ max(h, 0) may lose. Cells
    # are made nowhere negative where weights are: that may lack as much again.
    lost: Sequence[Fraction]
    gained: Sequence[Fraction]

    @enclosing
    def signs(self, growth: Enclosure, spare: Fraction) -> LineSigns:
        """Prove signs of first - growth · second, growth >= 0; `excess` with what the grid lacks.

        `spare`: what ∫ |first - growth · second| over all that is undecided may be, if possible.
        """
        # A few times as many leaves as panels are undecided at most, as a rule.
        own = spare / (4 * self._algebra.grid.panels)
        weights = _ONE, Enclosure(-growth.upper, -growth.lower)
        terms = list(zip(weights, self._functions, strict=True))
        if isinstance(self._algebra, Float64Algebra):
            if growth.upper > _LARGEST:
                return sure(NotEnclosed("the factor is beyond the range of doubles"))
            function = combination(terms, self._algebra.rule, self._algebra.grid.panels)
            leaves = signs_in_doubles(function, self._algebra, max(float(own), 2.0**-900))
        else:
            difference = combination_in_balls(terms, self._algebra)
            leaves = signs_in_balls(difference, self._algebra, own)
        found = collected(sure(leaves), self._algebra.grid)
        own, other = (sum(each, _NONE) for each in zip(self.lost, self.gained, strict=True))
        return replace(found, excess=found.excess + own + growth.upper * other)

    @enclosing
    def masses(self, intervals: Sequence[Interval]) -> tuple[Enclosure, Enclosure]:
        """Enclose both measures of disjoint intervals. Only in doubles."""
        if not isinstance(self._algebra, Float64Algebra):
            raise Missing(NotEnclosed("masses are added up in doubles only"))
        found = []
        for function, lost, more in zip(self._functions, self.lost, self.gained, strict=True):
            own = sure(integral(function, self._algebra, intervals))
            found.append(Enclosure(own.lower - more, own.upper + lost))
        return found[0], found[1]

    def cells(self, spread: float, negligible: float) -> list[Cells] | NotEnclosed:
        """Cut the grid into cells of all but the last and that; see `cells_of`. Only in doubles."""
        if not isinstance(self._algebra, Float64Algebra):
            return NotEnclosed("cells are cut in doubles only")
        *functions, base = self._functions
        return cells_of(functions, base, self._algebra, spread, negligible)


def open_densities(
    sides: Sequence[Weighted], kept: int, level: RefinementLevel, table: FunctionTable
) -> Densities | NotEnclosed:
    """Compute densities, not all 0, on a grid.

    Args:
        kept: The grid keeps all but 2**(1 - kept) of every law and of every sum.
        table: The functions of all plans.
    """
    required = reduce(or_, (plan.required for side in sides for _, plan in side))
    algebra = open_algebra(required, kept, level, MAX_PANELS)
    if isinstance(algebra, NotEnclosed):
        return algebra
    lost = Fraction(2, 2**kept)
    lacks, gained = (
        [
            sum((_size(w, sign) * plan.required.samples * lost for w, plan in side), _NONE)
            for side in sides
        ]
        for sign in (1, -1)
    )
    try:
        functions: Evaluation[Any, Any] = Evaluation(algebra, table)
        found: list[Combination | BallFunction] = []
        for side in sides:
            terms = _weighted(functions, side)
            if isinstance(algebra, Float64Algebra):
                terms = [(weight, Combination.of(each, algebra.rule)) for weight, each in terms]
                found.append(combination(terms, algebra.rule, algebra.grid.panels))
            else:
                found.append(combination_in_balls(terms, algebra))
    except ValueError as error:
        return NotEnclosed(str(error))
    lost_here = [2 * less if more else less for less, more in zip(lacks, gained, strict=True)]
    return Densities(algebra, found, lost_here, gained)


def _size(weight: Enclosure, sign: int) -> Fraction:
    """At most the modulus of a weight of one sign; 0 if it has the other."""
    return max(sign * weight.lower, sign * weight.upper, _NONE)


def _weighted(functions: Evaluation[Any, Any], side: Weighted) -> list[tuple[Enclosure, Any]]:
    """Return the functions of a side, each with its factor."""
    products = functions.products([plan.terms for _, plan in side])
    return [
        (weight * Enclosure.exact(c), function)
        for (weight, _), own in zip(side, products, strict=True)
        for c, function in own
    ]


Gap = tuple[Fraction, Fraction]  # two numbers between which a sign changes; equal where it jumps


class Leaf(Record):
    """A part of a panel: of its 2**depth equal parts that of number `place`."""

    panel: int  # number of the panel
    depth: int  # halvings
    place: int  # from the left, from 0
    sign: int  # 1 or -1 where it is proved; else 0
    excess: Fraction  # at least ∫ |h| if the sign is 0, else 0


class LineSigns(Record):
    """Where a function on the line is positive."""

    # where its sign changes, ascending: an odd number of sign changes in each
    gaps: tuple[Gap, ...]
    first: int  # its sign to the left of all gaps; 0 if it is known nowhere
    excess: Fraction  # at least ∫ |h| over the points with a sign that is not proved


def collected(leaves: Iterable[Leaf], grid: Grid) -> LineSigns:
    """Put the leaves of all panels together; beyond the panels signs continue."""
    leaves = tuple(leaves)
    deepest = max((leaf.depth for leaf in leaves), default=0)
    ordered = sorted(leaves, key=lambda leaf: (leaf.panel, leaf.place << deepest - leaf.depth))
    excess = sum((leaf.excess for leaf in ordered if leaf.excess), Fraction(0))
    proved = [leaf for leaf in ordered if leaf.sign]
    gaps: list[Gap] = []
    for before, after in pairwise(proved):
        if before.sign != after.sign:
            gaps.append((_place(before, 1, grid), _place(after, 0, grid)))
    return LineSigns(tuple(gaps), proved[0].sign if proved else 0, excess)


def _place(leaf: Leaf, end: int, grid: Grid) -> Fraction:
    low, high = grid.marks[leaf.panel], grid.marks[leaf.panel + 1]
    part = Fraction(leaf.place + end, 2**leaf.depth)
    return (low + (high - low) * part) / grid.unit


def positive_part(first: int, ends: Sequence[Fraction]) -> tuple[Interval, ...]:
    """The intervals where a sign is positive that begins as `first` and changes at `ends`."""
    if first == 0:
        return ()
    marks: list[Fraction | None] = [None, *ends, None]
    start = 0 if first > 0 else 1
    return tuple((marks[k], marks[k + 1]) for k in range(start, len(marks) - 1, 2))


_MOST_LEAVES = 2**14
_DEEPEST = 4000
_ZERO = arb(0)


def combination_in_balls(
    terms: Sequence[tuple[Enclosure, BallFunction]], algebra: BallAlgebra
) -> BallFunction:
    """Add up functions, weighted."""
    pieces: list[BallPiece] = [None] * algebra.grid.panels
    with precision(algebra.bits):
        for weight, function in terms:
            ball = to_ball(weight)
            size = abs(ball)
            for panel, piece in enumerate(algebra.panels(function)):
                if piece is None:
                    continue
                before = pieces[panel]
                polynomial, radius = piece.polynomial * ball, piece.radius * size
                pieces[panel] = (
                    PanelPiece(polynomial, radius)
                    if before is None
                    else PanelPiece(before.polynomial + polynomial, before.radius + radius)
                )
    return Piecewise(algebra.grid.marks, (None, *pieces, None))


def signs_in_balls(
    function: BallFunction, algebra: BallAlgebra, spare: Fraction
) -> list[Leaf] | NotEnclosed:
    """Prove signs on sub-panels; an undecided one may contribute `spare` > 0 to ∫ |h|."""
    marks = algebra.grid.boundaries
    leaves: list[Leaf] = []
    with precision(algebra.bits):
        enough = to_ball(spare)
        halves = arb_poly([arb(-1) / 2, arb(1) / 2]), arb_poly([arb(1) / 2, arb(1) / 2])
        for panel, piece in enumerate(algebra.panels(function)):
            if piece is None:
                continue
            width = to_ball(marks[panel + 1] - marks[panel])
            waiting = [(0, 0, piece.polynomial)]
            while waiting:
                check_limits()
                give_way()
                depth, place, polynomial = waiting.pop()
                leading, *others = polynomial.coeffs() or [_ZERO]
                rest = one_norm(others, piece.radius)
                if abs(leading) > rest:
                    leaves.append(Leaf(panel, depth, place, 1 if leading > 0 else -1, Fraction(0)))
                    continue
                size = abs(leading) + rest
                excess = (size * width / 2**depth).upper()
                noise = piece.radius + sum((c.rad() for c in (leading, *others)), _ZERO)
                full = len(leaves) > _MOST_LEAVES or depth == _DEEPEST
                if excess <= enough or size <= 2 * noise or full:
                    bound = to_enclosure(excess)
                    if isinstance(bound, NotEnclosed):
                        return bound
                    leaves.append(Leaf(panel, depth, place, 0, max(bound.upper, Fraction(0))))
                    continue
                for k, half in enumerate(halves):
                    waiting.append((depth + 1, 2 * place + k, polynomial(half)))
    return leaves


_DEEPEST_DOUBLES = 50


@np.errstate(over="ignore", invalid="ignore")
def signs_in_doubles(
    function: Combination, algebra: Float64Algebra, spare: float
) -> list[Leaf] | NotEnclosed:
    """Prove signs on sub-panels; an undecided one may contribute `spare` > 0 to ∫ |h|."""
    parts = PanelPolynomials.of(function, algebra)
    if not parts.is_finite:
        return NotEnclosed(OVERFLOW)
    leaves: list[Leaf] = []
    for depth in range(_DEEPEST_DOUBLES + 1):
        rest = np.abs(parts.coefficients[1:]).sum(axis=0)
        size = (rest + parts.distance) * SAFE
        leading = np.abs(parts.coefficients[0])
        decided = leading > size
        bound = (leading + size) * (parts.half * (2 * SAFE))
        hopeless = (bound <= spare) | (leading + rest <= parts.distance)
        if depth == _DEEPEST_DOUBLES or len(parts.panel) > _MOST_LEAVES:
            hopeless[:] = True
        done = decided | hopeless
        for k in np.flatnonzero(done).tolist():
            sign = int(np.sign(parts.coefficients[0, k])) if decided[k] else 0
            if not decided[k] and not isfinite(bound[k]):
                return NotEnclosed(OVERFLOW)
            excess = Fraction(0) if decided[k] else Fraction(float(bound[k]))
            leaves.append(Leaf(int(parts.panel[k]), depth, int(parts.place[k]), sign, excess))
        if done.all():
            break
        parts = parts.halved(~done)
    return leaves
