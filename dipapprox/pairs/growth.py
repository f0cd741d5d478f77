"""What an eps_prv multiplies probabilities with: e^eps_prv, exactly known."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.arithmetic.precision import exponential
from dipapprox.data_classes import dataclass
from dipapprox.exponentials import ExponentialPolynomial

_LARGEST_EPS_PRV = Fraction(10_000)
"""e^eps_prv is a number of about 1.44 * eps_prv bits; beyond this it is only bounded from below."""


@dataclass(frozen=True, slots=True)
class Factor:
    """Bounds lower <= e^eps_prv <= upper; `upper` None stands for infinity."""

    lower: Fraction
    upper: Fraction | None

    def covers(self, other: Factor) -> bool:
        """Whether all that the other one allows lies within: what holds for this, holds there."""
        above = self.upper is None or (other.upper is not None and other.upper <= self.upper)
        return above and self.lower <= other.lower


def eps_prv_factor(eps_prv: Fraction, bits: int) -> Factor:
    """Enclose e^eps_prv, eps_prv >= 0, to a relative width of about 2**-bits."""
    if eps_prv > _LARGEST_EPS_PRV:
        return Factor(exponential(_LARGEST_EPS_PRV, bits).lower, None)
    enclosure = exponential(eps_prv, bits)
    return Factor(enclosure.lower, enclosure.upper)


@dataclass(frozen=True, slots=True)
class Growth:
    """multiple * e^rate, at least 1: what an eps_prv multiplies probabilities with.

    Attributes:
        rate: Rational.
        multiple: Rational and > 0.
    """

    rate: Fraction
    multiple: Fraction = Fraction(1)

    def is_below_one(self) -> bool:
        """Whether eps_prv is negative."""
        if self.multiple == 1 or not self.rate:
            return self.rate < 0 or self.multiple < 1
        bits = 64
        while True:
            # Never 1: e^rate is irrational.
            size = exponential(self.rate, bits)
            if size.lower * self.multiple > 1:
                return False
            if size.upper * self.multiple < 1:
                return True
            bits *= 2

    def bounds(self, bits: int) -> Factor:
        """Enclose it to a relative width of about 2**-bits."""
        if self.rate < 0:
            factor = eps_prv_factor(-self.rate, bits)
            lower = 0 if factor.upper is None else self.multiple / factor.upper
            # It is at least 1, whatever rounding says.
            return Factor(max(Fraction(lower), Fraction(1)), self.multiple / factor.lower)
        factor = eps_prv_factor(self.rate, bits)
        upper = None if factor.upper is None else factor.upper * self.multiple
        return Factor(factor.lower * self.multiple, upper)

    def at_one(self) -> ExponentialPolynomial:
        """Return a function of ε whose value at ε = 1 it is."""
        return ExponentialPolynomial.monomial(self.multiple, rate=self.rate)
