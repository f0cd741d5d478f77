"""`dipapprox test`: do the claims that stand with programs hold?"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from dipapprox.cli import flags
from dipapprox.cli.alarm import watching
from dipapprox.cli.command import Status
from dipapprox.cli.junit import junit_xml
from dipapprox.cli.late import pages, review
from dipapprox.cli.output import check_new, check_place, show_json, write, write_whole
from dipapprox.cli.tested import TestedClaims, shown
from dipapprox.errors import UserError
from dipapprox.language.load import (
    PYTHON,
    file_or_bundled,
    language_of,
    parts_of_python,
    read_text,
)
from dipapprox.limits import Limits
from dipapprox.privacy.description import seconds_text
from dipapprox.privacy.options import Options
from dipapprox.questions import numbers
from dipapprox.questions.claims import ClaimOutcome, StatedClaim, Tested, claims_in, try_claim
from dipapprox.source import visible

if TYPE_CHECKING:
    from rich.console import Console


DESCRIPTION = "Test the claims that stand with programs, and say which do not hold."

EXAMPLES = """examples:
  dipapprox test svt_gauss.dpg                      the lines '# claim: …' of a program
  dipapprox test svt4.dpg mechanisms.py             and of all functions in a Python file
  dipapprox test svt4.dpg --junit report.xml        for services that run tests
  dipapprox test svt4.dpg --timeout 60              for each claim

Of a folder, all programs, automata and functions in Python that claim something are tested.

claims:
  # claim: DP at eps = 1/2, eps_prv = 1.24, delta = 0.01, N = 5
  # claim: Not_DP for eps in 0..1 at delta = 1/100
  # claim: DP for all eps at budget = 2
  # claim: least budget 1 for real inputs at N = 3

In Python they stand in the docstring of the function. Python files are read only.

exit status: 0 all hold, 1 one is false, 2 bad input or an error, 3 one is unknown, 130 interrupted
"""

_JUNIT = "--junit"


def add_words(parser: argparse.ArgumentParser) -> None:
    """Add the words of the command to its parser."""
    parser.add_argument(
        "files",
        type=flags.path,
        nargs="+",
        metavar="FILE",
        help="programs, automata, Python files (or module.py:name), folders",
    )
    parser.add_argument(_JUNIT, type=flags.path, metavar="OUT", help="write a report as JUnit XML")
    parser.add_argument(
        "--allow-empty", action="store_true", help="a file without claims is no mistake"
    )
    parser.add_argument(
        "--timeout", dest="each_timeout", metavar="SECONDS", help="wall-clock time for each claim"
    )
    flags.add_output(parser)
    flags.add_report(parser)


def run(words: argparse.Namespace, console: Console) -> int:
    """Test, report on `console`, and return the exit status."""
    given, memory = words.each_timeout, flags.default_memory()
    seconds = None if given is None else numbers.seconds(given, "--timeout")
    if words.junit is not None:
        check_place(words.junit, _JUNIT)
    if words.report is not None:
        check_new(words.report, flags.REPORT)
    claims: dict[Path, tuple[StatedClaim, ...]] = {}
    for path in words.files:
        found = claims_in(file_or_bundled(path))
        if not words.allow_empty and not any(found.values()):
            hint = "a line such as '# claim: DP at eps = 1, delta = 0' is one"
            raise UserError(f"there are no claims in '{path}'", hint)
        claims |= {program: asked for program, asked in found.items() if asked}
    listings = [] if words.report is None else _listings(claims)
    tested: dict[Path, list[Tested]] = {}
    for path, asked in claims.items():
        if not words.json:
            write(console, f"{visible(str(path))}\n")
        for claim in asked:
            limits = Limits(seconds=seconds, memory=memory)
            with watching(limits):
                result = try_claim(claim, path, Options(limits=limits))
            tested.setdefault(path, []).append(result)
            if not words.json:
                write(console, _line(result))
    if words.junit is not None:
        write_whole(words.junit, junit_xml(tested), _JUNIT)
    answer = TestedClaims(tested)
    if words.json:
        show_json(console, answer.to_dict())
    else:
        write(console, f"\n{answer.summary()}\n" if tested else "no claims\n")
    if words.report is not None:
        review.refuse_changes(listings, _listings(claims))
        review.write(words.report, answer, listings, None, None)
    return _status(answer.outcomes)


def _listings(paths: Iterable[Path]) -> list[pages.Listing]:
    """Read files for the report, each once: of a function in Python the whole file is shown."""
    parts = (parts_of_python(each)[0] if language_of(each) == PYTHON else each for each in paths)
    files = dict.fromkeys(parts)
    return [pages.Listing(str(each), language_of(each), read_text(each)) for each in files]


def _line(tested: Tested) -> str:
    line = f"  {shown(tested.outcome):<8}{tested.claim.text}  ({seconds_text(tested.seconds)})\n"
    return line + "".join(f"          {each}\n" for each in tested.message.splitlines())


def _status(outcomes: Counter[ClaimOutcome]) -> int:
    if outcomes[ClaimOutcome.FALSE]:
        return 1
    if outcomes[ClaimOutcome.ERROR]:
        return Status.BAD_INPUT
    return Status.UNKNOWN if outcomes[ClaimOutcome.UNKNOWN] else 0
