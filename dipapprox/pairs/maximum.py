"""The largest delta_{u,u'} at one eps_prv: what is known, and what bounds it for all pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.pairs.adjacency import Pair
from dipapprox.pairs.growth import Factor

FactorAt = Callable[[int], Factor]
"""Bounds of e^eps_prv at a number of bits."""

FACTOR_BITS = 64
"""At least asked of e^eps_prv: more than doubles have, so that it is not what makes bounds wide."""


@dataclass(frozen=True, slots=True)
class Maximum:
    """What is known of the largest delta of all pairs at one eps_prv.

    Attributes:
        delta: Encloses it.
        pair: A pair whose delta is at least `delta.lower`; None if there are no pairs.
        bits: Asked for to get here.
        likely: A pair whose upper bound is `delta.upper`, where one is known.
    """

    delta: Enclosure
    pair: Pair | None
    bits: int
    likely: Pair | None = None


class Together(Protocol):
    """All selected pairs at once, at any precision."""

    @property
    def obstacle(self) -> str | None:
        """Why bounds are wide; None if only for want of bits."""

    @property
    def blocked(self) -> bool:
        """Whether more bits are of no use."""

    def at(self, factor: Factor, bits: int) -> Maximum | None:
        """Bound the largest delta at one eps_prv; None if that turns out to take too much.

        Args:
            factor: Bounds of e^eps_prv.
            bits: Wanted width of the probabilities: 2**-bits.

        Raises:
            LimitReached: If a limit is reached.
        """


def improved(before: Maximum, after: Maximum) -> Maximum:
    """Combine two bounds of one maximum; the pair is the one with the greater lower bound."""
    if not before.delta.meets(after.delta):
        raise BrokenInvariant("enclosures of the largest delta at two precisions are disjoint")
    pair = after.pair if after.delta.lower >= before.delta.lower else before.pair
    return Maximum(before.delta.intersect(after.delta), pair, after.bits, after.likely)
