"""Integers and choices exactly, everything else by an engine: no engine integrates sums.

event -> a choice, or discrete Laplace samples only -> closed form -> balls, any width
      |
      otherwise -> the engine
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never

from dipapprox.events.event import Chosen, Connected, Event, Star
from dipapprox.exact.choices import chosen_probability
from dipapprox.exact.discrete import discrete_probability, is_discrete
from dipapprox.exact.values import enclose_at
from dipapprox.exponentials import ExponentialRatio
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.method import Method

_REMEMBERED = 20_000
"""Most closed forms kept: asked again with more bits, they are only evaluated."""


class DiscreteFirst:
    """A method that answers choices and events of integers itself and leaves the rest to another.

    The laws of choices must be valid where the program runs (`validity.check_choices`).

    Args:
        method: For all other events.
    """

    def __init__(self, method: Method) -> None:
        self._method = method
        self._answered = False
        self._asked = False
        self._forms: dict[Connected, ExponentialRatio | NotEnclosed] = {}

    @property
    def name(self) -> str:
        """The words of what has answered; the other method's as long as nothing has."""
        if not self._answered:
            return self._method.name
        return f"exact + {self._method.name}" if self._asked else "exact"

    def enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        """Enclose Pr[event]; the batch of one."""
        return self.enclose_many((event,), bits, limits)[0]

    def enclose_many(
        self, events: Sequence[Connected], bits: int, limits: Limits
    ) -> list[Enclosure | NotEnclosed]:
        """Enclose Pr[event] for every event; see `Method.enclose_many`."""
        found: dict[int, Enclosure | NotEnclosed] = {}
        rest: list[int] = []
        for place, event in enumerate(events):
            form = self._form(event, limits)
            if form is None:
                rest.append(place)
            elif isinstance(form, NotEnclosed):
                found[place] = form
            else:
                value = enclose_at(form, Fraction(1), bits, limits)
                self._answered = True
                found[place] = (
                    value if isinstance(value, NotEnclosed) else value.intersect(UNIT, "exact")
                )
        if rest:
            self._asked = True
            others = self._method.enclose_many([events[k] for k in rest], bits, limits)
            found.update(zip(rest, others, strict=True))
        return [found[place] for place in range(len(events))]

    def _form(self, event: Connected, limits: Limits) -> ExponentialRatio | NotEnclosed | None:
        """The closed form of an event, if it is one for this method."""
        match event:
            case Event() | Star():
                if not is_discrete(event):
                    return None
            case Chosen():
                pass
            case _:
                assert_never(event)
        known = self._forms.get(event)
        if known is None:
            if len(self._forms) >= _REMEMBERED:
                self._forms.clear()
            limits.check()
            known = self._forms[event] = _closed_form(event, limits)
        return known


def _closed_form(event: Connected, limits: Limits) -> ExponentialRatio | NotEnclosed:
    if isinstance(event, Chosen):
        return chosen_probability(event, limits)
    return discrete_probability(event, limits)
