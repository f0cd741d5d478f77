"""Flags that commands without a question have, too: limits, --json, --report."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path

from dipapprox.limits import Limits, resource
from dipapprox.questions import arguments
from dipapprox.questions.arguments import Argument, read_limits, spelled_as_flag

REPORT = "--report"
_MEMORY_SHARE = 0.6  # of the physical memory, when --max-memory is not given


def limits_of(words: argparse.Namespace) -> Limits:
    """Read the limits; their clock starts now."""
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
    """Add --report, for answers that are handed to others."""
    help = "write a page to hand to a reviewer: program, answer, pictures, in one file"
    parser.add_argument(REPORT, type=path, metavar="OUT.html", help=help)


def _add(parser: argparse._ActionsContainer, argument: Argument) -> None:
    flag, help = spelled_as_flag(argument.name), argument.help.replace("%", "%%")
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
