"""Densities, distribution functions and proved tail bounds of the noise families, on balls.

Everything is about the *standard* law of a family: mean 0, scale 1. `standardised` forms
(x - mean) / scale are built by the callers. Arguments are either real balls, answered by an
enclosure, or `Box`es in the complex plane, answered by an upper bound of the modulus.

Branches. The Laplace density has a kink at its mean, so no holomorphic function agrees with it on
the whole line; one-sided densities jump there. Each half of them is the restriction of an entire
function, and `side` names the half. With l the mass below the mean and r = 1 - l that above it,

    side -1:  pdf(z) = l exp(z)     cdf(z) = l exp(z)
    side +1:  pdf(z) = r exp(-z)    cdf(z) = 1 - r exp(-z)

l is 1/2 for Laplace, 0 and 1 for the one-sided families: their other branches are 0, exactly.
With a fixed side all functions here are entire; for the Gaussian, side 0, they are anyway. On the
real line every branch of the density is >= 0 and no branch of the distribution function
decreases, also where the branch is not the true function.

References:
    Abramowitz and Stegun 7.1 (error function); DiPApprox, section 6, Lemma 1 (tail masses).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from math import ceil
from typing import Protocol

from flint import acb, arb

from dipapprox.arithmetic.enclosure import Enclosure, Side, compare
from dipapprox.arithmetic.precision import exact_fraction, precision, to_ball, to_enclosure
from dipapprox.data_classes import dataclass
from dipapprox.laws.family import Family

_ZERO = arb(0)
_HALF = arb(1) / 2
_INFINITY = arb("inf")


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in the complex plane: low <= Re z <= high, |Im z| <= height; all exact."""

    low: arb
    high: arb
    height: arb

    @classmethod
    def around(cls, value: acb | arb) -> Box:
        """The smallest box round a ball, up to rounding outward."""
        if isinstance(value, arb):
            return cls(value.lower(), value.upper(), _ZERO)
        real = value.real
        return cls(real.lower(), real.upper(), value.imag.abs_upper())

    @property
    def is_real(self) -> bool:
        """Whether the box is a piece of the real line."""
        return self.height.is_zero()


class StandardLaw(Protocol):
    """A standard law: the functions the integration engines need.

    `*_bound` methods return an exact upper bound of the modulus on a box; it may be +infinity where
    the function grows beyond use.
    """

    def pdf(self, z: arb, side: int) -> arb:
        """Enclose the density's branch."""

    def cdf(self, z: arb, side: int) -> arb:
        """Enclose the distribution function's branch."""

    def survival(self, z: arb, side: int) -> arb:
        """Enclose 1 - cdf without cancellation far to the right."""

    def mass(self, lower: arb, upper: arb, lower_side: int, upper_side: int) -> arb:
        """Enclose cdf(upper) - cdf(lower), cancelling as little as possible."""

    def pdf_bound(self, box: Box, side: int) -> arb:
        """Bound the modulus of the density's branch."""

    def cdf_bound(self, box: Box, side: int) -> arb:
        """Bound the modulus of the distribution function's branch."""

    def survival_bound(self, box: Box, side: int) -> arb:
        """Bound the modulus of 1 - cdf."""

    def cutoff_guess(self, bits: int) -> arb:
        """Return a distance c with one-sided tail mass about 2**-bits, without any promise."""


