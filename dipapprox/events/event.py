"""Events: conjunctions of linear comparisons over independent samples, exact and closed.

Final states speak about symbolic inputs and any epsilon; an `Event` is what is left when both are
fixed. The probability of an event is all that the numerical stages ever compute.
"""

from __future__ import annotations

from dataclasses import dataclass

from dipapprox.distributions import Distribution
from dipapprox.semantics.linear import LinearForm


@dataclass(frozen=True, slots=True)
class Event:
    """{ x : form(x) <= 0 for every guard }, x[i] ~ samples[i] independent.

    Attributes:
        samples: Laws of x[0], x[1], …
        guards: Forms over the indices of `samples` (int symbols only), each non-constant.
    """

    samples: tuple[Distribution, ...]
    guards: tuple[LinearForm, ...]


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
