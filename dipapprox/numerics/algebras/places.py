"""Finer panels in, where each of them lies among the coarser ones out: exact, for any algebra."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant


@dataclass(frozen=True, slots=True)
class Place:
    """A new panel: its [-1, 1] is [center - half, center + half] / width on the old panel's.

    Attributes:
        panel: The old panel; the nearest one if the new one is beyond all of them.
        beyond: -1 or 1 if it is beyond their left or their right end, else 0.
        center: An integer; beyond the ends it is that end.
        half: An integer; 0 beyond the ends.
        width: A positive integer.
    """

    panel: int
    beyond: int
    center: int
    half: int
    width: int

    @property
    def is_same(self) -> bool:
        """Whether the new panel is an old one."""
        return self.half == self.width


def places(old: Sequence[int], new: Sequence[int]) -> tuple[Place, ...]:
    """Place panels among coarser ones.

    Args:
        old: Boundaries, ascending integers.
        new: Boundaries in the same unit, among them all the old ones between its ends.
    """
    found = []
    for low, high in pairwise(new):
        if high <= old[0]:
            found.append(Place(0, -1, -1, 0, 1))
        elif low >= old[-1]:
            found.append(Place(len(old) - 2, 1, 1, 0, 1))
        else:
            panel = bisect_right(old, low) - 1
            start, stop = old[max(panel, 0)], old[panel + 1]
            if low < start or high > stop:
                raise BrokenInvariant("panels are not finer than those that they replace")
            found.append(Place(panel, 0, low + high - start - stop, high - low, stop - start))
    return tuple(found)
