"""Engines in turn: elimination for what is an order event, nested quadrature for the rest.

event -> elimination  --- narrow enough ------------------------------> done
             |      |
             |      too wide --> nested, for a little time --> what both say together
             |
             none: not an order -> nested, for a part of the time left (the last: all) -> done
                                             |
                                             no value in time -> both reasons
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

from dipapprox.errors import LimitReached
from dipapprox.events.event import Connected, Event, Star, spelled_out
from dipapprox.limits import Limits
from dipapprox.numerics.answers import Answers
from dipapprox.numerics.continuous import as_continuous
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.method import Method

_LONGEST = 600.0
"""Most seconds for one event of the second engine."""

_SHARE = 0.5
"""Of the time that is left, for one event of the second engine if others wait for it too."""

_LONGEST_AGAIN = 20.0
"""Most seconds for one event of the second engine if the first gave a wide enclosure."""


class Cascade:
    """Two engines: the second gets the events that the first does not enclose narrowly enough.

    Args:
        first: Gets all events in one batch.
        second: Gets what is left, event by event, each within a share of the time left: one
            component out of reach does not take the time of all others. The last one of a batch
            gets all the time.
        again: Whether the second engine also gets events that the first encloses too widely.
    """

    def __init__(self, first: Method, second: Method, *, again: bool = True) -> None:
        self._first = first
        self._second = second
        self._again = again
        self._fell_through = False
        self._held = False
        self._failures: list[tuple[int, int, float]] = []  # samples, bits, most seconds

    @property
    def name(self) -> str:
        """The engines that have answered so far; the first one as long as none has."""
        if not self._fell_through:
            return self._first.name
        return f"{self._first.name} + {self._second.name}" if self._held else self._second.name

    def enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        """Enclose Pr[event]; the batch of one."""
        return self.enclose_many((event,), bits, limits)[0]

    def enclose_many(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] for every event; see `Method.enclose_many`."""
        found = self._first.enclose_many(events, bits, limits)
        waiting = sum(isinstance(answer, NotEnclosed) for answer in found.others.values())
        self._held = self._held or waiting < len(found)
        for place in found.wide(bits):
            answer = found[place]
            waiting -= isinstance(answer, NotEnclosed)
            event = as_continuous(events[place])
            if isinstance(event, NotEnclosed):
                continue
            if not isinstance(answer, Enclosure):
                share = _SHARE if waiting else 1.0
                found[place] = self._second_answer(event, bits, limits, answer, share)
            elif self._again:
                found[place] = self._narrowed(event, bits, limits, answer)
        return found

    def _narrowed(
        self, event: Event | Star, bits: int, limits: Limits, first: Enclosure
    ) -> Enclosure:
        """Intersect what the first engine said with what the second one finds in little time."""
        answer = self._ask_second(event, bits, limits, _LONGEST_AGAIN, _SHARE)
        if isinstance(answer, NotEnclosed):
            return first
        self._fell_through = True
        return first.intersect(answer)

    def _second_answer(
        self, event: Event | Star, bits: int, limits: Limits, first: NotEnclosed, share: float
    ) -> Enclosure | NotEnclosed:
        try:
            answer = self._ask_second(event, bits, limits, _LONGEST, share)
        except LimitReached as reached:
            reason = f"{reached.reason} ({self._first.name}: {first.reason})"
            raise LimitReached(reason, event) from None
        if isinstance(answer, Enclosure):
            self._fell_through = True
            return answer
        return NotEnclosed(
            f"no engine gives an enclosure ({self._first.name}: {first.reason}; "
            f"{self._second.name}: {answer.reason})"
        )

    def _ask_second(
        self, event: Event | Star, bits: int, limits: Limits, longest: float, share: float
    ) -> Enclosure | NotEnclosed:
        """Ask the second engine, unless it failed at something no harder."""
        limits.check()
        samples = len(spelled_out(event).samples)
        tried = ((n, b) for n, b, seconds in self._failures if seconds >= longest)
        if any(samples >= n and bits >= b for n, b in tried):
            return NotEnclosed("not tried, a component no larger took too long")
        own = _part(limits, longest, share)
        try:
            return self._second.enclose(event, bits, own)
        except LimitReached as reached:
            limits.check()  # all of the time or the memory is gone
            self._failures.append((samples, bits, longest))
            late = own.seconds is not None and own.elapsed() > own.seconds
            if late and limits.seconds is not None:
                # Nobody asked for the share: name the limit that it is a part of.
                return NotEnclosed(
                    f"its part of the time limit of {limits.seconds:g} s was too short"
                )
            return NotEnclosed(reached.reason)


def _part(limits: Limits, longest: float, share: float) -> Limits:
    """Return limits whose clock begins now, with a share of the time left, at most `longest`."""
    if limits.seconds is None:
        return replace(limits, seconds=longest, started=monotonic())
    left = max(limits.seconds - limits.elapsed(), 0.0)
    if share == 1 and left <= longest:
        return limits
    return replace(limits, seconds=min(longest, share * left), started=monotonic())
