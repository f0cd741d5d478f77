"""The laws of samples: everything the kernel knows of each family.

A family that is not in `FAMILIES` does not exist here: nothing is decided by what a family is not.
Standard laws have the mean 0 and (on the reals) the scale 1. With w(z) = exp(-|z|^p / p),

    Gauss       p = 2    density w(z) / sqrt(2 pi)
    Lap         p = 1    density w(z) / 2
    LapPlus     p = 1    density w(z) for z >= 0, else 0
    LapMinus    p = 1    density w(z) for z <= 0, else 0
    DLap        p = 1    on the integers, mass of k proportional to w(k / scale)
    DGauss      p = 2    on the integers, mass of k proportional to w(k / scale)

All of them are log-concave: for f(t) and g(t) = f(t - d), d >= 0, f(s) g(t) >= f(t) g(s) if s < t.
They rise up to 0 and fall from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt

from flint import arb, arb_poly, ctx

from dipapprox.kernel.balls import between, spend_balls, to_ball
from dipapprox.kernel.errors import Refused, Refuted
from dipapprox.kernel.taylor import exponential, times

MOST_TERMS = 200_000
"""Of a sum over integers."""


@dataclass(frozen=True, slots=True)
class Family:
    """What laws of real numbers and of integers have in common.

    Attributes:
        p: 1 or 2.
        left, right: How much of the mass of w is left of it on either side of 0, up to a factor.
        mirror: The family of -Z.
    """

    p: int
    sides: tuple[int, ...]
    mirror: str

    @property
    def is_light(self) -> bool:
        """Whether E exp(s |Z|) < inf for every s, and f > 0 everywhere."""
        return self.p == 2

    @property
    def shifts(self) -> tuple[int, ...]:
        """The signs of d for which f(z - d) <= e^|d| f(z) for all z, f the density or mass.

        d is in units of the scale. Where there are such, E exp(s |Z|) < inf for s < 1, and f > 0 on
        these sides of 0. For p = 1, |z| <= |z - d| + |d|; what is on one side has to stay there.
        """
        return self.sides if self.p == 1 else ()

    def reach(self, bits: int) -> tuple[int, int]:
        """Return how far from 0, to the left and to the right, w(z) is above about 2^-bits."""
        far = 7 * bits // 10 + 1 if self.p == 1 else isqrt(7 * bits // 5 + 1) + 1
        left, right = (far if side in self.sides else 0 for side in (-1, 1))
        return left, right


@dataclass(frozen=True, slots=True)
class RealFamily(Family):
    """Laws with a density.

    For p = 1 it has two branches, each the restriction of an entire function: `side` -1 says
    z <= 0, 1 says z >= 0. For p = 2 it is entire.

    Attributes:
        norms: What the integral of |f'| and the variation of f' are at most; None if f jumps.
            Gauss: 2 phi(0) < 0.798 and, as phi' turns at -1 and 1, 4 phi(1) < 0.968. Lap:
            2 f(0) = 1, and 1/2 + 1 + 1/2 = 2: f' rises to 1/2, jumps to -1/2, rises.
    """

    norms: tuple[Fraction, Fraction] | None

    def density(self, centre: arb, half: arb, side: int, terms: int) -> arb_poly:
        """Return what holds t -> f(centre + half * t) (`taylor`), which is on one side of 0.

        (c + h t)^2 / 2 = c^2 / 2 + c h t + h^2 t^2 / 2.
        """
        if self.p == 2:
            linear = exponential(-centre * half, terms)
            both = times(linear, exponential(-half * half / 2, terms, 2), terms)
            return both * ((-centre * centre / 2).exp() / (2 * arb.pi()).sqrt())
        if side not in self.sides:
            return arb_poly()
        return exponential(-side * half, terms) * ((-side * centre).exp() / len(self.sides))

    def above(self, z: arb) -> arb:
        """Enclose Pr[Z >= z], with a small relative error where it is small.

        For p = 2 it is erfc(z / sqrt 2) / 2; for p = 1 and s sides with mass exp(-z) / s or
        1 - exp(z) / s. It falls.
        """
        if self.p == 2:
            return (z / arb(2).sqrt()).erfc() / 2
        side = int(z >= 0) - int(z < 0)
        if not side:
            return between(self.above(z.lower()), self.above(z.upper()))
        tail = (-side * z).exp() / len(self.sides) if side in self.sides else arb(0)
        return tail if side > 0 else 1 - tail

    def below(self, z: arb) -> arb:
        """Enclose Pr[Z <= z] likewise."""
        return replace(self, sides=tuple([-side for side in self.sides])).above(-z)


@dataclass(frozen=True, slots=True)
class IntegerFamily(Family):
    """Laws of integers, symmetric about the mean 0; `scale` > 0 is exact.

    The sum of w(j / scale) over j >= k >= 1 is w(k / scale) / (1 - r) at most, r the quotient of
    its first two terms, as quotients fall; it is that for p = 1, where they are all the same.
    """

    def masses(self, first: int, last: int, scale: Fraction) -> list[arb]:
        """Enclose Pr[Z = k] for k = first, ..., last."""
        if last - first > MOST_TERMS:
            raise Refused(f"more than {MOST_TERMS} integers")
        spend_balls(last - first)
        rate, norm = self._rate(scale), self._norm(scale)
        return [(rate * abs(k) ** self.p).exp() / norm for k in range(first, last + 1)]

    def above(self, k: int, scale: Fraction) -> arb:
        """Enclose Pr[Z >= k], with a small relative error where it is small."""
        if k < 1:
            return 1 - self.above(1 - k, scale)
        return self._sum_from(k, scale) / self._norm(scale)

    def below(self, k: int, scale: Fraction) -> arb:
        """Enclose Pr[Z <= k] likewise."""
        return self.above(-k, scale)

    def _rate(self, scale: Fraction) -> arb:
        """-1 / (p scale^p): w(k / scale) is exp of this times |k|^p."""
        return to_ball(-1 / (self.p * scale**self.p))

    def _norm(self, scale: Fraction) -> arb:
        return 1 + 2 * self._sum_from(1, scale)

    def _sum_from(self, k: int, scale: Fraction) -> arb:
        """Enclose the sum of w(j / scale) over j >= k, for k >= 1."""
        rate, p = self._rate(scale), self.p
        found, enough = arb(0), (rate * k**p).exp() * arb(2) ** -ctx.prec
        for j in range(k, k + MOST_TERMS):
            spend_balls(1)
            weight = (rate * j**p).exp()
            # Every j is a place to stop; at a good one the rest is next to nothing.
            if p == 1 or weight < enough:
                most = weight / -(rate * ((j + 1) ** p - j**p)).expm1()
                return most if p == 1 else found + between(weight, most)
            found += weight
        raise Refused("a sum over integers has too many terms")


_GAUSS, _LAP = (Fraction(399, 500), Fraction(121, 125)), (Fraction(1), Fraction(2))

FAMILIES: Mapping[str, RealFamily | IntegerFamily] = {
    "Gauss": RealFamily(2, (1, -1), "Gauss", _GAUSS),
    "Lap": RealFamily(1, (1, -1), "Lap", _LAP),
    "LapPlus": RealFamily(1, (1,), "LapMinus", None),
    "LapMinus": RealFamily(1, (-1,), "LapPlus", None),
    "DLap": IntegerFamily(1, (1, -1), "DLap"),
    "DGauss": IntegerFamily(2, (1, -1), "DGauss"),
}
"""By their names in programs."""


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

    def reach(self, eps: Fraction, bits: int) -> tuple[Fraction, Fraction]:
        """Return how far from the mean, on both sides, all but about 2^-bits of the mass is."""
        left, right = FAMILIES[self.family].reach(bits)
        return left * self.scale(eps), right * self.scale(eps)

    @property
    def has_kink(self) -> bool:
        """Whether it has a density that is not entire: then the mean is the only such place."""
        family = FAMILIES[self.family]
        return isinstance(family, RealFamily) and family.p == 1

    @property
    def is_discrete(self) -> bool:
        """Whether samples are integers."""
        return isinstance(FAMILIES[self.family], IntegerFamily)

    @property
    def on_reals(self) -> RealFamily:
        """The family, which has densities."""
        family = FAMILIES[self.family]
        if not isinstance(family, RealFamily):
            raise Refuted(f"{self.family} has no density")
        return family

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
