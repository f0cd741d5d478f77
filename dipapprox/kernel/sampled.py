"""Functions >= 0 on the cells of a grid, and beyond.

On the reals cells are panels, and a polynomial holds f on each (`panels`). On the integers they are
(k - 1/2, k + 1/2), from a first to a last k, with a ball around f(k). Beyond the grid, to the left
and to the right, a tail says what is known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from operator import mul, sub
from typing import Any, NamedTuple

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


Way = tuple[arb, arb, arb, arb]
"""From a cell to the left end of a grid: the density of a law over the way back, from where on it
falls, and how likely it goes as far. Then the same at the right end."""

NOTHING = Tail(ZERO, ZERO)
"""Of a function that is 0 there."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """A function on the grid of a `Space`.

    Attributes:
        cells: What is known of it on each: a ball, or a polynomial.
        left, right: Beyond the grid.
    """

    cells: list[Any]
    left: Tail
    right: Tail


def mixed(terms: Iterable[tuple[arb, Sampled]]) -> Sampled:
    """Return the sum of scalar * f, scalars >= 0."""
    scalars, functions = zip(*terms, strict=True)

    def summed(rows: Iterable[Iterable[Any]]) -> list[Any]:
        return [sum(map(mul, column, scalars), ZERO) for column in zip(*rows, strict=True)]

    return Sampled(
        summed(f.cells for f in functions),
        Tail(*summed(f.left for f in functions)),
        Tail(*summed(f.right for f in functions)),
    )


def rise(upper: Sampled, lower: Sampled) -> Sampled:
    """Return upper - lower, where 0 <= lower <= upper on the line."""
    return Sampled(list(map(sub, upper.cells, lower.cells)), upper.left, upper.right)


def _product(a: Tail, b: Tail) -> Tail:
    """The integral of a * b is at most that of a, times the largest value of b."""
    ways = (a.whole * b.values, b.whole * a.values)
    whole = min(filter(arb.is_finite, ways), key=arb.upper, default=arb.pos_inf())
    return Tail(a.values * b.values, whole)


class Space(ABC):
    """Functions on one grid.

    Attributes:
        nothing: What is known of 0 on a cell.
        size: How many numbers are kept of a function at most.
    """

    nothing: Any
    size: int

    @abstractmethod
    def density(self, law: Law, factor: Fraction) -> Sampled:
        """Return a law's density, or its masses, times a factor."""

    def times(self, one: Any, other: Any) -> Any:
        """Return what is known of a product on a cell; as here and below, where cells are balls."""
        return one * other

    def partial(self, place: int, cell: Any, from_left: bool) -> Any:
        """Return the integral of f from an end of a cell on; on the integers f(t) counts."""
        return cell

    def whole(self, place: int, cell: Any) -> Any:
        """Enclose the integral of f over a cell."""
        return cell

    @abstractmethod
    def place(self, bound: Fraction, is_upper: bool) -> tuple[int, int]:
        """Return how many cells are to the left of a bound, and on which side of the grid it is.

        That is -1, 0 or 1; 0 if it is the end of a cell.
        """

    @abstractmethod
    def summed(self, f: Sampled, law: Law) -> tuple[list[Any], arb, list[Way]]:
        """Return what of the density of X + Y is from X on the grid; Y's largest density; ways."""

    def product(self, f: Sampled, g: Sampled) -> Sampled:
        """Return t -> f(t) * g(t)."""
        cells = list(map(self.times, f.cells, g.cells))
        return Sampled(cells, _product(f.left, g.left), _product(f.right, g.right))

    def restrict(self, f: Sampled, lower: Fraction | None, upper: Fraction | None) -> Sampled:
        """Return f between two constants, 0 elsewhere; those on the grid are ends of cells."""
        count, left, right = len(f.cells), f.left, f.right
        first, last = 0, count
        if lower is not None:
            first, side = self.place(lower, False)
            left = left if side < 0 else NOTHING
        if upper is not None:
            last, side = self.place(upper, True)
            right = right if side > 0 else NOTHING
        last = max(first, last)
        before, after = [self.nothing] * first, [self.nothing] * (count - last)
        return Sampled(before + f.cells[first:last] + after, left, right)

    def running(self, f: Sampled, from_left: bool) -> Sampled:
        """Return the integral of f up to t, or from t on."""
        near, far = (f.left, f.right) if from_left else (f.right, f.left)
        if not near.whole.is_finite():
            raise NotProved("an integral is not bounded")
        reached = between(ZERO, near.whole).nonnegative_part()
        cells, wholes = list(f.cells), self.wholes(f)
        for place in range(len(cells)) if from_left else reversed(range(len(cells))):
            cells[place] = self.partial(place, cells[place], from_left) + reached
            reached += wholes[place]
        first = Tail(near.whole, ZERO if near.whole.is_zero() else arb.pos_inf())
        last = Tail(reached + far.whole, arb.pos_inf())
        return Sampled(cells, *((first, last) if from_left else (last, first)))

    def total(self, f: Sampled) -> arb:
        """Enclose the integral of f over everything."""
        found = sum(self.wholes(f), between(ZERO, f.left.whole + f.right.whole))
        if not found.is_finite():
            raise NotProved("an integral is not bounded")
        return found.nonnegative_part()

    def wholes(self, f: Sampled) -> list[arb]:
        """Enclose the integrals of f over all cells; they are >= 0."""
        found = map(self.whole, range(len(f.cells)), f.cells)
        return [whole.nonnegative_part() for whole in found]

    def convolved(self, f: Sampled, law: Law) -> Sampled:
        """Return the density of X + Y, where f is that of X, and Y has a law.

        The density of X + Y is nowhere above the largest one of Y times the integral of f. What
        comes from X beyond the grid is at most the largest density of Y over the way from there,
        times the integral there; X + Y is beyond the grid if X is, or Y goes from X beyond it.
        """
        (cells, most, ways), left, right = self.summed(f, law), f.left, f.right
        highest = self.total(f) * most
        lefts, rights = (
            left.whole + right.whole * ways[-1][1],
            right.whole + left.whole * ways[0][3],
        )
        for place, (whole, own) in enumerate(zip(self.wholes(f), ways, strict=True)):
            lefts, rights = lefts + whole * own[1], rights + whole * own[3]
            cells[place] += between(ZERO, left.whole * own[0] + right.whole * own[2])
        return Sampled(cells, Tail(highest, lefts), Tail(highest, rights))
