"""Which cells still matter after a branching statement: backward liveness on the core."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from dipapprox.language import core


@dataclass(frozen=True, slots=True)
class Liveness:
    """Cells that may be read before they are assigned again, by `id` of a statement.

    Output cells are left out: they always matter. An array read through a computed index is live
    as a whole. A statement object that occurs in several places gets the union.

    Attributes:
        after: For each `While`, and each `If` whose branches both go on: what is read after it.
        before: For each `While`: what is read from the test of its condition on.
    """

    after: Mapping[int, frozenset[str]]
    before: Mapping[int, frozenset[str]]


def live_cells(program: core.Program) -> Liveness:
    """Return the live cells of a program."""
    walk = _Walk(frozenset(cell.name for cell in program.outputs))
    walk.block(program.body, set())
    return Liveness(walk.after, walk.before)


class _Walk:
    def __init__(self, outputs: frozenset[str]) -> None:
        self.outputs = outputs
        self.after: dict[int, frozenset[str]] = {}
        self.before: dict[int, frozenset[str]] = {}

    def block(self, block: core.Block, live: set[str]) -> bool:
        """Turn `live` from the cells live after a block into those live before it.

        Returns:
            Whether the end of the block can be reached.
        """
        goes_on = True
        for statement in reversed(block):
            match statement:
                case core.Assign(target=target, value=value):
                    _overwrite(live, target)
                    self.read(live, _read(value))
                case core.Draw(target=target, mean=mean):
                    _overwrite(live, target)
                    self.read(live, _read(mean))
                case core.Choose(target=target, options=options):
                    _overwrite(live, target)
                    for value, weight in options:
                        self.read(live, _read(value))
                        self.read(live, _weighed(weight))
                case core.Exit():
                    live.clear()
                    goes_on = False
                case core.If():
                    after = frozenset(live)
                    otherwise = set(live)
                    then_goes_on = self.block(statement.then, live)
                    otherwise_goes_on = self.block(statement.otherwise, otherwise)
                    live |= otherwise
                    self.read(live, _compared(statement.condition))
                    if then_goes_on and otherwise_goes_on:
                        _extend(self.after, statement, after)
                    goes_on = goes_on and (then_goes_on or otherwise_goes_on)
                case core.While():
                    self.loop(statement, live)
                case _:
                    assert_never(statement)
        return goes_on

    def loop(self, statement: core.While, live: set[str]) -> None:
        """The least fixed point: what is live at the test is live after each round."""
        _extend(self.after, statement, frozenset(live))
        self.read(live, _compared(statement.condition))
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
    else:
        live.update(_read(target.index))


def _compared(condition: core.Condition) -> Iterator[str]:
    match condition:
        case core.Comparison(left=left, right=right):
            yield from _read(left)
            yield from _read(right)
        case core.All(parts=parts) | core.Any(parts=parts):
            for part in parts:
                yield from _compared(part)
        case _:
            assert_never(condition)


def _weighed(weight: core.Weight) -> Iterator[str]:
    match weight:
        case core.Epsilon():
            return
        case core.WeightSum(left, right) | core.WeightProduct(left, right):
            yield from _weighed(left)
            yield from _weighed(right)
        case core.Inverse(operand):
            yield from _weighed(operand)
        case core.Exponential(exponent):
            yield from _weighed(exponent)
        case (
            core.Constant() | core.Variable() | core.Element() | core.Sum() | core.Product()
        ) as expression:
            yield from _read(expression)
        case _:
            assert_never(weight)


def _read(expression: core.Expression) -> Iterator[str]:
    match expression:
        case core.Constant():
            return
        case core.Variable(name=name):
            yield name
        case core.Element(array=array, size=size, index=index):
            yield from (f"{array}[{i}]" for i in range(1, size + 1))
            yield from _read(index)
        case core.Sum(left=left, right=right) | core.Product(left=left, right=right):
            yield from _read(left)
            yield from _read(right)
        case _:
            assert_never(expression)
