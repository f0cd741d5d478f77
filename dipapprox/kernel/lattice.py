"""Functions on the integers: all from a first to a last one, and what lies beyond."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from math import ceil, floor

from flint import arb, arb_poly

from dipapprox.kernel.balls import to_ball
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import Refused
from dipapprox.kernel.grid import Accuracy, Leaves
from dipapprox.kernel.laws import IntegerFamily, Law
from dipapprox.kernel.sampled import ZERO, Sampled, Space, Tail, Way


class Lattice(Space):
    """Functions made of some laws of integers at one eps; bounds are of no interest."""

    nothing = ZERO

    def __init__(self, leaves: Leaves, eps: Fraction, accuracy: Accuracy) -> None:
        self._eps = eps
        first, last = leaves.span(eps, accuracy.bits)
        self._first, self._last = floor(first), ceil(last)
        self.size = self._last - self._first + 1
        if self.size > accuracy.integers:
            raise Refused(f"the functions need more than {accuracy.integers} integers")

    def density(self, law: Law, factor: Fraction) -> Sampled:
        # Masses rise up to the mean and fall from there.
        family, size = law.on(IntegerFamily), to_ball(factor)
        rate = family.rate(law.scale(self._eps))
        first, last = self._first - int(law.mean), self._last - int(law.mean)
        before, *masses, after = family.masses(first - 1, last + 1, rate)
        return Sampled(
            [size * mass for mass in masses],
            Tail(size * before, size * family.below(first - 1, rate)),
            Tail(size * after, size * family.above(last + 1, rate)),
        )

    def place(self, bound: Fraction, is_upper: bool) -> tuple[int, int]:
        # Both bounds count: the end of a cell that is meant is half an integer away.
        place = (floor(bound) + 1 if is_upper else ceil(bound)) - self._first
        return min(max(place, 0), self.size), (place > self.size) - (place < 0)

    def summed(self, f: Sampled, law: Law) -> tuple[list[arb], arb, list[Way]]:
        # Sums of products are coefficients of products of polynomials.
        count, family = self.size, law.on(IntegerFamily)
        spend(20 * count)
        rate = family.rate(law.scale(self._eps))
        masses = family.masses(1 - count, count, rate)
        sums = (arb_poly(f.cells) * arb_poly(masses[:-1])).coeffs()
        cells = [*sums, *[ZERO] * (3 * count)][count - 1 : 2 * count - 1]
        # Beyond the grid is one further than its ends.
        most, *less = masses[count - 1 :]
        above = [*accumulate(less[::-1], initial=family.above(count + 1, rate))][:0:-1]
        ways = [*zip(less, above, strict=True)]
        return cells, most, [(*a, *b) for a, b in zip(ways, ways[::-1], strict=True)]
