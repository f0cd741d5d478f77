"""Programs whose real outputs are put into cells: what they tell then is less, and finite.

    y <= c_1, c_1 < y <= c_2, …, c_k < y      become      0, 1, …, k

This is done at the end of every path, so it is post-processing of what the program publishes: no
set of cells tells two inputs apart better than the numbers do.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.data_classes import replace
from dipapprox.errors import UserError
from dipapprox.language import core
from dipapprox.language.equal_turns import written_out


def with_number_cells(program: core.Program, cuts: Sequence[Sequence[Fraction]]) -> core.Program:
    """Return the program that publishes, for every real output, the number of its cell.

    Args:
        program: With real outputs.
        cuts: For each of them the c_1 < c_2 < …; none for one cell.

    Raises:
        UserError: If there are cuts for another number of outputs, or they do not ascend.
    """
    if len(cuts) != len(program.real_outputs):
        raise UserError("cuts for another number of real outputs")
    if any(list(own) != sorted(set(own)) for own in cuts):
        raise UserError("cuts that do not ascend")
    cells = []
    last: list[core.Statement] = []
    for cell, own in zip(program.real_outputs, cuts, strict=True):
        # No name in a program has a blank.
        name, variable = f"{cell.name} cell", f"{cell.variable} cell"
        domain = tuple(Fraction(k) for k in range(len(own) + 1))
        cells.append(core.Cell(name, variable, cell.index, domain))
        last.append(_placed(core.Variable(cell.name), core.Variable(name), own))
    return replace(
        program,
        outputs=(*program.outputs, *cells),
        real_outputs=(),
        body=(*_before_exits(written_out(program.body), tuple(last)), *last),
    )


def _placed(number: core.Variable, cell: core.Variable, cuts: Sequence[Fraction]) -> core.Statement:
    placed: core.Statement = core.Assign(cell, core.Constant(Fraction(len(cuts))))
    for place, cut in reversed(list(enumerate(cuts))):
        within = core.Comparison(number, core.Relation.LESS_EQUAL, core.Constant(cut))
        here = core.Assign(cell, core.Constant(Fraction(place)))
        placed = core.If(within, (here,), (placed,))
    return placed


def _before_exits(block: core.Block, last: core.Block) -> core.Block:
    """Put statements before every exit in a block."""
    found: list[core.Statement] = []
    for statement in block:
        match statement:
            case core.If():
                statement = replace(
                    statement,
                    then=_before_exits(statement.then, last),
                    otherwise=_before_exits(statement.otherwise, last),
                )
            case core.While():
                statement = replace(statement, body=_before_exits(statement.body, last))
            case core.Exit():
                found += last
            case _:
                pass
        found.append(statement)
    return tuple(found)
