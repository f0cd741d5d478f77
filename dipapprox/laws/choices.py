"""Laws of random choices among finitely many outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dipapprox.data_classes import Record

if TYPE_CHECKING:
    from dipapprox.exponentials import ExponentialRatio


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
    """Return how many outcomes a law has."""
    return len(law.weights if isinstance(law, FiniteLaw) else law.outcomes)
