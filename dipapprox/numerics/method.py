"""The interface between events and the ways to compute their probabilities."""

from __future__ import annotations

from typing import Protocol

from dipapprox.events.event import Event
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed


class Method(Protocol):
    """A way to enclose the probability of one connected, reduced event."""

    @property
    def name(self) -> str:
        """The word in reports: "nested", "elimination", …"""

    def enclose(self, event: Event, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        """Enclose Pr[event].

        Args:
            event: A factor of `Independent.factors`.
            bits: Wanted width: at most 2**-bits (best effort; the enclosure is proved anyway).
            limits: Asked at least every few milliseconds.

        Returns:
            An enclosure inside [0, 1], or the reason why there is none.

        Raises:
            LimitReached: If `limits` run out.
        """