class _Gaussian:
    """exp(-z²/2) / sqrt(2 pi)."""

    def pdf(self, z: arb, side: int) -> arb:
        return (-(z * z) / 2).exp() / (2 * arb.pi()).sqrt()

    def cdf(self, z: arb, side: int) -> arb:
        return (-z / arb(2).sqrt()).erfc() / 2

    def survival(self, z: arb, side: int) -> arb:
        return (z / arb(2).sqrt()).erfc() / 2

    def mass(self, lower: arb, upper: arb, lower_side: int, upper_side: int) -> arb:
        # Both formulas enclose the mass; the exact midpoint only says which is the narrower.
        if (lower + upper).mid() > 0:
            return self.survival(lower, 0) - self.survival(upper, 0)
        return self.cdf(upper, 0) - self.cdf(lower, 0)

    def pdf_bound(self, box: Box, side: int) -> arb:
        # |exp(-(x + iy)²/2)| = exp((y² - x²)/2), largest at the x nearest 0.
        nearest = _nearest_to_zero(box)
        return (_growth((box.height * box.height - nearest * nearest) / 2) * _HALF).upper()

    def cdf_bound(self, box: Box, side: int) -> arb:
        return self.survival_bound(Box(-box.high, -box.low, box.height), side)

    def survival_bound(self, box: Box, side: int) -> arb:
        # S(z) is the integral of the density from z to the right along a horizontal line, where its
        # modulus is exp(y²/2) times the real density: |S(x+iy)| <= exp(y²/2) S(x), and
        # S(x) <= exp(-x²/2) / 2 for x >= 0 (Chernoff). The exponents are joined before they can
        # overflow. Left of the mean the same bound for 1 - S is the smaller one.
        if box.is_real:
            return self.survival(box.low, 0).upper()
        square = box.height * box.height
        if box.low >= 0:
            return (_growth((square - box.low * box.low) / 2) * _HALF).upper()
        if box.high <= 0:
            return (1 + _growth((square - box.high * box.high) / 2) * _HALF).upper()
        return _growth(square / 2)

    def cutoff_guess(self, bits: int) -> arb:
        # Chernoff: S(c) <= exp(-c²/2) / 2.
        return (2 * arb.const_log2() * max(bits - 1, 0)).sqrt()


@dataclass(frozen=True, slots=True)
class _Exponential:
    """left exp(z) for z < 0, right exp(-z) for z > 0: each branch is entire, 0 if its mass is.

    Attributes:
        left: Mass below 0; `left` + `right` = 1.
        right: Mass above 0.
    """

    left: Fraction
    right: Fraction

    def pdf(self, z: arb, side: int) -> arb:
        mass = self._mass(side)
        return (z if side < 0 else -z).exp() * to_ball(mass) if mass else _ZERO

    def cdf(self, z: arb, side: int) -> arb:
        tail = self.pdf(z, side)
        return tail if side < 0 else 1 - tail

    def survival(self, z: arb, side: int) -> arb:
        tail = self.pdf(z, side)
        return 1 - tail if side < 0 else tail

    def mass(self, lower: arb, upper: arb, lower_side: int, upper_side: int) -> arb:
        if lower_side > 0:
            return self.survival(lower, lower_side) - self.survival(upper, upper_side)
        return self.cdf(upper, upper_side) - self.cdf(lower, lower_side)

    def pdf_bound(self, box: Box, side: int) -> arb:
        # |exp(z)| = exp(Re z): no growth in the imaginary direction.
        mass = self._mass(side)
        if not mass:
            return _ZERO
        return (_growth(box.high if side < 0 else -box.low) * to_ball(mass)).upper()

    def cdf_bound(self, box: Box, side: int) -> arb:
        bound = self.pdf_bound(box, side)
        return bound if side < 0 else self._complement(bound, box.high, box, side)

    def survival_bound(self, box: Box, side: int) -> arb:
        bound = self.pdf_bound(box, side)
        return bound if side > 0 else self._complement(bound, -box.low, box, side)

    def _complement(self, bound: arb, far: arb, box: Box, side: int) -> arb:
        # 1 - m exp(-x) does not decrease: on the real line its modulus is largest at an end.
        if box.is_real:
            return _largest(abs(1 - (-far).exp() * to_ball(self._mass(side))), bound - 1)
        return (1 + bound).upper()

    def cutoff_guess(self, bits: int) -> arb:
        return arb.const_log2() * max(bits - (self.left == self.right), 0)

    def _mass(self, side: int) -> Fraction:
        return self.left if side < 0 else self.right


