"""Which kind of event is for which method: integrals, sums, closed forms.

Tier. Which numbers elimination computes with: doubles, balls.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeGuard, assert_never

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.events.event import Chosen, Connected, Event, Mixture, Star, laws_of


class Tier(Enum):
    """Which algebras may be used; the value is the word on the command line."""

    AUTO = "auto"
    FLOAT64 = "float64"
    BALLS = "balls"


def as_continuous(event: Connected) -> Event | Star | NotEnclosed:
    """Return an event that has densities as it is, or say why it is for the exact layer only.

    Guards between integers are cut between two values: integrating densities instead would give a
    confident wrong number.
    """
    match event:
        case Chosen():
            return NotEnclosed(
                "a choice among finitely many outcomes is not an integral: only exactly"
            )
        case Mixture():
            return NotEnclosed("many events added up are not one integral")
        case Event() | Star() if any(law.family.is_discrete for law in laws_of(event)):
            return NotEnclosed("integer samples have no density: their probabilities are sums")
        case Event() | Star():
            return event
        case _:
            assert_never(event)


def is_sum(event: Connected) -> TypeGuard[Event | Star]:
    """Whether all samples of an event are integers: its probability is a sum."""
    if isinstance(event, Chosen | Mixture):
        return False
    if isinstance(event, Star) and not event.centre.family.is_discrete:
        return False  # the most frequent case
    return all(law.family.is_discrete for law in laws_of(event))


def is_discrete(event: Connected) -> bool:
    """Whether an event is a choice, or all its samples are integers."""
    return isinstance(event, Chosen) or is_sum(event)


def is_ratio(event: Connected) -> bool:
    """Whether an event is discrete, and its probability a ratio of exponential polynomials."""
    return isinstance(event, Chosen) or (
        is_sum(event) and all(law.family.is_exponential for law in laws_of(event))
    )


def has_density(event: Connected) -> bool:
    """Whether an event is an integral: some sample is continuous."""
    return not isinstance(event, Mixture) and not is_discrete(event)


def is_mixture(event: Connected) -> TypeGuard[Mixture]:
    return isinstance(event, Mixture)


def is_laplace_type(event: Connected) -> TypeGuard[Event | Star]:
    """Whether all samples of an event are Laplace or one-sided exponential ones."""
    return not isinstance(event, Chosen | Mixture) and all(
        law.family.is_exponential and not law.family.is_discrete for law in laws_of(event)
    )


def is_gaussian(event: Connected) -> TypeGuard[Event | Star]:
    return not isinstance(event, Chosen | Mixture) and all(
        law.family.is_normal for law in laws_of(event)
    )


def has_sums(event: Connected) -> TypeGuard[Event]:
    """Whether a guard of an event is about more than two samples."""
    return isinstance(event, Event) and any(len(guard.terms) > 2 for guard in event.guards)
