"""What the questions about a privacy profile ask of the pairs of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Protocol

from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.language.core import Value
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.pairs.adjacency import Pair
from dipapprox.pairs.divergence import Factor
from dipapprox.privacy.profiles.least_factor import LeastFactor
from dipapprox.privacy.verdict import Witness

Budget = Callable[[int], Factor]
"""Bounds of e^budget at a number of bits."""


@dataclass(frozen=True, slots=True)
class Maximum:
    """What is known of the largest delta of all pairs at one budget.

    Attributes:
        delta: Encloses it.
        pair: A pair whose delta is at least `delta.lower`; None if there are no pairs.
        bits: Asked for to get here.
    """

    delta: Enclosure
    pair: Pair | None
    bits: int


@dataclass(frozen=True, slots=True)
class ExcessSet:
    """A set S of outputs that are likely to be more than e^budget times as likely under u.

    Attributes:
        first: At most p(S).
        second: At least q(S).
        outputs: The outputs in S, or examples of them.
        at_least: None if these are all; else how many there are, at least.
        possible: Whether p(S) may exceed e^budget q(S).
    """

    first: Fraction
    second: Fraction
    outputs: tuple[tuple[Value, ...], ...]
    at_least: int | None
    possible: bool


class PairMaxima(Protocol):
    """Bounds of the largest delta over the selected pairs of a program.

    Attributes:
        ladder: Bits of the attempts at single pairs, ascending.
        pairs: Their number; None if it is too large to count.
    """

    ladder: tuple[int, ...]
    pairs: int | None

    @property
    def obstacle(self) -> str | None:
        """Why some probability could not be enclosed; None if all could."""

    def largest(self, factors: Sequence[Factor]) -> list[Maximum]:
        """Bound the largest delta at every budget, at the first precision."""

    def sharpened(self, budget: Budget, enough: Callable[[Enclosure], bool]) -> Maximum:
        """Bound the largest delta at one budget until the enclosure is good enough.

        Returns:
            The best that the ladder of bits gives; its enclosure may be wider than wanted.
        """

    def least_factor(self, pair: Pair, delta: Fraction, bits: int) -> LeastFactor | NotEnclosed:
        """Bound the least factor of one pair."""

    def excess(self, pair: Pair, factor: Factor, bits: int) -> ExcessSet | None:
        """Return a set that nearly attains the delta of a pair; None if nothing is known."""

    def witness(
        self, pair: Pair, factor: Factor, outputs: Sequence[int] | None, bits: int
    ) -> Witness | None:
        """Say what tells a pair apart at a budget; by the given outputs, if any are."""


def improved(before: Maximum, after: Maximum) -> Maximum:
    """Combine two bounds of one maximum; the pair is the one with the greater lower bound."""
    if not before.delta.meets(after.delta):
        raise BrokenInvariant("enclosures of the largest delta at two precisions are disjoint")
    pair = after.pair if after.delta.lower >= before.delta.lower else before.pair
    return Maximum(before.delta.intersect(after.delta), pair, after.bits)
