"""`dipapprox profile`: the tightest guarantees of a program at one epsilon."""

from __future__ import annotations

import argparse
import csv
from fractions import Fraction
from io import StringIO
from pathlib import Path

from rich.console import Console

from dipapprox.cli import arguments
from dipapprox.cli.command import Commands, Status, add_command
from dipapprox.cli.output import show, show_json, write
from dipapprox.cli.plot import plot_curve
from dipapprox.cli.profile_report import profile_report
from dipapprox.cli.program_file import ProgramFile, add_program, program_of
from dipapprox.cli.progress import Reporter
from dipapprox.cli.questions import add_question, question_of
from dipapprox.data_classes import dataclass
from dipapprox.errors import UserError
from dipapprox.experiments.pictures import picture_format
from dipapprox.privacy.notation import ends
from dipapprox.privacy.options import Options
from dipapprox.privacy.profiles.profile import profile
from dipapprox.privacy.profiles.profile_result import (
    LeastBudget,
    LeastDelta,
    PrivacyCurve,
    ProfileAnswer,
    RenyiProfile,
)
from dipapprox.privacy.profiles.question import OnCurve, Question
from dipapprox.privacy.selection import select

_EXAMPLES = """examples:
  dipapprox profile svt_gauss.dpg --eps 0.5 --eps-prv 0.1          least δ for a budget
  dipapprox profile svt_gauss.dpg --eps 0.5 -p N=5 --delta 0.01    least ε_prv for a δ
  dipapprox profile svt_gauss.dpg --eps 0.5 --delta 0              pure privacy
  dipapprox profile svt_gauss.dpg --eps 0.5 --curve 0:0.5:200 --plot profile.svg
  dipapprox profile svt_gauss.dpg --eps 0.5 --renyi 1,2,4,8,inf --json

exit status: 0 done, 2 bad input or usage, 3 the width asked for was not reached, 130 interrupted
"""


@dataclass(frozen=True, slots=True)
class ProfileCommand:
    """The command line, read."""

    program: ProgramFile
    epsilon: Fraction
    question: Question
    pairs: str
    options: Options
    json: bool
    csv: bool
    plot: Path | None


def add_parser(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "profile",
        description="Enclose the tightest privacy guarantee of a program at one ε.",
        epilog=_EXAMPLES,
        read=read,
        run=run,
    )
    add_program(parser)
    arguments.add_epsilon(parser)
    add_question(parser)
    arguments.add_pairs(parser)
    arguments.add_computing(parser)
    arguments.add_max_precision(parser)
    arguments.add_output(parser)
    parser.add_argument("--csv", action="store_true", help="print comma-separated values")
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="draw the curve into FILE.svg, .png or .pdf (matplotlib)",
    )


def read(words: argparse.Namespace) -> ProfileCommand:
    """Turn words into values.

    Raises:
        UserError: If a value is malformed or out of range.
    """
    if words.json and words.csv:
        raise UserError("--json and --csv exclude each other")
    epsilon = arguments.epsilon_of(words)
    question = question_of(words, epsilon)
    if words.plot is not None:
        if not isinstance(question, OnCurve):
            raise UserError("--plot draws a curve", "add --curve LO:HI:COUNT")
        picture_format(words.plot)
    return ProfileCommand(
        program=program_of(words),
        epsilon=epsilon,
        question=question,
        pairs=words.pairs,
        options=arguments.options_of(words, words.max_precision),
        json=words.json,
        csv=words.csv,
        plot=words.plot,
    )


def run(command: ProfileCommand, console: Console) -> int:
    """Answer on `console`, and return the exit status."""
    program = command.program.load(command.pairs)
    selection = select(command.pairs, program)
    with Reporter() as reporter:
        answer = profile(
            program, command.epsilon, command.question, selection, command.options, reporter
        )
    if command.plot is not None and isinstance(answer, PrivacyCurve):
        plot_curve(answer, command.plot)
    if command.json:
        show_json(console, answer.to_dict())
    elif command.csv:
        write(console, as_csv(answer))
    else:
        show(console, profile_report(answer))
    return 0 if answer.run.reason is None else Status.UNKNOWN


def as_csv(answer: ProfileAnswer) -> str:
    """Write an answer as comma-separated values: a heading, then one row for each point.

    A curve's lines prove delta >= line_intercept - line_slope * e^eps_prv at every budget.
    """
    rows: list[list[str]] = []
    match answer:
        case LeastDelta():
            rows = [["eps_prv", "delta_lower", "delta_upper"]]
            rows.append([str(answer.budget), *ends(answer.delta_enclosure)])
        case LeastBudget():
            rows = [["delta", "eps_prv_lower", "eps_prv_upper"]]
            rows.append([str(answer.delta), *answer.eps_prv_enclosure.ends()])
        case PrivacyCurve():
            rows = [["eps_prv", "delta_lower", "delta_upper", "line_intercept", "line_slope"]]
            for point in answer.envelope.points:
                rows.append([str(point.budget), *ends(point.delta), *point.line.ends()])
        case RenyiProfile():
            rows = [["order", "divergence_lower", "divergence_upper"]]
            rows += [[str(each.order), *each.divergence.ends()] for each in answer.orders]
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
