"""The words FILE, -p and --widen: a program's file, its parameters, wider domains."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from dipapprox.data_classes import dataclass
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.language.domains import AS_DECLARED, Widening
from dipapprox.language.load import DIP, language_of, load
from dipapprox.language.values import parse_rational
from dipapprox.language.widening import read_widening
from dipapprox.privacy.selection import widening_by_pairs


@dataclass(frozen=True, slots=True)
class ProgramFile:
    """A program as the command line names it; the file is not read yet."""

    path: Path
    parameters: Mapping[str, Fraction]
    widening: Widening

    def load(self, pairs: str = "all") -> Program:
        """Read, check and elaborate the program.

        Args:
            pairs: The value of --pairs: a file may extend the domain of a `.dip` program.

        Raises:
            UserError: If the file or the program is wrong, or a parameter or a domain does not
                suit it.
        """
        program = load(self.path, self.parameters, self.widening)
        if language_of(self.path) != DIP:
            return program
        wider = widening_by_pairs(pairs, program)
        return program if wider is AS_DECLARED else load(self.path, self.parameters, wider)


def add_file(parser: argparse.ArgumentParser, help: str) -> None:
    """Add FILE."""
    parser.add_argument("file", type=_file, metavar="FILE", help=help)


def add_program(parser: argparse.ArgumentParser) -> None:
    """Add FILE, its parameters and wider domains."""
    add_file(parser, "a program (.dpg, or .dip)")
    add_parameters(parser)
    parser.add_argument(
        "--widen",
        metavar="DOMAIN",
        action="append",
        default=[],
        help="ask about a wider domain than the program declares, adjacency unchanged: -5..5 for "
        "all inputs with numbers, q=-5..5 or q={0,1/2,1} for one (repeatable)",
    )


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """Add -p."""
    parser.add_argument(
        "-p",
        "--param",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="set a parameter of the program, exactly: -p N=25 -p s=4/3 (repeatable)",
    )


def program_of(words: argparse.Namespace) -> ProgramFile:
    """Read the words of `add_program`.

    Raises:
        UserError: If a parameter is not NAME=VALUE, a domain is malformed, or a name comes twice.
    """
    return ProgramFile(words.file, parameters_of(words), read_widening(words.widen))


def parameters_of(words: argparse.Namespace) -> dict[str, Fraction]:
    """Read the words of `add_parameters`.

    Raises:
        UserError: If one is not NAME=VALUE, or a name comes twice.
    """
    parameters: dict[str, Fraction] = {}
    for text in words.param:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise UserError(f"-p needs NAME=VALUE, got '{text}'", "for example -p N=25")
        if name in parameters:
            raise UserError(f"parameter '{name}' is set twice")
        parameters[name] = parse_rational(value, f"parameter '{name}'")
    return parameters


def _file(text: str) -> Path:
    # An empty path would mean the current directory.
    if not text:
        raise argparse.ArgumentTypeError("the file name is empty")
    return Path(text)
