"""What the rest of a program with rounds may still read, and what the rest of a round assigns.

A point is a stack of places in blocks; the loop begins again after the last statement of a round.
"""

from __future__ import annotations

from collections.abc import Iterable

from dipapprox.language import core
from dipapprox.semantics.cells import assigned, cells_of, used

Names = frozenset[str]


class Liveness:
    """Live cells at the places of a program with rounds.

    Args:
        rounds: What is repeated, and which cells are published when.
    """

    def __init__(self, rounds: core.Rounds) -> None:
        self._known: dict[tuple[int, int, Names], Names] = {}
        self._assigned: dict[tuple[int, int], Names] = {}
        self._ends = Names(rounds.each) | Names(rounds.before)
        self.at_round = Names()
        while True:
            after = self.before(rounds.body, 0, self.at_round | Names(rounds.each))
            if after <= self.at_round:
                break
            self.at_round |= after

    def at(self, frames: Iterable[tuple[core.Block, int]], awaited: Iterable[str]) -> Names:
        """Return the cells that are live at a point.

        Args:
            frames: The innermost block comes last.
            awaited: The output cells that are still to be published at the end of this round.
        """
        live = self.at_round | Names(awaited)
        for block, index in frames:
            live = self.before(block, index, live)
        return live

    def assigned(self, frames: Iterable[tuple[core.Block, int]]) -> Names:
        """Return the cells that may be assigned before the round, or what precedes it, ends."""
        found = Names()
        for block, index in frames:
            key = id(block), index
            if key not in self._assigned:
                self._assigned[key] = Names(assigned(block[index:]))
            found |= self._assigned[key]
        return found

    def before(self, block: core.Block, index: int, live: Names) -> Names:
        """Return what is live before a statement if `live` is after the block."""
        key = id(block), index, live
        known = self._known.get(key)
        if known is None:
            known = live
            for statement in reversed(block[index:]):
                known = self._through(statement, known)
            self._known[key] = known
        return known

    def _through(self, statement: core.Statement, live: Names) -> Names:
        match statement:
            case core.If(then=then, otherwise=otherwise):
                inside = self.before(then, 0, live) | self.before(otherwise, 0, live)
                return inside | Names(used(statement))
            case core.While(body=body):
                live |= Names(used(statement))
                while not (after := self.before(body, 0, live)) <= live:
                    live |= after
                return live
            case core.Exit():
                return self._ends
            case core.Assign(target=target) | core.Draw(target=target) | core.Choose(target=target):
                if isinstance(target, core.Variable):
                    live -= Names(cells_of(target))
                return live | Names(used(statement))
