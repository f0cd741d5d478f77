"""Methods that answer some events themselves and leave the rest to another method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from dipapprox.events.event import Connected
from dipapprox.limits import Limits
from dipapprox.numerics.answers import Answer, Answers
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.method import Method


class Delegating(ABC):
    """A method in front of another one.

    Args:
        method: For all events that this one does not answer.
    """

    def __init__(self, method: Method) -> None:
        self._method = method
        self._answered = False
        self._asked = False

    @property
    @abstractmethod
    def name(self) -> str:
        """The word in reports: what has answered, this method, the other one, or both."""

    @abstractmethod
    def _own(self, event: Connected, bits: int, limits: Limits) -> Answer | None:
        """Answer an event; None: the other method's."""

    def enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        """Enclose Pr[event]; the batch of one."""
        return self.enclose_many((event,), bits, limits)[0]

    def enclose_many(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] for every event; see `Method.enclose_many`."""
        own: dict[int, Answer] = {}
        rest: list[int] = []
        for place, event in enumerate(events):
            answer = self._own(event, bits, limits)
            if answer is None:
                rest.append(place)
            else:
                own[place] = answer
                self._answered = True
        parts: list[tuple[Sequence[int], Answers]] = [
            (list(own), Answers.of(list(own.values()))),
        ]
        if rest:
            self._asked = True
            others = self._method.enclose_many([events[k] for k in rest], bits, limits)
            parts.append((rest, others))
        return Answers.joined(parts, len(events))
