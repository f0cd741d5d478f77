"""Additive state cells, `int`: they may only be added to, reset, and used in means.

What a cell holds is followed through assignments; wherever it decides something, that is an error.
So two runs of a service differ in such a cell by a number that does not depend on what it holds.
"""

from __future__ import annotations

from collections.abc import Iterator

from dipapprox.errors import Diagnosis
from dipapprox.language import ast
from dipapprox.language.symbols import CLAMP, DISTRIBUTIONS
from dipapprox.language.traversal import declared_in, operands_of, reachable, statements_of
from dipapprox.source import Span

_HINT = "additive cells are only added to, reset, and used in the means of published samples; "
_FINITE = _HINT + "give it a finite domain, e.g. '0..100'"


def check_additive_cells(program: ast.Program, handler: ast.Handler) -> None:
    """Check that additive cells decide nothing in a handler."""
    states = list(declared_in(program, ast.State))
    cells = {v.name for v, d in states if isinstance(d.domain[0], ast.Integers | ast.Reals)}
    if not cells:
        return
    diagnosis = Diagnosis()
    finite = {variable.name for variable, _ in states} - cells
    outputs = {variable.name for variable, _ in declared_in(program, ast.Output)}
    statements = list(statements_of(handler.body))
    assigned = [each for each in statements if isinstance(each, ast.Assign)]
    held = _reached(cells, assigned, through_draws=False)
    sampled = _reached(cells, assigned, through_draws=True)
    for statement in statements:
        for node in _deciding(statement):
            _refuse(node, held, sampled, diagnosis)
        if isinstance(statement, ast.Assign):
            for node in _computed(statement.value):
                _refuse(node, held, sampled, diagnosis)
            for target in statement.targets:
                if target.name in finite and _mentions(statement.value, sampled):
                    message = f"the finite cell '{target.name}' gets what an additive cell holds"
                    _report(message, statement.value.span, diagnosis)
                elif target.name in outputs and _mentions(statement.value, held):
                    message = "an additive cell is published without noise"
                    _report(message, statement.value.span, diagnosis)
    diagnosis.finish()


def _reached(cells: set[str], assigned: list[ast.Assign], through_draws: bool) -> set[str]:
    """Return the names that get what the cells hold; or samples around it, too."""

    def targets(name: str) -> Iterator[str]:
        for statement in assigned:
            if _mentions(statement.value, {name}, through_draws):
                yield from (target.name for target in statement.targets)

    return reachable(cells, targets)


def _mentions(node: ast.Expression, names: set[str], through_draws: bool = False) -> bool:
    match node:
        case ast.Name(name):
            return name in names
        case ast.Index(name):
            return name in names
        case ast.Call(name) if name in DISTRIBUTIONS and not through_draws:
            return False
        case _:
            return any(_mentions(operand, names, through_draws) for operand in operands_of(node))


def _deciding(statement: ast.Statement) -> Iterator[ast.Expression]:
    """Yield the expressions whose values decide what is done."""
    if isinstance(statement, ast.Assign):
        yield from (each.index for each in statement.targets if isinstance(each, ast.Index))
    else:
        yield from operands_of(statement)


def _computed(node: ast.Expression) -> Iterator[ast.Expression]:
    """Yield the parts of a value in which a cell would decide something."""
    match node:
        case ast.Index(_, index):
            yield index
        case ast.Comparison() | ast.Choose() | ast.Disc() | ast.And() | ast.Or() | ast.Not():
            yield node
        case ast.Call(name) if name not in DISTRIBUTIONS and name != CLAMP:
            yield node
        case _:
            for operand in operands_of(node):
                yield from _computed(operand)


def _refuse(node: ast.Expression, held: set[str], sampled: set[str], diagnosis: Diagnosis) -> None:
    if _mentions(node, held, through_draws=True):
        _report("an additive cell decides what is done", node.span, diagnosis)
    elif _mentions(node, sampled, through_draws=True):
        message = "a sample around an additive cell decides what is done: it can only be published"
        _report(message, node.span, diagnosis)


def _report(message: str, span: Span | None, diagnosis: Diagnosis) -> None:
    diagnosis.report("type error", message, span, _FINITE)
