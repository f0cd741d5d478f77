"""A method that computes nothing, to see what is asked of it."""

from __future__ import annotations

from collections.abc import Sequence

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.events.event import Connected
from dipapprox.limits import Limits
from dipapprox.numerics.methods import Answers


class Recording:
    """Answers everything with one enclosure and remembers what it was asked."""

    name = "recording"

    def __init__(self, answer: Enclosure) -> None:
        self.asked: list[Connected] = []
        self._answer = answer

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        self.asked += events
        return Answers.of([self._answer for _ in events])
