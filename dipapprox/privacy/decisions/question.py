"""What a decision is asked: complete and validated.

Epsilons. The epsilons that a decision is about: reading and writing intervals.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import Record
from dipapprox.digits import brief_text
from dipapprox.errors import UserError, shorten
from dipapprox.exact.signs.interval import ALL_EPSILONS, EpsilonInterval
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.language.domains import exact_rational
from dipapprox.privacy.decisions.delta import Delta

_USAGE = "write LO..HI: 0..inf, 1/10..1, or one number"


def read_epsilons(given: object, name: str = "interval") -> EpsilonInterval:
    """Read the eps > 0 of an interval: "LO..HI", (LO, HI), or one number.

    Rational ends are included; 0 and infinity, which may also be None, never are.

    Raises:
        UserError: If it is malformed or has no eps > 0.
    """
    match given:
        case str():
            first, dots, last = given.partition("..")
            if not first.strip() or ".." in last or bool(dots) != bool(last.strip()):
                raise UserError(f"{name} is not an interval of eps: '{shorten(given)}'", _USAGE)
            low: object = first
            high: object = last.strip() if dots else first
        case (low, high):
            pass
        case _:
            low = high = given
    lower = exact_rational(low, f"the lower end of {name}")
    infinite = high is None or high in ("inf", "oo", "∞")
    upper = None if infinite else exact_rational(high, f"the upper end of {name}")
    return closed_interval(lower, upper)


def closed_interval(lower: Fraction, upper: Fraction | None) -> EpsilonInterval:
    """Return the epsilons > 0 between two ends, both included unless 0 or infinite.

    Raises:
        UserError: If there are none.
    """
    if lower < 0:
        raise UserError(f"eps must be > 0, but the interval begins at {brief_text(lower)}", _USAGE)
    if upper is not None and (upper < lower or upper == 0):
        raise UserError(
            f"there is no eps > 0 in the interval {brief_text(lower)}..{brief_text(upper)}", _USAGE
        )
    return EpsilonInterval(lower, upper, lower > 0, upper is not None)


def claim_words(budget: Fraction, delta: str, epsilons: EpsilonInterval) -> str:
    """Write a claim for people: "(2 ε, 1/10)-DP for all ε > 0"."""
    multiple = "ε" if budget == 1 else f"{brief_text(budget)} ε"
    return f"({multiple}, {delta})-DP for {interval_words(epsilons)}"


def interval_words(epsilons: EpsilonInterval) -> str:
    """Write an interval for people."""
    lower, upper = epsilons.lower, epsilons.upper
    if epsilons.is_point:
        return f"ε = {brief_text(lower)}"
    if upper is None:
        return f"all ε {'>=' if epsilons.lower_included else '>'} {brief_text(lower)}"
    left, right = "[" if epsilons.lower_included else "(", "]" if epsilons.upper_included else ")"
    return f"all ε in {left}{brief_text(lower)}, {brief_text(upper)}{right}"


DEFAULT_WIDTH = Fraction(1, 10**9)
"""Of the intervals around the ends of violated ranges, and of the least δ."""

LEAST_WIDTH = Fraction(1, 10**1000)


class DecisionQuestion(Record):
    """Is the program (tε, δ(ε))-differentially private for every ε of an interval?

    Raises:
        UserError: If a number is out of range.
    """

    budget: Fraction  # t >= 0
    delta: Delta
    interval: EpsilonInterval = ALL_EPSILONS
    # How narrowly ends of violated ranges and the least δ are enclosed, >= 10^-1000.
    width: Fraction = DEFAULT_WIDTH
    # Whether to find all ε at which some pair violates the claim; else the search ends with the
    # first violation.
    violations: bool = False
    least_delta: bool = False

    def __post_init__(self) -> None:
        if self.interval.is_point:
            object.__setattr__(self, "delta", self.delta.at_point(self.interval.lower))
        if self.budget < 0:
            raise UserError(f"the budget must be >= 0, got {self.budget}")
        if self.width <= 0:
            raise UserError(f"the width must be > 0, got {self.width}")
        if self.width < LEAST_WIDTH:
            raise UserError("the width must be at least 10^-1000")

    @property
    def factor(self) -> ExponentialPolynomial:
        """The factor e^{tε}."""
        return ExponentialPolynomial.monomial(1, rate=self.budget)
