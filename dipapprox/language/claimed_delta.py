"""`delta` in programs: a parameter that need not be declared, as scales are made for a claim."""

from __future__ import annotations

from dipapprox.data_classes import replace
from dipapprox.language import ast
from dipapprox.language.rewriting import nodes_in
from dipapprox.language.symbols import DELTA, names_given


def with_delta(program: ast.Program) -> ast.Program:
    """Declare `delta` as a parameter if it is mentioned and nothing else."""
    found = _mention(program)
    if found is None or DELTA in names_given(program):
        return program
    declared = ast.Parameter(DELTA, None, span=found.span)
    return replace(program, declarations=(declared, *program.declarations))


def needs_delta(program: ast.Program) -> bool:
    """Whether a program needs a value for `delta`: it is undeclared, or has no default."""
    declared = (d for d in with_delta(program).declarations if isinstance(d, ast.Parameter))
    return any(d.name == DELTA and d.default is None for d in declared)


def _mention(program: ast.Program) -> ast.Name | None:
    names = (node for node in nodes_in(program) if isinstance(node, ast.Name))
    return next((name for name in names if name.name == DELTA), None)
