"""`dipapprox calibrate`: a program ε for which a claim is certified, next to a refuted one."""

from __future__ import annotations

import argparse

from dipapprox.cli import asking
from dipapprox.cli.command import Status
from dipapprox.cli.output import Output, reporting
from dipapprox.questions.profile import Calibrate

DESCRIPTION = (
    "Find a certified ε next to a refuted one: run with the first the program\n"
    "meets the claim, with the second, slightly larger one it does not."
)

EXAMPLES = """examples:
  dipapprox calibrate svt_gauss.dpg --eps-prv 1 --delta 0.01
  dipapprox calibrate svt_gauss.dpg -p N=3 --eps-prv 1/2 --delta 0 --width 1e-2 --json

The claim is certified at the first ε and refuted at the second, unless one is "none found". That a
larger ε needs a larger ε_prv is not assumed: nothing is claimed about other values of ε.

exit status: 0 done, 2 bad input or usage, 3 no such pair of ε found, 130 interrupted
"""


def add_words(parser: argparse.ArgumentParser) -> None:
    asking.add_program(parser)
    asking.add_question(parser, Calibrate)


def run(words: argparse.Namespace, out: Output) -> int:
    asked = asking.asking_of(words, Calibrate)
    given = asking.program_of(words)
    question = asked.question
    program = asking.load(given, question.pairs.text, reals=True, delta=question.delta)
    with reporting() as reporter:
        found = question.answer(program, asked.options, reporter)
    out.show_answer(found, json=asked.json, why=words.why)
    asking.write_report(asked, given.source, found, about=(program, question.pairs))
    return 0 if found.reason is None else Status.UNKNOWN
