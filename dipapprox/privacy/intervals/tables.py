"""Programs with finite outputs over an interval of epsilons: tables of probabilities at its points.

A point holds the output probabilities of all inputs; between two of them `tube` proves the claim,
or tells how much is missing.

Pairs whose distributions are equal for every eps are left out: nothing tells them apart. Two inputs
with the same canonical events at one eps have equal distributions there. What makes events
canonical (`events`) are permutations of samples, affine changes and sums of Gaussians, and all of
these go along when all scales are multiplied by one number. So if the scales of all samples that
are compared are multiples of one power of eps, and no weight of a choice depends on eps (what does
has no derivative bounds and ends before), the distributions are equal everywhere.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.errors import BrokenInvariant
from dipapprox.events.catalogue import Catalogue
from dipapprox.exact.distributions import compared_samples
from dipapprox.limits import Limits
from dipapprox.numerics.bulk import Bounds, BulkSource
from dipapprox.numerics.formula_values import Undefined
from dipapprox.pairs.hockey_stick import PairList, bounds_in_doubles, rounding_factor
from dipapprox.pairs.maximum import first_largest
from dipapprox.privacy.intervals.derivative_bounds import DerivativeBounds
from dipapprox.privacy.intervals.formula_claim import (
    BITS,
    FormulaClaim,
    below,
    growth_at,
    growths_below,
)
from dipapprox.privacy.intervals.search import EpsilonCell, EpsilonPoint
from dipapprox.privacy.intervals.tube import ends, radii
from dipapprox.privacy.options import Options
from dipapprox.privacy.sources import open_probabilities
from dipapprox.semantics.state import FinalStates

_RESOLVED = 2.0**-40

_BLOCK = 4_096
"""Inputs asked for at once."""


class SubdividedPairs:
    """Pairs of a program with finite outputs; see `Subdivided`.

    Raises:
        LimitReached: If noise or choices have no bounds between values of eps.
    """

    def __init__(
        self, states: FinalStates, pairs: PairList, claim: FormulaClaim, options: Options
    ) -> None:
        self._states = states
        self._pairs = different_pairs(states, pairs, options.limits)
        self._claim = claim
        self._options = options
        self._derivatives = DerivativeBounds(states)
        self._limits = options.limits
        self._latest: tuple[Fraction, BulkSource] | None = None
        self.name = options.engine.value

    def __len__(self) -> int:
        """How many pairs may have different distributions."""
        return len(self._pairs)

    def point(self, eps: Fraction, bits: int) -> EpsilonPoint[Bounds]:
        """See `Subdivided`."""
        table = self._table(eps, bits)
        eps_prv, delta = self._claim.at(eps, BITS)
        factor = growth_at(eps_prv)
        resolved = bool(np.all(table.upper - table.lower <= table.upper * _RESOLVED))
        if not len(self._pairs):
            nothing = Enclosure.exact(0)
            return EpsilonPoint(eps, table, factor, delta, nothing, None, resolved, table.obstacle)
        formed = bounds_in_doubles(table.lower, table.upper, factor)
        lower = self._pairs.sums(table.lower, formed.high_scaled, self._limits)
        upper = self._pairs.sums(table.upper, formed.low_scaled, self._limits)
        worst = first_largest(lower)
        error = rounding_factor(table.lower.shape[1])
        least = Fraction(float(lower[worst])) * (2 - error)
        most = Fraction(float(upper.max())) * error
        if least > min(most, Fraction(1)):
            raise BrokenInvariant("the largest delta has a lower bound above its upper bound")
        largest = Enclosure(least, min(most, Fraction(1)))
        pair = self._pairs.pair(worst)
        return EpsilonPoint(eps, table, factor, delta, largest, pair, resolved, table.obstacle)

    def cell(self, lower: EpsilonPoint[Bounds], upper: EpsilonPoint[Bounds]) -> EpsilonCell[Bounds]:
        """See `Subdivided`."""
        width = upper.eps - lower.eps
        best = EpsilonCell(lower, upper, Fraction(2), Fraction(1))
        if not len(self._pairs):
            return EpsilonCell(lower, upper, Fraction(0), Fraction(0))
        try:
            eps_prv, delta = self._claim.over(lower.eps, upper.eps)
        except Undefined:
            return best
        radius = radii(lower.known, upper.known, width, self._derivatives.rates(lower.eps))
        error = rounding_factor(lower.known.lower.shape[1])
        claimed = below(lower.delta, upper.delta, delta, width)
        allowed = claimed.at_lower, claimed.at_upper
        for factor in growths_below(lower.factor, upper.factor, eps_prv, width):
            most = [
                Fraction(float(self._pairs.sums(end.upper, end.scaled, self._limits).max())) * error
                for end in ends(lower.known, upper.known, radius, factor)
            ]
            excess = max(found - limit for found, limit in zip(most, allowed, strict=True))
            if excess < best.excess:
                best = EpsilonCell(lower, upper, excess, min(max(most), Fraction(1)))
            if excess <= 0:
                break
        return best

    def _table(self, eps: Fraction, bits: int) -> Bounds:
        inputs = self._pairs.inputs
        if not inputs:
            return Bounds(np.empty((0, 0)), np.empty((0, 0)))
        source = self._source(eps)
        blocks = [
            source.table(inputs[start : start + _BLOCK], bits)
            for start in range(0, len(inputs), _BLOCK)
        ]
        known = [block.impossible for block in blocks if block.impossible is not None]
        return Bounds(
            np.concatenate([block.lower for block in blocks]),
            np.concatenate([block.upper for block in blocks]),
            next((block.obstacle for block in blocks if block.obstacle is not None), None),
            np.concatenate(known) if len(known) == len(blocks) else None,
        )

    def _source(self, eps: Fraction) -> BulkSource:
        """Open the probabilities at one eps; those of the latest one are kept."""
        if self._latest is None or self._latest[0] != eps:
            self._latest = eps, open_probabilities(self._states, eps, self._options)
            self.name = self._latest[1].name
        return self._latest[1]


def different_pairs(states: FinalStates, pairs: PairList, limits: Limits) -> PairList:
    """Leave out pairs with equal distributions at every eps, as far as that is seen."""
    if len({sample.scale.power for sample in compared_samples(states)}) > 1:
        return pairs
    catalogue = Catalogue(states, Fraction(1))
    kinds: dict[object, int] = {}
    numbers: list[int] = []
    for start in range(0, len(pairs.inputs), _BLOCK):
        limits.check()
        for found in catalogue.states(pairs.inputs[start : start + _BLOCK]):
            numbers.append(kinds.setdefault(tuple(sorted(found)), len(kinds)))
    kind = np.array(numbers, np.int64)
    kept = kind[pairs.first] != kind[pairs.second]
    return pairs if kept.all() else PairList(pairs.inputs, pairs.first[kept], pairs.second[kept])
