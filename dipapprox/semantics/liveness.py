"""Which cells still matter after a branching statement: backward liveness on the core."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import assert_never

from dipapprox.data_classes import dataclass
from dipapprox.language import core
from dipapprox.semantics.cells import compared, statements_in, used


@dataclass(frozen=True, slots=True)
class CellSet(Container[str]):
    """A set of cells: one bit each in a number, for there is a set for nearly every statement.

    Attributes:
        places: Of the cells' bits; shared by the sets of a program.
        mask: The bits of those in the set.
    """

    places: Mapping[str, int]
    mask: int

    def __contains__(self, name: object) -> bool:
        place = self.places.get(name) if isinstance(name, str) else None
        return place is not None and bool(self.mask >> place & 1)

    def changed(self, more: Iterable[str], less: Iterable[str]) -> CellSet:
        """Return the set with some cells of the program, and without others."""
        added, taken = (
            sum(1 << self.places[name] for name in set(names) if name in self.places)
            for names in (more, less)
        )
        return CellSet(self.places, (self.mask | added) & ~taken)


@dataclass(frozen=True, slots=True)
class Liveness:
    """Variables that may be read before they are assigned again, by `id` of a statement.

    Input and finite output cells are left out: inputs never change, outputs always matter. So do
    real outputs, which are live everywhere: what they hold is published. An array read through a
    computed index is live as a whole. A statement object that occurs in several places gets the
    union.

    Attributes:
        after: For each `While`, and each `If` whose branches both go on: what is read after it.
        before: For each `While`, and each statement that may choose: what is read from it on.
        at_end: What matters after the end of the program: its real outputs.
    """

    after: dict[int, CellSet]
    before: Mapping[int, CellSet]
    at_end: CellSet

    def fill(self, block: core.Block, loop: core.UniformLoop, turn: int) -> None:
        """Say of a turn of a loop what is said of the last but one; it may not be known yet.

        What is live is the same at the heads of all turns but the last, see `_Walk.loop_turns`.
        """
        if turn >= loop.turns - 2:
            return
        known, asked = (loop.turn(block, each) for each in (loop.turns - 2, turn))
        for one, other in zip(statements_in(known), statements_in(asked), strict=True):
            if id(one) in self.after:
                self.after.setdefault(id(other), self.after[id(one)])

    def ends_alike(self, block: core.Block, loop: core.UniformLoop) -> bool:
        """Whether nothing matters in the last of several turns that does not in the one before."""
        before, last = (loop.turn(block, loop.turns - each) for each in (2, 1))
        return not any(
            id(other) in known
            and (id(one) not in known or known[id(other)].mask & ~known[id(one)].mask)
            for known in (self.after, self.before)
            for one, other in zip(statements_in(before), statements_in(last), strict=True)
        )


def live_cells(program: core.Program) -> Liveness:
    """Return the live cells of a program."""
    walk = _Walk({cell.name for cell in (*program.inputs, *program.outputs)})
    walk.published = walk.mask(cell.name for cell in program.real_outputs)
    walk.block(program.body, walk.published)
    after, before = map(walk.sets, (walk.after, walk.before))
    return Liveness(after, before, CellSet(walk.places, walk.published))


class _Walk:
    """One walk from the end of a program to its start; masks say which cells are live.

    Args:
        others: The cells that are never in a mask.
    """

    def __init__(self, others: set[str]) -> None:
        self.bits = dict.fromkeys(others, 0)
        self.places: dict[str, int] = {}
        self.after: dict[int, int] = {}
        self.before: dict[int, int] = {}
        self.choices = 0  # met so far
        self.published = 0  # live everywhere

    def block(self, block: core.Block, live: int) -> tuple[int, bool]:
        """Go from the cells live after a block to those live before it.

        Returns:
            These, and whether the end of the block can be reached.
        """
        if isinstance(block, core.UnrolledBlock):
            return self.unrolled(block, live)
        goes_on = True
        for statement in reversed(block):
            choices = self.choices
            live, passes = self.statement(statement, live)
            goes_on = goes_on and passes
            if self.choices > choices:
                _extend(self.before, statement, live)
        return live, goes_on

    def unrolled(self, block: core.UnrolledBlock, live: int) -> tuple[int, bool]:
        """Do the same for a block with uniform loops."""
        goes_on, end = True, len(block)
        for loop in reversed(block.loops):
            live, passes = self.block(block[loop.places.stop : end], live)
            goes_on = goes_on and passes
            live, passes = self.loop_turns(block, loop, live)
            goes_on, end = goes_on and passes, loop.start
        live, passes = self.block(block[:end], live)
        return live, goes_on and passes

    def loop_turns(self, block: core.Block, loop: core.UniformLoop, live: int) -> tuple[int, bool]:
        """Do the same for the turns of a uniform loop.

        What is live before a turn is the union of a fixed set and a part of what is live after it,
        the same for all turns: they differ in elements of inputs and outputs, which are in no mask.
        So what is live before the last turn is live before all others, too.
        """
        goes_on = True
        for turn in reversed(range(loop.turns)):
            before, passes = self.block(loop.turn(block, turn), live)
            goes_on = goes_on and passes
            if before == live and turn == loop.turns - 2:
                break
            live = before
        return live, goes_on

    def statement(self, statement: core.Statement, live: int) -> tuple[int, bool]:
        """Do the same for one statement."""
        match statement:
            case core.Assign(target=target) | core.Draw(target=target):
                return self.overwritten(live, target) | self.mask(used(statement)), True
            case core.Choose(target=target):
                self.choices += 1
                return self.overwritten(live, target) | self.mask(used(statement)), True
            case core.Exit():
                return self.published, False
            case core.If():
                then, then_goes_on = self.block(statement.then, live)
                otherwise, otherwise_goes_on = self.block(statement.otherwise, live)
                if then_goes_on and otherwise_goes_on:
                    _extend(self.after, statement, live)
                live = then | otherwise | self.mask(compared(statement.condition))
                return live, then_goes_on or otherwise_goes_on
            case core.While():
                return self.loop(statement, live), True
            case _:
                assert_never(statement)

    def loop(self, statement: core.While, live: int) -> int:
        """The least fixed point: what is live at the test is live after each round."""
        _extend(self.after, statement, live)
        live |= self.mask(compared(statement.condition))
        while True:
            before, _ = self.block(statement.body, live)
            if not before & ~live:
                break
            live |= before
        _extend(self.before, statement, live)
        return live

    def mask(self, names: Iterable[str]) -> int:
        """Return the mask of cells."""
        mask = 0
        for name in names:
            bit = self.bits.get(name)
            if bit is None:
                bit = 1 << self.places.setdefault(name, len(self.places))
                self.bits[name] = bit
            mask |= bit
        return mask

    def overwritten(self, live: int, target: core.Variable | core.Element) -> int:
        if not isinstance(target, core.Variable):
            return live
        return live & ~self.mask((target.name,)) | self.published

    def sets(self, known: Mapping[int, int]) -> dict[int, CellSet]:
        """Return sets for masks."""
        return {statement: CellSet(self.places, mask) for statement, mask in known.items()}


def _extend(known: dict[int, int], statement: object, cells: int) -> None:
    known[id(statement)] = known.get(id(statement), 0) | cells
