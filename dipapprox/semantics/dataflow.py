"""Which assignments a statement may see: reaching definitions on the statements of a block.

Those inside a statement belong to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from dipapprox.data_classes import dataclass, replace
from dipapprox.language import core
from dipapprox.semantics.cells import cells_of, used

Definitions = dict[str, frozenset[int]]
"""For cells the statements whose assignments may have given them their values."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a statement does with cells.

    Attributes:
        reads: Cells whose values before the statement may matter.
        writes: Cells that it may assign.
        overwrites: Cells that it assigns on every path to its end.
        random: Whether it draws, chooses or may end the program, or comes after one that may.
        exits: Whether it may end the program.
    """

    reads: frozenset[str]
    writes: frozenset[str]
    overwrites: frozenset[str]
    random: bool
    exits: bool


def uses_of(body: core.Block) -> list[Use]:
    """Return what statements do. What comes after an exit may not come about."""
    found = []
    after_exit = False
    for statement in body:
        use = use_of((statement,))
        if after_exit or use.exits:
            use = replace(use, random=True)
        found.append(use)
        after_exit = after_exit or use.exits
    return found


def use_of(block: core.Block) -> Use:
    """Return what statements that follow one another do together."""
    reads, writes, overwrites = set[str](), set[str](), set[str]()
    random, exits = _collect(block, reads, writes, overwrites)
    return Use(frozenset(reads), frozenset(writes), frozenset(overwrites), random, exits)


def _collect(
    block: core.Block, reads: set[str], writes: set[str], overwrites: set[str]
) -> tuple[bool, bool]:
    """Add what a block does to what was done before it; return `Use.random` and `Use.exits`."""
    random = exits = False
    for statement in block:
        reads.update([cell for cell in used(statement) if cell not in overwrites])
        match statement:
            case core.Assign(target=target) | core.Draw(target=target) | core.Choose(target=target):
                random = random or not isinstance(statement, core.Assign)
                if isinstance(target, core.Variable):
                    writes.add(target.name)
                    overwrites.add(target.name)
                else:
                    writes.update(cells_of(target))
            case core.If(then=then, otherwise=otherwise):
                branches = [_branch(each, reads, writes, overwrites) for each in (then, otherwise)]
                overwrites |= branches[0].overwrites & branches[1].overwrites
                random = random or branches[0].random or branches[1].random
                exits = exits or branches[0].exits or branches[1].exits
            case core.While(body=body):
                use = _branch(body, reads, writes, overwrites)
                random, exits = random or use.random, exits or use.exits
            case core.Exit():
                random = exits = True
            case _:
                assert_never(statement)
    return random, exits


def _branch(block: core.Block, reads: set[str], writes: set[str], before: set[str]) -> Use:
    """Add what a block that may not be run reads and writes; return what it does by itself."""
    use = use_of(block)
    reads |= use.reads - before
    writes |= use.writes
    return use


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
