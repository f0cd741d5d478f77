"""`dipapprox check`: is a certificate true?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dipapprox.certificates.budgets import RecordedAutomaton, RecordedRounds
from dipapprox.certificates.compositions import (
    CertificateAgainstComposition,
    CertificateOfComposition,
    ProgramRun,
)
from dipapprox.certificates.reading import AnyCertificate, read_certificate, read_json
from dipapprox.certificates.services import RecordedService
from dipapprox.certificates.statement import RecordedProgram
from dipapprox.checking.check import check
from dipapprox.cli import arguments, asking
from dipapprox.cli.command import Commands, Status, add_command
from dipapprox.cli.output import show_answer
from dipapprox.data_classes import dataclass
from dipapprox.deferred import Deferred
from dipapprox.language.load import DIPA, DPG, read_text
from dipapprox.limits import Limits
from dipapprox.questions.computing import LIMITS
from dipapprox.replays.result import Outcome, Replay

if TYPE_CHECKING:
    from rich.console import Console

    from dipapprox.cli import review
    from dipapprox.privacy import page as pages
else:
    review = Deferred("dipapprox.cli.review")
    pages = Deferred("dipapprox.privacy.page")

OfAnything = RecordedProgram | RecordedAutomaton | RecordedRounds | RecordedService
"""What a certificate is about."""

EXIT_STATUS = {Outcome.CONFIRMED: 0, Outcome.REFUTED: 1, Outcome.NOT_CONFIRMED: Status.UNKNOWN}

_LARGEST_FILE = 2**28

_EXAMPLES = """examples:
  dipapprox verify svt_gauss.dpg --eps 0.5 --eps-prv 1.24 --delta 0.01 --certificate svt.json
  dipapprox check svt.json
  dipapprox decide svt1.dpg --certificate svt1.json
  dipapprox check svt1.json
  dipapprox prove svt.dipa --certificate svt.json
  dipapprox check svt.json

The certificate's statements are derived again by another route: paths of concrete inputs, trees of
comparisons, integer sums, integration of its own; cost vectors, flows and rates of automata in
integers; masses of compositions against pairs, and their products. It shares the reader of programs
and flint with the run that wrote it.

exit status: 0 confirmed, 1 refuted, 2 not a certificate, 3 not confirmed, 130 interrupted
"""


@dataclass(frozen=True, slots=True)
class CheckCommand:
    """The command line, read."""

    file: Path
    limits: Limits
    explain: bool
    json: bool
    report: Path | None


def add_parser(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "check",
        description="Check a certificate of `verify`, `decide`, `prove` or `compose`.",
        epilog=_EXAMPLES,
        read=read,
        run=run,
    )
    parser.add_argument("file", type=Path, metavar="CERT", help="a certificate (JSON)")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="show every step of a proof, from the claim down, with its theorem",
    )
    arguments.add_computing(parser, LIMITS)
    arguments.add_output(parser)
    asking.add_report(parser)


def read(words: argparse.Namespace) -> CheckCommand:
    """Turn words into values."""
    limits = arguments.limits_of(words)
    return CheckCommand(words.file, limits, words.explain, words.json, words.report)


def run(command: CheckCommand, console: Console) -> int:
    """Check, report on `console`, and return the exit status."""
    asking.check_places(None, command.report)
    text = read_text(command.file, _LARGEST_FILE)
    result = check(text, command.limits, explained=command.explain)
    show_answer(console, result, json=command.json)
    if command.report is not None and isinstance(result, Replay):
        content = read_json(text)
        assert isinstance(content, dict)
        program = content["program"]
        listing = pages.Listing(program["name"], program["language"], program["text"])
        review.write(command.report, result, [listing], command.file, content["digest"])
    elif command.report is not None:
        record, _ = read_certificate(text)
        review.write(command.report, result, _listings(record), command.file, record.digest)
    return EXIT_STATUS[result.outcome]


def _listings(record: AnyCertificate) -> list[pages.Listing]:
    """Return the texts of the programs that a certificate is about, each once."""
    if isinstance(record, CertificateOfComposition | CertificateAgainstComposition):
        runs = (run.what for run in record.runs)
        texts = [_listing(run.program) for run in runs if isinstance(run, ProgramRun)]
        return list(dict.fromkeys(texts))
    return [_listing(record.program)]


def _listing(program: OfAnything) -> pages.Listing:
    match program:
        case RecordedAutomaton():
            language = DIPA
        case RecordedRounds():
            language = DPG
        case _:
            language = program.language
    return pages.Listing(program.name, language, program.text)
