"""Which cells still matter after a branching statement: backward liveness on the core."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import assert_never

from dipapprox.language import core


def live_cells(program: core.Program) -> Mapping[int, frozenset[str]]:
    """Return, by `id` of each `If` whose branches both go on, the cells read after it.

    Output cells are left out: they always matter. An array read through a computed index is live
    as a whole. A statement object that occurs in several places gets the union.
    """
    result: dict[int, frozenset[str]] = {}
    _walk(program.body, set(), frozenset(cell.name for cell in program.outputs), result)
    return result


def _walk(
    block: core.Block, live: set[str], outputs: frozenset[str], result: dict[int, frozenset[str]]
) -> bool:
    """Turn `live` from the cells live after a block into those live before it.

    Returns:
        Whether the end of the block can be reached.
    """
    goes_on = True
    for statement in reversed(block):
        match statement:
            case core.Assign(target=target, value=value):
                _overwrite(live, target)
                live |= set(_read(value)) - outputs
            case core.Draw(target=target, mean=mean):
                _overwrite(live, target)
                live |= set(_read(mean)) - outputs
            case core.Exit():
                live.clear()
                goes_on = False
            case core.If():
                after = frozenset(live)
                otherwise = set(live)
                then_goes_on = _walk(statement.then, live, outputs, result)
                otherwise_goes_on = _walk(statement.otherwise, otherwise, outputs, result)
                live |= otherwise | (set(_compared(statement.condition)) - outputs)
                if then_goes_on and otherwise_goes_on:
                    result[id(statement)] = result.get(id(statement), frozenset()) | after
                goes_on = goes_on and (then_goes_on or otherwise_goes_on)
            case _:
                assert_never(statement)
    return goes_on


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
