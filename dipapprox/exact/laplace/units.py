"""Units: coordinates in which the rates and the means of Laplace-type laws are integers.

A law of scale s stands for one of scale s / ε. With rates 1 / s = a / R and means k / D over
common denominators put u = (ε / R) x and η = ε / (R D): the density of Laplace noise becomes
a e^{-a|u - kη|} / 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import lcm

from dipapprox.data_classes import dataclass
from dipapprox.laws.distribution import Distribution


@dataclass(frozen=True, slots=True)
class Units:
    """Denominators: all rates are multiples of 1 / `rates`, all points of 1 / `points`."""

    rates: int
    points: int

    @classmethod
    def of(cls, laws: Iterable[Distribution], points: Iterable[Fraction]) -> Units:
        """The least units that fit some laws and constants."""
        laws = tuple(laws)
        rates = lcm(*(law.scale.numerator for law in laws))
        marks = lcm(*(law.mean.denominator for law in laws), *(p.denominator for p in points))
        return cls(rates, marks)

    def __or__(self, other: Units) -> Units:
        return Units(lcm(self.rates, other.rates), lcm(self.points, other.points))

    @property
    def step(self) -> int:
        """R D: ε = step * η."""
        return self.rates * self.points

    def rate(self, law: Distribution) -> int:
        """The rate of a law, in units.

        Raises:
            ValueError: If it is no multiple of the unit.
        """
        return _multiple(law.scale.denominator, law.scale.numerator, self.rates)

    def mark(self, point: Fraction) -> int:
        """A point, in units.

        Raises:
            ValueError: If it is no multiple of the unit.
        """
        return _multiple(point.numerator, point.denominator, self.points)


def _multiple(numerator: int, denominator: int, unit: int) -> int:
    """numerator / denominator as a multiple of 1 / unit."""
    factor, rest = divmod(unit, denominator)
    if rest:
        raise ValueError(f"{numerator}/{denominator} is no multiple of 1/{unit}")
    return numerator * factor
