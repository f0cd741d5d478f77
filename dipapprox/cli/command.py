"""Commands and their parser: what a command is, and mistakes in a line or two, not the whole usage.

A command is a module: its words (`add_words`), and `run`, which reads the words, does the work and
returns the exit status. What `--help` says before and after the words is a text in `help`.

dipapprox verify svt.dpg --esp 1    →    error: --esp is no flag of verify
                                         hint: did you mean '--eps'?

The words of all commands are data (WORDS), too: for `--help` and for shells, without loading what
they need. `make completion` writes them when a flag has changed.

A command's limits are asked four times a second wherever its time is spent. Computations ask them
themselves, at places that end well. What lies between two such places may be long: a linear
program, the parsing of a large file, one sum of many thousand terms. A timer asks there, between
two instructions, as Ctrl-C interrupts; what that leaves behind is told in the same way. A single
call of an extension module is not interrupted: those that can be long are bounded where they are
made.

Signs that a terminal may not have are words there: "eps" for ε where the encoding is ASCII.
`register()` makes the error handler `HANDLER` known to Python's streams; what is laid out in
columns is passed through `shown` before, so that the columns keep their width.

Here are also the flags that commands without a question have, too: limits, --json, --report.
"""

from __future__ import annotations

import argparse
import codecs
import gc
import json
import os
import re
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from functools import cache
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, NoReturn

from dipapprox.data_classes import replace
from dipapprox.errors import BrokenInvariant, LimitReached, did_you_mean
from dipapprox.limits import Limits, limited, resource
from dipapprox.questions import arguments
from dipapprox.source import visible_lines

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
"""The commands, most the name of a module beside this one, with a line for the list of them all."""


class Status(IntEnum):
    """Exit statuses that mean the same in every command; 0 and 1 are a command's own answers."""

    BAD_INPUT = 2
    UNKNOWN = 3
    INTERRUPTED = 130  # 128 + SIGINT


WORDS = Path(__file__).parent / "words.json"
"""For each command what `argparse` is told of its words."""


@cache
def _words() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(WORDS.read_text(encoding="utf-8"))
    return found


def commands_with(flag: str) -> list[str]:
    commands = _words().items()
    return [name for name, words in commands if any(flag in each["names"] for each in words)]


