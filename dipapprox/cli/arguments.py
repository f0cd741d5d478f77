"""The command line's words: flags as questions declare them, and the values behind them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path

from dipapprox.data_classes import replace
from dipapprox.limits import Limits
from dipapprox.privacy.options import Options
from dipapprox.questions import kinds
from dipapprox.questions.computing import computing_arguments, read_limits, read_options
from dipapprox.questions.question import (
    AnyQuestion,
    Argument,
    Question,
    arguments_of,
    read,
    spelled_as_flag,
)

REPORT = "--report"

_MEMORY_SHARE = 0.6
"""Of the physical memory, when --max-memory is not given."""


def add_question(parser: argparse.ArgumentParser, question: type[Question]) -> None:
    """Add the flags of a question and of how it is computed, and --json."""
    add_arguments(parser, arguments_of(question))
    add_computing(parser, question.computing)
    add_output(parser)


def question_of(words: argparse.Namespace, question: type[AnyQuestion]) -> AnyQuestion:
    """Read the flags of a question.

    Raises:
        UserError: If a value is malformed or out of range, or they do not go together.
    """
    return read(question, vars(words), spelled_as_flag)


def add_computing(
    parser: argparse.ArgumentParser, names: tuple[str, ...], timeout: str | None = None
) -> None:
    """Add some of the flags of how it is computed; `timeout` is what a command takes by default."""
    declared = computing_arguments(names)
    add_arguments(
        parser,
        [replace(each, default=timeout) if each.name == "timeout" else each for each in declared],
    )
    parser.set_defaults(timeout=timeout)
    if "optimizer" in names:
        parser.add_argument(
            "--no-optimize",
            dest="optimizer",
            action="store_const",
            const="none",
            help="the same as --optimizer none: nested integrals as the program writes them",
        )


def options_of(words: argparse.Namespace) -> Options:
    """Read the flags of `add_computing`; the clock of their limits starts now.

    Raises:
        UserError: If a value is malformed or out of range, or they do not go together.
    """
    return read_options(vars(words), spelled_as_flag, limits_of(words))


def limits_of(words: argparse.Namespace) -> Limits:
    """Read the limits; their clock starts now.

    Raises:
        UserError: If a value is malformed or out of range.
    """
    memory = words.max_memory
    given = {**vars(words), "max_memory": default_memory() if memory is None else memory}
    return read_limits(given, spelled_as_flag)


def add_arguments(parser: argparse.ArgumentParser, arguments: Iterable[Argument]) -> None:
    """Add the flags of declared arguments, under their headings."""
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    for each in arguments:
        if each.group not in groups:
            groups[each.group] = parser.add_argument_group(each.group)
        _add(groups[each.group], each)


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def add_report(parser: argparse.ArgumentParser) -> None:
    """Add --report, for answers that are handed to others."""
    parser.add_argument(
        REPORT,
        type=Path,
        metavar="OUT.html",
        help="write a page to hand to a reviewer: program, answer, pictures, in one file",
    )


def _add(parser: argparse._ActionsContainer, argument: Argument) -> None:
    flag, help = spelled_as_flag(argument.name), argument.help.replace("%", "%%")
    if argument.read is kinds.flag:
        on = argument.default == "true"
        parser.add_argument(
            f"--no-{flag[2:]}" if on else flag,
            dest=argument.name,
            action="store_const",
            const="false" if on else "true",
            help=help,
        )
        return
    if argument.default and "(default" not in help:
        help += f" (default: {argument.default})"
    parser.add_argument(
        flag,
        required=argument.required,
        metavar=argument.metavar or None,
        choices=argument.choices or None,
        help=help,
    )


def default_memory() -> int:
    """Return a share of the physical memory in MiB."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _MEMORY_SHARE) >> 20
