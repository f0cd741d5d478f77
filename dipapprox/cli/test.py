"""`dipapprox test`: do the claims that stand with programs hold?"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dipapprox.cli import arguments
from dipapprox.cli.alarm import watching
from dipapprox.cli.command import Commands, Status, add_command
from dipapprox.cli.junit import junit_xml
from dipapprox.cli.output import check_place, show_json, write, write_whole
from dipapprox.data_classes import dataclass
from dipapprox.errors import UserError
from dipapprox.language.load import file_or_bundled
from dipapprox.limits import Limits
from dipapprox.privacy.description import count, seconds_text
from dipapprox.privacy.options import Options
from dipapprox.questions import kinds
from dipapprox.questions.claims import Claim, Outcome, Tested, claims_in, try_claim

if TYPE_CHECKING:
    from rich.console import Console

_EXAMPLES = """examples:
  dipapprox test svt_gauss.dpg                      the lines '# claim: …' of a program
  dipapprox test svt4.dpg mechanisms.py             and of all functions in a Python file
  dipapprox test svt4.dpg --junit report.xml        for services that run tests
  dipapprox test svt4.dpg --timeout 60              for each claim

Of a folder, all programs and automata are tested.

claims:
  # claim: DP at eps = 1/2, eps_prv = 1.24, delta = 0.01, N = 5
  # claim: Not_DP for eps in 0..1 at delta = 1/100
  # claim: DP for all eps at budget = 2
  # claim: least budget 1 for real inputs at N = 3

In Python they stand in the docstring of the function. Python files are run.

exit status: 0 all hold, 1 one is false, 2 bad input or an error, 3 one is unknown, 130 interrupted
"""

_JUNIT = "--junit"


@dataclass(frozen=True, slots=True)
class TestCommand:
    """The command line, read.

    Attributes:
        seconds: For each claim; None for no limit.
        junit: Where to write a report; None for nowhere.
        may_be_none: Whether a file need not have any claims.
    """

    files: tuple[Path, ...]
    seconds: float | None
    memory: int
    junit: Path | None
    may_be_none: bool
    json: bool


def add_parser(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "test",
        description="Test the claims that stand with programs, and say which do not hold.",
        epilog=_EXAMPLES,
        read=read,
        run=run,
    )
    parser.add_argument(
        "files",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="programs, automata, Python files (or module.py:name), folders",
    )
    parser.add_argument(_JUNIT, type=Path, metavar="OUT", help="write a report as JUnit XML")
    parser.add_argument(
        "--allow-empty", action="store_true", help="a file without claims is no mistake"
    )
    parser.add_argument(
        "--timeout", dest="each_timeout", metavar="SECONDS", help="wall-clock time for each claim"
    )
    arguments.add_output(parser)


def read(words: argparse.Namespace) -> TestCommand:
    """Turn words into values.

    Raises:
        UserError: If a value is malformed.
    """
    given = words.each_timeout
    return TestCommand(
        files=tuple(words.files),
        seconds=None if given is None else kinds.seconds(given, "--timeout"),
        memory=arguments.default_memory(),
        junit=words.junit,
        may_be_none=words.allow_empty,
        json=words.json,
    )


def run(command: TestCommand, console: Console) -> int:
    """Test, report on `console`, and return the exit status."""
    if command.junit is not None:
        check_place(command.junit, _JUNIT)
    claims: dict[Path, tuple[Claim, ...]] = {}
    for path in command.files:
        found = claims_in(file_or_bundled(path))
        if not command.may_be_none and not any(found.values()):
            hint = "a line such as '# claim: DP at eps = 1, delta = 0' is one"
            raise UserError(f"there are no claims in '{path}'", hint)
        claims |= {program: asked for program, asked in found.items() if asked}
    tested: dict[Path, list[Tested]] = {}
    for path, asked in claims.items():
        if not command.json:
            write(console, f"{path}\n")
        for claim in asked:
            limits = Limits(seconds=command.seconds, memory=command.memory)
            with watching(limits):
                result = try_claim(claim, path, Options(limits=limits))
            tested.setdefault(path, []).append(result)
            if not command.json:
                write(console, _line(result))
    if command.junit is not None:
        write_whole(command.junit, junit_xml(tested), _JUNIT)
    outcomes = Counter(each.outcome for cases in tested.values() for each in cases)
    if command.json:
        show_json(console, _fields(tested, outcomes))
    else:
        write(console, _summary(tested, outcomes))
    return _status(outcomes)


_SHOWN = {Outcome.FALSE: "FALSE", Outcome.UNKNOWN: "UNKNOWN", Outcome.ERROR: "ERROR"}


def _line(tested: Tested) -> str:
    word = _SHOWN.get(tested.outcome, tested.outcome.value)
    line = f"  {word:<8}{tested.claim.text}  ({seconds_text(tested.seconds)})\n"
    return line + "".join(f"          {each}\n" for each in tested.message.splitlines())


def _summary(tested: Mapping[Path, Sequence[Tested]], outcomes: Counter[Outcome]) -> str:
    spent = sum(each.seconds for cases in tested.values() for each in cases)
    parts = [
        f"{outcomes[outcome]} {word}"
        for outcome, word in (
            (Outcome.HOLDS, "hold" if outcomes[Outcome.HOLDS] != 1 else "holds"),
            (Outcome.FALSE, "false"),
            (Outcome.UNKNOWN, "unknown"),
            (Outcome.ERROR, "with errors"),
        )
        if outcomes[outcome]
    ]
    where = count(len(tested), "program")
    if not tested:
        return "no claims\n"
    total = count(outcomes.total(), "claim")
    return f"\n{total} in {where}: {', '.join(parts)} ({seconds_text(spent)})\n"


def _fields(
    tested: Mapping[Path, Sequence[Tested]], outcomes: Counter[Outcome]
) -> dict[str, object]:
    return {
        "claims": [
            {
                "program": str(path),
                "claim": each.claim.text,
                "line": each.claim.span.line,
                "outcome": each.outcome.value,
                "message": each.message or None,
                "seconds": round(each.seconds, 3),
            }
            for path, cases in tested.items()
            for each in cases
        ],
        **{outcome.value: outcomes[outcome] for outcome in Outcome},
    }


def _status(outcomes: Counter[Outcome]) -> int:
    if outcomes[Outcome.FALSE]:
        return 1
    if outcomes[Outcome.ERROR]:
        return Status.BAD_INPUT
    return Status.UNKNOWN if outcomes[Outcome.UNKNOWN] else 0
