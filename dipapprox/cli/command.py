"""What a command is: a parser, `read` (words to values) and `run` (values to an exit status)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

COMMANDS = {
    "verify": "decide whether a program is differentially private",
    "probability": "enclose the probability of every output for one input",
    "profile": "find the tightest guarantee: least δ, least ε_prv, whole curves",
    "calibrate": "find a certified ε next to a refuted one",
    "decide": "decide privacy for every ε of an interval, or for all ε > 0",
    "prove": "find the least budget for all inputs, lengths, calls and ε",
    "unroll": "write one sequence of calls of a service as a program",
    "compose": "enclose what many runs cost together: programs, noise, samples",
    "sweep": "run a grid of cases, resumably; show what came out",
    "tables": "rerun the papers' tables, published numbers beside ours",
    "explain": "show final states, guards, dependencies and integrals",
    "check": "check a certificate by another route",
    "show": "print a program as .dpg text: a Python function, a .dip file",
    "test": "test the claims that stand with programs",
    "examples": "show the programs that come with dipapprox",
    "new": "write a program to start from",
    "completion": "print a completion script for a shell",
}
"""The commands, each the name of a module beside this one, with a line for the list of them all."""

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""Where commands are added."""

Command = TypeVar("Command")
"""A command line, read: a frozen dataclass."""


class Status(IntEnum):
    """Exit statuses that mean the same in every command; 0 and 1 are a command's own answers."""

    BAD_INPUT = 2
    UNKNOWN = 3
    INTERRUPTED = 130  # 128 + SIGINT


def add_command(
    commands: Commands,
    name: str,
    *,
    description: str,
    epilog: str,
    read: Callable[[argparse.Namespace], Command],
    run: Callable[[Command, Console], int],
) -> argparse.ArgumentParser:
    """Add a command without any words of its own yet.

    Args:
        commands: Of the program.
        name: The word that chooses it.
        description: What `--help` begins with, lines as they are.
        epilog: What it ends with: examples and exit statuses.
        read: Turns words into values; may raise `UserError`.
        run: Does the work, reports on the console and returns the exit status.
    """
    parser = commands.add_parser(
        name,
        help=COMMANDS[name],
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(read=read, run=run)
    return parser
