"""Discrete Laplace noise: on the integers, Pr[Z = d] is proportional to q^|d|, q = e^(-1 / b).

With the scale b, Pr[Z = d] = (1 - q) / (1 + q) q^|d|: the sum of q^|d| is (1 + q) / (1 - q).
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from dipapprox.laws.family import BOTH_SIDES, IntegerFamily
from dipapprox.laws.libraries import precision, progressions

if TYPE_CHECKING:
    from flint import arb


class DiscreteLaplaceNoise(IntegerFamily):
    name, constant, title = "DLap", "DISCRETE_LAPLACE", "discrete Laplace"
    shifts = BOTH_SIDES
    is_exponential = True

    def radius(self, scale: Fraction, bits: int) -> int:
        """7/10 > ln 2."""
        return ceil(scale * bits * Fraction(7, 10)) + 1

    def masses(self, scale: Fraction, radius: int) -> list[arb]:
        """A geometric sequence."""
        q = (-1 / precision.to_ball(scale)).exp()
        return list(progressions.products((1 - q) / (1 + q), q, 1, radius))


DISCRETE_LAPLACE = DiscreteLaplaceNoise()
