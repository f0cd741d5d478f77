"""Noise distributions: exact parameters and their validity."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import Record, field
from dipapprox.laws.family import Family, IntegerFamily, RealFamily


class Distribution(Record):
    """The law of mean + scale * Z, Z standard, exact; ValueError if `scale` <= 0."""

    family: Family
    mean: Fraction
    scale: Fraction
    # Laws are looked up by the thousand and fractions hash slowly. The family, whose hash differs
    # between processes, is left out: a pickled law keeps its hash.
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise ValueError(f"scale must be > 0, got {self.scale}")
        mean, scale = self.mean.as_integer_ratio(), self.scale.as_integer_ratio()
        object.__setattr__(self, "_hash", hash((mean, scale)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def real(self) -> RealFamily:
        """The family, which has densities, or ValueError."""
        if not isinstance(self.family, RealFamily):
            raise ValueError(f"{self.family.name} has no density")
        return self.family

    @property
    def integers(self) -> IntegerFamily:
        """The family, whose samples are integers, or ValueError."""
        if not isinstance(self.family, IntegerFamily):
            raise ValueError(f"{self.family.name} is not discrete")
        return self.family

    def affine(self, factor: Fraction, shift: Fraction) -> Distribution:
        """Return the law of factor * x + shift, factor != 0.

        For discrete laws the factor is 1 or -1 and the shift an integer.
        """
        family = self.family.mirror if factor < 0 else self.family
        return Distribution(family, factor * self.mean + shift, abs(factor) * self.scale)


def exponential_sides(law: Distribution) -> tuple[int, ...]:
    """Return the sides with a density proportional to e^-(distance / scale), or ValueError."""
    if not law.family.is_exponential or law.family.is_discrete:
        raise ValueError(f"{law.family.name} has no exponential density")
    return law.family.sides


def law_order(law: Distribution) -> tuple[str, Fraction, Fraction]:
    """Return what laws are sorted by wherever some order is needed."""
    return law.family.name, law.mean, law.scale


class Scale(Record):
    """A noise scale as a monomial, coefficient * eps ** power; ValueError if `coefficient` <= 0.

    `a / eps` is Scale(a, -1), a constant is Scale(a, 0).
    """

    coefficient: Fraction
    power: int

    def __post_init__(self) -> None:
        if self.coefficient <= 0:
            raise ValueError(f"scale must be > 0, got {self.coefficient}")

    def at(self, eps: Fraction) -> Fraction:
        """Return the exact scale at `eps` > 0."""
        return self.coefficient * eps**self.power
