"""Functions on the integers: all from a first to a last one, and what lies beyond."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from math import ceil, floor

from flint import arb, arb_poly

from dipapprox.kernel.accuracy import Accuracy
from dipapprox.kernel.balls import between, to_ball
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import NotProved, Refused
from dipapprox.kernel.laws import Law
from dipapprox.kernel.sampled import NOTHING, ZERO, Leaves, Sampled, Space, Tail


class Lattice(Space):
    """Functions made of some laws of integers at one eps; bounds are of no interest."""

    n = 1

    def __init__(self, leaves: Leaves, eps: Fraction, accuracy: Accuracy) -> None:
        self._eps = eps

        def reach(law: Law) -> Fraction:
            return law.on_integers.radius(accuracy.bits) * law.scale(eps)

        further = leaves.further(map(reach, leaves.added))
        self._first = floor(min(law.mean - reach(law) for law in leaves.laws) - further)
        self._last = ceil(max(law.mean + reach(law) for law in leaves.laws) + further)
        count = self._last - self._first + 1
        if count > accuracy.integers:
            raise Refused(f"the functions need more than {accuracy.integers} integers")

    def density(self, law: Law, factor: Fraction) -> Sampled:
        # Masses rise up to the mean and fall from there.
        family, scale, size = law.on_integers, law.scale(self._eps), to_ball(factor)
        first, last = self._first - int(law.mean), self._last - int(law.mean)
        before, *masses, after = family.masses(first - 1, last + 1, scale)
        return Sampled(
            [size * mass for mass in masses],
            [],
            Tail(size * before, size * family.below(first - 1, scale)),
            Tail(size * after, size * family.above(last + 1, scale)),
        )

    def place(self, bound: Fraction, is_upper: bool) -> tuple[int, int]:
        # Both bounds count: the end of a cell that is meant is half an integer away.
        place = (floor(bound) + 1 if is_upper else ceil(bound)) - self._first
        count = self._last - self._first + 1
        return min(max(place, 0), count), (place > count) - (place < 0)

    def partial(self, f: Sampled, start: arb, from_left: bool) -> tuple[Sampled, arb]:
        # On the integers f(t) counts.
        _, *sums = accumulate(f.values if from_left else f.values[::-1], initial=start)
        return Sampled(sums if from_left else sums[::-1], [], NOTHING, NOTHING), sums[-1]

    def convolved(self, f: Sampled, law: Law) -> Sampled:
        """The masses of Y fall on both sides of 0.

        Of X at a distance comes at most its probability times the largest mass of Y that far out;
        of X beyond the grid, to X + Y there, at most its largest mass.
        """
        family, scale, count = law.on_integers, law.scale(self._eps), len(f.values)
        spend(20 * count)
        near, far = f.left.whole, f.right.whole
        if not (near + far + f.left.values + f.right.values).is_finite():
            raise NotProved("a sum of samples without a bound of one beyond the grid")
        masses = family.masses(0, count + 1, scale)
        around = masses[count - 1 : 0 : -1] + masses[:count]
        sums = [*(arb_poly(f.values) * arb_poly(around)).coeffs(), *[ZERO] * (2 * count)]
        values = []
        for k, inside in enumerate(sums[count - 1 : 2 * count - 1]):
            more = near * masses[k + 1] + far * masses[count - k]
            values.append((inside + between(ZERO, more.upper())).nonnegative_part())
        # All probabilities of X + Y add up to those of X.
        lost = sum(f.values, near + far) - sum(values, ZERO)
        tails = []
        for own, other, ordered in ((f.left, far, f.values), (f.right, near, f.values[::-1])):
            most = own.values + other * masses[count + 1]
            # The end of the grid is one step away from where the tail begins.
            most += sum((mass * masses[k] for k, mass in enumerate(ordered, 1)), ZERO)
            tails.append(Tail(most, lost))
        return Sampled(values, [], *tails)

    def inside(self, f: Sampled) -> arb:
        return sum(f.values, ZERO)
