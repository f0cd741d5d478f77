"""How finely functions are sampled. No choice makes an answer wrong; a bad one makes it wide."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from dipapprox.kernel.errors import Refused


class Widths(NamedTuple):
    """How wide panels around the mean of a law are at most.

    Attributes:
        spacing: At the mean, as a part of its scale, > 0.
        growth: How much more for each unit of their distance from it, in [0, 1].
    """

    spacing: Fraction
    growth: Fraction


@dataclass(frozen=True, slots=True)
class Accuracy:
    """What one evaluation asks for.

    Attributes:
        bits: Laws are followed to where less than 2^-bits of their mass is left.
        nodes: Points a panel, >= 2.
        smooth: The widths of panels around laws whose densities are analytic.
        kinked: Those around other laws.
        ellipses: The parameters rho of ellipses around panels on which moduli are bounded, the
            first 1, ascending.
        panels: How many there may be.
        integers: How many may be between the first and the last.
    """

    bits: int
    nodes: int
    smooth: Widths
    kinked: Widths
    ellipses: tuple[Fraction, ...]
    panels: int = 2000
    integers: int = 50_000

    @property
    def precision(self) -> int:
        """The precision of balls, in bits."""
        return self.bits + 40


def accuracy(bits: int, factors: int = 1) -> Accuracy:
    """Return what encloses typical probabilities within about 2^-bits, 1 to 500 bits.

    A product of n functions, of as many factors at most, may fall n times as fast as one where it
    begins to, at a kink, and its moduli grow faster off the line.
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
