"""What a method says of a batch of events: enclosures, most of them still as doubles.

In: places of events and proved bounds. Out: an `Enclosure` or a `NotEnclosed` for every event, made
when it is asked for; or, for bulk work, the arrays themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dipapprox.errors import BrokenInvariant
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed

Answer = Enclosure | NotEnclosed


class Answers:
    """The answers to a batch of events, by position; read like a sequence.

    Args:
        count: How many events.

    Attributes:
        lower: Proved lower bounds of the probabilities, doubles in [0, 1] as `rounding` has them.
        upper: Proved upper bounds likewise.
        others: Answers that are not just doubles, by position; there the arrays say [0, 1].
    """

    __slots__ = ("_given", "lower", "others", "upper")

    def __init__(self, count: int) -> None:
        self.lower = np.zeros(count)
        self.upper = np.ones(count)
        self.others: dict[int, Answer] = {}
        self._given = np.zeros(count, np.bool_)

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> Answers:
        """Collect answers that were given one by one."""
        found = cls(len(answers))
        for place, answer in enumerate(answers):
            found[place] = answer
        return found

    @classmethod
    def joined(cls, parts: Iterable[tuple[Sequence[int], Answers]], count: int) -> Answers:
        """Put parts of a batch together.

        Args:
            parts: The positions of some events in the batch, and their answers.
            count: The size of the batch.
        """
        found = cls(count)
        for places, part in parts:
            found.bound(np.asarray(places, np.int64), part.lower, part.upper)
            found.others.update((places[k], answer) for k, answer in part.others.items())
        return found

    def bound(
        self, places: NDArray[np.int64], lower: NDArray[np.float64], upper: NDArray[np.float64]
    ) -> None:
        """Answer some events by proved bounds in [0, 1], 0 or at least the floor of `rounding`."""
        self.lower[places], self.upper[places] = lower, upper
        self._given[places] = True

    def update(self, places: Sequence[int], part: Answers, source: str) -> None:
        """Learn the answers to some events: enclosures meet, a reason does not undo one.

        Args:
            places: Positions of these events here.
            part: Their answers.
            source: Says who answers, for the message of a contradiction.

        Raises:
            BrokenInvariant: If two enclosures of the same probability are disjoint.
        """
        chosen = np.asarray(places, np.int64)
        known = self._given[chosen]
        if not known.any():
            self.bound(chosen, part.lower, part.upper)
            self.others.update((places[k], answer) for k, answer in part.others.items())
            return
        for place, answer in zip(places, part, strict=True):
            old = self[place] if self._given[place] else answer
            if not isinstance(old, Enclosure):
                self[place] = answer
            elif isinstance(answer, Enclosure):
                self[place] = old.intersect(answer, source)

    def encloses(self, place: int) -> bool:
        """Whether an event has been enclosed, however widely."""
        return bool(self._given[place]) and not isinstance(self.others.get(place), NotEnclosed)

    def unanswered(self) -> list[int]:
        """The places of events without any answer."""
        places: list[int] = np.flatnonzero(~self._given).tolist()
        return places

    def wide(self, bits: int) -> list[int]:
        """The places, ascending, of events that are not enclosed to 2**-bits."""
        places = set(np.flatnonzero(self.upper - self.lower > 2.0**-bits).tolist())
        wanted = Fraction(1, 2**bits)
        narrow = (isinstance(a, Enclosure) and a.width <= wanted for a in self.others.values())
        places.difference_update(p for p, yes in zip(self.others, narrow, strict=True) if yes)
        return sorted(places)

    def __len__(self) -> int:
        return len(self.lower)

    def __getitem__(self, place: int) -> Answer:
        found = self.others.get(place)
        if found is not None:
            return found
        if not self._given[place]:
            raise BrokenInvariant("an event without answer")
        return Enclosure(Fraction(float(self.lower[place])), Fraction(float(self.upper[place])))

    def __setitem__(self, place: int, answer: Answer) -> None:
        self.others[place] = answer
        self.lower[place], self.upper[place] = 0.0, 1.0
        self._given[place] = True

    def __iter__(self) -> Iterator[Answer]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Answers) else NotImplemented
