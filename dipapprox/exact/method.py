"""The method `exact`: closed forms evaluated to any width.

In: events. Out: an `Enclosure` of each probability, by evaluating its closed form at ε' = 1 in
balls; exact rationals come out as points.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.events.event import Connected
from dipapprox.exact.closed_forms import EventForms
from dipapprox.exact.signs.values import enclose_at
from dipapprox.limits import Limits
from dipapprox.numerics.answers import Answers
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed


class Exact:
    """The method `exact`. It remembers closed forms: more bits cost an evaluation only."""

    def __init__(self) -> None:
        self._forms = EventForms()

    @property
    def name(self) -> str:
        """The word in reports."""
        return "exact"

    def enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        """Enclose Pr[event]; the batch of one."""
        form = self._forms.closed_form_of(event, limits)
        if isinstance(form, NotEnclosed):
            return form
        found = enclose_at(form, Fraction(1), bits, limits)
        return found if isinstance(found, NotEnclosed) else found.intersect(UNIT, self.name)

    def enclose_many(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] for every event; see `Method.enclose_many`."""
        return Answers.of([self.enclose(event, bits, limits) for event in events])
