"""`dipapprox completion`: a script that teaches a shell the commands and flags."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import shtab
from rich.console import Console

from dipapprox.cli.app import build_parser
from dipapprox.cli.output import write

_EXAMPLES = """examples:
  dipapprox completion bash > ~/.local/share/bash-completion/completions/dipapprox
  dipapprox completion zsh > ~/.zfunc/_dipapprox        with ~/.zfunc in fpath

exit status: 0 done, 2 bad usage, 130 interrupted
"""


@dataclass(frozen=True, slots=True)
class CompletionCommand:
    """The command line, read."""

    shell: str


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "completion",
        help="print a completion script for a shell",
        description="Print a script that completes commands and flags in a shell.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="for which shell")
    parser.set_defaults(read=read, run=run)


def read(words: argparse.Namespace) -> CompletionCommand:
    """Turn words into values."""
    return CompletionCommand(words.shell)


def run(command: CompletionCommand, console: Console) -> int:
    """Print the script, and return the exit status."""
    write(console, shtab.complete(build_parser(), shell=command.shell) + "\n")
    return 0
