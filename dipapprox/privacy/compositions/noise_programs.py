"""From a program that publishes noise and nothing else, at one eps, to its worst pair.

In: a program with real outputs. Out: one pair in closed form that two adjacent inputs have and that
dominates any two; for programs of another kind two pairs, above and below (`real_programs`).

On no condition, independently, each adjacent pair publishes numbers with

    Gaussian noise only     of one variance each: N(m, 1) against N(0, 1), m² = Σ m_k² in deviations
    Laplace noise           of one scale, the two means t scales apart, in one number

and nothing else that differs. The profiles grow with m and with t: N(m', 1) against N(0, 1) is what
N(m, 1) against N(0, 1) becomes if it is scaled and more noise is added, m' < m; and for Laplace
noise H(α) = 1 - sqrt(α) e^(-t/2) where e^-t <= α <= e^t. So the greatest one dominates, in
compositions too; being symmetric, it does so either way round.

Source: Dong, Roth, Su, Gaussian differential privacy, 2022.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import islice

from dipapprox.composition.mechanisms import Adjacency, Laplace, Mechanism
from dipapprox.composition.product_measures import gaussian_pair
from dipapprox.laws.families import GAUSSIAN, LAPLACE
from dipapprox.privacy.compositions.real_pairs import RefinedPairs
from dipapprox.privacy.compositions.real_programs import bounds_of_real_program
from dipapprox.privacy.run import Setting
from dipapprox.privacy.subjects import executed_for, open_subject

_MOST_PAIRS = 2_000


def real_mechanism(
    setting: Setting, eps: Fraction, adjacency: Adjacency, accuracy: Fraction
) -> Mechanism | RefinedPairs:
    """Return the worst pair of a program, pairs that get finer, or two that it lies between.

    For arguments and errors see `bounds_of_real_program`.
    """
    if setting.is_real or len([*islice(setting.pairs(), _MOST_PAIRS + 1)]) > _MOST_PAIRS:
        return bounds_of_real_program(setting, eps, adjacency, accuracy)
    noise = worst_noise(setting, eps, adjacency)
    return noise or RefinedPairs(setting, eps, adjacency, accuracy)


def worst_noise(setting: Setting, eps: Fraction, adjacency: Adjacency) -> Mechanism | None:
    """Return the worst pair of a program of few inputs; None if it is of another kind."""
    published = open_subject(setting, executed_for(setting), eps).published
    shifts = None if published is None else published.shifts()
    if not shifts:
        return None
    families = {shift.family for shift, _ in shifts}
    most = max((shift for shift, _ in shifts), key=lambda shift: shift.square)
    if families == {GAUSSIAN}:
        return gaussian_pair(most.square, adjacency)
    return Laplace(most.shift, Fraction(1), adjacency) if families == {LAPLACE} else None
