"""`dipapprox completion`: a script that teaches a shell the commands and flags."""

from __future__ import annotations

import argparse

import shtab
from rich.console import Console

from dipapprox.cli.app import build_parser
from dipapprox.cli.command import Commands, add_command
from dipapprox.cli.output import write
from dipapprox.data_classes import dataclass

_EXAMPLES = """examples:
  dipapprox completion bash > ~/.local/share/bash-completion/completions/dipapprox
  dipapprox completion zsh > ~/.zfunc/_dipapprox        with ~/.zfunc in fpath

exit status: 0 done, 2 bad usage, 130 interrupted
"""


_FILES = {
    "FILE": shtab.FILE,
    "CERT": shtab.FILE,
    "SPEC": shtab.FILE,
    "OUT": shtab.FILE,
    "FOLDER": shtab.DIRECTORY,
}
"""What the shell completes a word with, by its metavar."""


@dataclass(frozen=True, slots=True)
class CompletionCommand:
    """The command line, read."""

    shell: str


def add_parser(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "completion",
        description="Print a script that completes commands and flags in a shell.",
        epilog=_EXAMPLES,
        read=read,
        run=run,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="for which shell")


def read(words: argparse.Namespace) -> CompletionCommand:
    """Turn words into values."""
    return CompletionCommand(words.shell)


def run(command: CompletionCommand, console: Console) -> int:
    """Print the script, and return the exit status."""
    parser = build_parser()
    _mark_files(parser)
    write(console, shtab.complete(parser, shell=command.shell) + "\n")
    return 0


def _mark_files(parser: argparse.ArgumentParser) -> None:
    """Tell shtab, from what the help calls them, which words of all commands name files."""
    for action in parser._actions:
        if isinstance(action.choices, dict):  # the commands
            for command in action.choices.values():
                _mark_files(command)
        elif isinstance(action.metavar, str) and action.metavar in _FILES:
            action.complete = _FILES[action.metavar]  # type: ignore[attr-defined]  # shtab reads it
