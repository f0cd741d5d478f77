"""Probabilities in bulk, as bounds for sums over pairs: doubles first, integers beyond them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dipapprox.language.core import InputRow
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.privacy.bounds import (
    DOUBLE_BITS,
    Bounds,
    double_bounds,
    float_above,
    float_below,
    integer_bounds,
)
from dipapprox.privacy.divergence import Factor
from dipapprox.privacy.search import ProbabilitySource

_FACTOR_BITS = 64
"""More than doubles have: e^budget shall not be what makes bounds wide."""

Doubles = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Certified lower and upper bounds."""


class BulkSource(Protocol):
    """Bounds of many probabilities as doubles. What cannot be enclosed is bounded by 0 and 1."""

    def table(self, rows: Sequence[InputRow], bits: int) -> Doubles:
        """Bound the probabilities of all outputs: arrays (rows x outputs).

        Args:
            rows: Input rows, distinct.
            bits: Wanted width: 2**-bits, as far as doubles go.
        """

    def cells(self, outputs: Sequence[int], rows: Sequence[InputRow], bits: int) -> Doubles:
        """Bound the probability of outputs[k] under rows[k] for every k."""


class Tables:
    """Bounds of probabilities, from a bulk source while doubles suffice, else from enclosures.

    Args:
        bulk: Asked for few bits.
        source: Asked for more bits than doubles have.
        factors: e^budget at a given number of bits.

    Attributes:
        obstacle: Why some probability could not be enclosed, the first reason met; else None.
    """

    def __init__(
        self,
        bulk: BulkSource | None,
        source: ProbabilitySource,
        outputs: int,
        factors: Callable[[int], Factor],
    ) -> None:
        self._bulk = bulk
        self._source = source
        self._outputs = outputs
        self._factors = factors
        self.obstacle: str | None = None

    def table(self, rows: Sequence[InputRow], bits: int) -> Bounds:
        """Bound all outputs' probabilities in doubles: arrays (rows x outputs)."""
        if self._bulk is not None:
            lower, upper = self._bulk.table(rows, bits)
        else:
            lower, upper = _doubles([p for row in rows for p in self._distribution(row, bits)])
            shape = len(rows), self._outputs
            lower, upper = lower.reshape(shape), upper.reshape(shape)
        return double_bounds(lower, upper, self._factors(_FACTOR_BITS))

    def cells(self, outputs: Sequence[int], rows: Sequence[InputRow], bits: int) -> Bounds:
        """Bound the probability of outputs[k] under rows[k] for every k.

        In doubles if they carry `bits` bits, else in integers.
        """
        # A better factor costs nothing.
        factor = self._factors(max(bits, _FACTOR_BITS))
        if bits <= DOUBLE_BITS and self._bulk is not None:
            return double_bounds(*self._bulk.cells(outputs, rows, bits), factor)
        distributions: dict[InputRow, Sequence[Enclosure]] = {}
        found = []
        for output, row in zip(outputs, rows, strict=True):
            if row not in distributions:
                distributions[row] = self._distribution(row, bits)
            found.append(distributions[row][output])
        if bits <= DOUBLE_BITS:
            return double_bounds(*_doubles(found), factor)
        return integer_bounds(found, factor, bits)

    def _distribution(self, row: InputRow, bits: int) -> Sequence[Enclosure]:
        distribution = self._source.distribution(row, bits)
        if isinstance(distribution, NotEnclosed):
            self.obstacle = self.obstacle or distribution.reason
            return (UNIT,) * self._outputs
        return distribution


def _doubles(enclosures: Sequence[Enclosure]) -> Doubles:
    lower = np.fromiter((float_below(p.lower) for p in enclosures), np.float64, len(enclosures))
    upper = np.fromiter((float_above(p.upper) for p in enclosures), np.float64, len(enclosures))
    return lower, upper
