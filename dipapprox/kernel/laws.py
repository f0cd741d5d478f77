"""The laws of samples: one class a family, which owns everything the kernel knows of it.

A family that is not in `FAMILIES` does not exist here: nothing is decided by what a family is not.
Families answer about standard laws, mean 0 and (on the reals) scale 1, with balls.

    Gauss       density exp(-z^2 / 2) / sqrt(2 pi)
    Lap         density exp(-|z|) / 2
    LapPlus     density exp(-z) for z >= 0, else 0
    LapMinus    density exp(z) for z <= 0, else 0
    DLap        on the integers, mass of k proportional to exp(-|k| / scale)
    DGauss      on the integers, mass of k proportional to exp(-k^2 / (2 scale^2))

All of them are log-concave: for f(t) and g(t) = f(t - d), d >= 0, f(s) g(t) >= f(t) g(s) if s < t.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from flint import arb, ctx

from dipapprox.kernel.balls import between, spend_balls, to_ball
from dipapprox.kernel.errors import Refused, Refuted

MOST_TERMS = 200_000
"""Of a sum over integers."""


class RealFamily(ABC):
    """Laws with a density.

    A density with a kink or jump at z = 0 has two branches, each the restriction of an entire
    function: `side` -1 says z <= 0, 1 says z >= 0, 0 that this is not known.

    Attributes:
        has_kink: Whether the density is not entire: then 0 is the only such place.
        mirror: The family of -Z.
        shifts: The signs of d for which f(z - d) <= e^|d| f(z) for all z, f the density. Where
            there are such, E exp(s |Z|) < inf for s < 1, and f > 0 on these sides of 0.
        is_light: Whether E exp(s |Z|) < inf for every s, and f > 0 everywhere.
        norms: What the integral of |f'| and the variation of f' are at most; None if f jumps.
    """

    has_kink = False
    mirror: str
    shifts: tuple[int, ...] = ()
    is_light = False
    norms: tuple[Fraction, Fraction] | None = None

    @abstractmethod
    def reach(self, bits: int) -> tuple[int, int]:
        """Return l, r >= 0 with Pr[Z < -l] + Pr[Z > r] <= 2^-bits.

        The density rises up to -l and falls from r on.
        """

    @abstractmethod
    def densities(self, points: list[arb], side: int) -> list[arb]:
        """Enclose the density at points on one side, which is known if there is a kink."""

    @abstractmethod
    def above(self, z: arb, side: int = 0) -> arb:
        """Enclose Pr[Z >= z], with a small relative error where it is small."""

    def below(self, z: arb, side: int = 0) -> arb:
        """Enclose Pr[Z <= z] likewise."""
        return _real(self.mirror).above(-z, -side)

    @abstractmethod
    def majorant(self, low: arb, high: arb, height: arb, side: int) -> arb:
        """Return a ball not below |density(x + iy)| where low <= x <= high and |y| <= height.

        Its upper end, that is. The branch at `side` is meant, continued to the plane; it is the
        density itself only where x is on that side.
        """


class Gauss(RealFamily):
    """Entire.

    Pr[Z >= z] = erfc(z / sqrt 2) / 2. Radius: Pr[|Z| > T] <= exp(-T^2 / 2), as (T >= 0)
    Pr[Z > T] = int_0^inf phi(T + u) du <= exp(-T^2 / 2) int_0^inf phi(u) du; and
    T^2 / 2 >= (7 / 10) bits >= bits ln 2. Majorant: |exp(-(x + iy)^2 / 2)| = exp((y^2 - x^2) / 2),
    x the one nearest to 0; where the signs of the ends are not certain that is 0. Norms: 2 phi(0) <
    0.798 and, as phi' turns at -1 and 1, 4 phi(1) < 0.968.
    """

    mirror, is_light = "Gauss", True
    norms = Fraction(399, 500), Fraction(121, 125)

    def reach(self, bits: int) -> tuple[int, int]:
        radius = isqrt(7 * bits // 5 + 1) + 1
        return radius, radius

    def densities(self, points: list[arb], side: int) -> list[arb]:
        factor, rate = 1 / (2 * arb.pi()).sqrt(), -arb(1) / 2
        return [(rate * z * z).exp() * factor for z in points]

    def above(self, z: arb, side: int = 0) -> arb:
        return (z / arb(2).sqrt()).erfc() / 2

    def majorant(self, low: arb, high: arb, height: arb, side: int) -> arb:
        nearest = low if low > 0 else high if high < 0 else arb(0)
        return ((height * height - nearest * nearest) / 2).exp() / (2 * arb.pi()).sqrt()


class Exponential(RealFamily):
    """Exponential decay on both sides of 0, l of the mass to the left and r = 1 - l to the right.

    Density l exp(z) and r exp(-z), so Pr[Z >= z] = 1 - l exp(z) and r exp(-z), and
    Pr[|Z| > T] = exp(-T), with T >= (7 / 10) bits >= bits ln 2. |exp(x + iy)| = exp(x).
    If l = r, norms are 2 f(0) = 1, and 1/2 + 1 + 1/2 = 2: f' rises to 1/2, jumps to -1/2, rises.
    """

    has_kink = True

    def __init__(self, left: Fraction, mirror: str) -> None:
        self.mirror = mirror
        self._mass = {-1: left, 1: 1 - left}
        # |z| <= |z - d| + |d|; what is on one side has to stay there.
        self.shifts = tuple([side for side in (1, -1) if self._mass[side]])
        if left == 1 - left:
            self.norms = Fraction(1), Fraction(2)

    def _branch(self, side: int) -> tuple[arb, int]:
        """The mass on a side, and the sign of the exponent there."""
        if not side:
            raise ValueError("the side is not known")
        return to_ball(self._mass[side]), -side

    def reach(self, bits: int) -> tuple[int, int]:
        left, right = (7 * bits // 10 + 1 if self._mass[side] else 0 for side in (-1, 1))
        return left, right

    def densities(self, points: list[arb], side: int) -> list[arb]:
        mass, sign = self._branch(side)
        return [mass * (sign * z).exp() for z in points]

    def above(self, z: arb, side: int = 0) -> arb:
        side = side or int(z >= 0) - int(z < 0)
        if not side:
            return between(self.above(z, -1), self.above(z, 1))
        mass, sign = self._branch(side)
        tail = mass * (sign * z).exp()
        return tail if side > 0 else 1 - tail

    def majorant(self, low: arb, high: arb, height: arb, side: int) -> arb:
        mass, sign = self._branch(side)
        return mass * (sign * (high if side < 0 else low)).exp()


class IntegerFamily(ABC):
    """Laws of integers, symmetric about the mean 0; `scale` > 0 is exact.

    Attributes:
        mirror: The family of -Z.
        shifts: The signs of d for which the mass of k - d is at most e^|d / scale| that of k.
            Where there are such, E exp(s |Z| / scale) < inf for s < 1.
        is_light: Whether E exp(s |Z|) < inf for every s.
    """

    has_kink = False
    is_light = False
    mirror: str
    shifts: tuple[int, ...] = ()

    @abstractmethod
    def radius(self, bits: int) -> int:
        """Return T with Pr[|Z| > T * scale] <= 2^-bits."""

    @abstractmethod
    def masses(self, first: int, last: int, scale: Fraction) -> list[arb]:
        """Enclose Pr[Z = k] for k = first, ..., last."""

    @abstractmethod
    def above(self, k: int, scale: Fraction) -> arb:
        """Enclose Pr[Z >= k], with a small relative error where it is small."""

    def below(self, k: int, scale: Fraction) -> arb:
        """Enclose Pr[Z <= k] likewise."""
        return self.above(-k, scale)


class DiscreteLaplace(IntegerFamily):
    """With q = exp(-1 / scale): mass (1 - q) / (1 + q) * q^|k|, as the sum of q^|k| shows.

    Pr[Z >= k] = q^k / (1 + q) for k >= 0, a geometric series, and 1 - Pr[Z >= 1 - k] for k <= 0.
    Radius: Pr[|Z| > T scale] <= 2 q^(T scale) = 2 exp(-T), with T >= (bits + 1) ln 2.
    """

    mirror, shifts = "DLap", (1, -1)

    def radius(self, bits: int) -> int:
        return 7 * (bits + 1) // 10 + 1

    def masses(self, first: int, last: int, scale: Fraction) -> list[arb]:
        _bounded(last - first)
        rate = to_ball(-1 / scale)
        factor = (-rate / 2).tanh()
        return [factor * (rate * abs(k)).exp() for k in range(first, last + 1)]

    def above(self, k: int, scale: Fraction) -> arb:
        if k < 0:
            return 1 - self.above(1 - k, scale)
        return to_ball(-k / scale).exp() / (1 + to_ball(-1 / scale).exp())


class DiscreteGauss(IntegerFamily):
    """Mass w(k) / W, where w(k) = exp(-k^2 / (2 scale^2)) and W is the sum of w(k).

    Tails: for j >= k >= 1, w(j + 1) / w(j) = exp(-(2 j + 1) / (2 scale^2)) <= r = exp(-(2 k + 1) /
    (2 scale^2)), so the sum of w(j) over j >= k is at least w(k) and at most w(k) / (1 - r).

    Radius: E exp(t Z) = exp(t^2 scale^2 / 2) * sum_k w(k - t scale^2) / W, and the quotient is at
    most 1 (Poisson summation: the sum of w(k - s) is a cosine series in s with positive
    coefficients, so largest at s = 0). By Markov with t = T / scale, Pr[Z >= T scale] <=
    exp(-T^2 / 2), twice that for both sides; T^2 / 2 >= (7 / 10) (bits + 1) >= (bits + 1) ln 2.
    """

    mirror, is_light = "DGauss", True

    def radius(self, bits: int) -> int:
        return isqrt(7 * (bits + 1) // 5 + 1) + 1

    def masses(self, first: int, last: int, scale: Fraction) -> list[arb]:
        _bounded(last - first)
        rate, norm = to_ball(-1 / (2 * scale * scale)), self._norm(scale)
        return [(rate * (k * k)).exp() / norm for k in range(first, last + 1)]

    def above(self, k: int, scale: Fraction) -> arb:
        if k < 1:
            return 1 - self.above(1 - k, scale)
        return self._sum_from(k, scale) / self._norm(scale)

    def _norm(self, scale: Fraction) -> arb:
        return 1 + 2 * self._sum_from(1, scale)

    def _sum_from(self, k: int, scale: Fraction) -> arb:
        """Enclose the sum of w(j) over j >= k, for k >= 1."""
        rate = to_ball(-1 / (2 * scale * scale))
        found = arb(0)
        enough = (rate * (k * k)).exp() * arb(2) ** -ctx.prec
        for j in range(k, k + MOST_TERMS):
            spend_balls(1)
            weight = (rate * (j * j)).exp()
            if weight < enough:
                # Every j is a place to stop; here the rest is small next to what is there.
                return found + between(weight, weight / (1 - (rate * (2 * j + 1)).exp()))
            found += weight
        raise Refused("a discrete Gaussian has too many terms")


FAMILIES: Mapping[str, RealFamily | IntegerFamily] = {
    "Gauss": Gauss(),
    "Lap": Exponential(Fraction(1, 2), mirror="Lap"),
    "LapPlus": Exponential(Fraction(0), mirror="LapMinus"),
    "LapMinus": Exponential(Fraction(1), mirror="LapPlus"),
    "DLap": DiscreteLaplace(),
    "DGauss": DiscreteGauss(),
}
"""By their names in programs."""


def _real(name: str) -> RealFamily:
    family = FAMILIES[name]
    if not isinstance(family, RealFamily):
        raise Refuted(f"{name} has no density")
    return family


@dataclass(frozen=True, slots=True)
class Law:
    """The law of mean + scale * Z, where scale = coefficient * eps ** power and Z is standard.

    On the integers Z is not scaled: its masses are those of the family at this scale.

    Attributes:
        family: A key of `FAMILIES`.
        mean: On the integers a whole number.
        coefficient: > 0.
        power: Between -8 and 8.
    """

    family: str
    mean: Fraction
    coefficient: Fraction
    power: int

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise Refuted(f"there is no family {self.family!r}")
        if self.coefficient <= 0 or abs(self.power) > 8:
            raise Refuted(f"{self.coefficient} * eps ** {self.power} is no scale")
        if self.is_discrete and self.mean.denominator != 1:
            raise Refuted(f"the mean {self.mean} of {self.family} is no integer")

    def scale(self, eps: Fraction) -> Fraction:
        """Return the scale at eps > 0."""
        return self.coefficient * eps**self.power

    @property
    def is_discrete(self) -> bool:
        """Whether samples are integers."""
        return isinstance(FAMILIES[self.family], IntegerFamily)

    @property
    def on_reals(self) -> RealFamily:
        """The family, which has densities."""
        return _real(self.family)

    @property
    def on_integers(self) -> IntegerFamily:
        """The family, which has masses of integers."""
        family = FAMILIES[self.family]
        if not isinstance(family, IntegerFamily):
            raise Refuted(f"{self.family} is no law of integers")
        return family

    def is_like(self, other: Law) -> bool:
        """Whether the laws are the same but for their means."""
        return self.affine(Fraction(1), other.mean - self.mean) == other

    def affine(self, factor: Fraction, shift: Fraction) -> Law:
        """Return the law of factor * X + shift for X of this law; on the integers |factor| = 1."""
        if factor == 0 or (self.is_discrete and abs(factor) != 1):
            raise Refuted(f"a multiple of a sample of {self.family} has no law here")
        family = FAMILIES[self.family].mirror if factor < 0 else self.family
        mean = factor * self.mean + shift
        return Law(family, mean, abs(factor) * self.coefficient, self.power)


def _bounded(terms: int) -> None:
    if terms > MOST_TERMS:
        raise Refused(f"more than {MOST_TERMS} integers")
    spend_balls(terms)
