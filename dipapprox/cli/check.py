"""`dipapprox check`: is a certificate true?"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console, RenderableType

from dipapprox.checking.check import check
from dipapprox.checking.decisions.claim import DecisionClaim
from dipapprox.checking.result import CheckResult, Outcome, claim_text
from dipapprox.cli import arguments
from dipapprox.cli.command import Commands, Status, add_command
from dipapprox.cli.output import show_answer
from dipapprox.cli.report import interval, panel
from dipapprox.data_classes import dataclass
from dipapprox.language.load import read_text
from dipapprox.limits import Limits
from dipapprox.privacy.notation import parameters_text
from dipapprox.privacy.verdict import Answer, delta_name
from dipapprox.questions.computing import LIMITS

EXIT_STATUS = {Outcome.CONFIRMED: 0, Outcome.REFUTED: 1, Outcome.NOT_CONFIRMED: Status.UNKNOWN}

_STYLES = {Outcome.CONFIRMED: "green", Outcome.REFUTED: "red", Outcome.NOT_CONFIRMED: "yellow"}

_LARGEST_FILE = 2**28

_EXAMPLES = """examples:
  dipapprox verify svt_gauss.dpg --eps 0.5 --eps-prv 1.24 --delta 0.01 --certificate svt.json
  dipapprox check svt.json
  dipapprox decide svt1.dpg --certificate svt1.json
  dipapprox check svt1.json

The certificate's statements are derived again by another route: paths of concrete inputs, trees of
comparisons, integer sums, integration of its own. It shares the reader of programs and flint with
the run that wrote it.

exit status: 0 confirmed, 1 refuted, 2 not a certificate, 3 not confirmed, 130 interrupted
"""


@dataclass(frozen=True, slots=True)
class CheckCommand:
    """The command line, read."""

    file: Path
    limits: Limits
    json: bool


def add_parser(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "check",
        description="Check a certificate that `verify` or `decide` wrote with --certificate.",
        epilog=_EXAMPLES,
        read=read,
        run=run,
    )
    parser.add_argument("file", type=Path, metavar="CERT", help="a certificate (JSON)")
    arguments.add_computing(parser, LIMITS)
    arguments.add_output(parser)


def read(words: argparse.Namespace) -> CheckCommand:
    """Turn words into values."""
    return CheckCommand(words.file, arguments.limits_of(words), words.json)


def run(command: CheckCommand, console: Console) -> int:
    """Check, report on `console`, and return the exit status."""
    result = check(read_text(command.file, _LARGEST_FILE), command.limits)
    show_answer(console, result, _report, json=command.json)
    return EXIT_STATUS[result.outcome]


def _report(result: CheckResult) -> RenderableType:
    subject = f"{result.program}: the certificate{result.restriction}"
    headline = f"{subject} is {result.outcome.value}"
    return panel(headline, result.outcome.value, _STYLES[result.outcome], _facts(result))


def _facts(result: CheckResult) -> Iterator[tuple[str, str]]:
    yield "states", _statement(result)
    if result.scope is not None:
        yield from result.scope.rows()
    if result.parameters:
        yield "parameters", parameters_text(result.parameters)
    for difference in result.differences:
        yield "false", difference
    if result.reason is not None:
        yield "reason", result.reason
    if result.delta_enclosure is not None:
        assert isinstance(result.answer, Answer), "decisions have no delta"
        yield delta_name(result.answer), interval(result.delta_enclosure)
        yield "derived", f"distributions of {result.rows} inputs, sums of pairs: {result.pairs}"
    elif isinstance(result.claim, DecisionClaim) and result.rows:
        # A violation may rest on enclosures: of Gaussian programs there are no closed forms.
        what = "distributions" if result.inequalities is None else "closed forms"
        derived = f"{what} of {result.rows} inputs, ordered pairs: {result.pairs}"
        if result.inequalities is not None:
            derived += f", inequalities: {result.inequalities}"
        yield "derived", derived
    for exception in result.shared:
        yield "shared", exception
    bits = f"{result.precision} bits, " if result.precision else ""
    yield "computed", f"{bits}{result.seconds:.3g} s"


def _statement(result: CheckResult) -> str:
    claim = result.claim
    if isinstance(claim, DecisionClaim):
        return f"{result.answer.value}{result.restriction}: {claim_text(claim)}"
    return (
        f"{result.answer.value}{result.restriction}: "
        f"(ε_prv, δ) = ({claim.eps_prv}, {claim.delta}), program run at ε = {claim.eps}"
    )
