"""`dipapprox verify`: is the program (eps_prv, delta)-differentially private?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dipapprox.cli import asking, flags
from dipapprox.cli.asking import Asking
from dipapprox.cli.command import Commands, add_command
from dipapprox.cli.output import show_answer
from dipapprox.cli.progress import reporting
from dipapprox.deferred import Deferred
from dipapprox.privacy.verdict import Verdict
from dipapprox.questions.kinds import ClosedInterval
from dipapprox.questions.verify import Verify

if TYPE_CHECKING:
    from rich.console import Console

    from dipapprox.cli import review
    from dipapprox.privacy.charts import Chart
    from dipapprox.questions import worst_pair
else:
    review = Deferred("dipapprox.cli.review")
    worst_pair = Deferred("dipapprox.questions.worst_pair")

_EXAMPLES = """examples:
  dipapprox verify svt_gauss.dpg --eps 0.5 --eps-prv 1.24 --delta 0.01
  dipapprox verify svt_gauss.dpg -p N=25 --eps 1/2 --eps-prv 1.24 --delta 0.01 --pairs single
  dipapprox verify svt4.dpg --eps 1 --delta 0 --pairs "-1,0~0,-1" --json
  dipapprox verify svt_gauss.dpg --eps 0.1..1 --eps-prv "2.6 * eps" --delta 0.01    every ε
  dipapprox verify svt_gauss.dpg --eps 0.5 --delta 0.01 --report svt.html    for a reviewer

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
    flags.add_report(parser)
    asking.add_plot(parser, "where the worst pair of real inputs lies,")


def run(command: Asking[Verify], console: Console) -> int:
    """Verify, report on `console`, and return the exit status."""
    question = command.question
    asking.check_places(command.certificate, command.report)
    everywhere = isinstance(question.eps, ClosedInterval)
    program = asking.loaded(command.program, question.pairs, reals=True, delta=question.exact_delta)
    if command.plot is not None:
        worst_pair.check_drawable(program)
    with reporting("thousandths of the interval" if everywhere else "pairs") as reporter:
        verdict = question.answer(program, command.options, reporter)
    verdict = asking.with_proof(command, program, verdict, question.pairs)
    show_answer(console, verdict, json=command.json)
    drawn: tuple[Chart, ...] = ()
    digest = asking.write_certificate(command, program, verdict, question.pairs)
    if isinstance(verdict, Verdict) and command.report is not None:
        drawn = review.profile_of(program, verdict, question.pairs, command.options)
    if command.report is not None or command.plot is not None:
        pairs, options = question.pairs, command.options
        drawn += review.around(program, verdict, pairs, options, command.plot)
    asking.write_report(command, verdict, digest, *drawn)
    return asking.status_of(verdict)
