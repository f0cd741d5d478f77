"""`dipapprox calibrate`: a program ε for which a claim is certified, next to a refuted one."""

from __future__ import annotations

import argparse

from dipapprox.cli import asking
from dipapprox.cli.command import Status
from dipapprox.cli.output import Output, reporting
from dipapprox.questions.profile import Calibrate


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
