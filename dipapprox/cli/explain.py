"""`dipapprox explain`: final states, guards, dependencies, and integrals before and after."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import islice, product
from typing import TYPE_CHECKING

from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.cli import asking, flags
from dipapprox.cli.asking import add_program, load, program_of
from dipapprox.cli.command import Status
from dipapprox.cli.explain_closed_form import run_closed_forms
from dipapprox.cli.explanation import explain
from dipapprox.cli.explanation_view import (
    as_dot,
    as_fields,
    as_latex,
    as_text,
    unfinished_fields,
)
from dipapprox.cli.output import show_json, write
from dipapprox.errors import EarlyEnd
from dipapprox.language.core import Input, Program
from dipapprox.language.values import parse_input
from dipapprox.limits import limited
from dipapprox.questions import numbers
from dipapprox.questions.computing import STRUCTURE
from dipapprox.questions.limiting import LIMITS
from dipapprox.semantics.execution import execute

if TYPE_CHECKING:
    from rich.console import Console

_MOST_INPUTS = 1_000

_SECONDS = "60"
"""Of the command, if it is not told: plans of integrals may take time beyond any patience."""

_FORMATS = {"text": as_text, "latex": as_latex, "dot": as_dot}

DESCRIPTION = (
    "Show final states, guards, dependencies, and integrals before and after\noptimisation."
)

EXAMPLES = """examples:
  dipapprox explain svt_gauss.dpg
  dipapprox explain svt_gauss.dpg -p N=5 --no-merge --json      the columns of the papers' tables
  dipapprox explain svt_gauss.dpg --eps 0.5 --input 0,1 --format latex
  dipapprox explain svt_gauss.dpg --format dot | dot -Tsvg > dependencies.svg
  dipapprox explain svt_laplace.dpg --closed-form --input 0,1     probabilities as formulas in ε

Integrals are shown at ε = 1 and, for each state, the first input that leads to it; choose with
--eps and --input.

exit status: 0 done, 2 bad input or usage, 3 not all could be shown, 130 interrupted
"""


def add_words(parser: argparse.ArgumentParser) -> None:
    """Add the words of the command to its parser."""
    add_program(parser)
    parser.add_argument("--eps", default="1", metavar="E", help="the program's ε (default: 1)")
    parser.add_argument("--input", metavar="ROW", help="values of all input cells: 0,1")
    parser.add_argument(
        "--closed-form",
        action="store_true",
        help="show every output's probability as a formula in ε instead, valid for all ε > 0",
    )
    asking.add_computing(parser, (*STRUCTURE, *LIMITS), timeout=_SECONDS)
    parser.add_argument(
        "--format", choices=list(_FORMATS), default="text", help="(default: %(default)s)"
    )
    flags.add_output(parser)


@sound_arithmetic()
def run(words: argparse.Namespace, console: Console) -> int:
    """Explain on `console` and return the exit status."""
    given, eps = program_of(words), numbers.positive(words.eps, "--eps")
    options = asking.options_of(words)
    program = load(given)
    chosen = None if words.input is None else parse_input(words.input, program, "--input")
    if words.closed_form:
        return run_closed_forms(
            program,
            chosen,
            words.format,
            merge=options.merge,
            limits=options.limits,
            json=words.json,
            console=console,
        )
    inputs = _inputs(program) if chosen is None else [chosen]
    fields: dict[str, object] = {}
    text = ""
    with EarlyEnd() as end, limited(options.limits):
        states = execute(program, options.merge, options.limits, real_outputs=True)
        explanation = explain(states, eps, inputs, options.strategy, options.limits)
        if words.json:
            fields = as_fields(explanation)
        else:
            text = _FORMATS[words.format](explanation) + "\n"
    if end.reason is not None:
        fields = unfinished_fields(program, options.merge, eps, end.reason)
    if words.json:
        show_json(console, fields)
    elif end.reason is None:
        write(console, text)
    if end.reason is None:
        return 0
    print(f"unknown: {end.reason}", file=sys.stderr)
    return Status.INTERRUPTED if end.interrupted else Status.UNKNOWN


def _inputs(program: Program) -> Iterator[Input]:
    """Stream the first inputs: among them, each state looks for one that leads to it."""
    return islice(product(*(cell.domain for cell in program.inputs)), _MOST_INPUTS)
