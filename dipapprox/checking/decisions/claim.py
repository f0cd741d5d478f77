"""What a certificate of a decision claims."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.digits import exact_text


@dataclass(frozen=True, slots=True)
class Interval:
    """The ε > 0 from `lower` to `upper`, both included; None: no upper end."""

    lower: Fraction
    upper: Fraction | None

    @property
    def is_point(self) -> bool:
        """Whether there is one ε."""
        return self.lower == self.upper

    @property
    def inner_point(self) -> Fraction:
        """Some ε of the interval."""
        return self.lower + 1 if self.upper is None else (self.lower + self.upper) / 2

    def __contains__(self, eps: Fraction) -> bool:
        return eps > 0 and self.lower <= eps and (self.upper is None or eps <= self.upper)


@dataclass(frozen=True, slots=True)
class DecisionClaim:
    """(budget * ε, delta)-privacy for every ε of an interval.

    Attributes:
        delta: A number or a formula in eps, as it is written.
    """

    interval: Interval
    budget: Fraction
    delta: str

    def interval_text(self) -> tuple[str, str]:
        """Return both ends as JSON has them."""
        upper = self.interval.upper
        return exact_text(self.interval.lower), "inf" if upper is None else exact_text(upper)
