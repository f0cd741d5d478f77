"""How finely functions are sampled: asks that proofs may make, within limits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from dipapprox.kernel.errors import Refused


@dataclass(frozen=True, slots=True)
class Widths:
    """How wide panels around the mean of a law are at most.

    Attributes:
        spacing: At the mean, as a part of its scale, in (0, 4].
        growth: How much more for each unit of their distance from it, in [0, 1].

    Raises:
        Refused: If one is outside of its range.
    """

    spacing: Fraction
    growth: Fraction

    def __post_init__(self) -> None:
        if not (0 < self.spacing <= 4 and 0 <= self.growth <= 1):
            raise Refused(f"{self} are beyond the limits of widths")


@dataclass(frozen=True, slots=True)
class Accuracy:
    """No choice makes an answer wrong; a bad one makes it wide.

    Attributes:
        bits: Laws are followed to where less than 2^-bits of their mass is left; balls have a few
            dozen bits more.
        nodes: Points a panel, 2 to 200.
        smooth: The widths of panels around laws whose densities are analytic.
        kinked: Those around other laws.
        ellipses: The parameters rho of ellipses around panels on which moduli are bounded, the
            first 1, ascending, at most 8 and each at most 100.
        panels: How many there may be, at most 10,000.
        integers: How many may be between the first and the last, at most 100,000.

    Raises:
        Refused: If one is outside of its range.
    """

    bits: int
    nodes: int
    smooth: Widths
    kinked: Widths
    ellipses: tuple[Fraction, ...]
    panels: int = 2000
    integers: int = 50_000

    def __post_init__(self) -> None:
        ellipses = self.ellipses
        held = (
            1 <= self.bits <= 2000,
            2 <= self.nodes <= 200,
            1 <= len(ellipses) <= 8 and ellipses[0] == 1 and ellipses[-1] <= 100,
            all(a < b for a, b in pairwise(ellipses)),
            0 < self.panels <= 10_000,
            0 < self.integers <= 100_000,
        )
        if not all(held):
            raise Refused(f"{self} is beyond the limits of an accuracy")

    @property
    def precision(self) -> int:
        """The precision of balls, in bits."""
        return self.bits + 40


def accuracy(bits: int, factors: int = 1) -> Accuracy:
    """Return what encloses typical probabilities within about 2^-bits.

    A product of n functions may fall n times as fast as one where it begins to, at a kink, and its
    moduli grow faster off the line.

    Args:
        bits: 1 to 500.
        factors: How many functions are multiplied at most, >= 1.

    Raises:
        Refused: If `bits` is out of its range.
    """
    if not 1 <= bits <= 500:
        raise Refused(f"{bits} bits are not in [1, 500]")
    half, quarter, eighth = (Fraction(1, k) for k in (2, 4, 8))
    return Accuracy(
        bits=bits + 6,
        nodes=4 + -(-bits // 3),
        smooth=Widths(half, quarter) if factors <= 64 else Widths(eighth, eighth),
        kinked=Widths(min(half, Fraction(16, max(factors, 1))), quarter),
        ellipses=tuple(map(Fraction, (1, 2, 4, 8))),
    )
