"""The command line's words: flags as questions declare them, and the values behind them."""

from __future__ import annotations

import argparse

from dipapprox.cli.flags import add_arguments, add_output, limits_of
from dipapprox.data_classes import replace
from dipapprox.privacy.options import Options
from dipapprox.questions.argument import spelled_as_flag
from dipapprox.questions.computing import computing_arguments, read_options
from dipapprox.questions.question import AnyQuestion, Question, arguments_of, read


def add_question(parser: argparse.ArgumentParser, question: type[Question]) -> None:
    """Add the flags of a question and of how it is computed, and --json."""
    add_arguments(parser, arguments_of(question))
    add_computing(parser, question.computing)
    add_output(parser)


def question_of(words: argparse.Namespace, question: type[AnyQuestion]) -> AnyQuestion:
    """Read the flags of a question.

    Raises:
        UserError: If a value is malformed or out of range, or they do not go together.
    """
    return read(question, vars(words), spelled_as_flag)


def add_computing(
    parser: argparse.ArgumentParser, names: tuple[str, ...], timeout: str | None = None
) -> None:
    """Add some of the flags of how it is computed; `timeout` is what a command takes by default."""
    declared = computing_arguments(names)
    add_arguments(
        parser,
        [replace(each, default=timeout) if each.name == "timeout" else each for each in declared],
    )
    parser.set_defaults(timeout=timeout)
    if "optimizer" in names:
        parser.add_argument(
            "--no-optimize",
            dest="optimizer",
            action="store_const",
            const="none",
            help="the same as --optimizer none: nested integrals as the program writes them",
        )


def options_of(words: argparse.Namespace) -> Options:
    """Read the flags of `add_computing`; the clock of their limits starts now.

    Raises:
        UserError: If a value is malformed or out of range, or they do not go together.
    """
    return read_options(vars(words), spelled_as_flag, limits_of(words))
