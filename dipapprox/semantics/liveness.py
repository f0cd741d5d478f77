"""Which cells still matter after a branching statement: backward liveness on the core."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from dipapprox.language import core
from dipapprox.language.cells import read, used


class Liveness:
    """Variables that may be read before they are assigned again, by `id` of a statement.

    A set of variables is a mask, for there is one for nearly every statement. Finite output cells
    are left out: outputs always matter. So do real outputs, which are live everywhere: what they
    hold is published. Input cells are in it: states may merge that differ in what they know of an
    input that is not read again. In the body of equal turns an element that they go through stands
    for that of the turn; those of later turns are in no mask there. An array read through a
    computed index is live as a whole. A statement object that occurs in several places gets the
    union.

    Args:
        hidden: Cells that are in no mask.
        inputs: Of the program.
        kept: Cells that are live everywhere.
        at_exit: Cells that are live at an exit, besides.

    Attributes:
        after: For each `While`, and each `If` whose branches both go on: what is read after it.
        before: For each `While`, and each statement that may choose: what is read from it on.
        at_end: What is live everywhere.
    """

    def __init__(
        self,
        hidden: Iterable[str] = (),
        inputs: Iterable[str] = (),
        kept: Iterable[str] = (),
        at_exit: Iterable[str] = (),
    ) -> None:
        self._inputs = frozenset(inputs)
        # Which bit of a mask is whose: of many cells the masks would be too much to keep.
        self._bits: dict[str, int | None] = dict.fromkeys(hidden)
        self._choices = 0  # met so far
        self.after: dict[int, int] = {}
        self.before: dict[int, int] = {}
        self.at_end = self.mask(kept)
        self._at_exit = self.at_end | self.mask(at_exit)

    @classmethod
    def of(cls, program: core.Program) -> Liveness:
        """Return the liveness of all of a program."""
        found = cls(
            [cell.name for cell in program.outputs],
            [cell.name for cell in program.inputs],
            [cell.name for cell in program.real_outputs],
        )
        found.through(program.body, found.at_end)
        return found

    def among(self, mask: int, names: Iterable[str]) -> list[str]:
        """Return those of some cells that are in a mask."""
        found = ((name, self._bits.get(name)) for name in names)
        return [name for name, bit in found if bit is not None and mask >> bit & 1]

    def mask(self, names: Iterable[str]) -> int:
        """Return the mask of cells."""
        mask = 0
        for name in names:
            bit = self._bits.setdefault(name, len(self._bits))
            mask |= 0 if bit is None else 1 << bit
        return mask

    def through(self, block: core.Body, live: int) -> tuple[int, bool]:
        """Go from the cells live after a block to those live before it.

        Returns:
            These, and whether the end of the block can be reached.
        """
        goes_on = True
        for statement in reversed(block):
            choices = self._choices
            live, passes = self._statement(statement, live)
            goes_on = goes_on and passes
            if self._choices > choices:
                _extend(self.before, statement, live)
        return live, goes_on

    def _statement(self, statement: core.Statement | core.Repeat, live: int) -> tuple[int, bool]:
        """Do the same for one statement."""
        match statement:
            case core.Assign(target=target) | core.Draw(target=target):
                return self._overwritten(live, target) | self.mask(used(statement)), True
            case core.Choose(target=target):
                self._choices += 1
                return self._overwritten(live, target) | self.mask(used(statement)), True
            case core.Exit():
                return self._at_exit, False
            case core.If():
                then, then_goes_on = self.through(statement.then, live)
                otherwise, otherwise_goes_on = self.through(statement.otherwise, live)
                if then_goes_on and otherwise_goes_on:
                    _extend(self.after, statement, live)
                live = then | otherwise | self.mask(read(statement.condition))
                return live, then_goes_on or otherwise_goes_on
            case core.While():
                return self._loop(statement, live), True
            case core.Repeat():
                return self._turns(statement, live)
            case _:
                assert_never(statement)

    def _loop(self, statement: core.While, live: int) -> int:
        """The least fixed point: what is live at the test is live after each round."""
        _extend(self.after, statement, live)
        live |= self.mask(read(statement.condition))
        while True:
            before, _ = self.through(statement.body, live)
            if not before & ~live:
                break
            live |= before
        _extend(self.before, statement, live)
        return live

    def _turns(self, loop: core.Repeat, live: int) -> tuple[int, bool]:
        """Do the same for equal turns: the least fixed point, as above.

        What is live before a turn is the union of a fixed set and a part of what is live after it,
        the same for all turns: they differ in elements of outputs, which are in no mask, and of
        inputs, of which each turn reads its own. Where one more such turn comes after them, all is
        found in one round.
        """
        own = self._inputs.intersection(f"{array}[{loop.first}]" for array in loop.arrays)
        passed = self.mask(own)
        while True:
            before, goes_on = self.through(loop.body, live)
            if not before & ~passed & ~live:
                break
            live |= before & ~passed
        arrays = [name.partition("[")[0] for name in self.among(before, own)]
        turns = range(loop.first, loop.first + loop.turns)
        return before | self.mask(f"{array}[{k}]" for array in arrays for k in turns), goes_on

    def _overwritten(self, live: int, target: core.Variable | core.Element) -> int:
        if not isinstance(target, core.Variable):
            return live
        return live & ~self.mask((target.name,)) | self.at_end


def _extend(known: dict[int, int], statement: object, cells: int) -> None:
    known[id(statement)] = known.get(id(statement), 0) | cells
