"""The commands that ask about a program: file, question, answer.

The words FILE, -p, --widen; the flags of the question; the exit status of the answer. The commands
that ask about pairs of inputs differ in what `PAIRED` says; `probability` asks about one input.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import Any, Generic

from dipapprox.cli import command, review
from dipapprox.cli.command import Status
from dipapprox.cli.output import (
    CERTIFICATE,
    Output,
    certified,
    check_place,
    check_report,
    reporting,
)
from dipapprox.data_classes import Record, replace
from dipapprox.errors import UserError
from dipapprox.experiments import pictures
from dipapprox.language import domains
from dipapprox.language import load as loading
from dipapprox.language.checker import unused
from dipapprox.language.core import Program
from dipapprox.pairs.adjacency import count_selected
from dipapprox.privacy import charts
from dipapprox.privacy.description import text_of
from dipapprox.privacy.run import LARGEST_PRECISION, Options, Setting
from dipapprox.privacy.scope import widening_by_pairs
from dipapprox.privacy.verdict import Answer
from dipapprox.questions import decide, probability, profile, verify, worst_pair
from dipapprox.questions import question as questions
from dipapprox.questions.arguments import spelled_as_flag
from dipapprox.questions.kinds import Pairs
from dipapprox.replays import files


def load(
    given: loading.OpenProgram, pairs: str = "all", *, reals: bool = False, delta: object = None
) -> Program:
    """Check and elaborate a program.

    Args:
        pairs: The value of --pairs: a file may extend the domain of a `.dip` program.
    """
    source = given.source
    claimed = delta if isinstance(delta, Fraction) else None
    program = loading.program_from(source, given.widening, given.rounds, reals=reals, delta=claimed)
    warn_unused(source)
    if source.language != loading.DIP:
        return program
    wider = widening_by_pairs(pairs, program)
    return (
        program
        if wider is domains.AS_DECLARED
        else loading.program_from(source, wider, delta=claimed)
    )


def warn_unused(source: loading.Source) -> None:
    """Say what a program declares and does not use; of a function it is what that declares."""
    if source.language == loading.DPG:
        for each in unused(source.program):
            print(each.render(), file=sys.stderr)


def add_file(parser: argparse.ArgumentParser, help: str) -> None:
    parser.add_argument("file", type=file, metavar="FILE", help=help)


def add_program(parser: argparse.ArgumentParser) -> None:
    """Add FILE, its parameters and wider domains."""
    help = "a program (.dpg, .dip, module.py:name), the name of one that comes along, or -"
    add_file(parser, help)
    add_parameters(parser)
    help = "ask about a wider domain than the program declares, adjacency unchanged: -5..5 for "
    help += "all inputs with numbers, q=-5..5 or q={0,1/2,1} for one (repeatable)"
    parser.add_argument("--widen", metavar="DOMAIN", action="append", default=[], help=help)
    help = "take so many rounds of a program with streams, with the --values for inputs"
    parser.add_argument("--rounds", metavar="N", help=help)
    help = "with --rounds: what the inputs may be, -1..1 or {0,1/2,1}"
    parser.add_argument("--values", metavar="DOMAIN", help=help)


def add_parameters(parser: argparse.ArgumentParser) -> None:
    help = "set a parameter of the program, exactly: -p N=25 -p s=4/3 (repeatable)"
    parser.add_argument(
        "-p", "--param", metavar="NAME=VALUE", action="append", default=[], help=help
    )


def program_of(words: argparse.Namespace) -> loading.OpenProgram:
    """Read the words of `add_program`, and the file."""
    rounds, parameters = domains.read_rounds(words.rounds, words.values), parameters_of(words)
    widening = domains.read_widening(words.widen)
    return loading.OpenProgram(loading.read_source(words.file, parameters), widening, rounds)


def parameters_of(words: argparse.Namespace) -> dict[str, Fraction]:
    parameters: dict[str, Fraction] = {}
    for text in words.param:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise UserError(f"-p needs NAME=VALUE, got '{text}'", "for example -p N=25")
        if name in parameters:
            raise UserError(f"parameter '{name}' is set twice")
        parameters[name] = domains.parse_rational(value, f"parameter '{name}'")
    return parameters


def file(text: str) -> Path:
    """Read the name of a file, or of a program that comes along."""
    return loading.file_or_bundled(command.path(text))


def add_question(
    parser: argparse.ArgumentParser,
    question: type[questions.Question],
    *,
    certificate: bool = False,
    plot: str | None = None,
) -> None:
    """Add the flags of a question, of how it is computed, and of where its answer goes: `plot` says
    what is drawn of it, and some have certificates."""
    command.add_arguments(parser, questions.arguments_of(question))
    add_computing(parser, question.computing)
    command.add_output(parser)
    if question.name != "probability":  # whose answers have no ends
        help = "say which method gave each end of the answer"
        parser.add_argument("--why", action="store_true", help=help)
    if certificate:
        help = "write a record of DP or Not_DP that `dipapprox check` can check"
        parser.add_argument(CERTIFICATE, type=command.path, metavar="OUT", help=help)
    command.add_report(parser)
    if plot is not None:
        help = f"draw {plot} into FILE.svg; .png and .pdf need matplotlib"
        parser.add_argument("--plot", type=command.path, metavar="FILE", help=help)


def add_computing(
    parser: argparse.ArgumentParser, names: tuple[str, ...], timeout: str | None = None
) -> None:
    """Add some of the flags of how it is computed; `timeout` is what a command takes by default."""
    declared = questions.computing_arguments(names)
    command.add_arguments(
        parser,
        [replace(each, default=timeout) if each.name == "timeout" else each for each in declared],
    )
    parser.set_defaults(timeout=timeout)
    if "optimizer" in names:
        help = "the same as --optimizer none: nested integrals as the program writes them"
        parser.add_argument(
            "--no-optimize", dest="optimizer", action="store_const", const="none", help=help
        )


def options_of(words: argparse.Namespace) -> Options:
    """Read the flags of `add_computing`; the clock of their limits starts now."""
    return questions.read_options(vars(words), spelled_as_flag, command.limits_of(words))


_VACUOUS = "warning: no two different inputs are adjacent: the claim holds vacuously"
_STATUS = {Answer.DP: 0, Answer.NOT_DP: 1, Answer.UNKNOWN: Status.UNKNOWN}


class Asking(Record, Generic[questions.AnyQuestion]):
    """A question of the command line, how to answer it, and where the answer goes; None for
    nowhere."""

    question: questions.AnyQuestion
    options: Options
    json: bool
    certificate: Path | None
    report: Path | None
    plot: Path | None


def asking_of(
    words: argparse.Namespace, question: type[questions.AnyQuestion]
) -> Asking[questions.AnyQuestion]:
    """Read the flags of a question and of how it is computed, and where its answer goes."""
    plot: Path | None = getattr(words, "plot", None)
    if plot is not None:
        pictures.check_picture(plot)
    asked = questions.read(question, vars(words), spelled_as_flag)
    options = options_of(words)
    record: Path | None = getattr(words, "certificate", None)
    if record is not None:
        check_place(record, CERTIFICATE)
    if words.report is not None:
        check_report(words.report)
    return Asking(asked, options, words.json, record, words.report, plot)


class Paired(Record):
    """A command that asks about pairs of a program's inputs."""

    asks: Callable[[], type[Any]]  # its question
    claims: bool = False  # whether it may be certified, and is warned about if it says nothing
    plot: str | None = None  # what is drawn of its answer


