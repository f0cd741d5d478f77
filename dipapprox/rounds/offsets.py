"""Offsets between samples: `r >= rT + 1` is `r' >= rT'` for r' = r, rT' = rT + 1.

Comparisons with offsets become comparisons without if some number can be added to every sample and
to every stored value so that all of them fit: a potential. Then `x + c` compared with a number is a
place on the line of all that x is compared with.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

_ZERO = Fraction(0)


class Offsets:
    """Potentials, one line for everything that is compared; a union-find with distances."""

    def __init__(self) -> None:
        self._parents: dict[Hashable, tuple[Hashable, Fraction]] = {}

    def place(self, node: Hashable) -> tuple[Hashable, Fraction]:
        """Return the line of a node and its potential there."""
        potential = _ZERO
        while node in self._parents:
            node, step = self._parents[node]
            potential += step
        return node, potential

    def relate(self, first: Hashable, second: Hashable, distance: Fraction) -> bool:
        """Demand that the potential of `second` is that of `first` plus `distance`.

        Returns:
            Whether that agrees with what was demanded before.
        """
        line, low = self.place(first)
        other, high = self.place(second)
        if line == other:
            return high == low + distance
        self._parents[other] = line, low + distance - high
        return True
