"""Programs with real outputs in compositions: what the check finds of their adjacent inputs itself.

Each pair of inputs has a divergence H(τ) at every factor τ > 0, and a set that nearly attains it
(`published.divergences`). A recorded pair of finitely many outcomes dominates all of them if its H
is at least theirs at the ratios of its outcomes: see `programs`. As the adjacency is symmetric,
with D the largest H at a factor >= 1 it is enough to compare with

    D(τ) where τ >= 1,      1 - τ + τ D(1/τ) where τ < 1.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import ClassVar

from flint import arb

from dipapprox.certificates.compositions import Mass
from dipapprox.checking.compositions.pairs import NOTHING, Known
from dipapprox.checking.distributions import Distributions
from dipapprox.checking.pairs import Pair as Inputs
from dipapprox.checking.published.divergences import Divergences
from dipapprox.checking.published.hockey_sticks import HockeyStick
from dipapprox.checking.values import Stuck
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.precision import to_ball, to_enclosure

_BITS = 64
"""How accurate divergences are, about."""

_PLACE_BITS = 80
"""Of factors at which a set is looked for."""


class PublishedPair:
    """What two inputs publish, as a `Pair`.

    Args:
        divergences: Of the program.
        inputs: In this order.
    """

    tight: ClassVar[bool] = True

    def __init__(self, divergences: Divergences, inputs: Inputs) -> None:
        self._divergences = divergences
        self._inputs = inputs
        self._sets: dict[Fraction, HockeyStick] = {}

    @property
    def known(self) -> Known:
        """What is at infinite losses is not looked for."""
        return NOTHING

    def most(self, threshold: arb) -> arb:
        """See `Pair`."""
        factor = to_enclosure(threshold)
        if isinstance(factor, NotEnclosed) or factor.lower <= 0:
            raise Stuck("a factor is not told from 0")
        return _ball(self._divergences.best_set(self._inputs, factor, _BITS).value)

    def set_at(self, threshold: arb) -> tuple[arb, arb]:
        """See `Pair`."""
        place = _rounded(threshold)
        if place not in self._sets:
            factor = Enclosure.exact(place)
            self._sets[place] = self._divergences.best_set(self._inputs, factor, _BITS)
        found = self._sets[place]
        return _ball(found.first), _ball(found.second)


def _rounded(threshold: arb) -> Fraction:
    """A number with few digits, about a threshold."""
    mantissa, exponent = (int(part) for part in threshold.mid().man_exp())
    spare = max(mantissa.bit_length() - _PLACE_BITS, 0)
    return Fraction(mantissa >> spare) * Fraction(2) ** (exponent + spare)


def _ball(enclosure: Enclosure) -> arb:
    return to_ball(enclosure.lower).union(to_ball(enclosure.upper))


class PublishedPairs:
    """All pairs of adjacent inputs of a program with real outputs.

    Args:
        derived: Of the program.
        adjacent: Ordered pairs, each in both orders.
        limits: Asked throughout.
    """

    def __init__(
        self, derived: Distributions, adjacent: Collection[Inputs], limits: Limits
    ) -> None:
        self._divergences = Divergences(derived, limits)
        self._adjacent = sorted(adjacent)
        self._limits = limits

    def pair(self, inputs: Inputs) -> PublishedPair:
        """Return two of them."""
        return PublishedPair(self._divergences, inputs)

    def dominated(self, dominating: Sequence[Mass]) -> bool | None:
        """Whether a pair of finitely many outcomes dominates all; None if that is not told.

        Raises:
            NoBounds: If what is published is beyond the check's rules.
            Stuck, LimitReached: If the program cannot be followed, or the limits run out.
        """
        told: bool | None = True
        ratios = {mass.p / mass.q for mass in dominating if mass.p and mass.q}
        largest: dict[Fraction, Enclosure] = {}
        for ratio in sorted(ratios):
            place = max(ratio, 1 / ratio)
            if place not in largest:
                largest[place] = self._largest(Enclosure.exact(place))
            found = largest[place]
            own = sum((max(m.p - ratio * m.q, Fraction(0)) for m in dominating), Fraction(0))
            if ratio < 1:
                own = (own - 1 + ratio) / ratio
            if own < found.lower:
                return False
            if own < found.upper:
                told = None
        return told

    def _largest(self, factor: Enclosure) -> Enclosure:
        """The largest divergence at a factor."""
        lower = upper = Fraction(0)
        for inputs in self._adjacent:
            self._limits.check()
            value = self._divergences.best_set(inputs, factor, _BITS).value
            lower, upper = max(lower, value.lower), max(upper, value.upper)
        return Enclosure(lower, upper)
