"""Which cells statements read and assign, which assignments they may see, and what still matters.

All this is read from the text alone.

An array with a computed index is read, or may be assigned, as a whole.

The assignments that a statement may see are reaching definitions on the statements of a block;
those inside a statement belong to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, assert_never

from dipapprox.data_classes import Record, replace
from dipapprox.language import core
from dipapprox.language.traversal import nodes_in, reachable, rewrite
from dipapprox.source import Located


def statements_in(block: Iterable[core.Statement | core.Repeat]) -> Iterator[core.Statement]:
    """Yield statements and those inside them, in their order; of equal turns the first one."""
    waiting = list(block)[::-1]
    while waiting:
        each = waiting.pop()
        if isinstance(each, core.Repeat):
            waiting += each.body[::-1]
            continue
        yield each
        match each:
            case core.If(then=then, otherwise=otherwise):
                waiting += [*otherwise[::-1], *then[::-1]]
            case core.While(body=body):
                waiting += body[::-1]


def read(part: Located | tuple[Any, ...]) -> Iterator[str]:
    """Yield the cells that are read in a tree, or in a tuple of trees."""
    for node in nodes_in(part):
        if isinstance(node, core.Variable | core.Element):
            yield from cells_of(node)


def cells_of(target: core.Variable | core.Element) -> Iterator[str]:
    """Yield the cells that a target may be."""
    match target:
        case core.Variable(name):
            yield name
        case core.Element(array, size):
            yield from (f"{array}[{i}]" for i in range(1, size + 1))


def used(statement: core.Statement) -> Iterator[str]:
    """Yield the cells that a statement itself reads, not those inside it."""
    match statement:
        case core.If(condition=condition) | core.While(condition=condition):
            yield from read(condition)
        case core.Assign(target, part) | core.Draw(target, _, part) | core.Choose(target, part):
            yield from read((part, target.index if isinstance(target, core.Element) else ()))


def assigned(block: Iterable[core.Statement | core.Repeat]) -> Iterator[str]:
    """Yield the cells that statements, or those inside them, may assign."""
    for each in statements_in(block):
        if isinstance(each, core.Assign | core.Draw | core.Choose):
            yield from cells_of(each.target)


def tainted(block: core.Body) -> frozenset[str]:
    """Return the cells that may hold forms over samples somewhere in a block."""
    draws = (each for each in statements_in(block) if isinstance(each, core.Draw))
    return reached(block, (name for draw in draws for name in cells_of(draw.target)))


def reached(block: core.Body, names: Iterable[str]) -> frozenset[str]:
    """Return some cells, and those that may hold forms over what they hold somewhere in a block."""
    readers: dict[str, list[core.Variable | core.Element]] = {}
    for each in statements_in(block):
        if isinstance(each, core.Assign):
            for name in read(each.value):
                readers.setdefault(name, []).append(each.target)

    def holders(name: str) -> Iterator[str]:
        for target in readers.get(name, ()):
            yield from cells_of(target)

    return frozenset(reachable(names, holders))


Definitions = dict[str, frozenset[int]]
"""For cells the statements whose assignments may have given them their values."""


def is_seen_whole(program: core.Program) -> bool:
    """Whether all outputs are seen at a glance to belong to one part of a program.

    They do if every one may be assigned after the first `exit`, inside its statement or in its loop
    of equal turns: these statements are one unit, which is random and the last one.
    """
    for number, statement in enumerate(program.body):
        if any(isinstance(each, core.Exit) for each in statements_in((statement,))):
            missing = {cell.name for cell in (*program.outputs, *program.real_outputs)}
            for each in program.body[number:]:
                missing.difference_update(assigned((each,)))
                if isinstance(each, core.Repeat):
                    places = range(each.first, each.first + each.turns)
                    arrays = {name.partition("[")[0] for name in assigned(each.body)}
                    for array in arrays.intersection(each.arrays):
                        missing.difference_update([f"{array}[{place}]" for place in places])
            return not missing
    return False


class Use(Record):
    """What a statement does with cells."""

    reads: frozenset[str]  # cells whose values before the statement may matter
    writes: frozenset[str]  # cells that it may assign
    overwrites: frozenset[str]  # cells that it assigns on every path to its end
    random: bool  # whether it draws, chooses or may end the program, or comes after one that may
    exits: bool  # whether it may end the program


def use_of(block: core.Block) -> Use:
    """Return what statements that follow one another do together."""
    reads, writes, overwrites = set[str](), set[str](), set[str]()
    random = exits = False
    for statement in block:
        reads.update([cell for cell in used(statement) if cell not in overwrites])
        inside: tuple[Use, ...] = ()  # of blocks that may not be run
        surely = frozenset[str]()
        match statement:
            case core.Assign(target=target) | core.Draw(target=target) | core.Choose(target=target):
                random = random or not isinstance(statement, core.Assign)
                writes.update(cells_of(target))
                if isinstance(target, core.Variable):
                    overwrites.add(target.name)
            case core.If(then=then, otherwise=otherwise):
                inside = use_of(then), use_of(otherwise)
                surely = inside[0].overwrites & inside[1].overwrites
            case core.While(body=body):
                inside = (use_of(body),)
            case core.Exit():
                random = exits = True
            case _:
                assert_never(statement)
        for use in inside:
            reads |= use.reads - overwrites
            writes |= use.writes
            random, exits = random or use.random, exits or use.exits
        overwrites |= surely
    return Use(frozenset(reads), frozenset(writes), frozenset(overwrites), random, exits)


def sources_of(uses: Sequence[Use], ends: Sequence[frozenset[str]]) -> list[frozenset[int]]:
    """Return which statements may have assigned what each statement, and each end, reads.

    An end is read at the end of the body or at any exit on the way.
    """
    reaching: Definitions = {}
    end: Definitions = {}
    fresh = set[str]()  # cells with definitions that may not be in `end`
    found = []
    for number, use in enumerate(uses):
        found.append(_reaching(reaching, use.reads))
        if use.exits:
            _add(end, reaching, fresh)
        for cell in use.writes:
            kept = frozenset[int]() if cell in use.overwrites else reaching.get(cell, frozenset())
            reaching[cell] = kept | {number}
        fresh |= use.writes
        if use.exits:
            _add(end, reaching, fresh)
    _add(end, reaching, fresh)
    return found + [_reaching(end, cells) for cells in ends]


def _add(end: Definitions, reaching: Definitions, fresh: set[str]) -> None:
    """Add the definitions of the fresh cells, which are none afterwards."""
    for cell in fresh:
        end[cell] = end.get(cell, frozenset()) | reaching[cell]
    fresh.clear()


def _reaching(reaching: Definitions, cells: Iterable[str]) -> frozenset[int]:
    return frozenset().union(*(reaching.get(cell, frozenset()) for cell in cells))


# --- equal turns ---------------------------------------------------------------------------------

Names = Mapping[str, str]  # cells of a turn, by those of the first one


def written_out(body: core.Body) -> core.Block:
    """Return the body of a program with every turn of its loops in their place."""
    return tuple(_turns(body))


def _turns(body: core.Body) -> Iterator[core.Statement]:
    for each in body:
        if not isinstance(each, core.Repeat):
            yield each
            continue
        for turn in range(each.turns):
            yield from turn_of(each, turn)


def turn_of(loop: core.Repeat, turn: int) -> core.Block:
    """Return the statements of a turn, with its own elements and draws."""
    if not turn:
        return loop.body
    first, now = loop.first, loop.first + turn
    names = {f"{array}[{first}]": f"{array}[{now}]" for array in loop.arrays}
    return _renamed(loop.body, names, turn * loop.sites)


def _renamed(block: core.Block, names: Names, sites: int) -> core.Block:
    """Rename cells; an element with a computed index is of no array of the loop."""

    def change(node: Located) -> Located | None:
        match node:
            case core.Variable(name):
                return replace(node, name=names[name]) if name in names else node
            case core.Draw(target, _, mean, _, site):
                target, mean = rewrite((target, mean), change)
                return replace(node, target=target, mean=mean, site=site + sites)
            case core.Choose() | core.While():
                raise AssertionError("equal turns assign, draw, branch and exit only")
            case _:
                return None

    return rewrite(block, change)


# --- liveness ------------------------------------------------------------------------------------


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
        mask = 0
        for name in names:
            bit = self._bits.setdefault(name, len(self._bits))
            mask |= 0 if bit is None else 1 << bit
        return mask

    def through(self, block: core.Body, live: int) -> tuple[int, bool]:
        """Go from the cells live after a block to those live before it: return these, and whether
        the end of the block can be reached."""
        goes_on = True
        for statement in reversed(block):
            choices = self._choices
            live, passes = self._statement(statement, live)
            goes_on = goes_on and passes
            if self._choices > choices:
                _extend(self.before, statement, live)
        return live, goes_on

    def _statement(self, statement: core.Statement | core.Repeat, live: int) -> tuple[int, bool]:
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
