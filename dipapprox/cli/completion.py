"""`dipapprox completion`: a script that teaches a shell the commands and flags."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import shtab
from rich.console import Console

from dipapprox.cli.output import write

_EXAMPLES = """examples:
  dipapprox completion bash > ~/.local/share/bash-completion/completions/dipapprox
  dipapprox completion zsh > ~/.zfunc/_dipapprox        with ~/.zfunc in fpath
"""


@dataclass(frozen=True, slots=True)
class CompletionCommand:
    """The command line, read."""

    shell: str


def parser_adder(
    build_parser: Callable[[], argparse.ArgumentParser],
) -> Callable[[argparse._SubParsersAction[argparse.ArgumentParser]], None]:
    """Return what adds the command; the script describes what `build_parser` returns."""

    def run(command: CompletionCommand, console: Console) -> int:
        write(console, shtab.complete(build_parser(), shell=command.shell) + "\n")
        return 0

    def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
        parser = commands.add_parser(
            "completion",
            help="print a completion script for a shell",
            description="Print a script that completes commands and flags in a shell.",
            epilog=_EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        parser.add_argument("shell", choices=shtab.SUPPORTED_SHELLS, help="for which shell")
        parser.set_defaults(read=lambda words: CompletionCommand(words.shell), run=run)

    return add_parser
