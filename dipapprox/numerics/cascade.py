"""Engines in turn: elimination for what is an order event, nested quadrature for the rest.

event -> elimination  --- enclosed ------------------------------> done
             |
             not an order, or too wide -> nested, for a part of the time left -> done
                                             |
                                             no value in time -> the guards, and both reasons
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

from dipapprox.errors import LimitReached
from dipapprox.events.event import Connected, spelled_out
from dipapprox.events.event_text import describe
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.method import Method

_LONGEST = 600.0
"""Most seconds for one event of the second engine."""

_SHARE = 0.5
"""Of the time that is left, for one event of the second engine."""


class Cascade:
    """Two engines: the second gets the events that the first does not enclose.

    Args:
        first: Gets all events in one batch.
        second: Gets what is left, event by event, each within a share of the time left: one
            component out of reach does not take the time of all others.
    """

    def __init__(self, first: Method, second: Method) -> None:
        self._first = first
        self._second = second
        self._fell_through = False
        self._held = False
        self._failures: list[tuple[int, int]] = []  # samples, bits

    @property
    def name(self) -> str:
        """The engines that have answered so far; the first one as long as none has."""
        if not self._fell_through:
            return self._first.name
        return f"{self._first.name} + {self._second.name}" if self._held else self._second.name

    def enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        """Enclose Pr[event]; the batch of one."""
        return self.enclose_many((event,), bits, limits)[0]

    def enclose_many(
        self, events: Sequence[Connected], bits: int, limits: Limits
    ) -> list[Enclosure | NotEnclosed]:
        """Enclose Pr[event] for every event; see `Method.enclose_many`."""
        found = self._first.enclose_many(events, bits, limits)
        for place, answer in enumerate(found):
            if isinstance(answer, Enclosure):
                self._held = True
            else:
                found[place] = self._second_answer(events[place], bits, limits, answer)
        return found

    def _second_answer(
        self, event: Connected, bits: int, limits: Limits, first: NotEnclosed
    ) -> Enclosure | NotEnclosed:
        limits.check()
        plain = spelled_out(event)
        answer: Enclosure | NotEnclosed
        if any(len(plain.samples) >= n and bits >= b for n, b in self._failures):
            answer = NotEnclosed("not tried, a component no larger took too long")
        else:
            try:
                answer = self._second.enclose(event, bits, _share(limits))
            except LimitReached as reached:
                limits.check()  # all of the time or the memory is gone
                self._failures.append((len(plain.samples), bits))
                answer = NotEnclosed(reached.reason)
        if isinstance(answer, Enclosure):
            self._fell_through = True
            return answer
        return NotEnclosed(
            f"no engine encloses {describe(plain)}; {self._first.name}: "
            f"{first.reason}; {self._second.name}: {answer.reason}"
        )


def _share(limits: Limits) -> Limits:
    if limits.seconds is None:
        return replace(limits, seconds=_LONGEST, started=monotonic())
    left = max(limits.seconds - limits.elapsed(), 0.0)
    return replace(limits, seconds=min(_LONGEST, _SHARE * left), started=monotonic())
