"""Intervals of the privacy parameter ε > 0, with rational ends or without an upper end."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import Record


class EpsilonInterval(Record):
    """The ε > 0 between two exact ends, each included or not; all ε > 0 without arguments.

    Raises:
        ValueError: If an end is negative, 0 or infinity (None) are included, or nothing is left.
    """

    lower: Fraction = Fraction(0)
    upper: Fraction | None = None
    lower_included: bool = False
    upper_included: bool = False

    def __post_init__(self) -> None:
        if self.lower < 0 or (self.lower == 0 and self.lower_included):
            raise ValueError(f"eps must be > 0, but an interval begins at {self.lower}")
        if self.upper is None:
            if self.upper_included:
                raise ValueError("infinity is no eps")
        elif self.upper < self.lower or (self.upper == self.lower and not self.is_point):
            raise ValueError(f"no eps lies between {self.lower} and {self.upper}")

    @property
    def is_point(self) -> bool:
        """Whether there is exactly one ε."""
        return self.lower == self.upper and self.lower_included and self.upper_included

    def __contains__(self, eps: Fraction) -> bool:
        above = eps > self.lower or (eps == self.lower and self.lower_included)
        if self.upper is None or not above:
            return above
        return eps < self.upper or (eps == self.upper and self.upper_included)

    def encloses(self, eps: Fraction) -> bool:
        """Whether `eps` lies strictly between the ends."""
        return self.lower < eps and (self.upper is None or eps < self.upper)


ALL_EPSILONS = EpsilonInterval()  # all ε > 0


def split_point(lower: Fraction, upper: Fraction) -> Fraction:
    """Return a dyadic number strictly between 0 < `lower` < `upper`, well inside.

    The ends of an interval that spans more than a factor 4 are compared by their logarithms, so
    that every power of two between 1e-300 and 1e300 is reached after a dozen steps.
    """
    if upper > 4 * lower:
        return Fraction(2) ** ((_exponent(lower) + _exponent(upper)) // 2 + 1)
    step = _exponent(upper - lower) - 3
    middle = (lower + upper) / 2
    return Fraction(2) ** step * round(middle / Fraction(2) ** step)


def _exponent(value: Fraction) -> int:
    """Return e with 2^e <= value < 2^(e+2), value > 0."""
    return value.numerator.bit_length() - value.denominator.bit_length() - 1
