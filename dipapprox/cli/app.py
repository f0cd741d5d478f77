"""The command line: choose a command, run it, and turn whatever happens into an exit status.

0 DP or done    1 Not_DP    2 bad input or usage    3 Unknown    130 interrupted
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from io import StringIO

from dipapprox import errors
from dipapprox.cli.command import (
    COMMANDS,
    HANDLER,
    Parser,
    Status,
    add_described,
    add_help,
    limits_of,
    register,
    watching,
)
from dipapprox.cli.output import Output
from dipapprox.source import visible_lines
from dipapprox.version import VERSION

_NEGATIVE_VALUE = re.compile(r"-[\d.]")
_HOMES = {
    **dict.fromkeys(("verify", "decide", "profile", "calibrate", "probability"), "asking"),
    "new": "examples",
    "unroll": "show",
    "tables": "sweep",
}
"""Of commands that stand in a module with others."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status.

    Args:
        argv: The words after the program's name; None takes those of the process.
    """
    register()
    if 0 < sys.get_int_max_str_digits() < sys.int_info.default_max_str_digits:  # numbers have more
        sys.set_int_max_str_digits(sys.int_info.default_max_str_digits)
    sys.stdout, sys.stderr = (each or StringIO() for each in (sys.stdout, sys.stderr))
    for stream in (sys.stdout, sys.stderr):
        # A terminal without Greek letters gets words, not an exception.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=HANDLER)
    words = join_negative_values(sys.argv[1:] if argv is None else argv)
    try:
        parsed = build_parser(words).parse_args(words)
    except ModuleNotFoundError as missing:
        message = f"error: this command needs '{missing.name}', which is not here"
        return _fail(message, Status.BAD_INPUT)
    except SystemExit as end:  # argparse has printed help, the version or the usage
        return end.code if isinstance(end.code, int) else Status.BAD_INPUT
    return run(parsed, Output(sys.stdout))


def run(parsed: argparse.Namespace, out: Output) -> int:
    """Run the chosen command; no exception leaves, and errors leave standard output empty."""
    try:
        # Without --timeout and --max-memory a command has limits of its own, or none.
        has_limits = hasattr(parsed, "max_memory")
        with watching(limits_of(parsed)) if has_limits else nullcontext():
            return int(parsed.run(parsed, out))
    except errors.UserError as error:
        return _fail(error.render(), Status.BAD_INPUT)
    except errors.LimitReached as limit:
        return _fail(f"unknown: {limit.reason}", Status.UNKNOWN)
    except KeyboardInterrupt:
        return _fail(errors.INTERRUPTED, Status.INTERRUPTED)
    except RecursionError:
        return _fail("error: the program is nested too deeply", Status.BAD_INPUT)
    except MemoryError:
        return _fail(f"unknown: {errors.NO_MEMORY}", Status.UNKNOWN)
    except errors.BrokenInvariant as bug:
        asked = (parsed.command, str(getattr(parsed, "file", "")))
        where = f"in {' '.join(filter(None, asked))}: a bug, please report"
        return _fail(f"internal invariant failed: {bug} ({where})", Status.UNKNOWN)
    except Exception as bug:
        if errors.was_interrupted(bug):
            return _fail(errors.INTERRUPTED, Status.INTERRUPTED)
        behind = errors.limit_behind(bug)
        if behind is not None:
            return _fail(f"unknown: {behind.reason}", Status.UNKNOWN)
        if os.environ.get("DIPAPPROX_DEBUG"):
            raise
        message = f"internal error: {type(bug).__name__}: {bug}"
        hint = "a bug, please report; DIPAPPROX_DEBUG=1 shows where"
        return _fail(f"{message} ({hint})", Status.UNKNOWN)


def join_negative_values(words: Sequence[str]) -> list[str]:
    """Write `--input -1,0` as `--input=-1,0`, which argparse does not take for another flag: no
    flag begins with a minus sign and a digit, so nothing else is meant."""
    joined: list[str] = []
    for word in words:
        before = joined[-1] if joined else ""
        if _NEGATIVE_VALUE.match(word) and re.fullmatch(r"--[a-z][a-z-]*", before):
            joined[-1] = f"{before}={word}"
        else:
            joined.append(word)
    return joined


def build_parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Build the parser of the command that `words` begin with; with the names of all commands if
    they begin with none; of all commands, which it loads, if they are None."""
    parser = Parser(prog="dipapprox", allow_abbrev=False)
    version = f"dipapprox {VERSION}"
    help = "show the version and exit"
    parser.add_argument("--version", action="version", version=version, help=help)
    # With a `prog` of its own argparse does not format the usage to find one.
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, prog=parser.prog
    )
    chosen = COMMANDS if words is None else [word for word in words[:1] if word in COMMANDS]
    for name in chosen:
        own = commands.add_parser(name, help=COMMANDS[name], allow_abbrev=False)
        if words is not None and ("--help" in words or "-h" in words):
            add_described(own, name)
        else:
            home = import_module(f"dipapprox.cli.{_HOMES.get(name, name)}")
            own.set_defaults(run=getattr(home, f"run_{name}", None) or home.run, command=name)
            (getattr(home, f"add_{name}", None) or home.add_words)(own)
            if words is None:
                add_help(own, name)
    if not chosen:  # what comes is help, the version or a complaint
        add_help(parser, parser.prog)
        for name, line in COMMANDS.items():
            commands.add_parser(name, help=line)
    return parser


def _fail(message: str, status: int) -> int:
    try:
        print(visible_lines(message), file=sys.stderr, flush=True)
    except OSError:  # nobody reads standard error: the status still tells
        sys.stderr = None
    return status