PAIRED = {
    "verify": Paired(
        lambda: verify.Verify, claims=True, plot="where the worst pair of real inputs lies,"
    ),
    "decide": Paired(lambda: decide.Decide, claims=True),
    "profile": Paired(
        lambda: profile.Profile,
        plot="the curve, --renyi by order, or where the worst pair of real inputs lies,",
    ),
    "calibrate": Paired(lambda: profile.Calibrate),
}


def add_words(parser: argparse.ArgumentParser) -> None:
    """Add the words of the command that the parser is of, one of `PAIRED`."""
    paired = PAIRED[parser.get_default("command")]
    question = paired.asks()
    add_program(parser)
    add_question(parser, question, certificate=paired.claims, plot=paired.plot)
    if hasattr(question, "curve"):
        parser.add_argument("--csv", action="store_true", help="print comma-separated values")


def run(words: argparse.Namespace, out: Output) -> int:
    paired = PAIRED[words.command]
    as_csv = getattr(words, "csv", False)
    if words.json and as_csv:
        raise UserError("--json and --csv exclude each other")
    asked = asking_of(words, paired.asks())
    given, question, options = program_of(words), asked.question, asked.options
    pairs: Pairs = question.pairs
    delta = getattr(question, "exact_delta", question.delta)
    program = load(given, pairs.text, reals=True, delta=delta)
    if paired.claims and count_selected(program, pairs.select(program)) == 0:
        print(_VACUOUS, file=sys.stderr)
    curves = [getattr(question, name, None) for name in ("curve", "renyi")]
    has_curve = any(each is not None for each in curves)
    if asked.plot is not None and not has_curve:
        if hasattr(question, "curve") and not domains.has_real_inputs(program):
            hint = "add --curve LO:HI:COUNT, or --renyi ORDERS"
            raise UserError("--plot draws a curve", hint)
        worst_pair.check_drawable(program)
    everywhere = isinstance(getattr(question, "eps", None), tuple)
    with reporting("thousandths of the interval" if everywhere else "pairs") as reporter:
        found, digest = question.answer(program, options, reporter), None
    if asked.certificate is not None:
        own, judged = replace(given.source, name=program.name), found
        setting = Setting(program, pairs.select(program), options)
        found, digest = certified(
            found,
            asked.certificate,
            lambda: files.with_proof(setting, judged),
            lambda answer: files.certify_answer(setting, own, answer),
        )
    if as_csv:
        out.write(_csv_of(found.to_dict()))
    else:
        out.show_answer(found, json=asked.json, why=words.why)
    plot = asked.plot
    if plot is not None and has_curve:
        pictures.draw(found.chart(), plot)
        plot = None
    others: tuple[charts.Chart, ...] = ()
    if asked.report is not None:
        others = review.profile_of(program, pairs, found, options)
    if asked.report is not None or plot is not None:
        others += review.around(program, pairs, found, options, plot)
    if asked.report is not None:
        texts = (text_of(given.source),)
        review.write(asked.report, found, texts, asked.certificate, digest, others)
    return status_of(found)