STANDARD_LAWS: Mapping[Family, StandardLaw] = {
    Family.GAUSSIAN: _Gaussian(),
    Family.LAPLACE: _Exponential(Fraction(1, 2), Fraction(1, 2)),
    Family.EXPONENTIAL: _Exponential(Fraction(0), Fraction(1)),
    Family.REFLECTED_EXPONENTIAL: _Exponential(Fraction(1), Fraction(0)),
}
"""The numerical side of every continuous family; a test compares the keys with `Family`."""

KINKED = frozenset(family for family in STANDARD_LAWS if family.is_exponential)
"""Families whose density is analytic on either side of the mean only."""


def mass_bound(law: StandardLaw, lower: Box, upper: Box, lower_side: int, upper_side: int) -> arb:
    """Bound |cdf(upper) - cdf(lower)| for all points of two boxes."""
    if lower.is_real and upper.is_real:
        # cdf increases, so the difference is largest at one of two opposite choices of the ends.
        forward = law.mass(lower.low, upper.high, lower_side, upper_side)
        backward = law.mass(lower.high, upper.low, lower_side, upper_side)
        return _largest(forward, -backward, _ZERO)
    # F(u) - F(l) = S(l) - S(u) = 1 - F(l) - S(u)
    below, above = law.cdf_bound(lower, lower_side), law.survival_bound(upper, upper_side)
    return _smallest(
        law.cdf_bound(upper, upper_side) + below,
        law.survival_bound(lower, lower_side) + above,
        1 + below + above,
    )


def _largest(*values: arb) -> arb:
    """An exact upper bound of all values; +infinity if one of them says nothing."""
    if not all(value.is_finite() for value in values):
        return _INFINITY
    return max(value.upper() for value in values)  # exact numbers: the comparison decides


def _smallest(*bounds: arb) -> arb:
    """The smallest exact upper bound among those that say something, else +infinity."""
    return min((bound.upper() for bound in bounds if bound.is_finite()), default=_INFINITY)


def _nearest_to_zero(box: Box) -> arb:
    if box.low > 0:
        return box.low
    return box.high if box.high < 0 else _ZERO


def _growth(exponent: arb) -> arb:
    """exp(exponent) rounded up; +infinity where it could only be a nuisance.

    A non-finite bound makes the quadrature drop a hopeless ellipse at once.
    """
    return _INFINITY if exponent > 2**12 else exponent.exp().upper()


@dataclass(frozen=True, slots=True)
class Cutoff:
    """A proved cut-off: the standard law puts at most `tail` above `distance`, and below -it."""

    distance: Fraction
    tail: Fraction


def tail_mass(family: Family, distance: Fraction, side: int, bits: int) -> arb:
    """Enclose the mass that the standard law puts beyond `distance` >= 0 on one side of 0.

    Args:
        family: Which law.
        distance: In scales, exact and >= 0.
        side: +1: above `distance`; -1: below -`distance`.
        bits: Working precision.

    Raises:
        ValueError: If `distance` < 0.
    """
    if distance < 0:
        raise ValueError(f"distance must be >= 0, got {distance}")
    law = STANDARD_LAWS[family]
    with precision(bits):
        z = to_ball(distance)
        return law.survival(z, side) if side > 0 else law.cdf(-z, side)


@cache
def cutoff(family: Family, bits: int) -> Cutoff:
    """Return a distance, a multiple of 1/8, beyond which each tail has mass at most 2**-bits.

    The distance is guessed and then proved by evaluating the tails with balls.
    """
    wanted = Fraction(1, 2**bits)
    with precision(64):
        guess = exact_fraction(STANDARD_LAWS[family].cutoff_guess(bits).mid())
    eighths = ceil(8 * guess)
    while not all(
        _is_at_most(tail_mass(family, Fraction(eighths, 8), side, bits + 64), wanted)
        for side in (-1, 1)
    ):
        eighths += 1
    return Cutoff(Fraction(eighths, 8), wanted)


def _is_at_most(ball: arb, bound: Fraction) -> bool:
    enclosure = to_enclosure(ball)
    return isinstance(enclosure, Enclosure) and compare(enclosure, bound) is Side.BELOW
