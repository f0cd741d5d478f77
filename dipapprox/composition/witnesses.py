"""Two outcomes that each of many runs of a statement may have, so that all cost much together.

In: a statement, how often it is run, and where H is asked. Out: outcomes that surely keep it, found
in doubles: any that keep it are right. Few runs cost much more with them than with noise: two of
1/4-zCDP 4.719 for δ = 10^-5, where noise costs 4.377 and nothing more than 4.729.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import erfc, exp, inf, lgamma, sqrt

import numpy as np

from dipapprox.composition.divergences import Divergences, Statement, Tangent, WorstOutcomes
from dipapprox.composition.statements import allowed

_MOST_RUNS = 1_000
_LIKELY = 1e-5
"""A δ where nobody asks for one."""

_FAR = 256.0
_TRIED, _ROUNDS = 12, 3
"""Places that are looked at between two, again and again."""


@lru_cache(maxsize=64)
def worst_of_many(
    statement: Statement, times: int, square: Fraction, asked: tuple[float | None, float | None]
) -> tuple[Fraction, ...] | None:
    """Return two outcomes (`statements.allowed`) of each of so many runs; None: noise costs more.

    Args:
        statement: What each keeps.
        times: How many.
        square: Of a shift of noise that keeps it.
        asked: ε, or δ, if one is.
    """
    if times > _MOST_RUNS:
        return None
    one, (budget, delta) = WorstOutcomes(Divergences.of([(statement, 1)])), asked

    def cost(tangent: Tangent) -> float:
        p = tangent.masses[0]
        losses = np.array([tangent.upper, tangent.lower])
        counts = np.arange(times + 1.0)
        ways = np.array([lgamma(times + 1) - lgamma(k + 1) - lgamma(times - k + 1) for k in counts])
        with np.errstate(all="ignore"):
            weights = np.exp(ways + counts * np.log(p) + (times - counts) * np.log1p(-p))
        values = losses[0] * counts + losses[1] * (times - counts)
        return _asked(
            lambda t: float(weights @ np.maximum(-np.expm1(np.minimum(t - values, 0)), 0)),
            budget,
            delta,
        )

    shift = sqrt(times * float(square))
    least = _asked(lambda t: _noise(t, shift), budget, delta) if shift else 0.0
    low, high, best = 0.0, _FAR, (-inf, Tangent(0.0, 0.0, 0.0, 0.0), 0.0)
    for _ in range(_ROUNDS):
        ratio = (high / max(low, high / 2**_TRIED)) ** (1 / _TRIED)
        for k in range(_TRIED + 1):
            tangent = one.at(high / ratio**k)[0]
            if 0 < tangent.masses[0] < 1:
                best = max(
                    best, (cost(tangent), tangent, high / ratio**k), key=lambda each: each[0]
                )
        low, high = best[2] / ratio, best[2] * ratio
    return allowed(best[1], statement) if best[0] > least else None


def _asked(value: Callable[[float], float], budget: float | None, delta: float | None) -> float:
    """Return H at ε, or where it is δ."""
    if budget is not None:
        return value(budget)
    low, high = 0.0, _FAR
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if value(middle) > (delta or _LIKELY) else (low, middle)
    return low


def _noise(loss: float, shift: float) -> float:
    """H of Gaussian noise."""
    place = loss / shift - shift / 2
    beyond = erfc((place + shift) / sqrt(2)) / 2
    return erfc(place / sqrt(2)) / 2 - (exp(loss) * beyond if beyond else 0.0)
