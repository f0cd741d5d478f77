"""Independent parts of a program: programs of their own, whose outputs together are its outputs.

For fixed inputs, a statement without random draws or choices that reads nothing random is a
constant; every part that needs it has its own copy. Of the other statements two belong together if
one may read what the other assigned; the outputs belong to the statements that assign them. An
`exit` ties all that comes after it to its statement. What is left apart shares no randomness, so

    Pr[outputs] = product over the parts of Pr[outputs of the part]      for every input.

Which assignment a read may see is found as usual (reaching definitions), on the statements of the
program's body: those inside another one belong to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import assert_never

from dipapprox.graphs import components
from dipapprox.language import core
from dipapprox.semantics.cells import assigned, cells_of, statements_in, used

Definitions = dict[str, frozenset[int]]
"""For cells the statements whose assignments may have given them their values."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a program.

    Attributes:
        program: Its statements, with the inputs that they read and the outputs that they assign.
            Its adjacency is that of the whole program and means nothing here.
        inputs: Where its inputs stand in the program's rows, ascending.
        outputs: Where its outputs stand in the program's outputs, ascending.
        random: Whether it draws, chooses or ends the program.
    """

    program: core.Program
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    random: bool


@dataclass(frozen=True, slots=True)
class _Use:
    """What a statement of the body does with cells.

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


def independent_parts(program: core.Program) -> tuple[Part, ...]:
    """Split a program.

    Returns:
        The parts. Every output is one of exactly one part; every statement is in some part, and
        one that draws, chooses or ends the program in exactly one: so the faults and the laws of
        the parts are those of the program.
    """
    size = len(program.body)
    uses = _uses(program.body)
    sources = _sources(uses, [frozenset((cell.name,)) for cell in program.outputs])
    random = [use.random for use in uses] + [True] * len(program.outputs)
    for number in range(size):
        random[number] = random[number] or any(random[source] for source in sources[number])
    links = [
        (number, source)
        for number, needed in enumerate(sources)
        if random[number]
        for source in needed
        if random[source]
    ]
    exits = [number for number, use in enumerate(uses) if use.exits]
    links += ((number, later) for number in exits for later in range(number + 1, size))
    found = []
    idle = set(range(size))
    for group in components(len(sources), links):
        if random[group[0]]:
            chosen = _with_sources(group, sources)
            idle -= chosen
            found.append(_part(program, chosen))
    if idle:
        found.append(_part(program, _with_sources(idle, sources)))
    return tuple(found)


def _uses(body: core.Block) -> list[_Use]:
    """What the statements of a body do. What comes after an exit may not come about."""
    found = []
    after_exit = False
    for statement in body:
        use = _use(statement)
        if after_exit or use.exits:
            use = replace(use, random=True)
        found.append(use)
        after_exit = after_exit or use.exits
    return found


def _use(statement: core.Statement) -> _Use:
    reads = frozenset(used(statement))
    match statement:
        case core.Assign(target=target) | core.Draw(target=target) | core.Choose(target=target):
            cells = frozenset(cells_of(target))
            sure = cells if isinstance(target, core.Variable) else frozenset[str]()
            return _Use(reads, cells, sure, not isinstance(statement, core.Assign), False)
        case core.If(then=then, otherwise=otherwise):
            one, other = _block_use(then), _block_use(otherwise)
            sure = one.overwrites & other.overwrites
        case core.While(body=body):
            one, other = _block_use(body), _block_use(())
            sure = frozenset()
        case core.Exit():
            return _Use(reads, frozenset(), frozenset(), True, True)
        case _:
            assert_never(statement)
    return _Use(
        reads | one.reads | other.reads,
        one.writes | other.writes,
        sure,
        one.random or other.random,
        one.exits or other.exits,
    )


def _block_use(block: core.Block) -> _Use:
    reads, writes, sure = set[str](), set[str](), set[str]()
    random = exits = False
    for statement in block:
        use = _use(statement)
        reads |= use.reads - sure
        writes |= use.writes
        sure |= use.overwrites
        random, exits = random or use.random, exits or use.exits
    return _Use(frozenset(reads), frozenset(writes), frozenset(sure), random, exits)


def _sources(uses: Sequence[_Use], ends: Sequence[frozenset[str]]) -> list[frozenset[int]]:
    """Which statements may have assigned what each statement, and each end, reads.

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


def _with_sources(group: Iterable[int], sources: Sequence[frozenset[int]]) -> set[int]:
    found = set(group)
    waiting = list(found)
    while waiting:
        new = sources[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def _part(program: core.Program, chosen: set[int]) -> Part:
    """Return the part of some statements and, numbered after them, outputs."""
    size = len(program.body)
    body = tuple(program.body[number] for number in sorted(chosen) if number < size)
    names = {name for each in statements_in(body) for name in chain(used(each), assigned((each,)))}
    inputs = tuple(k for k, cell in enumerate(program.inputs) if cell.name in names)
    outputs = tuple(number - size for number in sorted(chosen) if number >= size)
    own = replace(
        program,
        inputs=tuple(program.inputs[k] for k in inputs),
        outputs=tuple(program.outputs[k] for k in outputs),
        body=body,
    )
    sure = core.Assign | core.If | core.While
    random = not all(isinstance(each, sure) for each in statements_in(body))
    return Part(own, inputs, outputs, random)
