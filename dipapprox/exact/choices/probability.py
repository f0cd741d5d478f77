"""Exact probabilities of choices among finitely many outcomes, as functions of ε.

A choice with given weights, or the end of a loop: a finite Markov chain (DiPC paper, section 3.6
and Lemma 10; exact elimination instead of the paper's guess of zero edges).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import assert_never

from dipapprox.cache import Cache
from dipapprox.distributions import ChainLaw, ChoiceLaw, FiniteLaw
from dipapprox.events.event import Chosen
from dipapprox.exact.choices.absorption import absorption_probabilities
from dipapprox.exponentials import ExponentialRatio
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import NotEnclosed

_REMEMBERED = 256
"""Most chains whose absorption probabilities are kept."""

_known: Cache[ChainLaw, Mapping[int, ExponentialRatio]] = Cache(_REMEMBERED)

_ONE = ExponentialRatio.constant(1)


def chosen_probability(event: Chosen, limits: Limits) -> ExponentialRatio | NotEnclosed:
    """Return the exact probability of a choice, dilated by `event.eps`.

    Right for every ε for which `validity.objection` finds nothing.

    Returns:
        A function of ε'; at ε' = 1 it is the probability where the program runs.

    Raises:
        LimitReached: If the time or the memory runs out.
    """
    match event.law:
        case FiniteLaw(weights):
            chosen = [weights[outcome] for outcome in sorted(event.outcomes)]
        case ChainLaw(_, outcomes) as law:
            ends = absorption(law, limits)
            states = {outcomes[outcome] for outcome in event.outcomes}
            chosen = [ends[state] for state in sorted(states & ends.keys())]
        case _:
            assert_never(event.law)
    total = ExponentialRatio.constant(0)
    for weight in chosen:
        total = total + weight
    if not (total - _ONE).numerator:
        return _ONE
    return total.dilated(event.eps)


def law_at(law: ChoiceLaw, eps: Fraction) -> ChoiceLaw:
    """Fix ε: the law with its exact weights at `eps` > 0, as functions of ε' at ε' = 1.

    Raises:
        ZeroDivisionError: If a weight is not defined there.
    """
    match law:
        case FiniteLaw(weights):
            return FiniteLaw(tuple(weight.at(eps) for weight in weights))
        case ChainLaw(transitions, outcomes):
            fixed = tuple(
                tuple((target, weight.at(eps)) for target, weight in row) for row in transitions
            )
            return ChainLaw(fixed, outcomes)
        case _:
            assert_never(law)


def absorption(law: ChainLaw, limits: Limits) -> Mapping[int, ExponentialRatio]:
    """`absorption_probabilities`, remembered: every outcome of a loop asks for the same chain."""
    return _known.find(law, lambda: absorption_probabilities(law, limits))
