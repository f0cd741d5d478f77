"""What the numerical engines can integrate: linear guards on continuous samples; what not."""

from __future__ import annotations

from typing import assert_never

from dipapprox.distributions import Distribution
from dipapprox.events.event import Chosen, Connected, Event, Star
from dipapprox.numerics.enclosure import NotEnclosed

CHOICE = NotEnclosed("a choice among finitely many outcomes is not an integral: only exactly")
INTEGERS = NotEnclosed("integer samples have no density: their probabilities are sums")


def as_continuous(event: Connected) -> Event | Star | NotEnclosed:
    """Return an event that has densities as it is, or say why it is for the exact layer only.

    Guards between integers are cut between two values: integrating densities instead would give a
    confident wrong number.
    """
    match event:
        case Chosen():
            return CHOICE
        case Event() | Star():
            return INTEGERS if any(law.family.is_discrete for law in _laws(event)) else event
        case _:
            assert_never(event)


def is_discrete(event: Event | Star) -> bool:
    """Whether all samples of an event are integers."""
    return all(law.family.is_discrete for law in _laws(event))


def has_closed_form(event: Event | Star) -> bool:
    """Whether no law of an event has squares in its exponent."""
    return not any(law.family.is_gaussian for law in _laws(event))


def _laws(event: Event | Star) -> tuple[Distribution, ...]:
    match event:
        case Event():
            return event.samples
        case Star(centre, below, above):
            return (centre, *(law for law, _ in (*below, *above)))
        case _:
            assert_never(event)
