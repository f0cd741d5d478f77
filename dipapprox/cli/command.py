"""Commands and their parser: what a command is, and mistakes in a line or two, not the whole usage.

A command is a module: what `--help` begins with (DESCRIPTION) and ends with (EXAMPLES), its words
(`add_words`), and `run`, which reads the words, does the work and returns the exit status.

dipapprox verify svt.dpg --esp 1    →    error: --esp is no flag of verify
                                         hint: did you mean '--eps'?
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NoReturn

from dipapprox.deferred import Deferred
from dipapprox.errors import did_you_mean

if TYPE_CHECKING:
    from dipapprox.cli import described
else:  # for mistakes
    described = Deferred("dipapprox.cli.described")

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
    "check": "replay the proof in a certificate",
    "show": "print a program as .dpg text: a Python function, a .dip file",
    "test": "test the claims that stand with programs",
    "examples": "show the programs that come with dipapprox",
    "new": "write a program to start from",
    "completion": "print a completion script for a shell",
}
"""The commands, each the name of a module beside this one, with a line for the list of them all."""


class Status(IntEnum):
    """Exit statuses that mean the same in every command; 0 and 1 are a command's own answers."""

    BAD_INPUT = 2
    UNKNOWN = 3
    INTERRUPTED = 130  # 128 + SIGINT


_INSTEAD = {
    ("decide", "--eps"): "decide answers for every ε; --interval 1/2 is one, and verify has --eps"
}
"""Hints for flags of other commands."""

_FILE = re.compile(r".+\.(dpg|dip|dipa|py(:\w+)?)")


class Parser(argparse.ArgumentParser):
    """A parser, of the program or of one command."""

    given: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; what was given is what messages are about."""
        self.given = () if args is None else tuple(args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and exit."""
        said, hint = self._said(message)
        self.exit(Status.BAD_INPUT, f"error: {said}\nhint: {hint}\n")

    def _said(self, message: str) -> tuple[str, str]:
        help = f"{self.prog} --help explains it"
        invalid = re.match(r"argument (\S+): invalid choice: '(.*)' \(choose from (.*)\)", message)
        if invalid is not None and invalid[1] == "COMMAND":
            if _FILE.fullmatch(invalid[2]):
                hint = f"{self.prog} verify {invalid[2]} --eps 1 --delta 0"
            else:
                hint = did_you_mean(invalid[2], COMMANDS, f"{self.prog} --help lists them")
            return f"there is no command '{invalid[2]}'", hint
        unknown = self._unknown_flag()
        if unknown is not None:
            parser, flag = unknown
            name = parser.prog.partition(" ")[2]
            others = described.commands_with(flag)
            if others:
                hint = f"{listed(others)} {'has' if len(others) == 1 else 'have'} it"
                hint = _INSTEAD.get((name, flag), hint)
            else:
                hint = did_you_mean(flag, parser._option_string_actions, f"{parser.prog} --help")
            return f"{flag} is no flag{f' of {name}' if name else ''}", hint
        required = message.partition("arguments are required: ")[2]
        if required == "COMMAND":
            return "a command is missing", f"{self.prog} --help lists them"
        if required:
            missing = required.split(", ")
            return f"{listed(missing)} {'are' if missing[1:] else 'is'} missing", help
        if invalid is not None:
            choices = [each.strip("'") for each in invalid[3].split(", ")]
            hint = did_you_mean(invalid[2], choices, f"one of {', '.join(choices)}")
            return f"{invalid[1]} cannot be '{invalid[2]}'", hint
        valueless = re.match(r"argument (\S+): expected one argument", message)
        return (f"{valueless[1]} needs a value" if valueless else message), help

    def _unknown_flag(self) -> tuple[argparse.ArgumentParser, str] | None:
        """Return the first flag that does not exist, and the parser that it was given to."""
        parser: argparse.ArgumentParser = self
        chosen = commands_of(self).get(next(iter(self.given), ""))
        parser = self if chosen is None else chosen
        for word in self.given:
            flag = word.partition("=")[0]
            if re.fullmatch(r"--[a-z][\w-]*", flag) and flag not in parser._option_string_actions:
                return parser, flag
        return None


def listed(names: Sequence[str]) -> str:
    """Write names, at least one: "a, b and c"."""
    return " and ".join((", ".join(names[:-1]), names[-1]) if names[1:] else names)


def commands_of(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """Return the parsers of its commands, by name; of a command none."""
    for each in parser._actions:
        if isinstance(each, argparse._SubParsersAction):
            return each.choices
    return {}
