"""Loss distributions as dp_accounting takes pairs: logarithms of masses, in doubles."""

from __future__ import annotations

from math import exp, fsum, log

from dipapprox.composition.grid import GridStep
from dipapprox.composition.losses import LossDistribution

LogMasses = dict[int | str, float]
"""Logarithms of masses by their place on a grid."""


def log_masses(losses: LossDistribution, step: GridStep) -> tuple[LogMasses, LogMasses]:
    """Return Q and P of a loss distribution, as logarithms in doubles."""
    size = float(step.loss(1))
    upper: LogMasses = {}
    lower: LogMasses = {}
    unit = losses.bits * log(2)
    for k, mass in enumerate(losses.masses()):
        if mass:
            place = losses.start + 2 * k
            upper[place] = log(mass) - unit
            lower[place] = upper[place] - place * size
    if losses.infinite:
        upper["infinite"] = log(losses.infinite) - unit
    rest = 1 - fsum(map(exp, lower.values()))
    if rest > 0:
        lower["none"] = log(rest)
    return lower, upper
