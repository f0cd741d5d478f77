"""Noise distributions: exact parameters and their validity, nothing numerical.

Adding a family means adding it here and in `numerics/densities.py`; a test compares the lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, assert_never

from dipapprox.data_classes import dataclass, field

if TYPE_CHECKING:
    from dipapprox.exponentials import ExponentialRatio


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


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution with exact parameters: the law of mean + scale * Z, Z standard.

    Raises:
        ValueError: If `scale` <= 0.
    """

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

    def affine(self, factor: Fraction, shift: Fraction) -> Distribution:
        """Return the law of factor * x + shift, factor != 0.

        For discrete laws the factor is 1 or -1 and the shift an integer.
        """
        family = MIRRORED[self.family] if factor < 0 else self.family
        return Distribution(family, factor * self.mean + shift, abs(factor) * self.scale)


def law_order(law: Distribution) -> tuple[str, Fraction, Fraction]:
    """Return what laws are sorted by wherever some order is needed."""
    return law.family.value, law.mean, law.scale


@dataclass(frozen=True, slots=True)
class Scale:
    """A noise scale as a monomial in the privacy parameter: coefficient * eps ** power.

    `a / eps` is Scale(a, -1), a constant is Scale(a, 0).

    Raises:
        ValueError: If `coefficient` <= 0.
    """

    coefficient: Fraction
    power: int

    def __post_init__(self) -> None:
        if self.coefficient <= 0:
            raise ValueError(f"scale must be > 0, got {self.coefficient}")

    def at(self, eps: Fraction) -> Fraction:
        """Return the exact scale at `eps` > 0."""
        return self.coefficient * eps**self.power


@dataclass(frozen=True, slots=True)
class FiniteLaw:
    """Outcome k has the probability weights[k], a function of the program's eps.

    That the weights are >= 0 and add up to 1 is checked where eps is known (`exact`).
    """

    weights: tuple[ExponentialRatio, ...]


@dataclass(frozen=True, slots=True)
class ChainLaw:
    """Where a finite Markov chain that starts in state 0 is absorbed.

    Attributes:
        transitions: For every state, (next state, probability as a function of eps) with no
            next state twice; none for absorbing states.
        outcomes: Outcome k is to be absorbed in state outcomes[k].
    """

    transitions: tuple[tuple[tuple[int, ExponentialRatio], ...], ...]
    outcomes: tuple[int, ...]


ChoiceLaw = FiniteLaw | ChainLaw
"""The law of a choice among finitely many outcomes, numbered from 0."""


def weights_of(law: ChoiceLaw) -> tuple[ExponentialRatio, ...]:
    """Return the weights of a law, or of the steps of its chain."""
    match law:
        case FiniteLaw(weights):
            return weights
        case ChainLaw(transitions):
            return tuple([weight for row in transitions for _, weight in row])
        case _:
            assert_never(law)


def count_outcomes(law: ChoiceLaw) -> int:
    """Return how many outcomes a law has."""
    return len(law.weights if isinstance(law, FiniteLaw) else law.outcomes)
