"""Numbered events in, bounds of their probabilities out: computed in batches, kept as doubles.

Bounds that are better than doubles can say are kept exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from typing import cast

import numpy as np

from dipapprox.errors import LimitReached
from dipapprox.events.event import Connected
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.methods import Method
from dipapprox.numerics.rounding import Array, above, below


class EventStore:
    """What is known of numbered events.

    Args:
        method: Computes what is not known, or not well enough.
        limits: Handed to the method.
        where: Says what an event is in the program, by number; None to leave it open.

    Attributes:
        lower: Lower bounds of the events' probabilities by number, doubles; there may be spare
            entries at the end.
        upper: Upper bounds likewise.
    """

    def __init__(
        self, method: Method, limits: Limits, where: Callable[[int], str] | None = None
    ) -> None:
        self._method = method
        self._limits = limits
        self._where = where
        self.forget()

    def forget(self) -> None:
        """Forget everything: the numbers have lost their meaning."""
        self.lower: Array = np.zeros(64)
        self.upper: Array = np.ones(64)
        self._tried = np.zeros(64, np.int64)
        # What is known better than the doubles say; what these say of all others is exact.
        self._sharper: dict[int, Enclosure] = {}
        self._obstacles: dict[int, str] = {}

    def require(self, events: Sequence[Connected], numbers: Collection[int], bits: int) -> None:
        """Enclose events to 2**-bits if the method can, all that is missing in one batch.

        Args:
            events: All events; numbered by position, for good.
            numbers: Which of them are needed.

        Raises:
            BrokenInvariant: If two enclosures of the same probability are disjoint.
            LimitReached: If the limits run out.
        """
        self._grow(len(events))
        asked = np.fromiter(numbers, np.int64, len(numbers))
        asked = asked[self._tried[asked] < bits]
        asked = asked[self.upper[asked] - self.lower[asked] > 2.0**-bits]
        wanted = Fraction(1, 2**bits)
        missing = [
            number
            for number in asked.tolist()
            if number not in self._sharper or self._sharper[number].width > wanted
        ]
        if not missing:
            return
        batch = [events[number] for number in missing]
        try:
            found = self._method.enclose(batch, bits, self._limits)
        except LimitReached as reached:
            if reached.event not in batch:
                raise
            number = missing[batch.index(cast(Connected, reached.event))]
            raise LimitReached(self._placed(reached.reason, number)) from reached
        places = np.array(missing, np.int64)
        self._tried[places] = bits
        lower = np.maximum(self.lower[places], found.lower)
        upper = np.minimum(self.upper[places], found.upper)
        # What contradicts what is known is learnt one by one, too: that says how.
        plain = lower <= upper
        plain[list(found.others)] = False
        plain[[k for k, number in enumerate(missing) if number in self._sharper]] = False
        numbers = places[plain]
        self.lower[numbers], self.upper[numbers] = lower[plain], upper[plain]
        for number in self._obstacles.keys() & set(numbers.tolist()):
            del self._obstacles[number]
        for k in np.flatnonzero(~plain).tolist():
            self._learn(missing[k], found[k])

    def enclosure(self, number: int) -> Enclosure:
        """What is known of an event; [0, 1] if nothing."""
        found = self._sharper.get(number)
        if found is not None:
            return found
        return Enclosure(Fraction(float(self.lower[number])), Fraction(float(self.upper[number])))

    def obstacle(self, numbers: Iterable[int], bits: int) -> str | None:
        """Why one of these events is not enclosed to 2**-bits; None if that may still come."""
        wanted = Fraction(1, 2**bits)
        hindered = self._obstacles.keys() & set(numbers) if self._obstacles else ()
        for number in sorted(hindered):
            if self.enclosure(number).width > wanted:
                return self._placed(self._obstacles[number], number)
        return None

    def _placed(self, reason: str, number: int) -> str:
        return reason if self._where is None else f"{self._where(number)}: {reason}"

    def _learn(self, number: int, found: Enclosure | NotEnclosed) -> None:
        if isinstance(found, NotEnclosed):
            self._obstacles[number] = found.reason
            return
        self._obstacles.pop(number, None)
        known = found.intersect(self.enclosure(number), self._method.name)
        self._sharper[number] = known
        self.lower[number], self.upper[number] = below(known.lower), above(known.upper)

    def _grow(self, size: int) -> None:
        if size > len(self.lower):
            spare = max(size, 2 * len(self.lower)) - len(self.lower)
            self.lower = np.concatenate([self.lower, np.zeros(spare)])
            self.upper = np.concatenate([self.upper, np.ones(spare)])
            self._tried = np.concatenate([self._tried, np.zeros(spare, np.int64)])
