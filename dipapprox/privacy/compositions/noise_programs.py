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
from dipapprox.composition.published_noise import published_noise
from dipapprox.data_classes import replace
from dipapprox.events.measures import NoProduct
from dipapprox.language.core import Program
from dipapprox.language.domains import has_real_inputs
from dipapprox.laws.families import GAUSSIAN, LAPLACE
from dipapprox.laws.family import Family
from dipapprox.pairs.adjacency import select_pairs
from dipapprox.pairs.published.divergences import Terms
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.compositions.real_pairs import RealPairs
from dipapprox.privacy.compositions.real_programs import bounds_of_real_program
from dipapprox.privacy.options import Options
from dipapprox.privacy.sources import open_published
from dipapprox.semantics.execution import execute

_MOST_PAIRS = 2_000


def real_mechanism(
    program: Program, eps: Fraction, adjacency: Adjacency, accuracy: Fraction, options: Options
) -> Mechanism | RealPairs:
    """Return the worst pair of a program, pairs that get finer, or two that it lies between.

    For arguments and errors see `bounds_of_real_program`.
    """
    if has_real_inputs(program):
        return bounds_of_real_program(program, eps, adjacency, accuracy, options)
    if len(list(islice(select_pairs(program, AllPairs()), _MOST_PAIRS + 1))) > _MOST_PAIRS:
        return bounds_of_real_program(program, eps, adjacency, accuracy, options)
    noise = worst_noise(program, eps, adjacency, options)
    return noise or RealPairs(program, eps, adjacency, accuracy, options)


def worst_noise(
    program: Program, eps: Fraction, adjacency: Adjacency, options: Options
) -> Mechanism | None:
    """Return the worst pair of a program; None if it is of another kind, or has many pairs.

    Args:
        program: With real outputs and a symmetric adjacency.
        eps: Where it runs, > 0.
        adjacency: Of the data sets that its inputs come from.
        options: How to compute.

    Raises:
        LimitReached: If a limit of `options` is reached.
    """
    if has_real_inputs(program):
        return None
    pairs = list(islice(select_pairs(program, AllPairs()), _MOST_PAIRS + 1))
    if len(pairs) > _MOST_PAIRS:
        return None
    executed = execute(program, options.merge, options.limits, real_outputs=True)
    divergences = open_published(executed, eps, options)
    families: set[Family] = set()
    most = Fraction(0)
    for pair in pairs:
        options.limits.check()
        terms = divergences.terms(pair)
        found = None if isinstance(terms, NoProduct) else _noise(terms)
        if found is None:
            return None
        family, shift = found
        if shift:
            families.add(family)
            most = max(most, shift)
    if families == {GAUSSIAN}:
        return gaussian_pair(most, adjacency)
    if families == {LAPLACE}:
        return Laplace(most, Fraction(1), adjacency)
    return None


def _noise(terms: Terms) -> tuple[Family, Fraction] | None:
    """The kind of noise of a pair, with m² or t; None for pairs of another kind."""
    if len(terms) != 1 or terms[0][1] != 1:
        return None
    sides = terms[0][0]
    if len(sides.first) != 1 or len(sides.second) != 1:
        return None
    (first,), (second,) = sides.first, sides.second
    if first.events or second.events:
        return None
    shifts: list[tuple[Family, Fraction]] = []
    for own, other in zip(first.marginals, second.marginals, strict=True):
        one = published_noise((replace(first, marginals=(own,)),))
        two = published_noise((replace(second, marginals=(other,)),))
        if one is None or two is None or (one.family, one.square) != (two.family, two.square):
            return None
        distance = abs(one.mean - two.mean)
        if one.family is GAUSSIAN:
            shifts.append((one.family, distance**2 / one.square))
        elif one.family is LAPLACE:
            shifts.append((one.family, distance / one.scale))
        else:
            return None
    shifts = [each for each in shifts if each[1]]
    families = {family for family, _ in shifts}
    if not shifts:
        return GAUSSIAN, Fraction(0)
    if families == {GAUSSIAN} or len(shifts) == 1:
        return shifts[0][0], sum((shift for _, shift in shifts), Fraction(0))
    return None
