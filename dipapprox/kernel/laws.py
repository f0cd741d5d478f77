"""The laws of samples: everything the kernel knows of each family.

A family that is not in `FAMILIES` does not exist here: nothing is decided by what a family is not.
Standard laws have the mean 0 (Gumbel: the mode) and, on the reals, the scale 1. With
w(z) = exp(-|z|^p / p) and v = exp(-z),

    Gauss        p = 2    density w(z) / sqrt(2 pi)
    Lap          p = 1    density w(z) / 2
    LapPlus      p = 1    density w(z) for z >= 0, else 0
    LapMinus     p = 1    density w(z) for z <= 0, else 0
    Logistic              density v / (1 + v)^2
    Gumbel                density v exp(-v)
    GumbelMinus           that of Gumbel at -z
    DLap         p = 1    on the integers, mass of k proportional to w(k / scale)
    DGauss       p = 2    on the integers, mass of k proportional to w(k / scale)

All of them are log-concave: for f(t) and g(t) = f(t - d), d >= 0, f(s) g(t) >= f(t) g(s) if s < t.
They rise up to 0 and fall from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import isqrt
from typing import TypeVar

from flint import arb, ctx

from dipapprox.kernel.balls import between, spend_balls, to_ball
from dipapprox.kernel.errors import Refused, Refuted, spend

MOST_TERMS = 200_000  # of a sum over integers
_TOGETHER = 64  # sums from so many integers on are enclosed at once
BOTH = (1, -1)


@dataclass(frozen=True, slots=True)
class Family:
    """What laws of real numbers and of integers have in common."""

    mirror: str  # the family of -Z
    sides: tuple[int, ...]  # of 0, those where samples may be; f > 0 there
    # The signs of d for which f(z - d) <= e^|d| f(z) for all z, f the density or mass; d is in
    # units of the scale. Where there are such, E exp(s Z) < inf for all s for which s * sign < 1
    # for each of them, and f(z) >= c e^-|z| on these sides of 0 for a c > 0.
    shifts: tuple[int, ...]
    is_light: bool  # whether E exp(s |Z|) < inf for every s, and f > 0 everywhere
    is_exponential: bool  # whether f is a multiple of e^-|z| on every side
    # What E s^2 is at most, s the derivative of ln f by the logarithm of the scale; that of s by it
    # is at most 0 everywhere.
    information: Fraction

    def reach(self, bits: int) -> tuple[Fraction | int, Fraction | int]:
        """Return how far from 0, left and right, all but 2^-bits of Z is, at most 2 w(z)."""
        far = isqrt(7 * bits // 5 + 1) + 1 if self.is_light else 7 * (bits + 1) // 10 + 1
        left, right = (far if side in self.sides else 0 for side in (-1, 1))
        return left, right

    def widths(self, bits: int) -> list[tuple[int, Fraction]]:
        """Return where panels may be how wide, as a part of what is usual, within the reach."""
        return [(0, Fraction(1))]


@dataclass(frozen=True, slots=True)
class RealFamily(Family):
    """Laws with a density (`panels`), entire or, if `is_exponential`, in two branches.

    With g = f' / f, s = -(1 + z g(z)), and its derivative z (g(z) + z g'(z)) is at most 0: f rises
    up to 0, falls from there, and is log-concave.
    """

    # What the integral of |f'| and the variation of f' are at most; None if f jumps.
    norms: tuple[Fraction, Fraction] | None

    def above(self, z: arb) -> arb:
        """Enclose Pr[Z >= z], with a small relative error where it is small."""
        raise NotImplementedError  # each has its own; `Law.on` takes no abstract class

    def below(self, z: arb) -> arb:
        """Enclose Pr[Z <= z] = Pr[-Z >= -z] likewise."""
        return _REAL[self.mirror].above(-z)


class Normal(RealFamily):
    """Gauss."""

    def above(self, z: arb) -> arb:
        """erfc(z / sqrt 2) / 2."""
        return (z / arb(2).sqrt()).erfc() / 2


class Laplace(RealFamily):
    """Lap, and both halves of it."""

    def above(self, z: arb) -> arb:
        """For s sides with mass exp(-z) / s, or 1 - exp(z) / s. It falls."""
        side = int(z >= 0) - int(z < 0)
        if not side:
            return between(self.above(z.lower()), self.above(z.upper()))
        tail = (-side * z).exp() / len(self.sides) if side in self.sides else arb(0)
        return tail if side > 0 else 1 - tail


class Logistic(RealFamily):
    """Logistic: with s = 1 / (1 + v) = Pr[Z <= z], f = s (1 - s), and f' = f (1 - 2 s).

    So |f'| <= f, and E exp(s Z) = pi s / sin(pi s); v / (1 + v)^2 >= v / 4 for v <= 1.
    """

    def above(self, z: arb) -> arb:
        """1 / (1 + e^z)."""
        return 1 / (1 + z.exp())


class Gumbel(RealFamily):
    """Gumbel and its mirror image: F(z) = exp(-v) = Pr[Z <= z], f = F' = v F, and v' = -v.

    f(z - d) = e^d v exp(-e^d v) <= e^d f(z) for d > 0; E exp(s Z) is the gamma function at 1 - s;
    v exp(-v) >= v / e for v <= 1.
    """

    def reach(self, bits: int) -> tuple[Fraction | int, Fraction | int]:
        """Pr[Z >= t] <= e^-t, and Pr[Z <= -t] = exp(-e^t)."""
        left, right = Fraction(7 * bits.bit_length(), 10), 7 * (bits + 1) // 10 + 1
        return (left, right) if 1 in self.shifts else (right, left)

    def widths(self, bits: int) -> list[tuple[int, Fraction]]:
        """f falls like exp(-v), whose derivatives are as large as powers of v."""
        far = 7 * bits.bit_length() // 10
        return [(-self.shifts[0] * k, Fraction(4, 11) ** max(k - 2, 0)) for k in range(far + 1)]

    def above(self, z: arb) -> arb:
        """1 - exp(-v); that -Z >= z, or Z <= -z, has the probability exp(-e^z)."""
        return -(-((-z).exp())).expm1() if 1 in self.shifts else (-(z.exp())).exp()


@dataclass(frozen=True, slots=True)
class IntegerFamily(Family):
    """Laws of integers, symmetric about the mean 0, of which `rate` > 0 is exact.

    w(k / scale) = exp(-rate |k|^p). The sum over j >= k >= 1 is w(k / scale) / (1 - r) at most, r
    the quotient of its first two terms, as quotients fall; it is that for p = 1, where they are all
    the same.

    With t the rate, M = t E|Z|^p and V = t^2 Var |Z|^p, s is p (t |Z|^p - M), and its derivative
    -p^2 (t |Z|^p - M + V) is at most 0 as M <= V; E s^2 = p^2 V. For p = 1, M = t / sinh t, and
    V = t^2 cosh t / sinh^2 t is at least that, as tanh t <= t, and at most 3/2: so are the
    quotients of coefficients of both series. For p = 2 sums of e^(-t k^2) are sqrt(pi / t) times
    those of e^(-u k^2), u = pi^2 / t (Jacobi): M(t) = 1/2 - M(u), V(t) = 1/2 + V(u) - 2 M(u). So
    V - M is the same for t and u. Where t >= pi, E Z^2 <= 1/12, Var Z^2 >= E Z^2 (1 - E Z^2), hence
    M <= V; E Z^4 <= 2.01 e^-t, E Z^2 >= 1.84 e^-t, hence V <= 7/8 and 1/2 + V - 2 M <= 7/8.
    """

    p: int

    def rate(self, scale: Fraction) -> Fraction:
        """Return 1 / (p scale^p)."""
        return 1 / (self.p * scale**self.p)

    def masses(self, first: int, last: int, rate: Fraction) -> list[arb]:
        """Enclose Pr[Z = k] for k = first, ..., last."""
        if last - first > MOST_TERMS:
            raise Refused(f"more than {MOST_TERMS} integers")
        spend_balls(last - first)
        fall, norm = to_ball(-rate), self._norm(rate)
        return [(fall * abs(k) ** self.p).exp() / norm for k in range(first, last + 1)]

    def above(self, k: int, rate: Fraction) -> arb:
        """Enclose Pr[Z >= k], with a small relative error where it is small."""
        if k < 1:
            return 1 - self.above(1 - k, rate)
        return self._sum_from(k, rate) / self._norm(rate)

    def below(self, k: int, rate: Fraction) -> arb:
        """Enclose Pr[Z <= k] likewise."""
        return self.above(-k, rate)

    def _norm(self, rate: Fraction) -> arb:
        return 1 + 2 * self._sum_from(1, rate)

    def _sum_from(self, k: int, rate: Fraction) -> arb:
        """Enclose the sum of w(j / scale) over j >= k, for k >= 1."""
        first = k if self.p == 1 else k - k % _TOGETHER or 1
        return _sums_from(self.p, first, rate, ctx.prec)[k - first]


@lru_cache(1 << 9)
def _sums_from(p: int, first: int, rate: Fraction, bits: int) -> list[arb]:
    """Enclose sums of exp(-rate j^p) over j >= k, for k = first, and for p > 1 `_TOGETHER`."""
    fall, weights = to_ball(-rate), list[arb]()
    enough = (fall * (first + _TOGETHER) ** p).exp() * arb(2) ** -bits
    for j in range(first, first + MOST_TERMS):
        spend_balls(1)
        weights.append((fall * j**p).exp())
        # Every j is a place to stop; at a good one the rest is next to nothing.
        if p == 1 or weights[-1] < enough:
            most = weights[-1] / -(fall * ((j + 1) ** p - j**p)).expm1()
            last = most if p == 1 else between(weights[-1], most)
            sums = [*accumulate([last, *weights[-2::-1]])]
            return sums[: -1 - _TOGETHER : -1]  # as they are kept, no more than are asked for
    raise Refused("a sum over integers has too many terms")


_GAUSS, _LOGISTIC = (Fraction(399, 500), Fraction(121, 125)), (Fraction(1, 2), Fraction(77, 200))
_GUMBEL = Fraction(3679, 5000), Fraction(9403, 10_000)

_REAL: Mapping[str, RealFamily] = {
    # 2 phi(0) < 0.798; as phi' turns at -1 and 1, 4 phi(1) < 0.968. E (1 - Z^2)^2 = 2.
    "Gauss": Normal("Gauss", BOTH, (), True, False, Fraction(2), _GAUSS),
    # 2 f(0) = 1, and 1/2 + 1 + 1/2 = 2: f' rises to 1/2, jumps to -1/2, rises. E (1 - |Z|)^2 = 1.
    "Lap": Laplace("Lap", BOTH, BOTH, False, True, Fraction(1), (Fraction(1), Fraction(2))),
    "LapPlus": Laplace("LapMinus", (1,), (1,), False, True, Fraction(1), None),
    "LapMinus": Laplace("LapPlus", (-1,), (-1,), False, True, Fraction(1), None),
    # 2 f(0) = 1/2; f' = s (1 - s) (1 - 2 s) turns at +-sqrt 3 / 18, and 2 sqrt 3 / 9 < 0.3850.
    # E (1 + Z (1 - 2 s))^2 = (3 + pi^2) / 9 < 1.43.
    "Logistic": Logistic("Logistic", BOTH, BOTH, False, False, Fraction(143, 100), _LOGISTIC),
    # 2 f(0) = 2 / e < 0.7358; f' = (v^2 - v) e^-v turns at v = (3 +- sqrt 5) / 2: between -0.161121
    # and 0.309005, whose distance is 0.470126. As v has the law of an exponential sample, E (1 - Z
    # (1 - v))^2 = pi^2 / 6 + (1 - c)^2 < 1.824, c Euler's constant.
    "Gumbel": Gumbel("GumbelMinus", BOTH, (1,), False, False, Fraction(228, 125), _GUMBEL),
    "GumbelMinus": Gumbel("Gumbel", BOTH, (-1,), False, False, Fraction(228, 125), _GUMBEL),
}

FAMILIES: Mapping[str, RealFamily | IntegerFamily] = {
    **_REAL,
    "DLap": IntegerFamily("DLap", BOTH, BOTH, False, True, Fraction(3, 2), 1),
    "DGauss": IntegerFamily("DGauss", BOTH, (), True, False, Fraction(7, 2), 2),
}
"""By their names in programs."""


F = TypeVar("F", bound=Family)


def cost_of(number: Fraction) -> int:
    """Return what it costs to compute with a number, about: 0 if it is not long."""
    bits = number.numerator.bit_length() + number.denominator.bit_length()
    return (bits // 256) ** 2 // 32


@dataclass(frozen=True, slots=True)
class Law:
    """The law of mean + scale * Z, where scale = coefficient * eps ** power and Z is standard.

    On the integers Z is not scaled: its masses are those of the family at this scale.
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
        found = self.coefficient * eps**self.power
        spend(cost_of(found))
        return found

    def reach(self, eps: Fraction, bits: int) -> tuple[Fraction, Fraction]:
        """Return how far from the mean, on both sides, all but about 2^-bits of the mass is."""
        left, right = FAMILIES[self.family].reach(bits)
        return left * self.scale(eps), right * self.scale(eps)

    @property
    def has_kink(self) -> bool:
        """Whether it has a density that is not entire: then the mean is the only such place."""
        family = FAMILIES[self.family]
        return isinstance(family, RealFamily) and family.is_exponential

    @property
    def is_discrete(self) -> bool:
        """Whether samples are integers."""
        return isinstance(FAMILIES[self.family], IntegerFamily)

    def on(self, kind: type[F]) -> F:
        """Return the family, which is one of real numbers, or of integers."""
        family = FAMILIES[self.family]
        if not isinstance(family, kind):
            raise Refuted(f"{self.family} has densities or masses of another kind")
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
