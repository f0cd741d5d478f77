"""`dipapprox probability`: the output distribution for one input."""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction

from rich.console import Console

from dipapprox.cli import arguments
from dipapprox.cli.command import Commands, Status, add_command
from dipapprox.cli.output import show, show_json
from dipapprox.cli.program_file import ProgramFile, add_program, program_of
from dipapprox.cli.report import distribution_report
from dipapprox.data_classes import dataclass
from dipapprox.language.values import parse_rational, parse_row
from dipapprox.privacy.options import LARGEST_PRECISION, Options
from dipapprox.privacy.probabilities import output_distribution

_EXAMPLES = """examples:
  dipapprox probability svt_gauss.dpg --eps 0.5 --input 0,1
  dipapprox probability svt4.dpg --eps 1 --input -1,0 --precision 200 --json
  dipapprox probability svt4.dpg --eps 1 --input 0,0 --relative-width 1e-6    six digits

exit status: 0 done, 2 bad input or usage, 3 not enclosed as narrowly as asked, 130 interrupted
"""


@dataclass(frozen=True, slots=True)
class ProbabilityCommand:
    """The command line, read."""

    program: ProgramFile
    epsilon: Fraction
    input: str
    options: Options
    relative_width: Fraction | None
    json: bool


def add_parser(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "probability",
        description="Enclose the probability of every output for one input.",
        epilog=_EXAMPLES,
        read=read,
        run=run,
    )
    add_program(parser)
    arguments.add_epsilon(parser)
    parser.add_argument(
        "--input",
        default="",
        metavar="ROW",
        help="values of all input cells in order of declaration: 0,1 or bot,top",
    )
    parser.add_argument(
        "--relative-width",
        metavar="W",
        help="refine until every enclosure is at most W times its probability wide, "
        "in (0, 1): 1e-6 for six digits (--precision is absolute)",
    )
    arguments.add_computing(parser)
    arguments.add_output(parser)


def read(words: argparse.Namespace) -> ProbabilityCommand:
    """Turn words into values.

    Raises:
        UserError: If a value is malformed or out of range.
    """
    width = words.relative_width
    return ProbabilityCommand(
        program=program_of(words),
        epsilon=arguments.epsilon_of(words),
        input=words.input,
        options=arguments.options_of(words, LARGEST_PRECISION),
        relative_width=None if width is None else parse_rational(width, "the relative width"),
        json=words.json,
    )


def run(command: ProbabilityCommand, console: Console) -> int:
    """Compute, report on `console`, and return the exit status."""
    program = command.program.load()
    row = parse_row(command.input, program)
    result = output_distribution(
        program, command.epsilon, row, command.options, command.relative_width
    )
    if command.json:
        show_json(console, result.to_dict())
    elif result.outputs:
        show(console, distribution_report(result))
    if result.reason is None:
        return 0
    print(f"unknown: {result.reason}", file=sys.stderr)
    return Status.INTERRUPTED if result.interrupted else Status.UNKNOWN
