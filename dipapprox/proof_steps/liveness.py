"""Which cells nobody reads any more, so that the kernel can integrate out what they hold.

Machines say it themselves, in statements `forget`. Nothing rests on it: a cell that is forgotten
and read after all is a cell that holds nothing, and ends the replay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dipapprox.kernel.machine import Block, Machine, read_machine
from dipapprox.language.core import Program
from dipapprox.proof_steps.machines import Json, program_json, read_by

Names = frozenset[str]
_NONE: Names = frozenset()


def machine_json(program: Program) -> dict[str, Json]:
    """Return a program as a machine that forgets what nobody reads any more."""
    machine: dict[str, Any] = program_json(program)
    read = read_by(read_machine, machine)
    return {**machine, "body": _Analysis(_seen(read)).block(machine["body"], _NONE)[1]}


def live_at_head(turn: Block, published: Sequence[str]) -> Names:
    """Return the cells that are read before they are assigned in a round, which forgets nothing, or
    later ones."""
    seen = frozenset(published)
    analysis, live = _Analysis(_NONE, seen), _NONE
    while True:
        before, _ = analysis.block(turn, live | seen)
        if before <= live:
            return live
        live |= before


def live_before(machine: Machine) -> list[Names]:
    """Return for each statement of the body which cells it or later ones read before assigning.

    Cells of inputs and outputs are none of them.
    """
    analysis, found = _Analysis(_seen(machine)), [_NONE]
    for statement in reversed(machine.body):
        found.append(analysis.block((statement,), found[-1])[0])
    return found[:0:-1]


def _seen(machine: Machine) -> Names:
    """The cells of inputs and outputs, which are not forgotten."""
    names = {name for name, _ in (*machine.inputs, *machine.outputs)}
    return frozenset(names.union(machine.reals))


class _Analysis:
    """Goes back through blocks, as JSON or read; cells that are kept are not looked at."""

    def __init__(self, kept: Names, at_exit: Names = _NONE) -> None:
        self._kept = kept
        self._at_exit = at_exit

    def block(self, block: Sequence[Any], after: Names) -> tuple[Names, list[Any]]:
        """Return the cells that are live before a block, and the block, as it forgets others."""
        found: list[Any] = []
        for statement in reversed(block):
            before, inside = self._statement(statement, after)
            unused = (before | self._assigned(statement)) - after
            if unused and statement[0] != "exit":
                found.append(["forget", sorted(unused)])
            found.append(inside)
            after = before
        return after, found[::-1]

    def _statement(self, statement: Any, after: Names) -> tuple[Names, Any]:
        match statement:
            case ["set" | "draw" | "choose", target, *rest]:
                names = _NONE if target[0] == "element" else _names(target)
                return (after - names) | self._read(rest) | self._read(target[3:]), statement
            case ["if", condition, then, otherwise]:
                (one, yes), (other, no) = (self.block(each, after) for each in (then, otherwise))
                return one | other | self._read(condition), ["if", condition, yes, no]
            case [("while" | "repeat") as word, condition, body]:
                # The least set that holds before every turn; at most as many as there are cells.
                after |= self._read(condition)
                before, turn = self.block(body, after)
                while not before <= after:
                    after |= before
                    before, turn = self.block(body, after)
                return after, [word, condition, turn]
            case ["forget", names]:
                return after.difference(names), statement
            case _:
                return self._at_exit, statement

    def _assigned(self, statement: Any) -> Names:
        match statement:
            case ["set" | "draw" | "choose", target, *_]:
                return _names(target) - self._kept
            case ["if" | "while" | "repeat", _, *blocks]:
                return _NONE.union(*(self._assigned(each) for own in blocks for each in own))
            case _:
                return _NONE

    def _read(self, tree: Any) -> Names:
        """The cells in an expression, a condition, a weight, or several of them."""
        match tree:
            case ["cell" | "moving", *_]:
                return _names(tree) - self._kept
            case ["element", _, _, index]:
                return (_names(tree) - self._kept) | self._read(index)
            case [*parts]:
                return _NONE.union(*map(self._read, parts))
            case _:
                return _NONE


def _names(cell: Any) -> Names:
    """The cells that a target or an operand may be."""
    match cell:
        case ["cell", name]:
            return frozenset([name])
        case ["moving", array, index]:
            return frozenset([f"{array}[{index}]"])
        case _:
            _, array, size, _ = cell
            return frozenset(f"{array}[{k}]" for k in range(1, size + 1))
