"""Which cells statements read and assign, from their text alone.

An array with a computed index is read, or may be assigned, as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from dipapprox.language import core


def statements_in(block: Iterable[core.Statement]) -> Iterator[core.Statement]:
    """Yield statements and those inside them, in the order of the text."""
    waiting = list(block)[::-1]
    while waiting:
        each = waiting.pop()
        yield each
        match each:
            case core.If(then=then, otherwise=otherwise):
                waiting += [*otherwise[::-1], *then[::-1]]
            case core.While(body=body):
                waiting += body[::-1]
            case _:
                pass


def read(expression: core.Expression) -> Iterator[str]:
    """Yield the cells that an expression reads."""
    match expression:
        case core.Constant():
            return
        case core.Variable(name=name):
            yield name
        case core.Element(index=index):
            yield from cells_of(expression)
            yield from read(index)
        case core.Sum(left=left, right=right) | core.Product(left=left, right=right):
            yield from read(left)
            yield from read(right)
        case _:
            assert_never(expression)


def compared(condition: core.Condition) -> Iterator[str]:
    """Yield the cells that a condition reads."""
    match condition:
        case core.Comparison(left=left, right=right):
            yield from read(left)
            yield from read(right)
        case core.All(parts=parts) | core.Any(parts=parts):
            for part in parts:
                yield from compared(part)
        case _:
            assert_never(condition)


def weighed(weight: core.Weight) -> Iterator[str]:
    """Yield the cells that a weight reads."""
    match weight:
        case core.Epsilon():
            return
        case core.WeightSum(left, right) | core.WeightProduct(left, right):
            yield from weighed(left)
            yield from weighed(right)
        case core.Inverse(operand):
            yield from weighed(operand)
        case core.Exponential(exponent):
            yield from weighed(exponent)
        case (
            core.Constant() | core.Variable() | core.Element() | core.Sum() | core.Product()
        ) as expression:
            yield from read(expression)
        case _:
            assert_never(weight)


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
                yield from weighed(weight)
        case core.If(condition=condition) | core.While(condition=condition):
            yield from compared(condition)
            return
        case core.Exit():
            return
        case _:
            assert_never(statement)
    if isinstance(target, core.Element):
        yield from read(target.index)


def assigned(block: Iterable[core.Statement]) -> Iterator[str]:
    """Yield the cells that statements, or those inside them, may assign."""
    for each in statements_in(block):
        match each:
            case core.Assign(target=target) | core.Draw(target=target) | core.Choose(target=target):
                yield from cells_of(target)
            case core.If() | core.While() | core.Exit():
                pass
            case _:
                assert_never(each)


def tainted(block: core.Block) -> frozenset[str]:
    """Return the cells that may hold forms over samples somewhere in a block."""
    readers: dict[str, list[core.Variable | core.Element]] = {}
    found = set[str]()
    for each in statements_in(block):
        if isinstance(each, core.Draw):
            found.update(cells_of(each.target))
        elif isinstance(each, core.Assign):
            for name in read(each.value):
                readers.setdefault(name, []).append(each.target)
    waiting = list(found)
    while waiting:
        for target in readers.get(waiting.pop(), ()):
            new = set(cells_of(target)) - found
            found |= new
            waiting += new
    return frozenset(found)
