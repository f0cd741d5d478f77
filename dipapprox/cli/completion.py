"""`dipapprox completion`: a script that teaches a shell the commands and flags.

The words of a command stand in its module, which loads all that the command needs. Here they are
taken from `described`.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import shtab

from dipapprox.cli.app import build_parser
from dipapprox.cli.command import COMMANDS, Commands, add_command
from dipapprox.cli.described import add_described
from dipapprox.cli.output import write
from dipapprox.cli.parser import commands_of
from dipapprox.data_classes import dataclass

if TYPE_CHECKING:
    from rich.console import Console

_EXAMPLES = """examples:
  dipapprox completion bash > ~/.local/share/bash-completion/completions/dipapprox
  dipapprox completion zsh > ~/.zfunc/_dipapprox        with ~/.zfunc in fpath
  dipapprox completion fish > ~/.config/fish/completions/dipapprox.fish

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
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh", "fish"), help="for which shell")


def read(words: argparse.Namespace) -> CompletionCommand:
    """Turn words into values."""
    return CompletionCommand(words.shell)


def run(command: CompletionCommand, console: Console) -> int:
    """Print the script, and return the exit status."""
    parser = described_parser()
    fish = command.shell == "fish"
    write(console, fish_script(parser) if fish else script(parser, command.shell))
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
    for name, command in commands_of(parser).items():
        add_described(command, name)
        command.description = None  # shells show the line of `--help`, which is whole
    return parser


def fish_script(parser: argparse.ArgumentParser) -> str:
    """Return what teaches fish the words of a parser, and the names of the examples."""
    commands = commands_of(parser)
    lines = ["complete -c dipapprox -n __fish_use_subcommand -f"]
    for name in commands:
        lines.append(
            f"complete -c dipapprox -n __fish_use_subcommand -a {name} -d {_fish(COMMANDS[name])}"
        )
    for name, command in commands.items():
        seen = f"complete -c dipapprox -n '__fish_seen_subcommand_from {name}'"
        for word in command._actions:
            flags = [
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
                for flag in word.option_strings
            ]
            takes = word.nargs != 0
            choices = f" -x -a {_fish(' '.join(map(str, word.choices)))}" if word.choices else ""
            if flags:
                needs = " -r" if takes and not choices else ""
                text = f" -d {_fish((word.help or '').replace('%%', '%').partition(' (')[0])}"
                lines.append(f"{seen} {' '.join(flags)}{needs}{choices}{text}")
            elif choices:
                lines.append(f"{seen}{choices}")
    return "\n".join(lines) + "\n"


def _fish(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