def add_described(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the words of a command to its parser, which only shows them, and what is around them."""
    if name not in _words():
        raise BrokenInvariant(f"words.json has no command '{name}': make completion writes it")
    add_help(parser, name)
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    for word in _words()[name]:
        said = {key: value for key, value in word.items() if key not in ("names", "group")}
        title = word.get("group", "")
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
        groups[title].add_argument(*word["names"], **said)


def add_help(parser: argparse.ArgumentParser, name: str) -> None:
    """Add what `--help` says before and after the words of a command."""
    text = (Path(__file__).parent / "help" / f"{name}.txt").read_text(encoding="utf-8")
    parser.description, _, parser.epilog = text.partition("\n\n")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter


_INSTEAD = {
    ("decide", "--eps"): "decide answers for every ε; --interval 1/2 is one, and verify has --eps"
}
"""Hints for flags of other commands."""

_FILE = re.compile(r".+\.(dpg|dip|dipa|py(:\w+)?)")


class Parser(argparse.ArgumentParser):
    given: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; what was given is what messages are about."""
        self.given = () if args is None else tuple(args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
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
            others = commands_with(flag)
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
        if more := message.partition("unrecognized arguments: ")[2]:
            return f"'{more}' is too much", f"a command asks about one file; {help}"
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


_INTERVAL = 0.25  # seconds between two looks at the limits
_SOON = 0.01  # seconds until the next look where nobody would hear of one
_TO_ASK = 2.0  # seconds that a run has to ask for the time by itself, and to tell what it found
_TO_CONCLUDE = 1.0  # seconds that a run has to tell what it found, once a limit has ended it


@contextmanager
def watching(limits: Limits) -> Iterator[None]:
    """Raise `LimitReached` inside the block when the limits are used up, wherever that is.

    Those who ask themselves have some time to conclude before; it may be raised again if something
    swallows it. Only the main thread can be watched, and only where there are timers; elsewhere
    the block runs with its limits as they are asked.
    """
    if not _can_watch():
        with limited(limits):
            yield
        return

    collecting = False

    def note(phase: str, _info: dict[str, int]) -> None:
        nonlocal collecting
        collecting = phase == "start"

    def look(_signal: int, _frame: FrameType | None) -> None:
        if collecting:
            # What finalizers raise is only printed.
            signal.setitimer(signal.ITIMER_REAL, _SOON, _INTERVAL)
            return
        late = 0.0 if limits.seconds is None else limits.elapsed() - limits.seconds
        # Raised now, it might end those who have just heard of it and conclude.
        asked = replace(limits, seconds=None) if 0 <= late < _TO_ASK else limits
        try:
            asked.check()
        except LimitReached:
            signal.setitimer(signal.ITIMER_REAL, _TO_CONCLUDE, _INTERVAL)
            raise

    gc.callbacks.append(note)
    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _INTERVAL, _INTERVAL)
    try:
        with limited(limits):
            yield
    finally:
        stop_watching()
        signal.signal(signal.SIGALRM, before)
        gc.callbacks.remove(note)


def stop_watching() -> None:
    """Let what is left of the block run undisturbed: an answer is told whole."""
    if _can_watch():
        signal.setitimer(signal.ITIMER_REAL, 0)


def _can_watch() -> bool:
    return hasattr(signal, "setitimer") and current_thread() is main_thread()


HANDLER = "dipapprox.words"

_WORDS = {
    "ε": "eps", "δ": "delta", "α": "alpha", "λ": "lambda", "σ": "sigma", "μ": "mu", "é": "e",
    "∞": "inf", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "·": "*", "×": "x", "−": "-", "–": "-",
    "—": "-", "→": "->", "∈": "in", "∪": "or", "²": "^2", "√": "sqrt ", "…": "...", "‘": "'",
    "’": "'", "│": "|",
}  # fmt: skip


def register() -> None:
    codecs.register_error(HANDLER, _in_words)


def _in_words(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(_WORDS.get(sign, "?") for sign in signs), error.end


def shown(text: str) -> str:
    """Return what standard output will show of a text; nothing of it steers a terminal."""
    text = visible_lines(text)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    if encoding.lower().replace("-", "") == "utf8":
        return text
    register()
    return text.encode(encoding, errors=HANDLER).decode(encoding)


REPORT = "--report"
_MEMORY_SHARE = 0.6  # of the physical memory, when --max-memory is not given


def limits_of(words: argparse.Namespace) -> Limits:
    """Read the limits; their clock starts now."""
    memory = words.max_memory
    given = {**vars(words), "max_memory": default_memory() if memory is None else memory}
    return arguments.read_limits(given, arguments.spelled_as_flag)


def add_arguments(parser: argparse.ArgumentParser, declared: Iterable[arguments.Argument]) -> None:
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    for each in declared:
        if each.group not in groups:
            groups[each.group] = parser.add_argument_group(each.group)
        _add(groups[each.group], each)


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def path(text: str) -> Path:
    """Read the name of a file or folder; an empty one would mean the current folder.

    Raises:
        argparse.ArgumentTypeError: If it is empty.
    """
    if not text:
        raise argparse.ArgumentTypeError("the name of the file is empty")
    return Path(text)


def add_report(parser: argparse.ArgumentParser) -> None:
    help = "write a page to hand to a reviewer: program, answer, pictures, in one file"
    parser.add_argument(REPORT, type=path, metavar="OUT.html", help=help)


def _add(parser: argparse._ActionsContainer, argument: arguments.Argument) -> None:
    flag, help = arguments.spelled_as_flag(argument.name), argument.help.replace("%", "%%")
    if argument.read is arguments.flag:
        on = argument.default == "true"
        name, const = (f"--no-{flag[2:]}", "false") if on else (flag, "true")
        parser.add_argument(name, dest=argument.name, action="store_const", const=const, help=help)
        return
    if argument.default and "(default" not in help:
        help += f" (default: {argument.default})"
    metavar, choices = argument.metavar or None, argument.choices or None
    required = argument.required
    parser.add_argument(flag, required=required, metavar=metavar, choices=choices, help=help)


def default_memory() -> int | None:
    """Return a share of the physical memory in MiB; None where the system does not tell."""
    if resource is None:
        return None
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _MEMORY_SHARE) >> 20
