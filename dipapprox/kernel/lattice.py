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
from dipapprox.kernel.sampled import NOTHING, ZERO, Leaves, Sampled, Space, Tail, restricted


class Lattice(Space):
    """Functions made of some laws of integers at one eps.

    Args:
        leaves: What they are made of; bounds are of no interest.
        eps: > 0.
        accuracy: Ours; the precision is set to what it says.

    Raises:
        Refused: If there would be too many integers.
    """

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
        """Return a law's masses times a factor; they rise up to its mean and fall from there."""
        family, scale, size = law.on_integers, law.scale(self._eps), to_ball(factor)
        first, last = self._first - int(law.mean), self._last - int(law.mean)
        before, *masses, after = family.masses(first - 1, last + 1, scale)
        return Sampled(
            [size * mass for mass in masses],
            [],
            Tail(between(ZERO, size * before), size * family.below(first - 1, scale)),
            Tail(between(ZERO, size * after), size * family.above(last + 1, scale)),
        )

    def restrict(self, f: Sampled, lower: Fraction | None, upper: Fraction | None) -> Sampled:
        """Return f between two constants, which count, and 0 elsewhere."""
        left, right, values = f.left, f.right, f.values
        if lower is not None:
            least = ceil(lower)
            zeros = min(max(least - self._first, 0), len(values))
            values = [ZERO] * zeros + values[zeros:]
            left = NOTHING if least >= self._first else restricted(left)
            if least > self._last + 1:
                right = restricted(right)
        if upper is not None:
            most = floor(upper)
            zeros = min(max(self._last - most, 0), len(values))
            values = values[: len(values) - zeros] + [ZERO] * zeros
            right = NOTHING if most <= self._last else restricted(right)
            if most < self._first - 1:
                left = restricted(left)
        return Sampled(values, [], left, right)

    def running(self, f: Sampled, from_left: bool) -> Sampled:
        """Return the sum of f up to t, or from t on; f(t) counts."""
        near, far, values = f.left, f.right, f.values
        if not from_left:
            near, far, values = far, near, values[::-1]
        if not near.whole.is_finite():
            raise NotProved("a sum is not bounded")
        before, *sums = accumulate(values, initial=near.whole.nonnegative_part())
        first = Tail(between(ZERO, before), ZERO if before.is_zero() else arb.pos_inf())
        last = Tail(between(sums[-1], sums[-1] + far.whole), arb.pos_inf())
        if from_left:
            return Sampled(sums, [], first, last)
        return Sampled(sums[::-1], [], last, first)

    def convolved(self, f: Sampled, law: Law) -> Sampled:
        """Return the masses of X + Y, where those of Y fall on both sides of 0.

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
        lost = between(ZERO, (sum(f.values, near + far) - sum(values, ZERO)).upper())
        tails = []
        for own, other, ordered in ((f.left, far, f.values), (f.right, near, f.values[::-1])):
            most = own.values + other * masses[count + 1]
            # The end of the grid is one step away from where the tail begins.
            most += sum((mass * masses[k] for k, mass in enumerate(ordered, 1)), ZERO)
            tails.append(Tail(between(ZERO, most.upper()), lost))
        return Sampled(values, [], *tails)

    def total(self, f: Sampled) -> arb:
        """Enclose the sum of f over all integers."""
        found = sum(f.values, f.left.whole + f.right.whole)
        if not found.is_finite():
            raise NotProved("a sum is not bounded")
        return found.nonnegative_part()
