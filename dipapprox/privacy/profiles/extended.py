"""Bounds of numbers that may be infinite: budgets and divergences."""

from __future__ import annotations

from decimal import ROUND_FLOOR
from fractions import Fraction
from math import inf

from dipapprox.arithmetic.decimals import outward, rounded_down
from dipapprox.arithmetic.enclosure import Enclosure, rounded_to
from dipapprox.data_classes import dataclass

_PLACES = 20


@dataclass(frozen=True, slots=True)
class Extended:
    """lower <= true value <= upper, in [0, ∞].

    Attributes:
        lower: None if the value is infinite, for certain.
        upper: None if the value is infinite, or no bound is known.
    """

    lower: Fraction | None
    upper: Fraction | None

    @property
    def infinite(self) -> bool:
        """Whether the value is certainly infinite."""
        return self.lower is None

    @property
    def width(self) -> Fraction | None:
        """upper - lower; 0 if certainly infinite, None if unbounded."""
        if self.lower is None:
            return Fraction(0)
        return None if self.upper is None else self.upper - self.lower

    def __contains__(self, value: Fraction | int) -> bool:
        return (
            self.lower is not None
            and self.lower <= value
            and (self.upper is None or value <= self.upper)
        )

    def plus(self, other: Extended, times: int) -> Extended:
        """Return the sum with so many times another number."""
        if self.lower is None or other.lower is None:
            return INFINITE
        upper = None
        if self.upper is not None and other.upper is not None:
            upper = self.upper + times * other.upper
        return Extended(self.lower + times * other.lower, upper)

    def __float__(self) -> float:
        """About its middle, or infinite: for people and plots, no bound."""
        if self.lower is None or self.upper is None:
            return inf
        return float(Enclosure(self.lower, self.upper))

    def __str__(self) -> str:
        """Write it for people."""
        return format(self, "")

    def __format__(self, spec: str) -> str:
        """Write it for people, with ".4f", ".4e" or ".4g" to so many places; see `Enclosure`."""
        if self.lower is None:
            return "∞"
        if self.upper is None:
            least = rounded_to(self.lower, spec, ROUND_FLOOR) if spec else self.ends()[0]
            return f"at least {least}"
        return format(Enclosure(self.lower, self.upper), spec)

    def ends(self) -> list[str]:
        """Return [lower, upper] as decimals rounded outward, or "inf"."""
        if self.lower is None:
            return ["inf", "inf"]
        if self.upper is None:
            return [rounded_down(self.lower, _PLACES), "inf"]
        return list(outward(Enclosure(self.lower, self.upper)))


INFINITE = Extended(None, None)
