"""The laws of samples: one class a family, which owns everything the kernel knows of it.

A family that is not in `FAMILIES` does not exist here: nothing is decided by what a family is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Law:
    """The law of mean + scale * Z, where scale = coefficient * eps ** power and Z is standard.

    Attributes:
        family: Its name in programs, a key of `FAMILIES`.
        mean: Exact.
        coefficient: Exact, > 0.
        power: 0 or -1.
    """

    family: str
    mean: Fraction
    coefficient: Fraction
    power: int
