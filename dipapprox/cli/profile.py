"""`dipapprox profile`: the tightest guarantees of a program at one eps."""

from __future__ import annotations

import argparse
import csv
from io import StringIO

from dipapprox.cli import asking
from dipapprox.cli import plot as plots
from dipapprox.cli.command import Status
from dipapprox.cli.output import Output, reporting
from dipapprox.data_classes import replace
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.language.domains import has_real_inputs
from dipapprox.privacy.notation import ends
from dipapprox.privacy.profiles.profile_result import (
    LeastDelta,
    LeastEpsPrv,
    PrivacyCurve,
    ProfileAnswer,
    RenyiProfile,
)
from dipapprox.questions import worst_pair
from dipapprox.questions.profile import Profile


def add_words(parser: argparse.ArgumentParser) -> None:
    asking.add_program(parser)
    drawn = "the curve, --renyi by order, or where the worst pair of real inputs lies,"
    asking.add_question(parser, Profile, plot=drawn)
    parser.add_argument("--csv", action="store_true", help="print comma-separated values")


def run(words: argparse.Namespace, out: Output) -> int:
    if words.json and words.csv:
        raise UserError("--json and --csv exclude each other")
    asked = asking.asking_of(words, Profile)
    given = asking.program_of(words)
    question = asked.question
    program = asking.load(given, question.pairs.text, reals=True, delta=question.delta)
    if asked.plot is not None and question.curve is None and question.renyi is None:
        _check_planes(program)
    with reporting() as reporter:
        answer = question.answer(program, asked.options, reporter)
    if words.csv:
        out.write(as_csv(answer))
    else:
        out.show_answer(answer, json=asked.json, why=words.why)
    if asked.plot is not None and isinstance(answer, PrivacyCurve | RenyiProfile):
        plots.draw(answer.chart(), asked.plot)
        asked = replace(asked, plot=None)
    asking.write_report(asked, given.source, answer, about=(program, question.pairs))
    return 0 if answer.reason is None else Status.UNKNOWN


def _check_planes(program: Program) -> None:
    """Refuse to draw planes of a program that has none, before anything is computed."""
    if not has_real_inputs(program):
        raise UserError("--plot draws a curve", "add --curve LO:HI:COUNT, or --renyi ORDERS")
    worst_pair.check_drawable(program)


def as_csv(answer: ProfileAnswer) -> str:
    """Write an answer as comma-separated values: a heading, then one row for each point.

    A curve's lines prove delta >= line_intercept - line_slope * e^eps_prv at every eps_prv.
    """
    rows: list[list[str]] = []
    match answer:
        case LeastDelta():
            rows = [["eps_prv", "delta_lower", "delta_upper"]]
            rows.append([str(answer.eps_prv), *ends(answer.delta_enclosure)])
        case LeastEpsPrv():
            rows = [["delta", "eps_prv_lower", "eps_prv_upper"]]
            rows.append([str(answer.delta), *answer.eps_prv_enclosure.ends()])
        case PrivacyCurve():
            rows = [["eps_prv", "delta_lower", "delta_upper", "line_intercept", "line_slope"]]
            for point in answer.envelope.points:
                rows.append([str(point.eps_prv), *ends(point.delta), *point.line.ends()])
        case RenyiProfile():
            rows = [["order", "divergence_lower", "divergence_upper"]]
            rows += [[str(each.order), *each.divergence.ends()] for each in answer.orders]
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
