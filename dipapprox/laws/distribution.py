"""Laws of what is drawn: noise by family, mean and scale, and choices among finitely many outcomes.

And where a law keeps nearly all of its mass.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import ceil
from typing import TYPE_CHECKING

from dipapprox.arithmetic import enclosure, precision
from dipapprox.data_classes import Record, field, settle
from dipapprox.laws.family import BOTH_SIDES, Family, IntegerFamily, RealFamily

if TYPE_CHECKING:
    from flint import arb

    from dipapprox.exponentials import ExponentialRatio


class Distribution(Record):
    """The law of mean + scale * Z, Z standard, exact; ValueError if `scale` <= 0."""

    family: Family
    mean: Fraction
    scale: Fraction
    # Laws are looked up by the thousand and fractions hash slowly. The family, whose hash differs
    # between processes, is left out: a pickled law keeps its hash.
    _hash: int = field(default=0, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise ValueError(f"scale must be > 0, got {self.scale}")
        mean, scale = self.mean.as_integer_ratio(), self.scale.as_integer_ratio()
        settle(self, "_hash", hash((mean, scale)))

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


class FiniteLaw(Record):
    """Outcome k has the probability weights[k], a function of the program's eps.

    That the weights are >= 0 and add up to 1 is checked where eps is known (`exact`).
    """

    weights: tuple[ExponentialRatio, ...]


class ChainLaw(Record):
    """Where a finite Markov chain that starts in state 0 is absorbed: outcome k in outcomes[k].

    Transitions are (next state, probability as a function of eps), none for absorbing states.
    """

    transitions: tuple[tuple[tuple[int, ExponentialRatio], ...], ...]
    outcomes: tuple[int, ...]


ChoiceLaw = FiniteLaw | ChainLaw
"""The law of a choice among finitely many outcomes, numbered from 0."""


def weights_of(law: ChoiceLaw) -> tuple[ExponentialRatio, ...]:
    """Return the weights of a law, or of the steps of its chain."""
    if isinstance(law, FiniteLaw):
        return law.weights
    return tuple([weight for row in law.transitions for _, weight in row])


def count_outcomes(law: ChoiceLaw) -> int:
    return len(law.weights if isinstance(law, FiniteLaw) else law.outcomes)


def tail_mass(family: RealFamily, distance: Fraction, side: int, bits: int) -> arb:
    """Enclose the mass that the standard law has beyond so many scales, >= 0, on a side of 0."""
    if distance < 0:
        raise ValueError(f"distance must be >= 0, got {distance}")
    with precision.precision(bits):
        z = precision.to_ball(distance)
        return family.survival(z, side) if side > 0 else family.cdf(-z, side)


@cache
def cutoff(family: RealFamily, side: int, bits: int) -> Fraction:
    """Return a distance, a multiple of 1/8, beyond which a side of 0 has a mass <= 2**-bits.

    It is guessed and then proved by evaluating the tail with balls.
    """
    wanted = Fraction(1, 2**bits)
    with precision.precision(64):
        guess = precision.exact_fraction(family.cutoff_guess(bits, side).mid())
    eighths = ceil(8 * guess)
    while True:
        known = precision.to_enclosure(tail_mass(family, Fraction(eighths, 8), side, bits + 64))
        if isinstance(known, enclosure.Enclosure) and known.upper <= wanted:
            return Fraction(eighths, 8)
        eighths += 1


def cutoff_interval(law: Distribution, bits: int) -> tuple[Fraction, Fraction]:
    """Return where a law keeps all but 2**(1 - bits) of its mass."""
    left, right = (cutoff(law.real, side, bits) * law.scale for side in BOTH_SIDES)
    return law.mean - left, law.mean + right
