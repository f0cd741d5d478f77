"""`dipapprox decide`: is the program private for every ε of an interval, or for all ε > 0?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from rich.console import Console

from dipapprox.cli import arguments
from dipapprox.cli.decide_report import decision_report
from dipapprox.cli.output import certificates, show, show_json
from dipapprox.cli.progress import Reporter
from dipapprox.language.load import load, read_program
from dipapprox.language.printer import print_program
from dipapprox.language.values import parse_rational
from dipapprox.privacy.decisions.decider import decide
from dipapprox.privacy.decisions.decision import Ruling
from dipapprox.privacy.decisions.delta import read_delta
from dipapprox.privacy.decisions.epsilons import read_epsilons
from dipapprox.privacy.decisions.question import DEFAULT_WIDTH, DecisionQuestion
from dipapprox.privacy.options import Options
from dipapprox.privacy.pairs.adjacency import count_selected
from dipapprox.privacy.pairs.selection import select

INTERRUPTED = 130
"""The exit status after Ctrl-C: 128 + SIGINT."""

EXIT_STATUS = {Ruling.PRIVATE: 0, Ruling.VIOLATED: 1, Ruling.UNKNOWN: 3}

_VACUOUS = "warning: no two different inputs are adjacent: the claim holds vacuously"

_DISCRETISED = "private as discretised by 'disc': finer outputs could tell more"

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

    file: Path
    parameters: Mapping[str, Fraction]
    question: DecisionQuestion
    pairs: str
    options: Options
    json: bool
    certificate: Path | None


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "decide",
        help="decide privacy for every ε of an interval, or for all ε > 0",
        description="Decide whether a program is (t ε, δ(ε))-differentially private for every ε\n"
        "of an interval: exactly, for Laplace and discrete noise of scales a / eps.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    arguments.add_program(parser)
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
    parser.add_argument(
        "--no-merge", action="store_true", help="keep every final state, as the papers count them"
    )
    arguments.add_limits(parser)
    arguments.add_output(parser)
    parser.add_argument(
        "--certificate",
        type=Path,
        metavar="OUT",
        help="write a record of private or violated that `dipapprox check` can check",
    )
    parser.set_defaults(read=read, run=run)


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
        file=Path(words.file),
        parameters=arguments.parameters_of(words),
        question=question,
        pairs=words.pairs,
        options=Options(merge=not words.no_merge, limits=arguments.limits_of(words)),
        json=words.json,
        certificate=words.certificate,
    )


def run(command: DecideCommand, console: Console) -> int:
    """Decide, report on `console`, and return the exit status."""
    if command.certificate is not None:
        certificates().check_place(command.certificate)
    program = load(command.file, command.parameters)
    selection = select(command.pairs, program)
    if count_selected(program, selection) == 0:
        print(_VACUOUS, file=sys.stderr)
    with Reporter() as reporter:
        decision = decide(program, command.question, selection, command.options, reporter)
    if decision.ruling is Ruling.PRIVATE and _discretises(command.file):
        decision = replace(decision, detail=_DISCRETISED)
    if command.certificate is not None:
        certificates().write_decision(
            command.certificate, command.file, program, decision, selection, command.options
        )
    if command.json:
        show_json(console, decision.to_dict())
    else:
        show(console, decision_report(decision))
    return INTERRUPTED if decision.interrupted else EXIT_STATUS[decision.ruling]


def _discretises(path: Path) -> bool:
    """Whether a program uses `disc`. What `disc` becomes in the core is like any other branch."""
    program = read_program(path)
    # Printed programs have no comments, and no variable is called disc.
    return "disc(" in print_program(program)
