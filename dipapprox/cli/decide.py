"""`dipapprox decide`: is the program private for every ε of an interval, or for all ε > 0?"""

from __future__ import annotations

import argparse

from dipapprox.cli import asking
from dipapprox.cli.output import Output, reporting
from dipapprox.questions.decide import Decide

DESCRIPTION = (
    "Decide whether a program is (t ε, δ(ε))-differentially private for every ε\n"
    "of an interval: exactly, for Laplace and discrete noise of scales a / eps."
)

EXAMPLES = """examples:
  dipapprox decide svt1.dpg -p N=3                  ε-DP for all ε > 0
  dipapprox decide svt1.dpg --budget 1/2            (ε/2)-DP for all ε > 0
  dipapprox decide sparse.dpg --budget 1/2 --delta "exp(-2)" --least-delta
  dipapprox decide rand2.dpg --interval 0..1        where its probabilities are >= 0
  dipapprox decide svt4.dpg --violations --json     at which ε it is violated

exit status: 0 DP, 1 Not_DP, 2 bad input or usage, 3 Unknown, 130 interrupted
"""


def add_words(parser: argparse.ArgumentParser) -> None:
    asking.add_program(parser)
    asking.add_question(parser, Decide, certificate=True)


def run(words: argparse.Namespace, out: Output) -> int:
    asked = asking.asking_of(words, Decide)
    given = asking.program_of(words)
    pairs = asked.question.pairs
    program = asking.loaded(given, pairs)
    with reporting() as reporter:
        decision = asked.question.answer(program, asked.options, reporter)
    decision, digest = asking.certified_answer(asked, given.source, program, decision, pairs)
    out.show_answer(decision, json=asked.json, why=words.why)
    asking.write_report(asked, given.source, decision, digest)
    return asking.status_of(decision)
