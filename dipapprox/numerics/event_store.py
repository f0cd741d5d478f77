"""The probabilities of a catalogue's events: computed in batches, kept exactly and as doubles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from dipapprox.events.event import Connected
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.method import Method
from dipapprox.numerics.rounding import Array, above, below


class EventStore:
    """What is known of numbered events.

    Args:
        method: Computes what is not known, or not well enough.
        limits: Handed to the method.

    Attributes:
        lower: Lower bounds of the events' probabilities by number, doubles; there may be spare
            entries at the end.
        upper: Upper bounds likewise.
    """

    def __init__(self, method: Method, limits: Limits) -> None:
        self._method = method
        self._limits = limits
        self.forget()

    def forget(self) -> None:
        """Forget everything: the numbers have lost their meaning."""
        self.lower: Array = np.zeros(64)
        self.upper: Array = np.ones(64)
        self._known: list[Enclosure] = []
        self._tried: list[int] = []
        self._obstacles: dict[int, str] = {}

    def require(self, events: Sequence[Connected], numbers: Iterable[int], bits: int) -> None:
        """Enclose events to 2**-bits if the method can, all that is missing in one batch.

        Args:
            events: All events; numbered by position, for good.
            numbers: Which of them are needed.

        Raises:
            BrokenInvariant: If two enclosures of the same probability are disjoint.
            LimitReached: If the limits run out.
        """
        self._grow(len(events))
        missing = [number for number in numbers if self._tried[number] < bits]
        wanted = Fraction(1, 2**bits)
        missing = [number for number in missing if self._known[number].width > wanted]
        if not missing:
            return
        batch = [events[number] for number in missing]
        found = self._method.enclose_many(batch, bits, self._limits)
        for number, enclosure in zip(missing, found, strict=True):
            self._learn(number, enclosure, bits)

    def enclosure(self, number: int) -> Enclosure:
        """What is known of an event; [0, 1] if nothing."""
        return self._known[number]

    def obstacle(self, numbers: Iterable[int]) -> str | None:
        """Why one of these events could not be enclosed when it was last tried."""
        if not self._obstacles:
            return None
        reasons = (self._obstacles.get(number) for number in numbers)
        return next((reason for reason in reasons if reason is not None), None)

    def _learn(self, number: int, found: Enclosure | NotEnclosed, bits: int) -> None:
        self._tried[number] = bits
        if isinstance(found, NotEnclosed):
            self._obstacles[number] = found.reason
            return
        self._obstacles.pop(number, None)
        known = found.intersect(self._known[number], self._method.name)
        self._known[number] = known
        self.lower[number], self.upper[number] = below(known.lower), above(known.upper)

    def _grow(self, size: int) -> None:
        fresh = size - len(self._known)
        self._known += [UNIT] * fresh
        self._tried += [0] * fresh
        if size > len(self.lower):
            spare = max(size, 2 * len(self.lower)) - len(self.lower)
            self.lower = np.concatenate([self.lower, np.zeros(spare)])
            self.upper = np.concatenate([self.upper, np.ones(spare)])
