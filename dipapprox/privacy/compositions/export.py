"""Loss distributions as dp_accounting takes pairs: logarithms of masses, in doubles."""

from __future__ import annotations

from math import exp, fsum, log

from dipapprox.composition.losses import LossRow

LogMasses = dict[int | str, float]
"""Logarithms of masses by their place on a grid."""


def log_masses(losses: LossRow) -> tuple[LogMasses, LogMasses]:
    """Return Q and P of a loss distribution, as logarithms in doubles."""
    size = float(losses.step.loss(1))
    upper: LogMasses = {}
    lower: LogMasses = {}
    unit = losses.bits * log(2)
    for place, mass in enumerate(losses.row.masses, losses.row.start):
        if mass:
            upper[place] = log(mass) - unit
            lower[place] = upper[place] - place * size
    if losses.infinite:
        upper["infinite"] = log(losses.infinite) - unit
    rest = 1 - fsum(map(exp, lower.values()))
    if rest > 0:
        lower["none"] = log(rest)
    return lower, upper
