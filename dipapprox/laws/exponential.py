"""Laplace noise, and one-sided exponential noise: f(z) = m exp(-|z|) on each side with mass m.

    Lap         m = 1/2 on both sides: density exp(-|x - mean| / b) / (2 b) for the scale b
    LapPlus     m = 1 on the right:    density exp(-(x - mean) / b) / b for x >= mean
    LapMinus    m = 1 on the left:     its mirror image

Branches. No holomorphic function agrees with f on the whole line. With l the mass below 0 and
r = 1 - l that above it,

    side -1:  pdf(z) = l exp(z)     cdf(z) = l exp(z)
    side +1:  pdf(z) = r exp(-z)    cdf(z) = 1 - r exp(-z)

Branches where the mass is 0 are 0, exactly. |exp(z)| = exp(Re z): no growth across.

Numbers. With one side, f rises by 1 and falls to 0 again: half of its variation is 1, and it jumps.
With two, half of its variation is 1/2; f' rises to 1/2, jumps to -1/2 and rises to 0, by 2 in all.
The rate of ln f with the logarithm of the scale is s = |z| - 1, whose derivative is -|z|: E s² = 1,
E|z| = 1, E|s| / 2 = 1/e, and E[max(|z| - 1 - max(c² - 1, 1), 0)] <= e^-(c²) for c >= 1.
|f'| <= f, and for two sides f'' = f less a mass of 1 at 0; for one side f jumps by 1 there, and p
moves with the mean at the rate p - q, q the probability given z = 0. Tails: Pr[|Z| > t] = e^-t.
E e^(tZ) is 1 / (1 - t²), 1 / (1 - t) and 1 / (1 + t) for 0 <= t < 1. The difference of two
independent samples of one side is a Laplace sample (Kotz, Kozubowski, Podgórski, The Laplace
Distribution and Generalizations, 2001, section 2.2).

Ellipses lie round a panel on one side. |m e^-z| is largest at the left end, and

    |1 - m e^(-x - iy)|² = (1 - m e^-x)² + 2 m e^-x (1 - cos y) <= (1 - m e^-x)² + m e^-x y².
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dipapprox.arithmetic import boxes, double_functions, precision, rounding
from dipapprox.errors import BrokenInvariant
from dipapprox.laws.family import BOTH_SIDES, RealFamily, Speeds, flint, np

if TYPE_CHECKING:
    from flint import arb

    from dipapprox.arithmetic.boxes import Box
    from dipapprox.arithmetic.legendre import Rule
    from dipapprox.arithmetic.rounding import Array

_BITS = 32


class ExponentialNoise(RealFamily):
    is_exponential = True
    steepness = None
    is_normal = False
    has_kink = True
    bend = Fraction(1)
    strip = Fraction(0)
    panel = 1.9, 0.16
    even_panel = Fraction(2, 5)
    roundings = (16 + 4, 16 + 12), (8, 8), (0, 0)  # as for Gaussian noise: the argument counts once

    def __init__(self, name: str, constant: str, title: str, *sides: int) -> None:
        self.name, self.constant, self.title = name, constant, title
        self.sides = self.shifts = sides
        self.steep = Fraction(1, len(sides))
        self.tail = self.share(1)
        self.curved = Fraction(1) if sides == BOTH_SIDES else None

    @property
    def mirror(self) -> RealFamily:
        """The one with the other side."""
        return _BY_SIDES[tuple([-side for side in reversed(self.sides)])]

    @property
    def difference(self) -> RealFamily | None:
        return None if self.sides == BOTH_SIDES else LAPLACE

    @property
    def drift(self) -> Fraction:
        """1/e."""
        return self.excess(Fraction(1))

    def excess(self, cut: Fraction) -> Fraction:
        """e^-(c²)."""
        return precision.exponential(-(cut**2), _BITS).upper

    def speeds(self, speed: Fraction) -> Speeds:
        if self.sides == BOTH_SIDES:
            return Speeds(score=abs(speed), bend=speed**2)
        return Speeds(jumps=abs(speed))

    def share(self, side: int) -> Fraction:
        """The mass on a side of 0."""
        return self.steep if side in self.sides else Fraction(0)

    def modulus(self, height: Fraction) -> Fraction:
        """On the line."""
        if height:
            raise BrokenInvariant("a density with a kink off the line")
        return Fraction(1)

    # --- balls -------------------------------------------------------------------------------

    def pdf(self, z: arb, side: int) -> arb:
        """The branch is 0 where there is no mass."""
        mass = self.share(side)
        if not mass:
            return flint.arb(0)
        return (z if side < 0 else -z).exp() * precision.to_ball(mass)

    def score(self, z: arb, side: int) -> arb:
        return flint.arb(-side)

    def survival(self, z: arb, side: int) -> arb:
        tail = self.pdf(z, side)
        return 1 - tail if side < 0 else tail

    def pdf_bound(self, box: Box, side: int) -> arb:
        """Largest at the end that is nearer to 0, or beyond it."""
        mass = self.share(side)
        if not mass:
            return flint.arb(0)
        return (boxes.growth(box.high if side < 0 else -box.low) * precision.to_ball(mass)).upper()

    def series(self, center: Fraction, half: Fraction, degree: int) -> tuple[list[arb], arb]:
        """The exponential series, with Lagrange's remainder."""
        side = -1 if center < 0 else 1
        h = precision.to_ball(-side * half)
        coefficients = [self.pdf(precision.to_ball(center), side)]
        for k in range(degree):
            coefficients.append(coefficients[-1] * h / (k + 1))
        remainder = abs(coefficients[-1] * h / (degree + 1)) * abs(h).exp()
        return coefficients, remainder

    def cutoff_guess(self, bits: int, side: int) -> arb:
        """Exact, about."""
        if side not in self.sides:
            return flint.arb(0)
        return flint.arb.const_log2() * max(bits - (self.sides == BOTH_SIDES), 0)

    def log_moment(self, t: arb) -> arb:
        if self.sides == BOTH_SIDES:
            return -(1 - t * t).log()
        return -(1 - t * self.sides[0]).log()

    # --- doubles -----------------------------------------------------------------------------

    def at(self, t: Array) -> tuple[Array, Array]:
        """What is beyond t is as much as the density, as if there were mass on either side."""
        tail = float(self.steep) * double_functions.exponential(-np.abs(t))
        return tail, tail

    def on_boxes(self, edges: Array, heights: Array) -> tuple[Array, Array, Array]:
        with np.errstate(over="ignore", invalid="ignore"):
            tail = float(self.steep) * double_functions.growth(-edges)
            near, far = tail[:, :-1], tail[:, 1:] * (1 - double_functions.EXCESS)
            real = np.maximum(1 - far, near - 1)
            squares = double_functions.on_all(heights * heights, edges)
            body = np.sqrt(real * real + near * squares) * rounding.UP
        return near, body, near

    def below(self, z: Array) -> Array:
        """l e^z, or 1 - r e^-z."""
        tail = double_functions.exponential(-np.abs(z))
        return np.where(z > 0, 1 - tail * float(self.share(1)), tail * float(self.share(-1)))

    def swing(self, near: Array, far: Array) -> tuple[Array, Array]:
        """|f'| = f falls on either side."""
        bound = double_functions.growth(-near) * float(self.steep)
        return bound, bound

    def at_differences(self, z: Array, differences: Array) -> Array:
        """0 next to the mean, where the density is no polynomial's neighbour."""
        shares: Array = self._shares(differences) * (differences != 0)
        return double_functions.exponential(-np.abs(z)) * shares

    def moved(self, middle: Array, reach: float, by: Array) -> Array:
        """f(z + d) / f(z) is within e^|d|."""
        return by

    def beyond(
        self, differences: Array, slack: float, ratio: float, scale: float, rule: Rule
    ) -> tuple[Array, Array]:
        """Local where an ellipse meets the mean."""
        wide = rule.wide[:, None]
        distance = np.abs(differences) - (wide + 1) / 2 - slack
        exponent = -distance * ratio + 2.0**-30 * (1 + np.abs(distance) * ratio)
        real = self._shares(differences) * double_functions.growth(exponent)
        at_mean = double_functions.growth((wide - 1) * (ratio / 2 * (1 + 2.0**-30))) * wide
        meets = differences == 0
        local = np.where(meets, at_mean * (float(self.steep) / scale * rounding.SAFE), 0.0)
        return np.where(meets, 0.0, real * (rounding.SAFE / scale)), local

    def _shares(self, differences: Array) -> Array:
        left, right = (float(self.share(side)) for side in BOTH_SIDES)
        found: Array = np.where(differences > 0, right, left)
        return found


LAPLACE = ExponentialNoise("Lap", "LAPLACE", "Laplace", *BOTH_SIDES)
EXPONENTIAL = ExponentialNoise("LapPlus", "EXPONENTIAL", "one-sided", 1)
REFLECTED_EXPONENTIAL = ExponentialNoise("LapMinus", "REFLECTED_EXPONENTIAL", "one-sided", -1)
_BY_SIDES = {each.sides: each for each in (LAPLACE, EXPONENTIAL, REFLECTED_EXPONENTIAL)}
