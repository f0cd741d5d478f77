"""Which cells still matter after a branching statement: backward liveness on the core."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from dipapprox.language import core
from dipapprox.semantics.cells import compared, statements_in, used


class Liveness:
    """Variables that may be read before they are assigned again, by `id` of a statement.

    A set of variables is a mask, for there is one for nearly every statement. Finite output cells
    are left out: outputs always matter. So do real outputs, which are live everywhere: what they
    hold is published. Input cells are in it if the program chooses at random: states may merge that
    differ in what they know of an input that is not read again. An array read through a computed
    index is live as a whole. A statement object that occurs in several places gets the union.

    Attributes:
        after: For each `While`, and each `If` whose branches both go on: what is read after it.
        before: For each `While`, and each statement that may choose: what is read from it on.
        at_end: What matters after the end of the program: its real outputs.
    """

    def __init__(self, program: core.Program) -> None:
        chooses = any(isinstance(each, core.Choose) for each in statements_in(program.body))
        cells = program.outputs if chooses else (*program.inputs, *program.outputs)
        self._inputs = [cell.name for cell in program.inputs]
        self._bits = dict.fromkeys([cell.name for cell in cells], 0)  # these are in no mask
        self._known = 0  # how many variables have a bit
        self._choices = 0  # met so far
        self.after: dict[int, int] = {}
        self.before: dict[int, int] = {}
        self.at_end = self.mask(cell.name for cell in program.real_outputs)
        self._block(program.body, self.at_end)

    def among(self, mask: int, names: Iterable[str]) -> list[str]:
        """Return those of some cells that are in a mask."""
        bits = self._bits
        return [name for name in names if bits.get(name, 0) & mask]

    def mask(self, names: Iterable[str]) -> int:
        """Return the mask of cells."""
        mask = 0
        for name in names:
            bit = self._bits.get(name)
            if bit is None:
                bit = self._bits[name] = 1 << self._known
                self._known += 1
            mask |= bit
        return mask

    def _block(self, block: core.Body, live: int) -> tuple[int, bool]:
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
                return self.at_end, False
            case core.If():
                then, then_goes_on = self._block(statement.then, live)
                otherwise, otherwise_goes_on = self._block(statement.otherwise, live)
                if then_goes_on and otherwise_goes_on:
                    _extend(self.after, statement, live)
                live = then | otherwise | self.mask(compared(statement.condition))
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
        live |= self.mask(compared(statement.condition))
        while True:
            before, _ = self._block(statement.body, live)
            if not before & ~live:
                break
            live |= before
        _extend(self.before, statement, live)
        return live

    def _turns(self, loop: core.Repeat, live: int) -> tuple[int, bool]:
        """Do the same for equal turns: the least fixed point, as above.

        What is live before a turn is the union of a fixed set and a part of what is live after it,
        the same for all turns: they differ in elements of inputs and outputs, which are in no mask.
        Where one more such turn comes after them, all is found in one round. Inputs are in masks
        where the program chooses: then all elements of an array that is read are.
        """
        arrays = set(loop.arrays)
        live |= self.mask(name for name in self._inputs if name.partition("[")[0] in arrays)
        while True:
            before, goes_on = self._block(loop.body, live)
            if not before & ~live:
                return live, goes_on
            live |= before

    def _overwritten(self, live: int, target: core.Variable | core.Element) -> int:
        if not isinstance(target, core.Variable):
            return live
        return live & ~self.mask((target.name,)) | self.at_end


def _extend(known: dict[int, int], statement: object, cells: int) -> None:
    known[id(statement)] = known.get(id(statement), 0) | cells
