"""Events: conjunctions of linear comparisons over independent samples, exact and closed.

Final states speak about symbolic inputs and any eps; an `Event` is what is left when both are
fixed. The probability of an event is all that the numerical stages ever compute.
"""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from dipapprox.data_classes import dataclass
from dipapprox.distributions import Distribution
from dipapprox.events.circuits import Circuit
from dipapprox.semantics.linear import LinearForm


@dataclass(frozen=True, slots=True)
class Event:
    """{ x : form(x) <= 0 for every guard }, x[i] ~ samples[i] independent.

    A guard is about real samples or about integer ones, not both. Guards about integers have no
    integer points on their boundary.

    Attributes:
        samples: Laws of x[0], x[1], …
        guards: Forms over the indices of `samples` (int symbols only), each non-constant.
    """

    samples: tuple[Distribution, ...]
    guards: tuple[LinearForm, ...]


Leaves = tuple[tuple[Distribution, int], ...]
"""Independent samples, equal laws counted: (law, how many >= 1), each law once."""


@dataclass(frozen=True, slots=True)
class Star:
    """{ (c, x, y) : every x <= c <= every y }, all samples independent: at least two leaves.

    Most events of most programs; as laws with counts they stay small however many samples there
    are. Pr = ∫ density of c · Π cdf of x · Π survival of y.

    Of integers, c is one and the x and y lie half-way between two: a law with the mean m + 1/2 is
    that of z + 1/2 for an integer sample z of mean m. So there are no ties.

    Attributes:
        centre: The law of c.
        below: The laws of the x.
        above: The laws of the y.
    """

    centre: Distribution
    below: Leaves
    above: Leaves


@dataclass(frozen=True, slots=True)
class Chosen:
    """Choices have outcomes of some set.

    Attributes:
        circuit: Of the probabilities of all sets of a program, as functions of its eps.
        root: The set.
        eps: Where the program runs, exact and > 0.
    """

    circuit: Circuit
    root: int
    eps: Fraction


Connected = Event | Star | Chosen
"""A connected event in one of three spellings; stars may be spelled as `Event` as well."""


def spelled_out(event: Event | Star) -> Event:
    """Return the event with one sample per leaf; x[0] is the centre."""
    match event:
        case Event():
            return event
        case Star(centre, below, above):
            sides = [(Fraction(1), below), (Fraction(-1), above)]
            samples, guards = [centre], []
            half = Fraction(centre.family.is_discrete, 2)
            for sign, leaves in sides:
                for law, count in leaves:
                    own = law.affine(Fraction(1), -half) if half else law
                    for _ in range(count):
                        # x + half <= c, or c <= y + half
                        form = LinearForm.of({0: -sign, len(samples): sign}, sign * half)
                        samples.append(own)
                        guards.append(form)
            return Event(tuple(samples), tuple(guards))
        case _:
            assert_never(event)


def count_samples(event: Event | Star) -> int:
    """Return how many samples an event is about."""
    match event:
        case Event(samples):
            return len(samples)
        case Star(_, below, above):
            return 1 + sum(count for _, count in (*below, *above))
        case _:
            assert_never(event)


@dataclass(frozen=True, slots=True)
class Impossible:
    """An event of probability exactly 0."""


@dataclass(frozen=True, slots=True)
class Independent:
    """A conjunction of independent, simplified, connected events; empty: probability exactly 1.

    Every factor's guards are irredundant and its samples all occur in them.
    """

    factors: tuple[Event, ...]


Reduced = Impossible | Independent
