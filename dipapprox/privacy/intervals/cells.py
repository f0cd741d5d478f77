"""Cells of an interval of epsilons: points where something is known, and proofs in between.

A point holds what is known at one eps, and what that says about the claim there. A cell lies
between two points; it is proved, or tells how much is missing.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Generic, Protocol, TypeVar

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import dataclass
from dipapprox.pairs.growth import Factor
from dipapprox.pairs.selections import Pair

K = TypeVar("K")


@dataclass(frozen=True, slots=True, eq=False)
class Point(Generic[K]):
    """One eps.

    Attributes:
        known: What cells need to know of it.
        factor: Bounds of e^eps_prv.
        delta: Encloses the claimed delta.
        largest: Encloses the largest delta_{u,u'}.
        pair: The pair with the greatest certified delta_{u,u'}; None if there are no pairs.
        resolved: Whether more bits would not help.
        obstacle: Why something could not be enclosed; None if all could.
    """

    eps: Fraction
    known: K
    factor: Factor
    delta: Enclosure
    largest: Enclosure
    pair: Pair | None
    resolved: bool
    obstacle: str | None

    @property
    def violated(self) -> bool:
        """Whether the claim is certainly wrong at this eps."""
        return self.largest.lower > self.delta.upper

    @property
    def holds(self) -> bool:
        """Whether the claim is certainly right at this eps."""
        return self.largest.upper <= self.delta.lower


@dataclass(frozen=True, slots=True, eq=False)
class Cell(Generic[K]):
    """All epsilons between two points.

    Attributes:
        excess: Upper bound of delta_{u,u'} less the claim, over all pairs and the cell; the claim
            holds on the cell if it is <= 0.
        largest: Upper bound of delta_{u,u'} at the claimed budgets, over all pairs and the cell.
    """

    lower: Point[K]
    upper: Point[K]
    excess: Fraction
    largest: Fraction

    @property
    def width(self) -> Fraction:
        """Length of the cell."""
        return self.upper.eps - self.lower.eps


class Subdivided(Protocol[K]):
    """A claim about some pairs over an interval: what a search asks.

    Attributes:
        name: The words in reports: what has proved something.
    """

    name: str

    def __len__(self) -> int:
        """How many pairs may have different distributions."""

    def point(self, eps: Fraction, bits: int) -> Point[K]:
        """Compare the claim with what is true at one eps.

        Args:
            eps: In the interval.
            bits: Probabilities are enclosed to a width of 2**-bits, if possible.

        Raises:
            LimitReached: If a limit is reached.
        """

    def cell(self, lower: Point[K], upper: Point[K]) -> Cell[K]:
        """Bound how far the claim fails between two points."""
