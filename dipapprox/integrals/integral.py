"""Normalised nested integrals and the plans that evaluate them.

`NestedIntegral` is the paper's normal form (DiPApprox section 6, equation 7): variables in order,
outermost first, each with at most one lower and one upper affine bound in the variables outside it.
`Plan` is the same integral after Algorithm 5 or the least-nesting order has pulled it apart.
An infinite bound is None here; cut-offs are chosen by the numerical stage from the wanted
precision, because only there the exact tail masses are known.
"""

from __future__ import annotations

from enum import Enum

from dipapprox.data_classes import dataclass
from dipapprox.events.event import Event
from dipapprox.linear.form import LinearForm


class Strategy(Enum):
    """How nested integrals are ordered and pulled apart; the value is the word in options."""

    LEAST_NESTING = "least-nesting"
    PAPER = "paper"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Level:
    """∫ from lower to upper of the density of samples[variable].

    All but Gaussian densities are analytic on either side of their mean only: the builder splits
    until each bound lies on a known side, and a level with others inside it lies on one side as a
    whole.
    """

    variable: int  # index into the event's samples
    # affine form in variables of outer levels, or a constant; None for -infinity
    lower: LinearForm | None
    upper: LinearForm | None  # the same; None for +infinity
    # on which side of the sample's mean `lower` lies throughout the domain: -1 (at or below), +1
    # (at or above); -infinity is below. 0 for families without a kink
    lower_side: int = 0
    # the same for `upper`; +infinity is above. Where the level has a body, both sides are equal and
    # name the branch of the density
    upper_side: int = 0

    @property
    def mentioned(self) -> frozenset[int]:
        """The variables in the bounds."""
        bounds = (bound for bound in (self.lower, self.upper) if bound is not None)
        return frozenset(sample for bound in bounds for sample in bound.samples())


@dataclass(frozen=True, slots=True)
class NestedIntegral:
    """One normalised expression: `levels`, outermost first. On its domain lower <= upper holds."""

    event: Event
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class Integral:
    """A level and what stands under its integral sign."""

    level: Level
    body: Plan | None  # None: the density alone, a difference of two distribution functions


@dataclass(frozen=True, slots=True)
class Multiply:
    """A product of plans over disjoint variables."""

    factors: tuple[Plan, ...]


@dataclass(frozen=True, slots=True)
class Add:
    """A sum of plans for disjoint pieces; empty: 0."""

    terms: tuple[Plan, ...]


Plan = Integral | Multiply | Add


def nesting(plan: Plan | None) -> int:
    """Return the number of nested integral signs (the paper's depth, literally)."""
    match plan:
        case None:
            return 0
        case Integral(_, body):
            return 1 + nesting(body)
        case Multiply(parts) | Add(parts):
            return max(map(nesting, parts), default=0)
