"""Files to core programs; the extension chooses the reader."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from dipapprox.deferred import Deferred
from dipapprox.errors import UserError
from dipapprox.language import ast, core
from dipapprox.language.domains import AS_DECLARED, AllReals, Widening
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse

if TYPE_CHECKING:
    from dipapprox.language import dip, finite_rounds
    from dipapprox.language.finite_rounds import FiniteRounds
else:
    finite_rounds = Deferred("dipapprox.language.finite_rounds")
    dip = Deferred("dipapprox.language.dip")

DPG, DIP, DIPA = "dpg", "dip", "dipa"
"""The languages of programs, two, and of automata, by the extensions of their files."""

LARGEST_FILE = 5 * 2**20  # bytes

BUNDLED = Path(__file__).parent.parent / "programs"
"""The programs that come with dipapprox."""


def load(
    path: Path,
    parameters: Mapping[str, Fraction],
    widening: Widening = AS_DECLARED,
    rounds: FiniteRounds | None = None,
) -> core.Program:
    """Read, check and elaborate a program file; its stem becomes the program's name.

    Args:
        path: Of the file.
        parameters: Values that replace the defaults of the program's parameters.
        widening: Wider domains of its inputs.
        rounds: How many rounds a program with streams has, and the values of its inputs.

    Raises:
        UserError: If the file cannot be read, a parameter does not exist, `widening` does not suit
            the inputs, or the program has no finite domains.
        SourceError: If the program is wrong.
    """
    program = read_program(path)
    if rounds is not None:
        program = finite_rounds.with_finite_rounds(program, rounds)
    return finite(elaborate(program, parameters, path.stem, widening))


def finite(program: core.Program) -> core.Program:
    """Return a program with finite domains; only `prove` can do with others.

    Raises:
        UserError: If it has rounds without end, or an input that may be any real number.
    """
    if program.rounds is not None:
        raise UserError(
            f"'{program.name}' goes on for ever: 'dipapprox prove' answers for all its rounds",
            "for some rounds and finitely many values: --rounds 3 --values -1..1",
        )
    for cell in program.inputs:
        if isinstance(cell.domain, AllReals):
            raise UserError(
                f"the input '{cell.name}' may be any real number: ask 'dipapprox prove'",
                f"for finitely many values, declare them: 'input {cell.variable} in -1..1'",
            )
    return program


def read_program(path: Path) -> ast.Program:
    """Read and parse a program file: `.dip` as the published tool's format, else `.dpg`."""
    if language_of(path) == DIPA:
        hint = f"dipapprox prove {path} asks about all inputs of every length"
        raise UserError(f"'{path}' is an automaton, no program", hint)
    text = read_text(path)
    if not text.strip():
        raise UserError(f"'{path}' is empty")
    return parse_program(text, language_of(path), str(path))


def language_of(path: Path) -> str:
    """Return the language that a file's extension stands for: "dip", "dipa", else "dpg"."""
    extension = path.suffix.lower().removeprefix(".")
    return extension if extension in (DIP, DIPA) else DPG


def parse_program(text: str, language: str, name: str) -> ast.Program:
    """Parse a program in one of the two languages; messages call it `name`."""
    return dip.parse_dip(text, name) if language == DIP else parse(text, name)


def read_text(path: Path, largest: int = LARGEST_FILE) -> str:
    """Read a text file of at most `largest` bytes.

    Raises:
        UserError: If it is missing, a directory, unreadable, too large or not UTF-8 text.
    """
    try:
        if path.is_dir():
            raise UserError(f"'{path}' is a directory", "give a program file")
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except FileNotFoundError:
        raise UserError(f"there is no file '{path}'") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(f"cannot read '{path}': {reason}") from None
    if len(data) > largest:
        raise UserError(f"'{path}' is larger than {largest // 2**20} MiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"'{path}' is not a text file: byte {error.start} is not UTF-8") from None
    if "\0" in text:
        raise UserError(f"'{path}' is not a text file: it contains a zero byte")
    return text.replace("\r\n", "\n").replace("\r", "\n")
