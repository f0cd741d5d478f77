"""Linear programmes, solved exactly: the cheapest shift, and the flow that proves it.

    least  Σ rate_i · |x_i|         subject to   Σ_i a_gi · x_i <= h_g        for every row g

x_i may be bound to one side of 0, or to 0. By duality that is

    largest  -Σ y_g · h_g           subject to   y_g >= 0,   -rate_i <= Σ_g a_gi · y_g <= rate_i

where the left bound is missing if x_i <= 0, the right one if x_i >= 0, both if x_i = 0. This is
what is solved: y = 0 is feasible whatever h is, so there is no first phase, and what was optimal
for one h is a start for the next. Where the second has no bound the first has no solution (Farkas).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from math import lcm
from typing import Generic, TypeVar

from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import check_limits

Unknown = TypeVar("Unknown", bound=Hashable)  # what unknowns are called
Number = Fraction | int


class UnknownSide(Enum):
    ANY = "any"
    AT_LEAST_ZERO = "at least zero"
    AT_MOST_ZERO = "at most zero"


SIDES = {(-1, 1): UnknownSide.ANY, (1,): UnknownSide.AT_LEAST_ZERO, (-1,): UnknownSide.AT_MOST_ZERO}
"""Where an unknown lies that has one of these signs, or is 0."""


class Optimum(Record, Generic[Unknown]):
    """Both programmes are solved, by x and y of equal value: each proves the other optimal."""

    value: Fraction
    shift: Mapping[Unknown, Fraction]
    flow: tuple[Fraction, ...]


class Infeasible(Record):
    """No x meets all rows: Σ_g a_gi · y_g has the sign that x_i leaves free, Σ y_g · h_g < 0."""

    flow: tuple[Fraction, ...]


class LinearProgramme(Generic[Unknown]):
    """All programmes with the same rows and rates; only h changes from one to the next.

    The simplex method on dictionaries of integers: what is stored is a rational dictionary times
    the product of pivots so far over the one before (Edmonds, Bareiss), so that every division
    is exact. The column of the largest coefficient enters; after pivots that gain nothing the
    first one (Bland's rule), until one gains: so it ends. Rows, rates and h are multiplied up to
    integers first.

    Args:
        rows: For every row the unknowns in it, each once, with a_gi.
        rates: The rate of every unknown, >= 0; None where the unknown is 0.
        sides: Where every unknown may lie.
    """

    def __init__(
        self,
        rows: Iterable[Iterable[tuple[Unknown, Number]]],
        rates: Mapping[Unknown, Number | None],
        sides: Mapping[Unknown, UnknownSide],
    ) -> None:
        self._unknowns = tuple(rates)
        own = [dict(row) for row in rows]
        self._scales = [lcm(*(a.denominator for a in row.values())) for row in own]
        self._unit = lcm(*(rate.denominator for rate in rates.values() if rate is not None))
        # Bounds of the second programme: (unknown, sign, rate) says sign · Σ a_gi · y_g <= rate.
        self._bounds = [
            (unknown, sign, int(rate * self._unit))
            for unknown, rate in rates.items()
            if rate is not None
            for sign, missing in ((1, UnknownSide.AT_LEAST_ZERO), (-1, UnknownSide.AT_MOST_ZERO))
            if sides[unknown] is not missing
        ]
        count = len(own)
        whole = [
            {unknown: int(a * scale) for unknown, a in row.items()}
            for row, scale in zip(own, self._scales, strict=True)
        ]
        self._table = [
            [*(sign * row.get(unknown, 0) for row in whole), rate]
            for unknown, sign, rate in self._bounds
        ]
        # Names: g < count is y_g, count + b the slack of bound b.
        self._entered = list(range(count))
        self._basic = [count + b for b in range(len(self._bounds))]
        self._denominator = 1

    def solve(
        self, right: Sequence[Number], look: Callable[[], None] = check_limits
    ) -> Optimum[Unknown] | Infeasible:
        scaled = [h * scale for h, scale in zip(right, self._scales, strict=True)]
        common = lcm(*(h.denominator for h in scaled))
        gains = self._gains([int(h * common) for h in scaled])
        stuck = False
        while True:
            look()
            column = self._entering(gains, bland=stuck)
            if column is None:
                return self._optimum(gains, common)
            leaving = self._leaving(column)
            if leaving is None:
                return self._ray(column)
            stuck = self._table[leaving][-1] == 0
            self._pivot(leaving, column, gains)

    def _gains(self, right: Sequence[int]) -> list[int]:
        """The objective in terms of what is not basic, times the denominator; last its value."""
        count = len(self._scales)
        width = count + 1
        gains = [-right[name] * self._denominator if name < count else 0 for name in self._entered]
        gains.append(0)
        for name, row in zip(self._basic, self._table, strict=True):
            if name < count and right[name]:
                factor = right[name]
                for j in range(width):
                    gains[j] += factor * row[j]
        return gains  # the value's sign is turned: it is that of a row

    def _entering(self, gains: Sequence[int], bland: bool) -> int | None:
        rising = [j for j in range(len(self._entered)) if gains[j] > 0]
        if not rising:
            return None
        if bland:
            return min(rising, key=lambda j: self._entered[j])
        return max(rising, key=lambda j: (gains[j], -self._entered[j]))

    def _leaving(self, column: int) -> int | None:
        """The row that bounds the column's variable first; None if none does."""
        best: int | None = None
        for i, row in enumerate(self._table):
            if row[column] <= 0:
                continue
            if best is None:
                best = i
                continue
            other = self._table[best]
            difference = row[-1] * other[column] - other[-1] * row[column]
            if difference < 0 or (difference == 0 and self._basic[i] < self._basic[best]):
                best = i
        return best

    def _pivot(self, leaving: int, column: int, gains: list[int]) -> None:
        pivots = self._table[leaving]
        pivot, before = pivots[column], self._denominator
        for row in (*self._table, gains):
            if row is pivots:
                continue
            factor = row[column]
            if factor:
                for j, value in enumerate(pivots):
                    row[j] = (row[j] * pivot - factor * value) // before
                row[column] = -factor
            elif pivot != before:
                for j, value in enumerate(row):
                    row[j] = value * pivot // before
        pivots[column] = before
        self._denominator = pivot
        self._basic[leaving], self._entered[column] = self._entered[column], self._basic[leaving]

    def _optimum(self, gains: Sequence[int], common: int) -> Optimum[Unknown]:
        count, unit = len(self._scales), self._denominator * common
        shift = dict.fromkeys(self._unknowns, Fraction(0))
        for name, gain in zip(self._entered, gains, strict=False):
            if name >= count:
                unknown, sign, _ = self._bounds[name - count]
                shift[unknown] += Fraction(sign * gain, unit)
        values = zip(self._basic, (row[-1] for row in self._table), strict=True)
        return Optimum(Fraction(-gains[-1], unit * self._unit), shift, self._flow(dict(values)))

    def _ray(self, column: int) -> Infeasible:
        values = {name: -row[column] for name, row in zip(self._basic, self._table, strict=True)}
        flow = self._flow({**values, self._entered[column]: self._denominator})
        if not any(flow):
            raise BrokenInvariant("a flow without bound that flows nowhere")
        return Infeasible(flow)

    def _flow(self, values: Mapping[int, int]) -> tuple[Fraction, ...]:
        """Return the y_g of rows as they were given; `values` are times the denominator."""
        unit = self._denominator * self._unit
        return tuple([Fraction(values.get(g, 0) * s, unit) for g, s in enumerate(self._scales)])
