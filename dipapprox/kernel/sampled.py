"""Functions >= 0 by balls around their values at the points of a grid, and what lies between.

A grid is made of cells. On the reals cells are panels, with the points of a Gauss-Legendre rule on
each, and f is the restriction of an analytic function on each: besides its values, bounds of its
modulus on growing ellipses around each panel are known, the first of which is the panel itself. On
the integers the cells are (k - 1/2, k + 1/2), with the point k, from a first to a last one. Beyond
the grid, to the left and to the right, a tail says what is known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from operator import add, mul
from typing import NamedTuple

from flint import arb

from dipapprox.kernel.balls import between
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.laws import Law

ZERO = arb(0)


class Tail(NamedTuple):
    """A function beyond the grid, on one side: balls whose upper ends are not below what they are.

    So what is known of f holds of its restrictions, and of f - g, too.

    Attributes:
        values: Bounds f there.
        whole: Bounds its integral there, or the sum; not finite where that is not known.
    """

    values: arb
    whole: arb


NOTHING = Tail(ZERO, ZERO)
"""Of a function that is 0 there."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """A function on the grid of a `Space`.

    Attributes:
        values: At each point.
        bounds: bounds[k][p] is not below its modulus on ellipse k of panel p; the upper ends
            count, and those that are not finite say nothing. Empty on the integers.
        left, right: Beyond the grid.
    """

    values: list[arb]
    bounds: list[list[arb]]
    left: Tail
    right: Tail

    def __mul__(self, other: Sampled) -> Sampled:
        """Return t -> f(t) * g(t); moduli multiply."""
        rows = zip(self.bounds, other.bounds, strict=True)
        return Sampled(
            list(map(mul, self.values, other.values)),
            [list(map(mul, ours, theirs)) for ours, theirs in rows],
            _product(self.left, other.left),
            _product(self.right, other.right),
        )


def mixed(terms: Iterable[tuple[arb, Sampled]]) -> Sampled:
    """Return the sum of scalar * f, scalars >= 0; moduli add up to no less."""
    scalars, functions = zip(*terms, strict=True)

    def summed(rows: Iterable[Sequence[arb]]) -> list[arb]:
        return [sum(map(mul, scalars, column), ZERO) for column in zip(*rows, strict=True)]

    return Sampled(
        summed(f.values for f in functions),
        [summed(rows) for rows in zip(*(f.bounds for f in functions), strict=True)],
        Tail(*summed(f.left for f in functions)),
        Tail(*summed(f.right for f in functions)),
    )


def _product(a: Tail, b: Tail) -> Tail:
    """The integral of a * b is at most that of a, times the largest value of b."""
    ways = (a.whole * b.values, b.whole * a.values)
    whole = min(filter(arb.is_finite, ways), key=arb.upper, default=arb.pos_inf())
    return Tail(a.values * b.values, whole)


@dataclass(slots=True)
class Leaves:
    """What the functions on one grid are made of.

    Attributes:
        laws: Of densities, at least one.
        bounds: Of restrictions.
        added: Those of samples, with the mean 0, that are added to others.
        samples: How many are added to one at most.
    """

    laws: set[Law]
    bounds: set[Fraction]
    added: set[Law]
    samples: int = 0

    def further(self, reaches: Iterable[Fraction]) -> Fraction:
        """How much further than laws, about, sums reach if samples that are added reach so far.

        Spreads add up as squares.
        """
        return max(reaches, default=Fraction(0)) * Fraction(isqrt(16 * self.samples) + 1, 4)


class Space(ABC):
    """Functions on one grid; results are >= 0, as all functions are.

    Attributes:
        n: How many points are in each cell.
    """

    n: int

    @abstractmethod
    def density(self, law: Law, factor: Fraction) -> Sampled:
        """Return a law's density, or its masses, times a factor."""

    @abstractmethod
    def convolved(self, f: Sampled, law: Law) -> Sampled:
        """Return the density of X + Y, where f is that of X, and Y has a law with the mean 0."""

    @abstractmethod
    def place(self, bound: Fraction, is_upper: bool) -> tuple[int, int]:
        """Return how many cells are to the left of a bound, and on which side of the grid it is.

        That is -1, 0 or 1; 0 if it is the end of a cell.
        """

    @abstractmethod
    def inside(self, f: Sampled) -> arb:
        """Enclose the integral of f over the grid."""

    @abstractmethod
    def partial(self, f: Sampled, start: arb, from_left: bool) -> tuple[Sampled, arb]:
        """Return `start` plus the integral of f from one end of the grid, and at the other end.

        Tails are not looked at.
        """

    def restrict(self, f: Sampled, lower: Fraction | None, upper: Fraction | None) -> Sampled:
        """Return f between two constants, 0 elsewhere; those on the grid are ends of cells."""
        n, cells, left, right = self.n, len(f.values) // self.n, f.left, f.right
        first, last = 0, cells
        if lower is not None:
            first, side = self.place(lower, False)
            left = left if side < 0 else NOTHING
        if upper is not None:
            last, side = self.place(upper, True)
            right = right if side > 0 else NOTHING
        last = max(first, last)
        before, after = [ZERO] * first, [ZERO] * (cells - last)
        return Sampled(
            before * n + f.values[first * n : last * n] + after * n,
            [before + row[first:last] + after for row in f.bounds],
            left,
            right,
        )

    def running(self, f: Sampled, from_left: bool) -> Sampled:
        """Return the integral of f up to t, or from t on."""
        near, far = (f.left, f.right) if from_left else (f.right, f.left)
        if not near.whole.is_finite():
            raise NotProved("an integral is not bounded")
        found, reached = self.partial(f, between(ZERO, near.whole).nonnegative_part(), from_left)
        first = Tail(near.whole, ZERO if near.whole.is_zero() else arb.pos_inf())
        last = Tail(reached + far.whole, arb.pos_inf())
        return Sampled(found.values, found.bounds, *((first, last) if from_left else (last, first)))

    def total(self, f: Sampled) -> arb:
        """Enclose the integral of f over everything."""
        found = self.inside(f) + between(ZERO, f.left.whole + f.right.whole)
        if not found.is_finite():
            raise NotProved("an integral is not bounded")
        return found.nonnegative_part()

    def rise(self, upper: Sampled, lower: Sampled) -> Sampled:
        """Return upper - lower, where 0 <= lower <= upper on the line.

        So on a panel itself it is at most upper; on ellipses moduli add up to no less.
        """
        rows = zip(upper.bounds[1:], lower.bounds[1:], strict=True)
        return Sampled(
            [(a - b).nonnegative_part() for a, b in zip(upper.values, lower.values, strict=True)],
            [*map(list, upper.bounds[:1]), *(list(map(add, a, b)) for a, b in rows)],
            upper.left,
            upper.right,
        )
