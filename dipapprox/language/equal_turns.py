"""Loops whose turns are equal but for indices: found in texts, and written out in core programs.

The variable of such a loop is nothing but an index of input and output arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dipapprox.data_classes import replace
from dipapprox.language import ast, core
from dipapprox.language.symbols import DISTRIBUTIONS, LOGARITHM, ROOT, Role, Symbol
from dipapprox.language.traversal import operands_of, rewrite, statements_of
from dipapprox.source import Located


def arrays_of_equal_turns(loop: ast.For, symbols: Mapping[str, Symbol]) -> tuple[str, ...] | None:
    """Return the arrays that a loop goes through element by element.

    None if its turns are not equal but for these elements.

    Args:
        loop: Assigns, draws, branches and exits, and nothing else.
    """
    statements = list(statements_of(loop.body))
    if not all(isinstance(s, ast.Assign | ast.If | ast.Exit | ast.Skip) for s in statements):
        return None
    indexed, others = set[str](), set[str]()
    waiting = [part for statement in statements for part in operands_of(statement)]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Index(name, ast.Name(variable)) if variable == loop.variable:
                indexed.add(name)
            case ast.Name(name) | ast.Index(name) if name != loop.variable:
                others.add(name)
                waiting += operands_of(node)
            case ast.Call(name) if name in (*DISTRIBUTIONS, ROOT, LOGARITHM):
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


# --- core programs --------------------------------------------------------------------------------

Names = Mapping[str, str]  # cells of a turn, by those of the first one


def written_out(body: core.Body) -> core.Block:
    """Return the body of a program with every turn of its loops in their place."""
    return tuple(_turns(body))


def _turns(body: core.Body) -> Iterator[core.Statement]:
    for each in body:
        if not isinstance(each, core.Repeat):
            yield each
            continue
        for turn in range(each.turns):
            yield from turn_of(each, turn)


def turn_of(loop: core.Repeat, turn: int) -> core.Block:
    """Return the statements of a turn, with its own elements and draws."""
    if not turn:
        return loop.body
    first, now = loop.first, loop.first + turn
    names = {f"{array}[{first}]": f"{array}[{now}]" for array in loop.arrays}
    return _renamed(loop.body, names, turn * loop.sites)


def _renamed(block: core.Block, names: Names, sites: int) -> core.Block:
    """Rename cells; an element with a computed index is of no array of the loop."""

    def change(node: Located) -> Located | None:
        match node:
            case core.Variable(name):
                return replace(node, name=names[name]) if name in names else node
            case core.Draw(target, _, mean, _, site):
                target, mean = rewrite((target, mean), change)
                return replace(node, target=target, mean=mean, site=site + sites)
            case core.Choose() | core.While():
                raise AssertionError("equal turns assign, draw, branch and exit only")
            case _:
                return None

    return rewrite(block, change)
