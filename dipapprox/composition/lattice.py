"""Mechanisms whose losses are whole multiples of one number: their grids need no refinement.

randomised response    ± ln((values - 1) p / (1 - p)), and 0
(ε, δ) statements      ± ε
discrete Laplace       (Δ - 2x) / b
discrete Gaussian      Δ (Δ - 2x) / (2 σ²)
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import gcd, lcm

from dipapprox.composition.grid import Step
from dipapprox.composition.mechanisms import (
    ApproximateStatement,
    DiscreteGaussian,
    DiscreteLaplace,
    Mechanism,
    RandomisedResponse,
)

_FINEST = 64
"""A common grid has at most so many steps for one of a mechanism's own."""

_WIDEST = 256
"""A discrete Gaussian of greater deviation has too many losses for all of them to be kept."""


def step_of(mechanism: Mechanism) -> Step | None:
    """Return a step of which all losses of a mechanism are multiples; None if there is none."""
    match mechanism:
        case RandomisedResponse(probability, values):
            odds = probability * (values - 1) / (1 - probability)
            return Step(Fraction(1), max(odds, 1 / odds)) if odds != 1 else Step(Fraction(1))
        case ApproximateStatement(eps):
            return Step(eps or Fraction(1))
        case DiscreteLaplace(sensitivity, scale):
            return Step((1 + (sensitivity + 1) % 2) / scale)
        case DiscreteGaussian(sensitivity, sigma) if sigma <= _WIDEST:
            return Step(sensitivity * (1 + (sensitivity + 1) % 2) / (2 * sigma**2))
        case _:
            return None


def common_step(mechanisms: Iterable[Mechanism]) -> Step | None:
    """Return a step for all of them; None if there is none, or it would be too fine."""
    steps = {step_of(each) for each in mechanisms}
    known = [step for step in steps if step is not None]
    if len(known) < len(steps) or len({step.base for step in known}) > 1:
        return None
    units = [step.unit for step in known]
    below = lcm(*(unit.denominator for unit in units))
    unit = Fraction(gcd(*(int(unit * below) for unit in units)), below)
    return Step(unit, known[0].base) if max(units) <= _FINEST * unit else None
