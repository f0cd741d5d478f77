"""Integers and choices exactly, everything else by an engine: no engine integrates sums.

event -> a choice, or discrete Laplace samples only -> closed form -> balls, any width
      |
      otherwise -> the engine
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from dipapprox.deferred import Deferred
from dipapprox.events.event import Chosen, Connected
from dipapprox.limits import Limits
from dipapprox.numerics.answers import Answers
from dipapprox.numerics.continuous import is_discrete
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.method import Method

if TYPE_CHECKING:
    from dipapprox.exact import method as exact
else:
    exact = Deferred("dipapprox.exact.method")


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

    @cached_property
    def _exact(self) -> exact.Exact:
        return exact.Exact()

    @property
    def name(self) -> str:
        """The words of what has answered; the other method's as long as nothing has."""
        if not self._answered:
            return self._method.name
        return f"{self._exact.name} + {self._method.name}" if self._asked else self._exact.name

    def enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        """Enclose Pr[event]; the batch of one."""
        return self.enclose_many((event,), bits, limits)[0]

    def enclose_many(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] for every event; see `Method.enclose_many`."""
        own: dict[int, Enclosure | NotEnclosed] = {}
        rest: list[int] = []
        for place, event in enumerate(events):
            if isinstance(event, Chosen) or is_discrete(event):
                limits.check()
                own[place] = self._exact.enclose(event, bits, limits)
                self._answered = True
            else:
                rest.append(place)
        parts: list[tuple[Sequence[int], Answers]] = [
            (list(own), Answers.of(list(own.values()))),
        ]
        if rest:
            self._asked = True
            others = self._method.enclose_many([events[k] for k in rest], bits, limits)
            parts.append((rest, others))
        return Answers.joined(parts, len(events))
