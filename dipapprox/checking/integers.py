"""Functions on a range of integers for the checker: sums where `panels` has integrals.

A discrete law is restricted to the integers within its `reach`; a function is its values there, as
balls, so that sums and products need no proof of their own. With q = e^(-1/b),

    Pr[x] = (1 - q) / (1 + q) q^|x - mean|,      Pr[|x - mean| > r] = 2 q^(r + 1) / (1 + q).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import accumulate
from math import ceil

from flint import arb

from dipapprox.distributions import Distribution
from dipapprox.errors import BrokenInvariant
from dipapprox.numerics.precision import to_ball

_ZERO = arb(0)

Values = tuple[arb, ...]
"""One value for each integer of a range."""


def radius(law: Distribution, bits: int) -> int:
    """Return how far from its mean a law must be kept to lose at most 2**-bits of its mass."""
    # 2 q^(r + 1) <= 2^-bits, as ln 2 < 0.7
    return ceil(law.scale * Fraction(7, 10) * (bits + 1))


def lost(law: Distribution, bits: int) -> arb:
    """Bound the mass beyond `radius`."""
    q = (-1 / to_ball(law.scale)).exp()
    return (2 * q ** (radius(law, bits) + 1) / (1 + q)).upper()


class IntegerRange:
    """The integers within reach of some laws, all of them discrete.

    To be used at one working precision only.

    Args:
        laws: At least one; means are integers.
        bits: Wanted accuracy.
    """

    def __init__(self, laws: Iterable[Distribution], bits: int) -> None:
        self.laws = frozenset(laws)
        self.bits = bits
        if any(law.mean.denominator != 1 for law in self.laws):
            raise BrokenInvariant("the mean of integer noise is no integer")
        self._first = min(int(law.mean) - radius(law, bits) for law in self.laws)
        self._last = max(int(law.mean) + radius(law, bits) for law in self.laws)

    @property
    def points(self) -> list[Fraction]:
        """The ends."""
        return [Fraction(self._first), Fraction(self._last)]

    def lost(self, law: Distribution) -> arb:
        """Bound the mass of a law that is left out."""
        return lost(law, self.bits)

    def density(self, law: Distribution, lower: Fraction | None, upper: Fraction | None) -> Values:
        """Return the probabilities of the law's values between the bounds."""
        q = (-1 / to_ball(law.scale)).exp()
        peak = (1 - q) / (1 + q)
        reach = radius(law, self.bits)
        powers = list(accumulate([q] * reach, lambda power, each: power * each, initial=peak))
        values = []
        for x in range(self._first, self._last + 1):
            distance = abs(x - int(law.mean))
            outside = (lower is not None and x < lower) or (upper is not None and x > upper)
            values.append(_ZERO if outside or distance > reach else powers[distance])
        return tuple(values)

    def product(self, left: Values, right: Values) -> Values:
        """Return left * right."""
        return tuple(f * g for f, g in zip(left, right, strict=True))

    def running(self, density: Values, *, from_left: bool) -> Values:
        """Return t -> the sum over x <= t, or over x >= t."""
        sums = tuple(accumulate(density if from_left else density[::-1]))
        return sums if from_left else sums[::-1]

    def total(self, density: Values) -> arb:
        """Enclose the sum."""
        return sum(density, _ZERO)
