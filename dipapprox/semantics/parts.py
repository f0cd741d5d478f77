"""Independent parts of a program: programs of their own, whose outputs together are its outputs.

For fixed inputs, a statement without random draws or choices that reads nothing random is a
constant; every part that needs it has its own copy. Of the other statements two belong together if
one may read what the other assigned; the outputs belong to the statements that assign them. An
`exit` ties all that comes after it to its statement. What is left apart shares no randomness, so

    Pr[outputs] = product over the parts of Pr[outputs of the part]      for every input.

Which assignment a read may see is found as usual (reaching definitions), on the statements of the
program's body: those inside another one belong to it, and all after the first exit to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from dipapprox.data_classes import Record, replace
from dipapprox.graphs import components
from dipapprox.language import core
from dipapprox.language.cells import Use, sources_of, use_of, written_out
from dipapprox.language.traversal import reachable


class ProgramPart(Record):
    # Its statements, with the inputs that they read and the outputs that they assign. Its adjacency
    # is that of the whole program and means nothing here.
    program: core.Program
    inputs: tuple[int, ...]  # where its inputs stand in the program's inputs, ascending
    # Where its outputs stand in the program's outputs, ascending; the real ones after all finite
    # ones.
    outputs: tuple[int, ...]
    random: bool  # whether it draws, chooses or ends the program


def independent_parts(program: core.Program) -> tuple[ProgramPart, ...]:
    """Split a program.

    Returns:
        The parts. Every output is one of exactly one part; every statement is in some part, and
        one that draws, chooses or ends the program in exactly one: so the faults and the laws of
        the parts are those of the program.
    """
    program.check_rational_scales()
    units, uses = _units(written_out(program.body))
    size = len(units)
    published = (*program.outputs, *program.real_outputs)
    sources = sources_of(uses, [frozenset((cell.name,)) for cell in published])
    random = [use.random for use in uses] + [True] * len(published)
    for number in range(size):
        random[number] = random[number] or any(random[source] for source in sources[number])
    links = [
        (number, source)
        for number, needed in enumerate(sources)
        if random[number]
        for source in needed
        if random[source]
    ]
    found = []
    idle = set(range(size))
    for group in components(len(sources), links):
        if random[group[0]]:
            chosen = reachable(group, sources.__getitem__)
            idle -= chosen
            found.append(_part(program, units, uses, chosen))
    if idle:
        found.append(_part(program, units, uses, reachable(idle, sources.__getitem__)))
    return tuple(found)


def _units(body: core.Block) -> tuple[list[core.Block], list[Use]]:
    """Return what cannot be parted, and what it does: statements; the first exit and all after."""
    units: list[core.Block] = []
    uses = []
    for number, statement in enumerate(body):
        use = use_of((statement,))
        if use.exits:
            units.append(body[number:])
            uses.append(use_of(body[number:]))
            break
        units.append((statement,))
        uses.append(use)
    return units, uses


def _part(
    program: core.Program, units: Sequence[core.Block], uses: Sequence[Use], chosen: set[int]
) -> ProgramPart:
    """Return the part of some units and, numbered after them, outputs."""
    size = len(units)
    own = [number for number in sorted(chosen) if number < size]
    names = frozenset[str]().union(*(uses[number].reads for number in own))
    inputs = tuple(k for k, cell in enumerate(program.inputs) if cell.name in names)
    outputs = tuple(number - size for number in sorted(chosen) if number >= size)
    finite = len(program.outputs)
    part = replace(
        program,
        inputs=tuple(program.inputs[k] for k in inputs),
        outputs=tuple(program.outputs[k] for k in outputs if k < finite),
        real_outputs=tuple(program.real_outputs[k - finite] for k in outputs if k >= finite),
        body=tuple(chain.from_iterable(units[number] for number in own)),
    )
    return ProgramPart(part, inputs, outputs, any(uses[number].random for number in own))
