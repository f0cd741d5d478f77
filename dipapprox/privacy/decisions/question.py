"""What a decision is asked: complete and validated."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.errors import UserError
from dipapprox.exact.signs.interval import ALL_EPSILONS, EpsilonInterval
from dipapprox.privacy.decisions.delta import Delta

DEFAULT_WIDTH = Fraction(1, 10**9)
"""Of the intervals around the ends of violated ranges, and of the least δ."""

LEAST_WIDTH = Fraction(1, 10**1000)


@dataclass(frozen=True, slots=True)
class DecisionQuestion:
    """Is the program (tε, δ(ε))-differentially private for every ε of an interval?

    Attributes:
        budget: t >= 0.
        delta: The claimed δ.
        epsilons: The interval.
        width: How narrowly ends of violated ranges and the least δ are enclosed, >= 10^-1000.
        violations: Whether to find all ε at which some pair violates the claim; else the search
            ends with the first violation.
        least_delta: Whether to enclose the least δ that holds on the interval.

    Raises:
        UserError: If a number is out of range.
    """

    budget: Fraction
    delta: Delta
    epsilons: EpsilonInterval = ALL_EPSILONS
    width: Fraction = DEFAULT_WIDTH
    violations: bool = False
    least_delta: bool = False

    def __post_init__(self) -> None:
        if self.epsilons.is_point:
            object.__setattr__(self, "delta", self.delta.at_point(self.epsilons.lower))
        if self.budget < 0:
            raise UserError(f"the budget must be >= 0, got {self.budget}")
        if self.width <= 0:
            raise UserError(f"the width must be > 0, got {self.width}")
        if self.width < LEAST_WIDTH:
            raise UserError("the width must be at least 10^-1000")
