"""`dipapprox verify`: is the program (eps_prv, delta)-differentially private?"""

from __future__ import annotations

import argparse

from dipapprox.cli import asking
from dipapprox.cli.output import Output, reporting
from dipapprox.questions import worst_pair
from dipapprox.questions.verify import Verify


def add_words(parser: argparse.ArgumentParser) -> None:
    asking.add_program(parser)
    drawn = "where the worst pair of real inputs lies,"
    asking.add_question(parser, Verify, certificate=True, plot=drawn)


def run(words: argparse.Namespace, out: Output) -> int:
    asked = asking.asking_of(words, Verify)
    given = asking.program_of(words)
    question, options, source = asked.question, asked.options, given.source
    everywhere = isinstance(question.eps, tuple)
    program = asking.loaded(given, question.pairs, reals=True, delta=question.exact_delta)
    if asked.plot is not None:
        worst_pair.check_drawable(program)
    with reporting("thousandths of the interval" if everywhere else "pairs") as reporter:
        verdict = question.answer(program, options, reporter)
    verdict, digest = asking.certified_answer(asked, source, program, verdict, question.pairs)
    out.show_answer(verdict, json=asked.json, why=words.why)
    asking.write_report(asked, source, verdict, digest, (program, question.pairs))
    return asking.status_of(verdict)
