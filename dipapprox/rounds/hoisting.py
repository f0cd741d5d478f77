"""Draws without inputs come before draws with inputs: then the sample that is compared is the last.

    r <- Lap(q, 4 / eps)             s <- Lap(0, 2 / eps)
    s <- Lap(0, 2 / eps)      →      r <- Lap(q, 4 / eps)
    if r >= s then …                 if r >= s then …

Draws are independent, so their order changes nothing. The theorems on cycles of automata speak of
comparisons of samples that have an input.
"""

from __future__ import annotations

from dipapprox.data_classes import replace
from dipapprox.language import core
from dipapprox.language.cells import read


def hoisted(block: core.Block) -> core.Block:
    """Return a block with draws without inputs before those with, where nothing is between."""
    found: list[core.Statement] = []
    for each in block:
        match each:
            case core.If(_, then, otherwise):
                found.append(replace(each, then=hoisted(then), otherwise=hoisted(otherwise)))
                continue
            case core.While(_, body):
                found.append(replace(each, body=hoisted(body)))
                continue
            case _:
                pass
        place = len(found)
        if isinstance(each, core.Draw) and not any(read(each.mean)):
            while place and _may_wait(found[place - 1], each):
                place -= 1
        found.insert(place, each)
    return tuple(found)


def _may_wait(statement: core.Statement, draw: core.Draw) -> bool:
    """Whether a statement, a draw with inputs, may as well follow a draw without."""
    target = draw.target
    if not isinstance(target, core.Variable) or target.name == core.PUBLISHED:
        return False
    match statement:
        case core.Draw(core.Variable(name), _, mean):
            names = set(read(mean))
            return bool(names) and target.name not in {name, *names} and name != core.PUBLISHED
        case _:
            return False
