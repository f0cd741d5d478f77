"""What the rest of a program with rounds may still read, and what the rest of a round assigns.

A point is a stack of places in blocks; the loop begins again after the last statement of a round.
"""

from __future__ import annotations

from collections.abc import Iterable

from dipapprox.language import core
from dipapprox.language.cells import assigned
from dipapprox.semantics.courses import Frame
from dipapprox.semantics.liveness import Liveness

Names = frozenset[str]


class RoundLiveness:
    """Live cells at the places of a program with rounds.

    Args:
        rounds: What is repeated, and which cells are published when.
    """

    def __init__(self, rounds: core.Rounds) -> None:
        self._flow = Liveness(at_exit=(*rounds.each, *rounds.before))
        self._known: dict[tuple[int, int, int], int] = {}
        self._assigned: dict[tuple[int, int], Names] = {}
        self._at_round, published = 0, self._flow.mask(rounds.each)
        while True:
            after, _ = self._flow.through(rounds.body, self._at_round | published)
            if not after & ~self._at_round:
                break
            self._at_round |= after

    def at(self, here: Frame | None, awaited: Iterable[str], names: Iterable[str]) -> list[str]:
        """Return those of some cells that are live at a point.

        Args:
            here: The place; None at the end of a round.
            awaited: The output cells that are still to be published at the end of this round.
            names: Of cells.
        """
        live = self._at_round | self._flow.mask(awaited)
        for block, place, _ in () if here is None else reversed([*here.frames()]):
            key = id(block), place, live
            if key not in self._known:
                self._known[key] = self._flow.through(block[place:], live)[0]
            live = self._known[key]
        return self._flow.among(live, names)

    def assigned(self, here: Frame) -> Names:
        """Return the cells that may be assigned before the round, or what precedes it, ends."""
        found = Names()
        for block, place, _ in here.frames():
            key = id(block), place
            if key not in self._assigned:
                self._assigned[key] = Names(assigned(block[place:]))
            found |= self._assigned[key]
        return found
