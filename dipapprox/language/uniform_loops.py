"""Loops whose turns are equal but for indices.

In: a `for` loop of the surface program. Out: the input and output arrays whose elements it uses, if
its variable is nothing but an index of theirs: then turn k of the unrolled loop is its first turn
with the elements k in place of the first ones, but for fresh variables and the numbers of draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import assert_never

from dipapprox.language import ast
from dipapprox.language.symbols import DISTRIBUTIONS, Role, Symbol
from dipapprox.language.traversal import operands_of, statements_of


def uniform_arrays(loop: ast.For, symbols: Mapping[str, Symbol]) -> tuple[str, ...] | None:
    """Return the arrays that a loop goes through element by element; None if it is not uniform.

    Args:
        loop: Assigns, draws, branches and exits, and nothing else.
        symbols: What the names in it stand for.
    """
    indexed = set[str]()
    others = set[str]()
    for expression in _expressions(loop.body):
        waiting = [] if expression is None else [expression]
        if not waiting:
            return None
        while waiting:
            node = waiting.pop()
            match node:
                case ast.Index(name, ast.Name(variable)) if variable == loop.variable:
                    indexed.add(name)
                case ast.Name(name) | ast.Index(name) if name != loop.variable:
                    others.add(name)
                    waiting += operands_of(node)
                case ast.Call(name) if name in DISTRIBUTIONS:
                    waiting += operands_of(node)
                case ast.Name() | ast.Index() | ast.Call() | ast.Choose() | ast.Disc():
                    return None
                case _:
                    waiting += operands_of(node)
    if indexed & others or not all(_is_finite(symbols[name]) for name in indexed):
        return None
    return tuple(sorted(indexed))


def _is_finite(symbol: Symbol) -> bool:
    """Whether a name is an input, or an output with finitely many values."""
    return symbol.role in (Role.INPUT, Role.OUTPUT) and not symbol.is_real_output


def _expressions(block: ast.Block) -> Iterator[ast.Expression | None]:
    """Yield what the statements of a block are made of; None for statements of another kind."""
    for statement in statements_of(block):
        match statement:
            case ast.Assign(targets, value):
                yield from targets
                yield value
            case ast.If(branches):
                for branch in branches:
                    yield branch.condition
            case ast.Exit() | ast.Skip():
                pass
            case ast.For() | ast.While() | ast.Forever() | ast.Read() | ast.Publish():
                yield None
            case _:
                assert_never(statement)
