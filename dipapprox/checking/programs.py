"""Programs as certificates have them: read again, with their parameters and domains."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dipapprox.certificates.statement import RecordedProgram
from dipapprox.checking.partial_result import PartialResult
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.language.domains import Widening
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import parse_program


def read_program(
    source: RecordedProgram,
    params: Mapping[str, Fraction],
    widening: Widening,
    partial: PartialResult,
    where: str = "",
    *,
    irrational: bool = False,
) -> Program | None:
    """Read a program; note what is false and return None if that is not possible.

    Args:
        source: Its text.
        params: All of its parameters.
        widening: Wider domains than it declares.
        partial: Where differences are noted.
        where: The place of these fields in the file, a dot at its end.
        irrational: Whether scales may be irrational.
    """
    try:
        parsed = parse_program(source.text, source.language, source.name)
        program = elaborate(parsed, params, source.name, widening, irrational=irrational)
    except UserError as error:
        partial.differ(f"{where}program.text", f"it is not a program: {error.message}")
        return None
    if dict(program.parameters) != dict(params):
        partial.differ(f"{where}params", "they are not those of the program")
        return None
    if program.declared.keys() != widening.named.keys():
        partial.differ(f"{where}widened", "no wider domain than the program declares")
        return None
    return program
