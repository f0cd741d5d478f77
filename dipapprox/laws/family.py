"""Families of noise: exact facts, nothing numerical.

Adding a family means adding it here and in `numerics/densities.py`; a test compares the lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Decay(Enum):
    """What a standard law's density, or its probabilities, are in proportion to on its support."""

    LINEAR = "exp(-|z|)"
    SQUARED = "exp(-z²/2)"


_LEFT, _RIGHT = (-1,), (1,)
BOTH_SIDES = (-1, 1)
"""Of its mean, where a family may lie."""

_FACTS: Mapping[str, tuple[bool, Decay, tuple[int, ...]]] = {
    "Gauss": (False, Decay.SQUARED, BOTH_SIDES),
    "Lap": (False, Decay.LINEAR, BOTH_SIDES),
    "LapPlus": (False, Decay.LINEAR, _RIGHT),
    "LapMinus": (False, Decay.LINEAR, _LEFT),
    "DLap": (True, Decay.LINEAR, BOTH_SIDES),
    "DGauss": (True, Decay.SQUARED, BOTH_SIDES),
}
"""Of each family whether it is discrete, how it decays, and on which sides of its mean it lies."""


class Family(Enum):
    """A location-scale family; the value is the name in programs.

    GAUSSIAN: scale is the standard deviation.
    LAPLACE: scale is b in exp(-|x - mean| / b) / (2 b).
    EXPONENTIAL: one-sided, density exp(-(x - mean) / b) / b for x >= mean.
    REFLECTED_EXPONENTIAL: its mirror image, density exp(-(mean - x) / b) / b for x <= mean.
    DISCRETE_LAPLACE: on the integers, Pr[x] proportional to exp(-|x - mean| / b), mean an integer.
    DISCRETE_GAUSSIAN: on the integers, Pr[x] proportional to exp(-(x - mean)² / (2 sigma²)), mean
        an integer; the scale is sigma.

    Attributes:
        is_discrete: Whether samples are integers.
        decay: Of its density, or its probabilities.
        sides: Of the mean on which samples may lie, -1 and 1.
        is_gaussian: Whether exponents are squares: then no probability has a closed form in eps.
        is_exponential: Whether they are linear: then shifts have a price, the shift in scales.
    """

    GAUSSIAN = "Gauss"
    LAPLACE = "Lap"
    EXPONENTIAL = "LapPlus"
    REFLECTED_EXPONENTIAL = "LapMinus"
    DISCRETE_LAPLACE = "DLap"
    DISCRETE_GAUSSIAN = "DGauss"

    def __init__(self, word: str) -> None:
        # Attributes: they are asked for by the million. A family of which nothing is known is none.
        self.is_discrete, self.decay, self.sides = _FACTS[word]
        self.is_gaussian = self.decay is Decay.SQUARED
        self.is_exponential = self.decay is Decay.LINEAR


MIRRORED: Mapping[Family, Family] = {
    Family.GAUSSIAN: Family.GAUSSIAN,
    Family.LAPLACE: Family.LAPLACE,
    Family.EXPONENTIAL: Family.REFLECTED_EXPONENTIAL,
    Family.REFLECTED_EXPONENTIAL: Family.EXPONENTIAL,
    Family.DISCRETE_LAPLACE: Family.DISCRETE_LAPLACE,
    Family.DISCRETE_GAUSSIAN: Family.DISCRETE_GAUSSIAN,
}
"""The family of -Z for Z of a family."""
