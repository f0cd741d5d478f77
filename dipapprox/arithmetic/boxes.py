"""Boxes in the complex plane, and upper bounds on them: +infinity where nothing is known."""

from __future__ import annotations

from flint import acb, arb

from dipapprox.data_classes import Record

_ZERO = arb(0)
INFINITY = arb("inf")


class Box(Record):
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

    @property
    def mirrored(self) -> Box:
        """That of -z."""
        return Box(-self.high, -self.low, self.height)

    @property
    def nearest_to_zero(self) -> arb:
        """The real part that is the nearest to 0."""
        if self.low > 0:
            return self.low
        return self.high if self.high < 0 else _ZERO


def largest(*values: arb) -> arb:
    """An exact upper bound of all values; +infinity if one of them says nothing."""
    if not all(value.is_finite() for value in values):
        return INFINITY
    return max(value.upper() for value in values)  # exact numbers: the comparison decides


def smallest(*bounds: arb) -> arb:
    """The smallest exact upper bound among those that say something, else +infinity."""
    return min((bound.upper() for bound in bounds if bound.is_finite()), default=INFINITY)


def growth(exponent: arb) -> arb:
    """exp(exponent) rounded up; +infinity where it could only be a nuisance.

    A non-finite bound makes the quadrature drop a hopeless ellipse at once.
    """
    return INFINITY if exponent > 2**12 else exponent.exp().upper()
