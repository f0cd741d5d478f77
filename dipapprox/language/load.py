"""Files to core programs; the extension chooses the reader.

`module.py:name` is a mechanism in a Python file, which is never run; `-` is standard input.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Collection, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path

from dipapprox.bundled import BUNDLED, bundled_programs, shown_name
from dipapprox.data_classes import Record
from dipapprox.errors import UserError, did_you_mean
from dipapprox.language import ast, core, dip, mechanism
from dipapprox.language.domains import (
    AS_DECLARED,
    AllIntegers,
    AllReals,
    FiniteRounds,
    Widening,
    parse_rational,
)
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from dipapprox.language.symbols import DELTA, needs_delta

DPG, DIP, DIPA = "dpg", "dip", "dipa"
"""The languages of programs, two, and of automata, by the extensions of their files."""

PYTHON = "py"  # the extension of Python files; what they say is a program of the language DPG
LARGEST_FILE = 5 * 2**20  # bytes
STANDARD_INPUT = Path("-")  # what is read once, and is a program of the language DPG


class Source(Record):
    """A program as it is written."""

    name: str  # what its results call it
    language: str  # of the text
    text: str  # the file; of a mechanism in Python the program that it is
    program: ast.Program  # the same, parsed
    parameters: Mapping[str, Fraction]  # values that are still to be bound


class OpenProgram(Record, eq=False):
    """A program in which `delta` is that of the claim: a `Program` once a question says which."""

    source: Source
    widening: Widening
    rounds: FiniteRounds | None = None  # of a program with streams

    @property
    def name(self) -> str:
        """What answers call it."""
        return self.source.name

    def program(self) -> core.Program:
        """Raise `SourceError`, with the place that needs a `delta`: a question has none."""
        return _elaborated(self.source, self.widening, self.rounds, None)

    def program_for(self, delta: Fraction) -> core.Program:
        """Return the program where `delta` is that of a claim, if it has no other value.

        Raises:
            UserError: If the widening does not suit its inputs.
        """
        return _elaborated(self.source, self.widening, self.rounds, delta)


def _elaborated(
    source: Source, widening: Widening, rounds: FiniteRounds | None, delta: Fraction | None
) -> core.Program:
    read, given = source.program, source.parameters
    if delta is not None and DELTA not in given and needs_delta(read):
        given = {**given, DELTA: delta}
    return elaborate(read, given, source.name, widening, irrational=True, finite=rounds)


def load(
    path: Path,
    parameters: Mapping[str, Fraction],
    widening: Widening = AS_DECLARED,
    rounds: FiniteRounds | None = None,
    *,
    reals: bool = False,
    delta: Fraction | None = None,
) -> core.Program:
    """Read, check and elaborate a program file; its stem becomes the program's name.

    Args:
        parameters: Values that replace the defaults of the program's parameters.
        rounds: How many rounds a program with streams has, and the values of its inputs.
        reals: Whether inputs may be any real numbers.
        delta: Of the claim; see `OpenProgram`.

    Raises:
        UserError: If the file cannot be read, a parameter does not exist, `widening` does not suit
            the inputs, or the program has no finite domains.
    """
    source = read_source(path, parameters)
    return program_from(source, widening, rounds, reals=reals, delta=delta)


def program_from(
    source: Source,
    widening: Widening = AS_DECLARED,
    rounds: FiniteRounds | None = None,
    *,
    reals: bool = False,
    delta: Fraction | None = None,
) -> core.Program:
    """Check and elaborate a program that was read; see `load`."""
    return finite(_elaborated(source, widening, rounds, delta), reals=reals)


def finite(program: core.Program, *, reals: bool = False) -> core.Program:
    """Return a program with finite domains, or with real inputs if these will do.

    Raises:
        UserError: If it has rounds without end, or an input that may be any real number.
    """
    if program.rounds is not None:
        message = f"'{program.name}' goes on for ever: 'dipapprox prove' answers for all its rounds"
        hint = "for some rounds and finitely many values: --rounds 3 --values -1..1"
        raise UserError(message, hint)
    for cell in program.inputs:
        taken = reals and not isinstance(cell.domain, AllIntegers)
        if isinstance(cell.domain, AllReals) and not taken:
            raise UserError(
                f"the input '{cell.name}' may be any real number: ask 'dipapprox prove', 'verify', "
                "'profile' or 'calibrate'",
                f"for finitely many values, declare them: 'input {cell.variable} in -1..1'",
            )
    return program


def read_source(path: Path, parameters: Mapping[str, Fraction]) -> Source:
    """Read and parse a program file: `.dip` as the published tool's format, else `.dpg`.

    Args:
        path: Of the file; of a mechanism in Python `module.py:name`, or `module.py` if it has one.
        parameters: Values for the parameters: Python needs them now.
    """
    language = language_of(path)
    if language == DIPA:
        hint = "dipapprox prove asks about all inputs of every length"
        raise UserError(f"'{shown_name(path)}' is an automaton, no program", hint)
    if language == PYTHON:
        file, name = parts_of_python(path)
        executed = mechanism.read_mechanism(file, read_text(file), name).execute(parameters)
        return Source(executed.name, DPG, executed.text, executed.program, {})
    text = read_text(path)
    name = "standard input" if path == STANDARD_INPUT else shown_name(path)
    if not text.strip():
        raise UserError(f"'{name}' is empty")
    if re.match(r'\s*(\{\s*"|\[)', text):
        hint = "dipapprox check FILE asks whether a certificate is true"
        raise UserError(f"'{name}' is JSON, no program", hint)
    if path == STANDARD_INPUT:
        return Source("program", DPG, text, parse(text, name), parameters)
    return Source(path.stem, language, text, parse_program(text, language, name), parameters)


def file_or_bundled(path: Path) -> Path:
    """Return a path, or the program of that name that comes along if there is no such file.

    Where a file of that name lacks the extension only, nothing is taken in its place.
    """
    if path.suffix or path == STANDARD_INPUT or path.exists() or with_extension(path):
        return path
    return next(
        (file for kind in (DPG, DIPA) if (file := BUNDLED / f"{path}.{kind}").exists()), path
    )


def with_extension(path: Path) -> str:
    """Return the name of a file that is there, with an extension that a path lacks; or ""."""
    names = (f"{path}.{kind}" for kind in (DPG, DIP, DIPA, PYTHON) if path.name)
    return next((name for name in names if Path(name).is_file()), "")


def parts_of_python(path: Path) -> tuple[Path, str]:
    """Return the file and the name in `module.py:name`; no name for the file alone."""
    file, _, name = str(path).partition(".py:")
    return (Path(f"{file}.py"), name) if name else (Path(str(path).removesuffix(":")), "")


def source_text(path: Path, parameters: Mapping[str, Fraction]) -> str:
    """Return the text of a program or an automaton; the parameters are those of `read_source`."""
    return read_text(path) if language_of(path) == DIPA else read_source(path, parameters).text


def language_of(path: Path) -> str:
    """Return the language that a file's extension stands for: "dip", "dipa", "py", else "dpg"."""
    extension = path.suffix.lower().removeprefix(".").partition(":")[0]
    return extension if extension in (DIP, DIPA, PYTHON) else DPG


