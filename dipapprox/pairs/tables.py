"""Probabilities in bulk, as bounds for sums over pairs: doubles first, integers beyond them."""

from __future__ import annotations

from collections.abc import Sequence

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.language.core import Input
from dipapprox.numerics.bulk import Bounds, BulkSource
from dipapprox.pairs.growth import Factor
from dipapprox.pairs.hockey_stick import (
    DOUBLE_BITS,
    HockeyStickBounds,
    bounds_in_doubles,
    bounds_in_integers,
)


class Tables:
    """Bounds of probabilities, in bulk while doubles suffice, else from enclosures.

    Args:
        source: Asked for both.
        outputs: How many outputs there are.

    Attributes:
        outputs: As given.
        obstacle: Why some probability could not be enclosed, the first reason met; else None.
    """

    def __init__(self, source: BulkSource, outputs: int) -> None:
        self._source = source
        self.outputs = outputs
        self.obstacle: str | None = None

    def table(self, inputs: Sequence[Input], bits: int, factor: Factor) -> HockeyStickBounds:
        """Bound all outputs' probabilities in doubles: arrays (inputs x outputs)."""
        return self._doubles(self._source.table(inputs, bits), factor)

    def cells(
        self, outputs: Sequence[int], inputs: Sequence[Input], bits: int, factor: Factor
    ) -> HockeyStickBounds:
        """Bound the probability of outputs[k] under inputs[k] for every k.

        In doubles if they carry `bits` bits, else in integers.
        """
        if bits <= DOUBLE_BITS:
            return self._doubles(self._source.cells(outputs, inputs, bits), factor)
        distinct = list(dict.fromkeys(inputs))
        distributions = dict(zip(distinct, self._distributions(distinct, bits), strict=True))
        found = [distributions[u][output] for output, u in zip(outputs, inputs, strict=True)]
        return bounds_in_integers(found, factor, bits)

    def _doubles(self, bounds: Bounds, factor: Factor) -> HockeyStickBounds:
        self.obstacle = self.obstacle or bounds.obstacle
        return bounds_in_doubles(bounds.lower, bounds.upper, factor)

    def _distributions(self, inputs: Sequence[Input], bits: int) -> list[Sequence[Enclosure]]:
        found: list[Sequence[Enclosure]] = []
        for distribution in self._source.distributions(inputs, bits):
            if isinstance(distribution, NotEnclosed):
                self.obstacle = self.obstacle or distribution.reason
                found.append((UNIT,) * self.outputs)
            else:
                found.append(distribution)
        return found
