"""What is known of one pair of inputs after an attempt to decide it."""

from __future__ import annotations

from dipapprox.data_classes import dataclass
from dipapprox.numerics.enclosure import Enclosure, Side
from dipapprox.pairs.adjacency import Pair
from dipapprox.pairs.divergence import Probabilities
from dipapprox.pairs.growth import Factor


@dataclass(frozen=True, slots=True)
class ExactSide:
    """On which side of the claimed delta delta_{u,u'} lies, proved without enclosures.

    Attributes:
        side: BELOW or ABOVE.
        outputs: If ABOVE: outputs over which the difference exceeds the claimed delta.
        argument: Why, for people.
    """

    side: Side
    outputs: tuple[int, ...]
    argument: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is known of one pair after an attempt at `bits` bits.

    Attributes:
        delta: Encloses delta_{u,u'}.
        factor: Bounds of e^eps_prv.
        first: The distribution of u as last enclosed; empty if it never was.
        second: The distribution of u', likewise.
        obstacle: Why a distribution could not be enclosed; None if it could.
        proof: What is proved of `delta` by more than enclosures; None if nothing is.
    """

    pair: Pair
    bits: int
    delta: Enclosure
    factor: Factor
    first: Probabilities = ()
    second: Probabilities = ()
    obstacle: str | None = None
    proof: ExactSide | None = None
