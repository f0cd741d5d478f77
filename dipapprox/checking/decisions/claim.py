"""What a certificate of a decision claims."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dipapprox.checking.decisions.proofs import Interval


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
        return str(self.interval.lower), "inf" if upper is None else str(upper)
