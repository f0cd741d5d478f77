"""Which cells statements read and assign, and which assignments they may see, from text alone.

An array with a computed index is read, or may be assigned, as a whole.

The assignments that a statement may see are reaching definitions on the statements of a block;
those inside a statement belong to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from dipapprox.data_classes import Record
from dipapprox.language import core
from dipapprox.language.traversal import nodes_in, reachable


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


def read(part: core.Expression | core.Condition | core.Weight) -> Iterator[str]:
    """Yield the cells that an expression, a condition or a weight reads."""
    for node in nodes_in(part):
        if isinstance(node, core.Variable | core.Element):
            yield from cells_of(node)


def cells_of(target: core.Variable | core.Element) -> Iterator[str]:
    """Yield the cells that a target may be."""
    match target:
        case core.Variable(name=name):
            yield name
        case core.Element(array=array, size=size):
            yield from (f"{array}[{i}]" for i in range(1, size + 1))
        case _:
            assert_never(target)


def used(statement: core.Statement) -> Iterator[str]:
    """Yield the cells that a statement itself reads, not those inside it."""
    match statement:
        case core.Assign(target=target, value=value):
            yield from read(value)
        case core.Draw(target=target, mean=mean):
            yield from read(mean)
        case core.Choose(target=target, options=options):
            for value, weight in options:
                yield from read(value)
                yield from read(weight)
        case core.If(condition=condition) | core.While(condition=condition):
            yield from read(condition)
            return
        case core.Exit():
            return
        case _:
            assert_never(statement)
    if isinstance(target, core.Element):
        yield from read(target.index)


def assigned(block: Iterable[core.Statement | core.Repeat]) -> Iterator[str]:
    """Yield the cells that statements, or those inside them, may assign."""
    for each in statements_in(block):
        match each:
            case core.Assign(target=target) | core.Draw(target=target) | core.Choose(target=target):
                yield from cells_of(target)
            case core.If() | core.While() | core.Exit():
                pass
            case _:
                assert_never(each)


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
