"""The command line: choose a command, run it, and turn whatever happens into an exit status.

0 DP or done    1 Not_DP    2 bad input or usage    3 Unknown    130 interrupted
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import Any

from rich.console import Console

from dipapprox.cli import arguments
from dipapprox.cli.alarm import watching
from dipapprox.cli.command import Status
from dipapprox.errors import (
    INTERRUPTED,
    NO_MEMORY,
    BrokenInvariant,
    LimitReached,
    UserError,
    limit_behind,
    was_interrupted,
)

_EPILOG = """examples:
  dipapprox examples                                what there is; svt_gauss is one of them
  dipapprox examples svt_gauss --copy .             a copy, as in the examples of the commands
  dipapprox verify svt_gauss.dpg --eps 0.5 --delta 0.01
  dipapprox verify --help                           every command explains itself

exit status: 0 DP or done, 1 Not_DP, 2 bad input or usage, 3 Unknown, 130 interrupted

Results go to standard output; progress and messages go to standard error.
"""

COMMANDS = (
    "verify",
    "probability",
    "profile",
    "calibrate",
    "decide",
    "sweep",
    "tables",
    "explain",
    "check",
    "examples",
    "new",
    "completion",
)
"""The commands, each the name of a module beside this one; loading them all takes a while."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status.

    Args:
        argv: The words after the program's name; None takes those of the process.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal without Greek letters gets '?', not an exception.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    words = arguments.join_negative_values(sys.argv[1:] if argv is None else argv)
    try:
        parsed = build_parser(words).parse_args(words)
    except SystemExit as end:  # argparse has printed help, the version or the usage
        return end.code if isinstance(end.code, int) else Status.BAD_INPUT
    return run(parsed, Console(highlight=False))


def run(parsed: argparse.Namespace, console: Console) -> int:
    """Run the chosen command; no exception leaves, and errors leave standard output empty."""
    try:
        # Without --timeout and --max-memory a command has limits of its own, or none.
        has_limits = hasattr(parsed, "max_memory")
        with watching(arguments.limits_of(parsed)) if has_limits else nullcontext():
            return int(parsed.run(parsed.read(parsed), console))
    except UserError as error:
        return _fail(error.render(), Status.BAD_INPUT)
    except LimitReached as limit:
        return _fail(f"unknown: {limit.reason}", Status.UNKNOWN)
    except KeyboardInterrupt:
        return _fail(INTERRUPTED, Status.INTERRUPTED)
    except RecursionError:
        return _fail("error: the program is nested too deeply", Status.BAD_INPUT)
    except MemoryError:
        return _fail(f"unknown: {NO_MEMORY}", Status.UNKNOWN)
    except BrokenInvariant as bug:
        return _fail(f"internal invariant failed: {bug} (a bug, please report)", Status.UNKNOWN)
    except Exception as bug:
        if was_interrupted(bug):
            return _fail(INTERRUPTED, Status.INTERRUPTED)
        behind = limit_behind(bug)
        if behind is not None:
            return _fail(f"unknown: {behind.reason}", Status.UNKNOWN)
        if os.environ.get("DIPAPPROX_DEBUG"):
            raise
        message = f"internal error: {type(bug).__name__}: {bug}"
        hint = "a bug, please report; DIPAPPROX_DEBUG=1 shows where"
        return _fail(f"{message} ({hint})", Status.UNKNOWN)


def build_parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Build the parser of the command that `words` begin with; of all commands if with none."""
    parser = argparse.ArgumentParser(
        prog="dipapprox",
        description="Verify differential privacy of programs with Gaussian, Laplace and discrete\n"
        "noise. DP and Not_DP are proved; what cannot be decided is Unknown, with the reason.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in words[:1] if words and words[0] in COMMANDS else COMMANDS:
        import_module(f"dipapprox.cli.{command}").add_parser(commands)
    return parser


class _ShowVersion(argparse.Action):
    """Like the action "version", but the version is looked up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        metadata = import_module("importlib.metadata")
        try:
            found = metadata.version("dipapprox")
        except metadata.PackageNotFoundError:
            found = "(not installed)"
        print(f"dipapprox {found}")
        parser.exit()


def _fail(message: str, status: int) -> int:
    try:
        print(message, file=sys.stderr, flush=True)
    except OSError:  # nobody reads standard error: the status still tells
        sys.stderr = None
    return status
