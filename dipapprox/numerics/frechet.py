"""The method `guard by guard`: events that are nearly impossible, or whose guards nearly all hold.

An event is the intersection of its guards G_1, …, G_n, so, however they depend on each other,

    max(0, 1 - Σ (1 - Pr[G_k]))  <=  Pr[event]  <=  min Pr[G_k]

(Fréchet 1935; Boole's and Bonferroni's inequalities). Every guard is a closed form of its own. That
is seldom narrow; but where a guard is many deviations away nothing else is needed, and quadrature
finds such events hard.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.events.event import Connected, Event
from dipapprox.limits import Limits
from dipapprox.numerics.answers import Answers
from dipapprox.numerics.closed_form import enclose_closed_form, is_half_space
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.semantics.linear import LinearForm, Symbol


class GuardByGuard:
    """The method `guard by guard`; what it cannot bound narrowly it does not enclose."""

    name = "guard by guard"

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] one by one; see `Method.enclose`."""
        answers = []
        for event in events:
            limits.check()
            answers.append(_enclose(event, bits))
        return Answers.of(answers)


def has_half_spaces(event: Connected) -> bool:
    """Whether an event has several guards, each with a closed form."""
    return (
        isinstance(event, Event)
        and len(event.guards) > 1
        and all(is_half_space(_alone(event, guard)) for guard in event.guards)
    )


def _alone(event: Event, guard: LinearForm) -> Event:
    samples = guard.samples()
    place: dict[Symbol, Symbol] = {sample: k for k, sample in enumerate(samples)}
    laws = tuple(event.samples[sample] for sample in samples)
    return Event(laws, (guard.renamed(place.__getitem__),))


def _enclose(event: Connected, bits: int) -> Enclosure | NotEnclosed:
    assert isinstance(event, Event)
    least, missing = Fraction(1), Fraction(0)
    for guard in event.guards:
        # A missing enclosure says that the guard has some probability.
        found = enclose_closed_form(_alone(event, guard), bits + len(event.guards).bit_length())
        least = min(least, found.upper if isinstance(found, Enclosure) else Fraction(1))
        missing += 1 - (found.lower if isinstance(found, Enclosure) else Fraction(0))
    bounds = Enclosure(max(Fraction(0), 1 - missing), least)
    if bounds.width <= Fraction(1, 2**bits):
        return bounds
    return NotEnclosed("no guard is nearly impossible, and some may fail")
