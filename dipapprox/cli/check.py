"""`dipapprox check`: is a certificate true?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dipapprox.certificates.json_texts import read_json
from dipapprox.cli import flags
from dipapprox.cli.command import Commands, Status, add_command
from dipapprox.cli.output import check_new, show_answer
from dipapprox.data_classes import dataclass
from dipapprox.deferred import Deferred
from dipapprox.language.load import read_text
from dipapprox.limits import Limits
from dipapprox.replays.result import Outcome, is_pipeline_proof, is_proof

if TYPE_CHECKING:
    from rich.console import Console

    from dipapprox.checking import check as certificates
    from dipapprox.cli import listings, review
    from dipapprox.privacy import page as pages
    from dipapprox.replays import check as replays
    from dipapprox.replays import pipelines
else:
    certificates = Deferred("dipapprox.checking.check")
    listings = Deferred("dipapprox.cli.listings")
    review = Deferred("dipapprox.cli.review")
    pages = Deferred("dipapprox.privacy.page")
    replays = Deferred("dipapprox.replays.check")
    pipelines = Deferred("dipapprox.replays.pipelines")

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
    flags.add_limits(parser)
    flags.add_output(parser)
    flags.add_report(parser)


def read(words: argparse.Namespace) -> CheckCommand:
    """Turn words into values."""
    limits = flags.limits_of(words)
    return CheckCommand(words.file, limits, words.explain, words.json, words.report)


def run(command: CheckCommand, console: Console) -> int:
    """Check, report on `console`, and return the exit status."""
    if command.report is not None:
        check_new(command.report, flags.REPORT)
    text = read_text(command.file, _LARGEST_FILE)
    content = read_json(text)
    if is_proof(content):
        proof = replays.check_proof(content, command.limits, command.explain)
        show_answer(console, proof, json=command.json)
        if command.report is not None:
            program = content["program"]
            listing = pages.Listing(program["name"], program["language"], program["text"])
            review.write(command.report, proof, [listing], command.file, content["digest"])
        return EXIT_STATUS[proof.outcome]
    if is_pipeline_proof(content):
        proof = pipelines.check_pipeline(content, command.limits, command.explain)
        show_answer(console, proof, json=command.json)
        if command.report is not None:
            texts = [each["program"] for each in content["programs"] if each is not None]
            shown = [pages.Listing(each["name"], each["language"], each["text"]) for each in texts]
            review.write(command.report, proof, shown, command.file, content["digest"])
        return EXIT_STATUS[proof.outcome]
    result = certificates.check(text, command.limits)
    show_answer(console, result, json=command.json)
    if command.report is not None:
        programs, digest = listings.listings_of(text)
        review.write(command.report, result, programs, command.file, digest)
    return EXIT_STATUS[result.outcome]
