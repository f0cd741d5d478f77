"""`dipapprox completion`: a script that teaches a shell the commands and flags.

The words of a command stand in its module, which loads all that the command needs. Here they are
read from a file, which `python -m dipapprox.cli.write_words` (`make completion`) writes when a flag
has changed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

import shtab

from dipapprox.cli.app import build_parser, commands_of
from dipapprox.cli.command import Commands, add_command
from dipapprox.cli.output import write
from dipapprox.data_classes import dataclass

if TYPE_CHECKING:
    from rich.console import Console

WORDS = Path(__file__).parent / "words.json"
"""For each command what `argparse` is told of its words: their names, and keyword arguments."""

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
    write(console, script(described_parser(), command.shell))
    return 0


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return what teaches a shell the words of a parser."""
    for command in commands_of(parser).values():
        for word in command._actions:
            if isinstance(word.metavar, str) and word.metavar in _FILES:
                word.complete = _FILES[word.metavar]  # type: ignore[attr-defined]  # shtab reads it
    return shtab.complete(parser, shell=shell) + "\n"


def described_parser() -> argparse.ArgumentParser:
    """Return a parser of the words of all commands, which are not loaded."""
    parser = build_parser(())
    words = json.loads(WORDS.read_text(encoding="utf-8"))
    for name, command in commands_of(parser).items():
        for word in words[name]:
            command.add_argument(*word.pop("names"), **word)
    return parser
