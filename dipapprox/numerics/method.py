"""The interface between events and the ways to compute their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dipapprox.events.event import Connected
from dipapprox.limits import Limits
from dipapprox.numerics.answers import Answers
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed


class Method(Protocol):
    """A way to enclose the probabilities of connected, reduced events."""

    @property
    def name(self) -> str:
        """The word in reports: "nested", "elimination", …"""

    def enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        """Enclose Pr[event]; the batch of one."""

    def enclose_many(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] for every event; a batch may share work.

        Args:
            events: Normal forms (`events.canonical`), distinct.
            bits: Wanted width: at most 2**-bits (best effort; the enclosures are proved anyway).
            limits: Asked at least every few milliseconds.

        Returns:
            For every event, in order, an enclosure inside [0, 1] or the reason why there is none;
            in bulk as doubles.

        Raises:
            LimitReached: If `limits` run out.
        """
