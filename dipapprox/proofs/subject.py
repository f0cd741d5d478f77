"""What `prove` answers about: automata, programs for all real inputs, services."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from dipapprox.automata.model import Automaton, load_automaton
from dipapprox.data_classes import replace
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.language.domains import AllReals, has_names
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DIPA, PYTHON, language_of, read_source
from dipapprox.language.services import Service, elaborate_service, is_service

Subject = Program | Automaton | Service


def load_subject(
    path: Path, parameters: Mapping[str, Fraction], for_all: str | None = None
) -> Subject:
    """Read an automaton, or a program, of which a parameter may be any number, or a service."""
    if for_all is not None and language_of(path) == PYTHON:
        raise UserError(
            "a Python function is executed for one number of rounds, so none may be any number",
            f"a loop of a .dpg program is one over rounds: 'for i in 1..{for_all} do'",
        )
    if language_of(path) != DIPA:
        source = read_source(path, parameters)
        program, rest = source.program, source.parameters
        if is_service(program):
            if for_all is not None:
                raise UserError("a service answers any number of calls: it has no rounds")
            return elaborate_service(program, rest, source.name)
        return elaborate(program, rest, source.name, for_all=for_all)
    for name in [*parameters, *([] if for_all is None else [for_all])]:
        raise UserError(f"an automaton has no parameter '{name}'")
    return load_automaton(path)


def with_real_inputs(program: Program) -> Program:
    """Return a program whose inputs with numbers may be any real numbers.

    Bounds that are declared stay.
    """
    cells = tuple(
        cell
        if isinstance(cell.domain, AllReals) or has_names(cell.domain)
        else replace(cell, domain=AllReals())
        for cell in program.inputs
    )
    return replace(program, inputs=cells, declared={})


def require_real_inputs(program: Program) -> None:
    """Check that all inputs of a program may be any real number."""
    for cell in program.inputs:
        if not isinstance(cell.domain, AllReals):
            if has_names(cell.domain):
                raise UserError(
                    f"the input '{cell.name}' has named values: prove answers for real inputs",
                    "'decide' answers for the domains that are declared",
                )
            raise UserError(
                f"the input '{cell.name}' has finitely many values: prove answers for real inputs",
                f"--reals asks about any real numbers instead, as does 'input {cell.variable} in "
                "real'; 'decide' answers for the domains that are declared",
            )
