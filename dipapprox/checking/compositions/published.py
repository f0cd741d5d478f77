"""Programs with real outputs in compositions: what the check finds of their adjacent inputs itself.

Each pair of inputs has a divergence H(τ) at every factor τ > 0, and a set that nearly attains it
(`published.best_sets`). A recorded pair of finitely many outcomes dominates all of them if its H
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
from dipapprox.checking.published.best_sets import BestSets, Kinds
from dipapprox.checking.published.divergences import Divergences
from dipapprox.checking.published.hockey_sticks import HockeyStick
from dipapprox.checking.values import Stuck
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.precision import to_ball, to_enclosure

_BITS = 52
"""How accurate divergences are, about."""

_PLACE_BITS = 80
"""Of factors at which a set is looked for."""


class PublishedPair:
    """What two inputs publish, as a `Pair`.

    Args:
        best: Of the program.
        inputs: In this order.
    """

    tight: ClassVar[bool] = True

    def __init__(self, best: BestSets, inputs: Inputs) -> None:
        self._best = best
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
        return _ball(self._best.at(self._inputs, factor, _BITS).value)

    def set_at(self, threshold: arb) -> tuple[arb, arb]:
        """See `Pair`."""
        place = _rounded(threshold)
        if place not in self._sets:
            factor = Enclosure.exact(place)
            self._sets[place] = self._best.at(self._inputs, factor, _BITS)
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
        self._best = BestSets(Divergences(derived, limits))
        self._adjacent = sorted(adjacent)
        self._limits = limits

    def pair(self, inputs: Inputs) -> PublishedPair:
        """Return two of them."""
        return PublishedPair(self._best, inputs)

    def dominated(self, dominating: Sequence[Mass]) -> bool | None:
        """Whether a pair of finitely many outcomes dominates all; None if that is not told.

        Raises:
            NoBounds: If what is published is beyond the check's rules.
            Stuck, LimitReached: If the program cannot be followed, or the limits run out.
        """
        limits: dict[Fraction, Fraction] = {}
        for ratio in {mass.p / mass.q for mass in dominating if mass.p and mass.q}:
            own = sum((max(m.p - ratio * m.q, Fraction(0)) for m in dominating), Fraction(0))
            if ratio < 1:
                own = (own - 1 + ratio) / ratio
            place = max(ratio, 1 / ratio)
            limits[place] = min(own, limits.get(place, own))
        places = sorted(limits.items())
        kinds: dict[Kinds, Inputs] = {}
        for inputs in self._adjacent:
            self._limits.check()
            kinds.setdefault(self._best.kinds(inputs), inputs)
        told: bool | None = True
        for inputs in kinds.values():
            found = self._is_below(inputs, places)
            if found is False:
                return False
            told = told and found
        return told

    def _is_below(self, inputs: Inputs, places: Sequence[tuple[Fraction, Fraction]]) -> bool | None:
        """Whether a divergence is at most so much at places; see `dominated`.

        It is convex: between two places it is below their chord.
        """
        told: bool | None = True
        known: dict[int, Fraction] = {}
        last = len(places) - 1
        waiting = [(0, last)] if places else []
        while waiting:
            low, high = waiting.pop()
            for k in (low, high):
                if k in known:
                    continue
                self._limits.check()
                place, limit = places[k]
                value = self._best.at(inputs, Enclosure.exact(place), _BITS).value
                if value.lower > limit:
                    return False
                if value.upper > limit:
                    told = None
                known[k] = value.upper
            (start, _), (end, _) = places[low], places[high]
            between = places[low + 1 : high]
            drop = known[low] - known[high]
            if any(known[low] - drop * (x - start) / (end - start) > most for x, most in between):
                middle = (low + high) // 2
                waiting += [(low, middle), (middle, high)]
        return told
