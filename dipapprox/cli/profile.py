"""`dipapprox profile`: the tightest guarantees of a program at one epsilon."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from io import StringIO
from pathlib import Path

from rich.console import Console

from dipapprox.cli import arguments
from dipapprox.cli.output import show, show_json, write
from dipapprox.cli.plot import plot_curve
from dipapprox.cli.profile_report import profile_report
from dipapprox.cli.progress import Reporter
from dipapprox.cli.questions import add_question, question_of
from dipapprox.errors import UserError
from dipapprox.experiments.pictures import picture_format
from dipapprox.language.load import load
from dipapprox.privacy.notation import ends
from dipapprox.privacy.options import Options
from dipapprox.privacy.pairs.selection import select
from dipapprox.privacy.profiles.profile import profile
from dipapprox.privacy.profiles.profile_result import (
    LeastBudget,
    LeastDelta,
    PrivacyCurve,
    ProfileAnswer,
    RenyiProfile,
)
from dipapprox.privacy.profiles.question import OnCurve, Question

UNKNOWN = 3

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

    file: Path
    parameters: Mapping[str, Fraction]
    epsilon: Fraction
    question: Question
    pairs: str
    options: Options
    json: bool
    csv: bool
    plot: Path | None


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "profile",
        help="find the tightest guarantee: least δ, least ε_prv, whole curves",
        description="Enclose the tightest privacy guarantee of a program at one ε.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    arguments.add_program(parser)
    parser.add_argument(
        "--eps", required=True, metavar="E", help="the program's ε, exact: 1/2, 0.5"
    )
    add_question(parser)
    arguments.add_pairs(parser)
    arguments.add_computing(parser)
    arguments.add_max_precision(parser)
    arguments.add_output(parser)
    parser.add_argument("--csv", action="store_true", help="print comma-separated values")
    parser.add_argument(
        "--plot", metavar="FILE", help="draw the curve into FILE.svg, .png or .pdf (matplotlib)"
    )
    parser.set_defaults(read=read, run=run)


def read(words: argparse.Namespace) -> ProfileCommand:
    """Turn words into values.

    Raises:
        UserError: If a value is malformed or out of range.
    """
    if words.json and words.csv:
        raise UserError("--json and --csv exclude each other")
    epsilon = arguments.epsilon_of(words)
    question = question_of(words, epsilon)
    plot = None if words.plot is None else Path(words.plot)
    if plot is not None:
        if not isinstance(question, OnCurve):
            raise UserError("--plot draws a curve", "add --curve LO:HI:COUNT")
        picture_format(plot)
    return ProfileCommand(
        file=Path(words.file),
        parameters=arguments.parameters_of(words),
        epsilon=epsilon,
        question=question,
        pairs=words.pairs,
        options=arguments.options_of(words, words.max_precision),
        json=words.json,
        csv=words.csv,
        plot=plot,
    )


def run(command: ProfileCommand, console: Console) -> int:
    """Answer on `console`, and return the exit status."""
    program = load(command.file, command.parameters)
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
    return 0 if answer.run.reason is None else UNKNOWN


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
