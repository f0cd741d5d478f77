"""`dipapprox verify`: is the program (eps_prv, delta)-differentially private?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from dipapprox.cli import arguments
from dipapprox.cli.claims import add_certificate, add_claim, claimed_pairs
from dipapprox.cli.command import Commands, Status, add_command
from dipapprox.cli.output import show_answer
from dipapprox.cli.program_file import ProgramFile, add_program, program_of
from dipapprox.cli.progress import Reporter
from dipapprox.data_classes import dataclass
from dipapprox.deferred import Deferred
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.pairs.adjacency import PairSelection
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.intervals.claim_text import (
    AnyClaim,
    IntervalClaim,
    PointClaim,
    read_claim,
)
from dipapprox.privacy.options import Options
from dipapprox.privacy.verdict import Answer
from dipapprox.privacy.verifier import verify

if TYPE_CHECKING:
    from rich.console import Console

    from dipapprox.cli import certificate, interval_report, report
    from dipapprox.privacy.intervals import formula_verifier, verifier
else:
    certificate = Deferred("dipapprox.cli.certificate")
    formula_verifier = Deferred("dipapprox.privacy.intervals.formula_verifier")
    interval_report = Deferred("dipapprox.cli.interval_report")
    report = Deferred("dipapprox.cli.report")
    verifier = Deferred("dipapprox.privacy.intervals.verifier")

EXIT_STATUS = {Answer.DP: 0, Answer.NOT_DP: 1, Answer.UNKNOWN: Status.UNKNOWN}

_EXAMPLES = """examples:
  dipapprox verify svt_gauss.dpg --eps 0.5 --eps-prv 1.24 --delta 0.01
  dipapprox verify svt_gauss.dpg -p N=25 --eps 1/2 --eps-prv 1.24 --delta 0.01 --pairs single
  dipapprox verify svt4.dpg --eps 1 --delta 0 --pairs "-1,0~0,-1" --json
  dipapprox verify svt_gauss.dpg --eps 0.1..1 --eps-prv "2.6 * eps" --delta 0.01    every ε

exit status: 0 DP, 1 Not_DP, 2 bad input or usage, 3 Unknown, 130 interrupted
"""


@dataclass(frozen=True, slots=True)
class VerifyCommand:
    """The command line, read: numbers are exact, values not yet checked against the program."""

    program: ProgramFile
    claim: AnyClaim
    pairs: str
    options: Options
    json: bool
    certificate: Path | None


def add_parser(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "verify",
        description="Decide whether a program is (eps_prv, delta)-differentially private.",
        epilog=_EXAMPLES,
        read=read,
        run=run,
    )
    add_program(parser)
    add_claim(parser)
    arguments.add_pairs(parser)
    arguments.add_computing(parser)
    arguments.add_max_precision(parser)
    arguments.add_output(parser)
    add_certificate(parser, "DP or Not_DP")


def read(words: argparse.Namespace) -> VerifyCommand:
    """Turn words into values.

    Raises:
        UserError: If a value is malformed or out of range.
    """
    return VerifyCommand(
        program=program_of(words),
        claim=read_claim(words.eps, words.eps_prv, words.delta),
        pairs=words.pairs,
        options=arguments.options_of(words, words.max_precision),
        json=words.json,
        certificate=words.certificate,
    )


def run(command: VerifyCommand, console: Console) -> int:
    """Verify, report on `console`, and return the exit status."""
    if command.certificate is not None:
        certificate.check_place(command.certificate)
        if not isinstance(command.claim, Claim):
            raise UserError("--certificate needs one eps and a claim of rational numbers")
    program = command.program.load(command.pairs)
    selection = claimed_pairs(command.pairs, program)
    if isinstance(command.claim, IntervalClaim):
        return _run_interval(command, command.claim, program, selection, console)
    with Reporter() as reporter:
        match command.claim:
            case Claim():
                verdict = verify(program, command.claim, selection, command.options, reporter)
            case PointClaim(formulas, epsilon):
                verdict = formula_verifier.verify_formula(
                    program, formulas, epsilon, selection, command.options, reporter
                )
            case _:
                assert_never(command.claim)
    if command.certificate is not None:
        certificate.write(
            command.certificate, command.program.path, program, verdict, selection, command.options
        )
    show_answer(console, verdict, lambda found: report.verdict_report(found), json=command.json)
    return Status.INTERRUPTED if verdict.interrupted else EXIT_STATUS[verdict.answer]


def _run_interval(
    command: VerifyCommand,
    claim: IntervalClaim,
    program: Program,
    selection: PairSelection,
    console: Console,
) -> int:
    with Reporter("thousandths of the interval") as reporter:
        verdict = verifier.verify_interval(
            program,
            claim.formulas,
            claim.lower,
            claim.upper,
            selection,
            command.options,
            reporter,
        )
    show_answer(
        console, verdict, lambda found: interval_report.interval_report(found), json=command.json
    )
    return Status.INTERRUPTED if verdict.interrupted else EXIT_STATUS[verdict.answer]
