"""Noise distributions: exact parameters and their validity, nothing numerical.

Adding a family means adding it here and in `numerics/densities.py`; a test compares the lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction


class Family(Enum):
    """A location-scale family of continuous distributions on the whole real line.

    The value is the name in programs. `GAUSSIAN`: scale is the standard deviation.
    `LAPLACE`: scale is b in exp(-|x - mean| / b) / (2 b).
    """

    GAUSSIAN = "Gauss"
    LAPLACE = "Lap"


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution with exact parameters: the law of mean + scale * Z, Z standard.

    Raises:
        ValueError: If `scale` <= 0.
    """

    family: Family
    mean: Fraction
    scale: Fraction

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise ValueError(f"scale must be > 0, got {self.scale}")


@dataclass(frozen=True, slots=True)
class Scale:
    """A noise scale as a monomial in the privacy parameter: coefficient * epsilon ** power.

    `a / eps` is Scale(a, -1), a constant is Scale(a, 0).

    Raises:
        ValueError: If `coefficient` <= 0.
    """

    coefficient: Fraction
    power: int

    def __post_init__(self) -> None:
        if self.coefficient <= 0:
            raise ValueError(f"scale must be > 0, got {self.coefficient}")

    def at(self, epsilon: Fraction) -> Fraction:
        """Return the exact scale at `epsilon` > 0."""
        return self.coefficient * epsilon**self.power
