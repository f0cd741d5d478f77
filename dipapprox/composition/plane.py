"""Sums of products of measures on two lines: sup over S of f(S) - α g(S), on cells of the plane.

In: f = Σ p_i f_i ⊗ f'_i and g = Σ q_j g_j ⊗ g'_j, whose terms both numbers tell apart. Let r be the
sum of all different f_i and g_j, and r' that of all f'_i and g'_j. Both lines are cut into cells,
on which each of these is between two multiples of r, or of r'. So on a product of two cells h = f -
α g is X r ⊗ r', with X between two numbers L and U.

From below. h(C)₊, summed over any disjoint sets C, is h of the union of some of them.

From above. On C, of mass R by r ⊗ r', ∫ h₊ is 0 if U <= 0, and h(C) if L >= 0. Else X₊ lies below
the chord from L to U, so it is at most U (h(C) - L R) / (U - L). It is never more than f(C).

Cells. What is cut out of f_i may lack a mass λ_i, and masses of sets err by e_i: of all sets of the
plane, a product is too small by (Σ λ + e) / (1 - Σ e) at most, too great by Σ e / (1 - Σ e), over
its two factors (`pair_products`).

Sums and products of nonnegative doubles with fewer than 2^20 roundings are multiplied by 1 + 2^-30.
Where a cell is narrow X hardly varies; so the two ends differ like the square of the cells' widths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial, reduce
from math import prod
from operator import and_

import numpy as np

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed, enclosing, sure
from dipapprox.arithmetic.rounding import FLOOR, SAFE, Array, above, below
from dipapprox.cache import Cache
from dipapprox.composition.pair_products import slacks
from dipapprox.events.event import Marginal, Part
from dipapprox.limits import check_limits
from dipapprox.numerics.real_outputs.hockey_stick import Discretised, HockeyStick
from dipapprox.numerics.real_outputs.panel_polynomials import Cells

_SPREADS = [0.2 / 2**k for k in range(10)]  # of the multiples of r on a cell, relatively
_FINER = 4  # times the cells, with the next of these
_KEPT = 36  # bits of the cells
_NEGLIGIBLE = 2.0**-44  # masses of cells that may be wider
_MOST_CELLS = 2**23  # of the plane: a second
_BLOCK = 2**14  # of them at once
_KNOWN = 50  # cuts of a line that are kept

_Cut = Mapping[Marginal, Discretised]
_Term = tuple[Enclosure, Discretised, Discretised]
"""A weight, and what is cut out of the two factors."""


class PlaneCells:
    """Divergences on cells of the plane; what is cut is remembered, for all factors."""

    def __init__(self, line: HockeyStick) -> None:
        self._line = line
        self._known: Cache[tuple[tuple[Marginal, ...], float], _Cut | NotEnclosed] = Cache(_KNOWN)

    @enclosing
    def divergence(
        self, first: Sequence[Part], second: Sequence[Part], growth: Enclosure, bits: int
    ) -> Enclosure:
        """Enclose sup over S of first(S) - growth · second(S), to 2**-bits if possible.

        Args:
            first: Parts with two marginals each; their measures add up.
            second: The same at another input.
        """
        masses = self._line.masses
        weights = [
            [sure(masses.product(part.events, _KEPT)) * factor for part in side]
            for side, factor in ((first, Enclosure.exact(1)), (second, growth))
        ]
        found = UNIT
        for spread in _SPREADS:
            rows, columns = (
                sure(self._cut(tuple(dict.fromkeys(each)), spread))
                for each in zip(*(part.marginals for part in (*first, *second)), strict=True)
            )
            own, other = (
                [
                    (weight, rows[part.marginals[0]], columns[part.marginals[1]])
                    for weight, part in zip(each, side, strict=True)
                ]
                for each, side in zip(weights, (first, second), strict=True)
            )
            told = _on_cells(own, other)
            found = found.intersect(told, "finer cells", "cells", "the δ of sums of products")
            size = prod(next(iter(cut.values())).cells.least.size for cut in (rows, columns))
            if found.width <= Fraction(1, 2**bits) or _FINER * size > _MOST_CELLS:
                break
        return found

    def _cut(self, marginals: tuple[Marginal, ...], spread: float) -> _Cut | NotEnclosed:
        return self._known.find((marginals, spread), lambda: self._made(marginals, spread))

    @enclosing
    def _made(self, marginals: tuple[Marginal, ...], spread: float) -> _Cut:
        lines = [(Part((), (each,)),) for each in marginals]
        shares = sure(self._line.shares(lines, _KEPT, spread, _NEGLIGIBLE))
        return dict(zip(marginals, shares, strict=True))


def _on_cells(first: Sequence[_Term], second: Sequence[_Term]) -> Enclosure:
    """Add up what products of cells have, then what these lack."""
    rows, columns = (
        reduce(and_, (np.isfinite(each.cells.most) for each in own))
        for own in zip(*((a, b) for _, a, b in (*first, *second)), strict=True)
    )
    masses, others, most, least = (
        [_bound(side, of, end) for end in (0, 1)]
        for of in (_masses, _multiples)
        for side in (first, second)
    )
    whole = _bound([(Enclosure.exact(1), *first[0][1:])], lambda cells, _: cells.second[1], 1)
    lower = upper = Fraction(0)
    size = max(_BLOCK // len(columns), 1)
    for start in range(0, len(rows), size):
        check_limits()
        where = slice(start, start + size)
        own = masses[1](where)
        mass, rest = own - others[0](where), whole(where)
        low, high = most[0](where) - least[1](where), most[1](where) - least[0](where)
        with np.errstate(divide="ignore", invalid="ignore"):
            size_of = np.abs(mass) + np.abs(low) * rest
            chord = high / (high - low) * (mass - low * rest + 2.0**-40 * size_of) * SAFE
        known = np.logical_and.outer(rows[where], columns)
        excess = np.select([~known, high <= 0, low >= 0], [own, 0.0, mass], chord).clip(0, own)
        upper += Fraction(float(excess.sum()) * SAFE)
        lower += Fraction(float((masses[0](where) - others[1](where)).clip(0).sum()) / SAFE)
    (over, under), (over_second, under_second) = map(_errors, (first, second))
    least_sum, most_sum = lower - over - under_second, upper + under + over_second
    return Enclosure(min(least_sum, Fraction(1)), min(most_sum, Fraction(1))).positive()


def _masses(cells: Cells, end: int) -> Array:
    return cells.first[end]


def _multiples(cells: Cells, end: int) -> Array:
    return np.where(np.isfinite(cells.most), (cells.least, cells.most)[end], 0.0)


def _bound(
    side: Sequence[_Term], of: Callable[[Cells, int], Array], end: int
) -> Callable[[slice], Array]:
    """Return what bounds Σ w a ⊗ b on rows of products of cells, from below or from above."""
    weights = [(below(w.lower), above(w.upper))[end] for w, _, _ in side]
    left = np.stack([of(a.cells, end) * w for w, (_, a, _) in zip(weights, side, strict=True)])
    right = np.stack([of(b.cells, end) for _, _, b in side])
    return partial(_product, left, right, end)


def _product(left: Array, right: Array, end: int, where: slice) -> Array:
    found: Array = left[:, where].T @ right
    return found * SAFE + FLOOR if end else found / SAFE


def _errors(side: Sequence[_Term]) -> tuple[Fraction, Fraction]:
    """By how much a set's mass may be too great, and too small."""
    over = under = Fraction(0)
    for weight, *factors in side:
        lost = [(each.lost[0], Fraction(0)) for each in factors]
        errors = [(each.errors[0], Fraction(0)) for each in factors]
        too_great, too_small = sure(slacks(lost, errors, Fraction(0)))
        over += weight.upper * too_great
        under += weight.upper * too_small
    return over, under
