"""Which cells still matter after a branching statement: backward liveness on the core."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import assert_never

from dipapprox.language import core
from dipapprox.semantics.cells import compared, statements_in, used


@dataclass(frozen=True, slots=True)
class Liveness:
    """Cells that may be read before they are assigned again, by `id` of a statement.

    Output cells are left out: they always matter. An array read through a computed index is live
    as a whole. A statement object that occurs in several places gets the union.

    Attributes:
        after: For each `While`, and each `If` whose branches both go on: what is read after it.
        before: For each `While`, and each statement that may choose: what is read from it on.
        beyond: For each statement that may choose: what is read after it.
    """

    after: Mapping[int, frozenset[str]]
    before: Mapping[int, frozenset[str]]
    beyond: Mapping[int, frozenset[str]]


def live_cells(program: core.Program) -> Liveness:
    """Return the live cells of a program."""
    chooses = any(isinstance(each, core.Choose) for each in statements_in(program.body))
    walk = _Walk(frozenset(cell.name for cell in program.outputs), chooses)
    walk.block(program.body, set())
    return Liveness(walk.after, walk.before, walk.beyond)


class _Walk:
    def __init__(self, outputs: frozenset[str], chooses: bool) -> None:
        self.outputs = outputs
        self.chooses = chooses  # if not, copies of what is live are saved
        self.after: dict[int, frozenset[str]] = {}
        self.before: dict[int, frozenset[str]] = {}
        self.beyond: dict[int, frozenset[str]] = {}
        self.choices = 0  # met so far

    def block(self, block: core.Block, live: set[str]) -> bool:
        """Turn `live` from the cells live after a block into those live before it.

        Returns:
            Whether the end of the block can be reached.
        """
        goes_on = True
        for statement in reversed(block):
            after, choices = frozenset(live if self.chooses else ()), self.choices
            goes_on = self.statement(statement, live) and goes_on
            if self.choices > choices:
                _extend(self.before, statement, frozenset(live))
                _extend(self.beyond, statement, after)
        return goes_on

    def statement(self, statement: core.Statement, live: set[str]) -> bool:
        """Do the same for one statement."""
        match statement:
            case core.Assign(target=target) | core.Draw(target=target):
                _overwrite(live, target)
                self.read(live, used(statement))
            case core.Choose(target=target):
                self.choices += 1
                _overwrite(live, target)
                self.read(live, used(statement))
            case core.Exit():
                live.clear()
                return False
            case core.If():
                after = frozenset(live)
                otherwise = set(live)
                then_goes_on = self.block(statement.then, live)
                otherwise_goes_on = self.block(statement.otherwise, otherwise)
                live |= otherwise
                self.read(live, compared(statement.condition))
                if then_goes_on and otherwise_goes_on:
                    _extend(self.after, statement, after)
                return then_goes_on or otherwise_goes_on
            case core.While():
                self.loop(statement, live)
            case _:
                assert_never(statement)
        return True

    def loop(self, statement: core.While, live: set[str]) -> None:
        """The least fixed point: what is live at the test is live after each round."""
        _extend(self.after, statement, frozenset(live))
        self.read(live, compared(statement.condition))
        while True:
            before = set(live)
            self.block(statement.body, before)
            if before <= live:
                break
            live |= before
        _extend(self.before, statement, frozenset(live))

    def read(self, live: set[str], names: Iterable[str]) -> None:
        live.update(name for name in names if name not in self.outputs)


def _extend(known: dict[int, frozenset[str]], statement: object, cells: frozenset[str]) -> None:
    known[id(statement)] = known.get(id(statement), frozenset()) | cells


def _overwrite(live: set[str], target: core.Variable | core.Element) -> None:
    if isinstance(target, core.Variable):
        live.discard(target.name)
