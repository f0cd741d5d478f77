"""Probabilities of random choices: the checker's own evaluation of their weights, in balls.

A weight is an expression in eps and numbers. That the weights of a choice are probabilities is for
`weights` to make sure, exactly.
"""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from flint import arb

from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.language import core
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.precision import precision, to_ball, to_enclosure

_GUARD_BITS = 32
_ATTEMPTS = 6


@dataclass(frozen=True, slots=True)
class Chance:
    """The probability of one outcome of a choice.

    Attributes:
        weights: Of all outcomes, over eps only.
        outcome: Index of this one's.
        proportional: Whether the weights are divided by their sum.
    """

    weights: tuple[core.Weight, ...]
    outcome: int
    proportional: bool

    def enclose(self, eps: Fraction, bits: int) -> Enclosure | NotEnclosed:
        """Enclose the chance of a lawful choice to about 2**-bits, or say why there is none."""
        for attempt in range(_ATTEMPTS):
            with precision(bits + _GUARD_BITS << attempt):
                ball = to_ball(eps)
                values = [_ball(weight, ball) for weight in self.weights]
                chance = values[self.outcome]
                found = to_enclosure(chance / sum(values, arb(0)) if self.proportional else chance)
            if isinstance(found, Enclosure) and found.width <= Fraction(1, 2**bits):
                break
        # A weight whose enclosure reaches below 0 may still be 0.
        return found.intersect(UNIT) if isinstance(found, Enclosure) else found


def _ball(weight: core.Weight, eps: arb) -> arb:
    match weight:
        case core.Constant(Fraction() as value):
            return to_ball(value)
        case core.Epsilon():
            return eps
        case core.WeightSum(left, right):
            return _ball(left, eps) + _ball(right, eps)
        case core.WeightProduct(left, right):
            return _ball(left, eps) * _ball(right, eps)
        case core.Inverse(operand):
            return 1 / _ball(operand, eps)
        case core.Exponential(exponent):
            return _ball(exponent, eps).exp()
        case core.Constant() | core.Variable() | core.Element() | core.Sum() | core.Product():
            raise BrokenInvariant("weights are closed")
        case _:
            assert_never(weight)
