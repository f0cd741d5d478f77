"""`dipapprox probability`: the output distribution for one input."""

from __future__ import annotations

import argparse
import sys

from dipapprox.cli import asking, review
from dipapprox.cli.output import Output
from dipapprox.data_classes import replace
from dipapprox.experiments import pictures
from dipapprox.privacy.description import text_of
from dipapprox.privacy.run import LARGEST_PRECISION
from dipapprox.questions.probability import Probability

_BINS = 80  # of a density, in a picture


def add_words(parser: argparse.ArgumentParser) -> None:
    asking.add_program(parser)
    asking.add_question(parser, Probability, plot="the densities of real outputs")


def run(words: argparse.Namespace, out: Output) -> int:
    asked = asking.asking_of(words, Probability)
    given = asking.program_of(words)
    # Relative widths may need many bits; nobody asks for more than are needed.
    options = replace(asked.options, max_precision=LARGEST_PRECISION)
    program = asking.load(given, reals=True)
    bins = 0 if asked.plot is None else _BINS
    result = asked.question.with_densities(program, options, bins)
    if asked.json or result.outputs:
        out.show_answer(result, json=asked.json)
    if asked.plot is not None:
        for chart in result.densities():
            pictures.draw(chart, asked.plot)
    if asked.report is not None:
        review.write(asked.report, result, (text_of(given.source),), None, None)
    if result.reason is not None:
        print(f"unknown: {result.reason}", file=sys.stderr)
    return asking.status_of(result)