def _csv_of(fields: Mapping[str, Any]) -> str:
    """Write a profile as comma-separated values: a heading, then one row for each point.

    A curve's lines prove delta >= line_intercept - line_slope * e^eps_prv at every eps_prv.
    """
    rows = []
    for point in fields.get("curve") or fields.get("renyi") or [fields]:
        row: dict[str, str] = {}
        for name, value in point.items():
            if name in ("eps_prv", "delta", "order"):
                row[name] = value
            elif name.endswith("_enclosure"):
                of = name.removesuffix("_enclosure")
                row[f"{of}_lower"], row[f"{of}_upper"] = value
            elif name == "line":
                row |= {f"line_{end}": number for end, number in value.items()}
        rows.append(row)
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows([rows[0], *(each.values() for each in rows)])
    return text.getvalue()


_BINS = 80  # of a density, in a picture


def add_probability(parser: argparse.ArgumentParser) -> None:
    add_program(parser)
    add_question(parser, probability.Probability, plot="the densities of real outputs")


def run_probability(words: argparse.Namespace, out: Output) -> int:
    asked, given = asking_of(words, probability.Probability), program_of(words)
    # Relative widths may need many bits; nobody asks for more than are needed.
    options = replace(asked.options, max_precision=LARGEST_PRECISION)
    program = load(given, reals=True)
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
    return status_of(result)


def status_of(found: Any) -> int:
    """Return the exit status of an answer: of its verdict, or whether it is as was asked."""
    if getattr(found, "interrupted", False):
        return Status.INTERRUPTED
    answer: Answer | None = getattr(found, "answer", None)
    if answer is not None:
        return _STATUS[answer]
    return 0 if found.reason is None else Status.UNKNOWN
