"""How finely functions are sampled: asks that proofs may make, within limits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from dipapprox.kernel.errors import Refused


@dataclass(frozen=True, slots=True)
class Accuracy:
    """No choice makes an answer wrong; a bad one makes it wide.

    Attributes:
        bits: Laws are followed to where less than 2^-bits of their mass is left; balls have a few
            dozen bits more.
        nodes: Points a panel, 2 to 200.
        spacing: How wide panels around the mean of a law are, as a part of its scale, in (0, 4].
        growth: How much wider for each unit of their distance from it, in [0, 1].
        ellipses: The parameters rho of ellipses around panels on which moduli are bounded, the
            first 1, ascending, at most 8 and each at most 100.
        panels: How many there may be, at most 10,000.
        integers: How many may be between the first and the last, at most 100,000.

    Raises:
        Refused: If one is outside of its range.
    """

    bits: int
    nodes: int
    spacing: Fraction
    growth: Fraction
    ellipses: tuple[Fraction, ...]
    panels: int = 2000
    integers: int = 50_000

    def __post_init__(self) -> None:
        ellipses = self.ellipses
        held = (
            1 <= self.bits <= 2000,
            2 <= self.nodes <= 200,
            0 < self.spacing <= 4,
            0 <= self.growth <= 1,
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

    Products of many functions change faster than one, and their moduli grow faster off the line.

    Args:
        bits: 1 to 500.
        factors: How many functions are multiplied at most, >= 1.

    Raises:
        Refused: If `bits` is out of its range.
    """
    if not 1 <= bits <= 500:
        raise Refused(f"{bits} bits are not in [1, 500]")
    nodes = 6 + -(-bits // 3)
    spacing = min(Fraction(1, 2), Fraction(16, max(factors, 1)))
    growth = Fraction(1, 4) if factors <= 64 else Fraction(1, 8)
    ellipses = tuple(map(Fraction, (1, 2, 4, 8)))
    return Accuracy(bits + 10, nodes, spacing, growth, ellipses)