def parse_program(text: str, language: str, name: str) -> ast.Program:
    """Parse a program in one of the two languages; messages call it `name`."""
    return dip.parse_dip(text, name) if language == DIP else parse(text, name)


def read_text(path: Path, largest: int = LARGEST_FILE) -> str:
    """Read a text file of at most `largest` bytes.

    Raises:
        UserError: If it is missing, a directory, unreadable, too large or not UTF-8 text.
    """
    try:
        if path == STANDARD_INPUT:
            return _decoded(_standard_input(), path, largest)
        if path.is_dir():
            raise UserError(f"'{path}' is a directory", "give a program file")
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except FileNotFoundError:
        beside = with_extension(path)
        names = bundled_programs() if path.parent == Path() else ()
        hint = "" if str(path) in names else did_you_mean(path.stem, names)
        said = f"{hint} dipapprox examples lists what there is" if hint else ""
        said = f"did you mean '{beside}'?" if beside else said
        raise UserError(f"there is no file '{path}'", said) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(f"cannot read '{path}': {reason}") from None
    return _decoded(data, path, largest)


@cache
def _standard_input() -> bytes:
    return sys.stdin.buffer.read(LARGEST_FILE + 1)


def _decoded(data: bytes, path: Path, largest: int) -> str:
    if len(data) > largest:
        raise UserError(f"'{path}' is larger than {largest // 2**20} MiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"'{path}' is not a text file: byte {error.start} is not UTF-8") from None
    if "\0" in text:
        raise UserError(f"'{path}' is not a text file: it contains a zero byte")
    return text.replace("\r\n", "\n")


# --- TOML ----------------------------------------------------------------------------------------

_LARGEST = 2**20


def read_toml(path: Path) -> dict[str, object]:
    """Read a TOML file with exact numbers: 0.1 is 1/10."""
    text = read_text(path, _LARGEST)
    try:
        what = f"{path}: a value"
        return tomllib.loads(
            text, parse_float=lambda word: parse_rational(word.replace("_", ""), what)
        )
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: not TOML: {error}") from None
    except RecursionError:
        raise UserError(f"{path}: not TOML: nested too deeply") from None


def check_known(table: Mapping[str, object], allowed: Collection[str], where: str) -> None:
    """Refuse keys that mean nothing."""
    for key in table:
        if key not in allowed:
            hint = did_you_mean(key, list(allowed), f"known keys: {', '.join(allowed)}")
            raise UserError(f"{where}: unknown key '{key}'", hint)
