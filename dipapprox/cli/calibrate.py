"""`dipapprox calibrate`: a program ε for which a claim is certified, next to a refuted one."""

from __future__ import annotations

import argparse
from fractions import Fraction

from rich.console import Console

from dipapprox.cli import arguments
from dipapprox.cli.command import Commands, Status, add_command
from dipapprox.cli.output import show_answer
from dipapprox.cli.profile_report import calibration_report
from dipapprox.cli.program_file import ProgramFile, add_program, program_of
from dipapprox.cli.progress import Reporter
from dipapprox.data_classes import dataclass
from dipapprox.errors import UserError
from dipapprox.language.values import parse_rational
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.options import Options
from dipapprox.privacy.profiles.calibration import calibrate
from dipapprox.privacy.selection import select

_EXAMPLES = """examples:
  dipapprox calibrate svt_gauss.dpg --eps-prv 1 --delta 0.01
  dipapprox calibrate svt_gauss.dpg -p N=5 --eps-prv 1/2 --delta 0 --width 1e-4 --json

The claim is certified at the first ε and refuted at the second, unless one is "none found". That a
larger ε needs a larger budget is not assumed: nothing is claimed about other values of ε.

exit status: 0 done, 2 bad input or usage, 3 no such pair of ε found, 130 interrupted
"""


@dataclass(frozen=True, slots=True)
class CalibrateCommand:
    """The command line, read."""

    program: ProgramFile
    budget: Fraction
    delta: Fraction
    width: Fraction
    pairs: str
    options: Options
    json: bool


def add_parser(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "calibrate",
        description="Find a certified ε next to a refuted one: run with the first the program\n"
        "meets the claim, with the second, slightly larger one it does not.",
        epilog=_EXAMPLES,
        read=read,
        run=run,
    )
    add_program(parser)
    parser.add_argument("--eps-prv", required=True, metavar="P", help="the claimed budget")
    parser.add_argument("--delta", required=True, metavar="D", help="the claimed δ in [0, 1]")
    parser.add_argument(
        "--width",
        default="1e-6",
        metavar="W",
        help="wanted distance of the two ε, relative to the larger (default: %(default)s)",
    )
    arguments.add_pairs(parser)
    arguments.add_computing(parser)
    arguments.add_max_precision(parser)
    arguments.add_output(parser)


def read(words: argparse.Namespace) -> CalibrateCommand:
    """Turn words into values.

    Raises:
        UserError: If a value is malformed or out of range.
    """
    budget = parse_rational(words.eps_prv, "eps_prv")
    delta = parse_rational(words.delta, "delta")
    Claim(Fraction(1), delta, budget)  # checks both
    width = parse_rational(words.width, "width")
    if not 0 < width < 1:
        raise UserError(f"width must be in (0, 1), got {width}")
    return CalibrateCommand(
        program=program_of(words),
        budget=budget,
        delta=delta,
        width=width,
        pairs=words.pairs,
        options=arguments.options_of(words, words.max_precision),
        json=words.json,
    )


def run(command: CalibrateCommand, console: Console) -> int:
    """Calibrate, report on `console`, and return the exit status."""
    program = command.program.load(command.pairs)
    selection = select(command.pairs, program)
    with Reporter() as reporter:
        found = calibrate(
            program,
            command.budget,
            command.delta,
            selection,
            command.options,
            command.width,
            reporter,
        )
    show_answer(console, found, calibration_report, json=command.json)
    return 0 if found.reason is None else Status.UNKNOWN
