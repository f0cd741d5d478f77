"""`dipapprox decide`: is the program private for every ε of an interval, or for all ε > 0?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dipapprox.cli import asking, flags
from dipapprox.cli.asking import Asking
from dipapprox.cli.command import Commands, add_command
from dipapprox.cli.output import show_answer
from dipapprox.cli.progress import reporting
from dipapprox.questions.decide import Decide

if TYPE_CHECKING:
    from rich.console import Console


_EXAMPLES = """examples:
  dipapprox decide svt1.dpg -p N=3                  ε-DP for all ε > 0
  dipapprox decide svt1.dpg --budget 1/2            (ε/2)-DP for all ε > 0
  dipapprox decide sparse.dpg --budget 1/2 --delta "exp(-2)" --least-delta
  dipapprox decide rand2.dpg --interval 0..1        where its probabilities are >= 0
  dipapprox decide svt4.dpg --violations --json     at which ε it is violated

exit status: 0 DP, 1 Not_DP, 2 bad input or usage, 3 Unknown, 130 interrupted
"""


def add_parser(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "decide",
        description="Decide whether a program is (t ε, δ(ε))-differentially private for every ε\n"
        "of an interval: exactly, for Laplace and discrete noise of scales a / eps.",
        epilog=_EXAMPLES,
        read=partial(asking.asking_of, question=Decide),
        run=run,
    )
    asking.add_asking(parser, Decide)
    asking.add_certificate(parser)
    flags.add_report(parser)


def run(command: Asking[Decide], console: Console) -> int:
    """Decide, report on `console`, and return the exit status."""
    asking.check_places(command.certificate, command.report)
    question = command.question
    program = asking.loaded(command.program, question.pairs)
    with reporting() as reporter:
        decision = question.answer(program, command.options, reporter)
    decision = asking.with_proof(command, program, decision, question.pairs)
    show_answer(console, decision, json=command.json)
    digest = asking.write_certificate(command, program, decision, question.pairs)
    asking.write_report(command, decision, digest)
    return asking.status_of(decision)
