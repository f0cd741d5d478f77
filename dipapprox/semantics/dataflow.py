"""Which assignments a statement may see: reaching definitions on the statements of a block.

Those inside a statement belong to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

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
        use = _use(statement)
        if after_exit or use.exits:
            use = replace(use, random=True)
        found.append(use)
        after_exit = after_exit or use.exits
    return found


def _use(statement: core.Statement) -> Use:
    reads = frozenset(used(statement))
    match statement:
        case core.Assign(target=target) | core.Draw(target=target) | core.Choose(target=target):
            cells = frozenset(cells_of(target))
            sure = cells if isinstance(target, core.Variable) else frozenset[str]()
            return Use(reads, cells, sure, not isinstance(statement, core.Assign), False)
        case core.If(then=then, otherwise=otherwise):
            one, other = _block_use(then), _block_use(otherwise)
            sure = one.overwrites & other.overwrites
        case core.While(body=body):
            one, other = _block_use(body), _block_use(())
            sure = frozenset()
        case core.Exit():
            return Use(reads, frozenset(), frozenset(), True, True)
        case _:
            assert_never(statement)
    return Use(
        reads | one.reads | other.reads,
        one.writes | other.writes,
        sure,
        one.random or other.random,
        one.exits or other.exits,
    )


def _block_use(block: core.Block) -> Use:
    reads, writes, sure = set[str](), set[str](), set[str]()
    random = exits = False
    for statement in block:
        use = _use(statement)
        reads |= use.reads - sure
        writes |= use.writes
        sure |= use.overwrites
        random, exits = random or use.random, exits or use.exits
    return Use(frozenset(reads), frozenset(writes), frozenset(sure), random, exits)


def sources_of(uses: Sequence[Use], ends: Sequence[frozenset[str]]) -> list[frozenset[int]]:
    """Return which statements may have assigned what each statement, and each end, reads.

    An end is read at the end of the body or at any exit on the way.
    """
    reaching: Definitions = {}
    ending: Definitions = {}
    found = []
    for number, use in enumerate(uses):
        found.append(_reaching(reaching, use.reads))
        if use.exits:
            ending = _either(ending, reaching)
        for cell in use.writes:
            kept = frozenset[int]() if cell in use.overwrites else reaching.get(cell, frozenset())
            reaching[cell] = kept | {number}
        if use.exits:
            ending = _either(ending, reaching)
    ending = _either(ending, reaching)
    return found + [_reaching(ending, cells) for cells in ends]


def _either(one: Definitions, other: Definitions) -> Definitions:
    nothing = frozenset[int]()
    return {cell: one.get(cell, nothing) | other.get(cell, nothing) for cell in {*one, *other}}


def _reaching(reaching: Definitions, cells: Iterable[str]) -> frozenset[int]:
    return frozenset().union(*(reaching.get(cell, frozenset()) for cell in cells))
