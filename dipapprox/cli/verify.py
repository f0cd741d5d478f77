"""`dipapprox verify`: is the program (eps_prv, delta)-differentially private?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dipapprox.cli import asking
from dipapprox.cli.asking import Asking
from dipapprox.cli.command import Commands, add_command
from dipapprox.cli.output import check_place, show_answer
from dipapprox.cli.progress import Reporter
from dipapprox.deferred import Deferred
from dipapprox.errors import UserError
from dipapprox.privacy.verdict import Verdict
from dipapprox.questions.kinds import ClosedInterval
from dipapprox.questions.verify import Verify

if TYPE_CHECKING:
    from rich.console import Console

    from dipapprox.cli import certificate
else:
    certificate = Deferred("dipapprox.cli.certificate")

_EXAMPLES = """examples:
  dipapprox verify svt_gauss.dpg --eps 0.5 --eps-prv 1.24 --delta 0.01
  dipapprox verify svt_gauss.dpg -p N=25 --eps 1/2 --eps-prv 1.24 --delta 0.01 --pairs single
  dipapprox verify svt4.dpg --eps 1 --delta 0 --pairs "-1,0~0,-1" --json
  dipapprox verify svt_gauss.dpg --eps 0.1..1 --eps-prv "2.6 * eps" --delta 0.01    every ε

exit status: 0 DP, 1 Not_DP, 2 bad input or usage, 3 Unknown, 130 interrupted
"""


def add_parser(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "verify",
        description="Decide whether a program is (eps_prv, delta)-differentially private.",
        epilog=_EXAMPLES,
        read=partial(asking.asking_of, question=Verify),
        run=run,
    )
    asking.add_asking(parser, Verify)
    asking.add_certificate(parser)


def run(command: Asking[Verify], console: Console) -> int:
    """Verify, report on `console`, and return the exit status."""
    question = command.question
    if command.certificate is not None:
        check_place(command.certificate, certificate.FLAG)
        if question.claim is None:
            raise UserError("--certificate needs one eps and a claim of rational numbers")
    everywhere = isinstance(question.eps, ClosedInterval)
    program = asking.loaded(command.program, question.pairs, reals=question.takes_reals)
    with Reporter("thousandths of the interval" if everywhere else "pairs") as reporter:
        verdict = question.answer(program, command.options, reporter)
    show_answer(console, verdict, json=command.json)
    if isinstance(verdict, Verdict):
        asking.write_certificate(command, program, verdict, question.pairs)
    return asking.status_of(verdict)
