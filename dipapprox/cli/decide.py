"""`dipapprox decide`: is the program private for every ε of an interval, or for all ε > 0?"""

from __future__ import annotations

import argparse

from dipapprox.cli import asking
from dipapprox.cli.output import Output, reporting
from dipapprox.questions.decide import Decide


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
