"""What a command is: a parser, `read` (words to values) and `run` (values to an exit status)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from enum import IntEnum
from typing import TypeAlias, TypeVar

from rich.console import Console

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
    help: str,
    description: str,
    epilog: str,
    read: Callable[[argparse.Namespace], Command],
    run: Callable[[Command, Console], int],
) -> argparse.ArgumentParser:
    """Add a command without any words of its own yet.

    Args:
        commands: Of the program.
        name: The word that chooses it.
        help: One line for the list of commands.
        description: What `--help` begins with, lines as they are.
        epilog: What it ends with: examples and exit statuses.
        read: Turns words into values; may raise `UserError`.
        run: Does the work, reports on the console and returns the exit status.
    """
    parser = commands.add_parser(
        name,
        help=help,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(read=read, run=run)
    return parser
