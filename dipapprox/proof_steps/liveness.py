"""Which cells nobody reads any more, so that the kernel can integrate out what they hold.

Machines say it themselves, in statements `forget`. Nothing rests on it: a cell that is forgotten
and read after all is a cell that holds nothing, and ends the replay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dipapprox.errors import NoCertificate
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.machine import Block, Machine, Tree, read_machine
from dipapprox.language.core import Program
from dipapprox.proof_steps.machines import Json, program_json

Names = frozenset[str]

_NONE: Names = frozenset()


def machine_json(program: Program) -> dict[str, Json]:
    """Return a program as a machine that forgets what nobody reads any more.

    Raises:
        NoCertificate: If it has what machines have not.
    """
    machine = program_json(program)
    try:
        read = read_machine(machine)
    except NotProved as obstacle:
        raise NoCertificate(f"the kernel does not read the program: {obstacle}") from None
    return {**machine, "body": forgetful(machine["body"], read.body, dying(read))}


def dying(machine: Machine) -> dict[int, tuple[str, ...]]:
    """Return by the identity of statements which cells nobody reads after them.

    Cells of inputs and outputs are none of them.
    """
    kept = {name for name, _ in (*machine.inputs, *machine.outputs)} | set(machine.reals)
    analysis = _Analysis(frozenset(kept))
    analysis.block(machine.body, _NONE)
    return analysis.dying


def live_at_head(turn: Block, published: Sequence[str]) -> Names:
    """Return the cells that are read before they are assigned in a round or later ones.

    Args:
        turn: What a round does; it forgets nothing.
        published: The cells that are published after every round.
    """
    seen = frozenset(published)
    analysis, live = _Analysis(_NONE, seen), _NONE
    while True:
        before = analysis.block(turn, live | seen)
        if before <= live:
            return live
        live |= before


def live_before(machine: Machine) -> list[Names]:
    """Return for each statement of the body which cells it or later ones read before assigning.

    Cells of inputs and outputs are none of them.
    """
    kept = {name for name, _ in (*machine.inputs, *machine.outputs)} | set(machine.reals)
    analysis, found = _Analysis(frozenset(kept)), [_NONE]
    for statement in reversed(machine.body):
        found.append(analysis.block((statement,), found[-1]))
    return found[:0:-1]


class _Analysis:
    def __init__(self, kept: Names, at_exit: Names = _NONE) -> None:
        self._kept = kept
        self._at_exit = at_exit
        self.dying: dict[int, tuple[str, ...]] = {}

    def block(self, block: Block, after: Names) -> Names:
        """Return the cells that are read before they are assigned from here on."""
        for statement in reversed(block):
            before = self._before(statement, after)
            mentioned = before | self._assigned(statement)
            self.dying[id(statement)] = tuple(sorted(mentioned - after))
            after = before
        return after

    def _before(self, statement: Tree, after: Names) -> Names:
        match statement:
            case (("set" | "draw" | "choose"), target, *rest):
                names = _NONE if target[0] == "element" else _names(target)
                return (after - names) | self._read(rest) | self._read(target[3:])
            case "if", condition, then, otherwise:
                branches = self.block(then, after) | self.block(otherwise, after)
                return branches | self._read(condition)
            case "while", condition, body:
                return self._looped(body, after | self._read(condition))
            case "repeat", _, body:
                return self._looped(body, after)
            case _:
                return self._at_exit

    def _looped(self, body: Block, after: Names) -> Names:
        """The least set that holds before every turn; at most as many rounds as there are cells."""
        while True:
            before = after | self.block(body, after)
            if before == after:
                return before
            after = before

    def _assigned(self, statement: Tree) -> Names:
        match statement:
            case (("set" | "draw" | "choose"), target, *_):
                return _names(target) - self._kept
            case "if", _, then, otherwise:
                return _NONE.union(*(self._assigned(each) for each in (*then, *otherwise)))
            case (("while" | "repeat"), *_, body):
                return _NONE.union(*(self._assigned(each) for each in body))
            case _:
                return _NONE

    def _read(self, tree: Any) -> Names:
        """The cells in an expression, a condition, a weight, or several of them."""
        match tree:
            case (("cell" | "moving"), *_):
                return _names(tree) - self._kept
            case "element", _, _, index:
                return (_names(tree) - self._kept) | self._read(index)
            case tuple() | list():
                return _NONE.union(*(self._read(part) for part in tree))
            case _:
                return _NONE


def _names(cell: Tree) -> Names:
    """The cells that a target or an operand may be."""
    match cell:
        case "cell", name:
            return frozenset([name])
        case "moving", array, index:
            return frozenset([f"{array}[{index}]"])
        case _:
            _, array, size, _ = cell
            return frozenset(f"{array}[{k}]" for k in range(1, size + 1))


def forgetful(block: Any, read: Block, unused: Mapping[int, tuple[str, ...]]) -> list[Any]:
    """Return the JSON of a block with statements that forget what is not read any more.

    Args:
        block: The JSON.
        read: The same, read.
        unused: As `dying` says.
    """
    found: list[Any] = []
    for json, statement in zip(block, read, strict=True):
        found.append(_inside(json, statement, unused))
        names = unused[id(statement)]
        if names and statement[0] != "exit":
            found.append(["forget", list(names)])
    return found


def _inside(json: Any, statement: Tree, unused: Mapping[int, tuple[str, ...]]) -> Any:
    match statement, json:
        case ("if", _, then, otherwise), [word, condition, list() as yes, list() as no]:
            return [word, condition, forgetful(yes, then, unused), forgetful(no, otherwise, unused)]
        case (("while" | "repeat"), *_, body), [*before, list() as turn]:
            return [*before, forgetful(turn, body, unused)]
        case _:
            return json
