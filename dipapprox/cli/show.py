"""`dipapprox show`: a program as `.dpg` text, whatever it is written in."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from rich.syntax import Syntax

from dipapprox.cli.asking import add_file, add_parameters, parameters_of
from dipapprox.cli.command import Commands, add_command
from dipapprox.cli.output import show, write
from dipapprox.data_classes import dataclass
from dipapprox.highlighting import DpgLexer
from dipapprox.language.load import DIP, read_source
from dipapprox.language.printer import print_program

if TYPE_CHECKING:
    from rich.console import Console

_EXAMPLES = """examples:
  dipapprox show mechanisms.py:svt                  the program that a Python function is
  dipapprox show mechanisms.py:svt -p N=5 > svt5.dpg
  dipapprox show svt_gauss.dpg                      a file, as it is; .dip files as .dpg

A Python file is run, as importing it would.

exit status: 0 done, 2 bad input or usage, 130 interrupted
"""


@dataclass(frozen=True, slots=True)
class ShowCommand:
    """The command line, read."""

    path: Path
    parameters: Mapping[str, Fraction]


def add_parser(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "show",
        description="Print a program as .dpg text: a mechanism in Python, a .dip or a .dpg file.",
        epilog=_EXAMPLES,
        read=read,
        run=run,
    )
    add_file(parser, "a mechanism in Python (module.py:name), or a program (.dpg, .dip)")
    add_parameters(parser)


def read(words: argparse.Namespace) -> ShowCommand:
    """Turn words into values.

    Raises:
        UserError: If a parameter is malformed.
    """
    return ShowCommand(words.file, parameters_of(words))


def run(command: ShowCommand, console: Console) -> int:
    """Print the program, and return the exit status."""
    source = read_source(command.path, command.parameters)
    text = print_program(source.program) if source.language == DIP else source.text
    if console.is_terminal:
        show(console, Syntax(text, DpgLexer(), background_color="default"))
    else:
        write(console, text)
    return 0
