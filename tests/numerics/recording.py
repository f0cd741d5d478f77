"""A method that computes nothing, to see what is asked of it."""

from collections.abc import Sequence

from dipapprox import Enclosure, LimitReached, Limits, NotEnclosed
from dipapprox.events.event import Connected
from dipapprox.numerics.methods import Answers


class Recording:
    """Answers everything alike, or is out of time, and remembers what it was asked."""

    name = "recording"

    def __init__(self, answer: Enclosure | NotEnclosed | LimitReached) -> None:
        self.asked: list[Connected] = []
        self.bits: list[int] = []
        self._answer = answer

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        self.asked += events
        self.bits.append(bits)
        if isinstance(self._answer, LimitReached):
            raise self._answer
        return Answers.of([self._answer for _ in events])
