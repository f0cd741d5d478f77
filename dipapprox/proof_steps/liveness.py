"""Which cells nobody reads any more, so that the kernel can integrate out what they hold.

Machines say it themselves, in statements `forget`. Nothing rests on it: a cell that is forgotten
and read after all is a cell that holds nothing, and ends the replay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dipapprox.kernel import machine as core
from dipapprox.kernel.machine import Block, Cell, Element, Machine, Statement

Names = frozenset[str]

_NONE: Names = frozenset()


def dying(machine: Machine) -> dict[int, tuple[str, ...]]:
    """Return by the identity of statements which cells nobody reads after them.

    Cells of inputs and outputs are none of them.
    """
    kept = {name for name, _ in (*machine.inputs, *machine.outputs)} | set(machine.reals)
    analysis = _Analysis(frozenset(kept))
    analysis.block(machine.body, _NONE)
    return analysis.dying


class _Analysis:
    def __init__(self, kept: Names) -> None:
        self._kept = kept
        self.dying: dict[int, tuple[str, ...]] = {}

    def block(self, block: Block, after: Names) -> Names:
        """Return the cells that are read before they are assigned from here on."""
        for statement in reversed(block):
            before = self._before(statement, after)
            mentioned = before | self._assigned(statement)
            self.dying[id(statement)] = tuple(sorted(mentioned - after))
            after = before
        return after

    def _before(self, statement: Statement, after: Names) -> Names:
        match statement:
            case core.Set(target, value):
                return self._without(after, target) | self._read(value) | self._index(target)
            case core.Draw(target, _, mean):
                return self._without(after, target) | self._read(mean) | self._index(target)
            case core.Choose(target, options):
                read = [self._read(part) for option in options for part in option]
                return self._without(after, target).union(self._index(target), *read)
            case core.If(condition, then, otherwise):
                branches = self.block(then, after) | self.block(otherwise, after)
                return branches | self._read(condition)
            case core.While(condition, body):
                return self._looped(body, after | self._read(condition))
            case core.Repeat(_, body):
                return self._looped(body, after)
            case core.Exit() | core.Forget():
                return _NONE

    def _looped(self, body: Block, after: Names) -> Names:
        """The least set that holds before every turn; at most as many rounds as there are cells."""
        while True:
            before = after | self.block(body, after)
            if before == after:
                return before
            after = before

    def _without(self, names: Names, target: Cell | Element) -> Names:
        return names - {target.name} if isinstance(target, Cell) else names

    def _index(self, target: Cell | Element) -> Names:
        return self._read(target.index) if isinstance(target, Element) else _NONE

    def _assigned(self, statement: Statement) -> Names:
        match statement:
            case core.Set(target) | core.Draw(target) | core.Choose(target):
                return frozenset(self._cells(target)) - self._kept
            case core.If(_, then, otherwise):
                return _NONE.union(*(self._assigned(each) for each in (*then, *otherwise)))
            case core.While(_, body) | core.Repeat(_, body):
                return _NONE.union(*(self._assigned(each) for each in body))
            case core.Exit() | core.Forget():
                return _NONE

    def _cells(self, cell: Cell | Element) -> Iterator[str]:
        if isinstance(cell, Cell):
            yield cell.name
        else:
            yield from (f"{cell.array}[{k}]" for k in range(1, cell.size + 1))

    def _read(self, tree: Any) -> Names:
        """The cells in an expression, a condition or a weight."""
        match tree:
            case Cell():
                return frozenset(self._cells(tree)) - self._kept
            case Element(_, _, index):
                return (frozenset(self._cells(tree)) - self._kept) | self._read(index)
            case core.Operation(_, left, right) | core.Comparison(_, left, right):
                return self._read(left) | self._read(right)
            case core.Function(_, operand):
                return self._read(operand)
            case core.Connective(_, parts):
                return _NONE.union(*(self._read(part) for part in parts))
            case _:
                return _NONE


def forgetful(block: list[Any], read: Block, unused: Mapping[int, tuple[str, ...]]) -> list[Any]:
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
        if names and not isinstance(statement, core.Exit):
            found.append(["forget", list(names)])
    return found


def _inside(json: Any, statement: Statement, unused: Mapping[int, tuple[str, ...]]) -> Any:
    match statement, json:
        case core.If(_, then, otherwise), [word, condition, list() as yes, list() as no]:
            return [word, condition, forgetful(yes, then, unused), forgetful(no, otherwise, unused)]
        case ((core.While(_, body) | core.Repeat(_, body)), [*before, list() as turn]):
            return [*before, forgetful(turn, body, unused)]
        case _:
            return json
