"""Functions >= 0 by balls around their values at the points of a grid, and what lies between.

On the reals the points are those of a Gauss-Legendre rule on each of finitely many panels, and f
is the restriction of an analytic function on each: besides its values, bounds of its modulus on
growing ellipses around each panel are known, the first of which is the panel itself. On the
integers the points are all integers from a first to a last one. Beyond the grid, to the left and
to the right, a tail says what is known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from flint import arb

from dipapprox.kernel.balls import between
from dipapprox.kernel.laws import Law

ZERO = arb(0)


@dataclass(frozen=True, slots=True)
class Tail:
    """A function beyond the grid, on one side.

    Attributes:
        values: Contains all its values there.
        whole: Contains its integral there, or the sum; not finite where that is not known.
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
    """Functions on one grid; results are >= 0, as all functions are."""

    @abstractmethod
    def density(self, law: Law, factor: Fraction) -> Sampled:
        """Return a law's density, or its masses, times a factor."""

    @abstractmethod
    def restrict(self, f: Sampled, lower: Fraction | None, upper: Fraction | None) -> Sampled:
        """Return f between two constants, 0 elsewhere; those on the grid are ends of panels."""

    @abstractmethod
    def running(self, f: Sampled, from_left: bool) -> Sampled:
        """Return the integral of f up to t, or from t on.

        Raises:
            NotProved: If no bound of it is known.
        """

    @abstractmethod
    def total(self, f: Sampled) -> arb:
        """Enclose the integral of f over everything.

        Raises:
            NotProved: If no bound of it is known.
        """

    @abstractmethod
    def convolved(self, f: Sampled, law: Law) -> Sampled:
        """Return the density of X + Y, where f is that of X, and Y has a law with the mean 0.

        Raises:
            NotProved: If no bound of f beyond the grid is known.
        """

    def product(self, f: Sampled, g: Sampled) -> Sampled:
        """Return t -> f(t) * g(t); moduli multiply."""
        return Sampled(
            [a * b for a, b in zip(f.values, g.values, strict=True)],
            [
                [a * b for a, b in zip(ours, theirs, strict=True)]
                for ours, theirs in zip(f.bounds, g.bounds, strict=True)
            ],
            _product(f.left, g.left),
            _product(f.right, g.right),
        )

    def mix(self, terms: list[tuple[arb, Sampled]]) -> Sampled:
        """Return the sum of scalar * f, scalars >= 0; moduli add up to no less."""
        scalar, f = terms[0]
        found = _scaled(scalar, f)
        for scalar, f in terms[1:]:
            found = _plus(found, _scaled(scalar, f))
        return found

    def rise(self, upper: Sampled, lower: Sampled) -> Sampled:
        """Return upper - lower, where 0 <= lower <= upper on the line.

        So on a panel itself it is at most upper; on ellipses moduli add up to no less.
        """
        bounds = [row[:] for row in upper.bounds[:1]] + [
            [a + b for a, b in zip(ours, theirs, strict=True)]
            for ours, theirs in zip(upper.bounds[1:], lower.bounds[1:], strict=True)
        ]
        return Sampled(
            [(a - b).nonnegative_part() for a, b in zip(upper.values, lower.values, strict=True)],
            bounds,
            _rise(upper.left, lower.left),
            _rise(upper.right, lower.right),
        )


def restricted(tail: Tail) -> Tail:
    """Return what is known of a function that is the tail's in a part of it, and 0 elsewhere."""
    return Tail(between(ZERO, tail.values), between(ZERO, tail.whole))


def _product(a: Tail, b: Tail) -> Tail:
    """If b's values lie in a ball B, the integral of a * b lies in B times the integral of a."""
    ways = (a.whole * b.values, b.whole * a.values)
    whole = min(filter(arb.is_finite, ways), key=arb.rad, default=arb.pos_inf())
    # Products of balls may reach a little below 0.
    return Tail((a.values * b.values).nonnegative_part(), whole.nonnegative_part())


def _rise(upper: Tail, lower: Tail) -> Tail:
    whole = (upper.whole - lower.whole).nonnegative_part()
    if not whole.is_finite():
        whole = between(ZERO, upper.whole)
    return Tail((upper.values - lower.values).nonnegative_part(), whole)


def _scaled(scalar: arb, f: Sampled) -> Sampled:
    return Sampled(
        [scalar * a for a in f.values],
        [[scalar * a for a in bounds] for bounds in f.bounds],
        Tail(scalar * f.left.values, scalar * f.left.whole),
        Tail(scalar * f.right.values, scalar * f.right.whole),
    )


def _plus(f: Sampled, g: Sampled) -> Sampled:
    return Sampled(
        [a + b for a, b in zip(f.values, g.values, strict=True)],
        [
            [a + b for a, b in zip(ours, theirs, strict=True)]
            for ours, theirs in zip(f.bounds, g.bounds, strict=True)
        ],
        Tail(f.left.values + g.left.values, f.left.whole + g.left.whole),
        Tail(f.right.values + g.right.values, f.right.whole + g.right.whole),
    )
