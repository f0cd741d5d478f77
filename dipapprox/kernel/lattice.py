"""Functions on the integers: all from a first to a last one, and what lies beyond."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import accumulate
from math import ceil, floor

from flint import arb

from dipapprox.kernel.accuracy import Accuracy
from dipapprox.kernel.balls import between, to_ball
from dipapprox.kernel.errors import NotProved, Refused
from dipapprox.kernel.laws import Law
from dipapprox.kernel.sampled import NOTHING, ZERO, Sampled, Space, Tail, restricted


class Lattice(Space):
    """Functions made of some laws of integers at one eps.

    Args:
        laws: All of them, at least one.
        eps: > 0.
        accuracy: Ours; the precision is set to what it says.

    Raises:
        Refused: If there would be too many integers.
    """

    def __init__(self, laws: Iterable[Law], eps: Fraction, accuracy: Accuracy) -> None:
        self._eps = eps
        reached: list[Fraction] = []
        for law in set(laws):
            reach = law.on_integers.radius(accuracy.bits) * law.scale(eps)
            reached += [law.mean - reach, law.mean + reach]
        self._first, self._last = floor(min(reached)), ceil(max(reached))
        count = self._last - self._first + 1
        if count > accuracy.integers:
            raise Refused(f"the functions need {count} integers, more than {accuracy.integers}")

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

    def total(self, f: Sampled) -> arb:
        """Enclose the sum of f over all integers."""
        found = sum(f.values, f.left.whole + f.right.whole)
        if not found.is_finite():
            raise NotProved("a sum is not bounded")
        return found.nonnegative_part()
