"""`dipapprox completion`: a script that teaches a shell the commands and flags.

The words of a command stand in its module, which loads all that the command needs. Here they are
taken from `WORDS`. As a program it writes those, after a flag has changed (`make completion`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable

import shtab

from dipapprox.bundled import bundled_programs, table_names
from dipapprox.cli.app import build_parser
from dipapprox.cli.command import WORDS, add_described, commands_of
from dipapprox.cli.output import Output

SHELLS = ("bash", "zsh", "tcsh", "fish", "powershell")
_FILES = {"CERT": shtab.FILE, "SPEC": shtab.FILE, "OUT": shtab.FILE, "FOLDER": shtab.DIRECTORY}
"""What the shell completes a word with, by its metavar."""


def add_words(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="for which shell")


def run(words: argparse.Namespace, out: Output) -> int:
    out.write(script(described_parser(), words.shell))
    return 0


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return what teaches a shell the words of a parser, and the names of what comes along."""
    names = list(bundled_programs())
    words = {
        **_FILES,
        "FILE": _program(names),
        "NAME": _choice("names", names),
        "TABLE": _choice("tables", table_names()),
    }
    for name, command in commands_of(parser).items():
        for word in command._actions:
            # The NAME of `new` is one that does not exist yet.
            if isinstance(word.metavar, str) and word.metavar in words and name != "new":
                word.complete = words[word.metavar]  # type: ignore[attr-defined]  # for shtab
    return shtab.complete(parser, shell=shell) + "\n"


def _program(names: Iterable[str]) -> shtab.CompleteType:
    known = " ".join(names)
    return {
        "bash": "_dipapprox_programs",
        "zsh": "_dipapprox_programs",
        "tcsh": "f",
        "fish": f"(__fish_complete_path (commandline -ct)) {known}",
        "powershell": "_shtab_powershell_compgen_files",
        "preamble": {
            "bash": f'_dipapprox_programs() {{ compgen -f -- $1; compgen -W "{known}" -- $1; }}\n',
            "zsh": "_dipapprox_programs() {\n"
            f"  _alternative 'files:file:_files' 'programs:program:({known})'\n}}\n",
        },
    }


def _choice(kind: str, names: Iterable[str]) -> shtab.CompleteType:
    known = " ".join(names)
    function = f"_dipapprox_{kind}"
    return {
        "bash": function,
        "zsh": f"({known})",
        "tcsh": f"({known})",
        "fish": known,
        "powershell": function,
        "preamble": {
            "bash": f'{function}() {{ compgen -W "{known}" -- $1; }}\n',
            "powershell": f"function {function} {{\n"
            f"  param([string]$WordToComplete)\n  '{known}' -split ' ' | "
            'Where-Object { $_ -like "$WordToComplete*" }\n}\n',
        },
    }


def described_parser() -> argparse.ArgumentParser:
    """Return a parser of the words of all commands, which are not loaded."""
    parser = build_parser(())
    for name, command in commands_of(parser).items():
        add_described(command, name)
        command.description = None  # shells show the line of `--help`, which is whole
    return parser


_SAID = ("nargs", "default", "choices", "metavar", "help")


def describe(parser: argparse.ArgumentParser) -> str:
    words = {
        name: [
            _described(word, command)
            for word in command._actions
            if not isinstance(word, argparse._HelpAction)  # every parser has its own
        ]
        for name, command in commands_of(parser).items()
    }
    return json.dumps(words, ensure_ascii=False, indent=1) + "\n"


def _described(word: argparse.Action, command: argparse.ArgumentParser) -> dict[str, object]:
    """Return its names, the heading above it if that is one of its own, and what `add_argument` is
    to be told beside them."""
    described: dict[str, object] = {"names": word.option_strings or [word.dest]}
    for group in command._action_groups:
        if word in group._group_actions and group.title not in ("positional arguments", "options"):
            described["group"] = group.title
    if word.required and word.option_strings:
        described["required"] = True
    if word.nargs == 0:
        described["action"] = "store_true"
    elif isinstance(word, argparse._AppendAction):
        described["action"] = "append"
    return described | {key: getattr(word, key) for key in _SAID if getattr(word, key)}


def main() -> None:
    WORDS.write_text(describe(build_parser()), encoding="utf-8")
    print(f"wrote {WORDS}")


if __name__ == "__main__":
    main()
