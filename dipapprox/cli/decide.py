"""`dipapprox decide`: is the program private for every ε of an interval, or for all ε > 0?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from dipapprox.cli import arguments
from dipapprox.cli.claims import add_certificate, claimed_pairs
from dipapprox.cli.command import Commands, Status, add_command
from dipapprox.cli.decide_report import decision_report
from dipapprox.cli.output import show_answer
from dipapprox.cli.program_file import ProgramFile, add_program, program_of
from dipapprox.cli.progress import Reporter
from dipapprox.data_classes import dataclass
from dipapprox.deferred import Deferred
from dipapprox.language.values import parse_rational
from dipapprox.privacy.decisions.decider import decide
from dipapprox.privacy.decisions.decision import Ruling
from dipapprox.privacy.decisions.delta import read_delta
from dipapprox.privacy.decisions.epsilons import read_epsilons
from dipapprox.privacy.decisions.question import DEFAULT_WIDTH, DecisionQuestion
from dipapprox.privacy.options import Options

if TYPE_CHECKING:
    from dipapprox.cli import certificate
else:
    certificate = Deferred("dipapprox.cli.certificate")

EXIT_STATUS = {Ruling.PRIVATE: 0, Ruling.VIOLATED: 1, Ruling.UNKNOWN: Status.UNKNOWN}

_EXAMPLES = """examples:
  dipapprox decide svt1.dpg -p N=3                  ε-DP for all ε > 0
  dipapprox decide svt1.dpg --budget 1/2            (ε/2)-DP for all ε > 0
  dipapprox decide sparse.dpg --budget 1/2 --delta "exp(-2)" --least-delta
  dipapprox decide rand2.dpg --interval 0..1        where its probabilities are >= 0
  dipapprox decide svt4.dpg --violations --json     at which ε it is violated

exit status: 0 private, 1 violated, 2 bad input or usage, 3 unknown, 130 interrupted
"""


@dataclass(frozen=True, slots=True)
class DecideCommand:
    """The command line, read."""

    program: ProgramFile
    question: DecisionQuestion
    pairs: str
    options: Options
    json: bool
    certificate: Path | None


def add_parser(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "decide",
        description="Decide whether a program is (t ε, δ(ε))-differentially private for every ε\n"
        "of an interval: exactly, for Laplace and discrete noise of scales a / eps.",
        epilog=_EXAMPLES,
        read=read,
        run=run,
    )
    add_program(parser)
    parser.add_argument(
        "--budget", default="1", metavar="T", help="the claimed budget is T * ε (default: 1)"
    )
    parser.add_argument(
        "--delta",
        default="0",
        metavar="D",
        help="the claimed δ: a number, a constant like exp(-2), or a formula in eps (default: 0)",
    )
    parser.add_argument(
        "--interval",
        default="0..inf",
        metavar="LO..HI",
        help="the epsilons: both ends included, but never 0 (default: 0..inf, all ε > 0)",
    )
    arguments.add_pairs(parser)
    parser.add_argument(
        "--violations",
        action="store_true",
        help="find every ε at which some pair violates the claim; do not stop at the first pair",
    )
    parser.add_argument(
        "--least-delta", action="store_true", help="enclose the least δ that holds on the interval"
    )
    parser.add_argument(
        "--width",
        default=str(DEFAULT_WIDTH),
        metavar="W",
        help="how narrowly ends of violated ranges and the least δ are enclosed (default: 1e-9)",
    )
    arguments.add_merging(parser)
    arguments.add_limits(parser)
    arguments.add_output(parser)
    add_certificate(parser, "private or violated")


def read(words: argparse.Namespace) -> DecideCommand:
    """Turn words into values.

    Raises:
        UserError: If a value is malformed or out of range.
    """
    question = DecisionQuestion(
        budget=parse_rational(words.budget, "budget"),
        delta=read_delta(words.delta),
        epsilons=read_epsilons(words.interval),
        width=parse_rational(words.width, "width"),
        violations=words.violations,
        least_delta=words.least_delta,
    )
    return DecideCommand(
        program=program_of(words),
        question=question,
        pairs=words.pairs,
        options=Options(merge=not words.no_merge, limits=arguments.limits_of(words)),
        json=words.json,
        certificate=words.certificate,
    )


def run(command: DecideCommand, console: Console) -> int:
    """Decide, report on `console`, and return the exit status."""
    if command.certificate is not None:
        certificate.check_place(command.certificate)
    program = command.program.load(command.pairs)
    selection = claimed_pairs(command.pairs, program)
    with Reporter() as reporter:
        decision = decide(program, command.question, selection, command.options, reporter)
    if command.certificate is not None:
        certificate.write(
            command.certificate, command.program.path, program, decision, selection, command.options
        )
    show_answer(console, decision, decision_report, json=command.json)
    return Status.INTERRUPTED if decision.interrupted else EXIT_STATUS[decision.ruling]
