"""What the commands that ask about a program have in common: file, question, answer.

The words FILE, -p, --widen; the flags of the question; the exit status of the answer."""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from dipapprox.cli import flags, review
from dipapprox.cli.command import Status
from dipapprox.cli.output import CERTIFICATE, certified, check_new, check_place
from dipapprox.data_classes import Record, replace
from dipapprox.deferred import Deferred
from dipapprox.errors import UserError
from dipapprox.language.checker import unused
from dipapprox.language.core import Program
from dipapprox.language.domains import AS_DECLARED, parse_rational, read_rounds, read_widening
from dipapprox.language.load import (
    DIP,
    DPG,
    OpenProgram,
    Source,
    file_or_bundled,
    program_from,
    read_source,
)
from dipapprox.pairs.adjacency import count_selected
from dipapprox.privacy.description import text_of
from dipapprox.privacy.options import Options
from dipapprox.privacy.run import RunResult, Setting
from dipapprox.privacy.scope import widening_by_pairs
from dipapprox.privacy.verdict import Answer
from dipapprox.questions.arguments import spelled_as_flag
from dipapprox.questions.kinds import Pairs
from dipapprox.questions.question import (
    AnyQuestion,
    Question,
    arguments_of,
    computing_arguments,
    read,
    read_options,
)

if TYPE_CHECKING:
    from dipapprox.experiments import pictures
    from dipapprox.privacy.charts import Chart
    from dipapprox.privacy.decisions.decision import Decision
    from dipapprox.privacy.intervals.verdict import IntervalVerdict
    from dipapprox.privacy.result import Result
    from dipapprox.privacy.verdict import Verdict
    from dipapprox.questions.prove import Proof
    from dipapprox.replays import files
else:  # packages that most runs never need
    files = Deferred("dipapprox.replays.files")
    pictures = Deferred("dipapprox.experiments.pictures")


Found = TypeVar("Found", bound="Verdict | IntervalVerdict | Decision")


def load(
    given: OpenProgram, pairs: str = "all", *, reals: bool = False, delta: object = None
) -> Program:
    """Check and elaborate a program.

    Args:
        pairs: The value of --pairs: a file may extend the domain of a `.dip` program.
    """
    source = given.source
    claimed = delta if isinstance(delta, Fraction) else None
    program = program_from(source, given.widening, given.rounds, reals=reals, delta=claimed)
    warn_unused(source)
    if source.language != DIP:
        return program
    wider = widening_by_pairs(pairs, program)
    return program if wider is AS_DECLARED else program_from(source, wider, delta=claimed)


def warn_unused(source: Source) -> None:
    """Say what a program declares and does not use; of a function it is what that declares."""
    if source.language == DPG:
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


def program_of(words: argparse.Namespace) -> OpenProgram:
    """Read the words of `add_program`, and the file."""
    rounds, parameters = read_rounds(words.rounds, words.values), parameters_of(words)
    widening = read_widening(words.widen)
    return OpenProgram(read_source(words.file, parameters), widening, rounds)


def parameters_of(words: argparse.Namespace) -> dict[str, Fraction]:
    parameters: dict[str, Fraction] = {}
    for text in words.param:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise UserError(f"-p needs NAME=VALUE, got '{text}'", "for example -p N=25")
        if name in parameters:
            raise UserError(f"parameter '{name}' is set twice")
        parameters[name] = parse_rational(value, f"parameter '{name}'")
    return parameters


def file(text: str) -> Path:
    """Read the name of a file, or of a program that comes along."""
    return file_or_bundled(flags.path(text))


def add_question(
    parser: argparse.ArgumentParser,
    question: type[Question],
    *,
    certificate: bool = False,
    plot: str | None = None,
) -> None:
    """Add the flags of a question, of how it is computed, and of where its answer goes: `plot` says
    what is drawn of it, and some have certificates."""
    flags.add_arguments(parser, arguments_of(question))
    add_computing(parser, question.computing)
    flags.add_output(parser)
    if question.name != "probability":  # whose answers have no ends
        help = "say which method gave each end of the answer"
        parser.add_argument("--why", action="store_true", help=help)
    if certificate:
        help = "write a record of DP or Not_DP that `dipapprox check` can check"
        parser.add_argument(CERTIFICATE, type=flags.path, metavar="OUT", help=help)
    flags.add_report(parser)
    if plot is not None:
        help = f"draw {plot} into FILE.svg; .png and .pdf need matplotlib"
        parser.add_argument("--plot", type=flags.path, metavar="FILE", help=help)


def add_computing(
    parser: argparse.ArgumentParser, names: tuple[str, ...], timeout: str | None = None
) -> None:
    """Add some of the flags of how it is computed; `timeout` is what a command takes by default."""
    declared = computing_arguments(names)
    flags.add_arguments(
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
    return read_options(vars(words), spelled_as_flag, flags.limits_of(words))


_VACUOUS = "warning: no two different inputs are adjacent: the claim holds vacuously"
STATUS = {Answer.DP: 0, Answer.NOT_DP: 1, Answer.UNKNOWN: Status.UNKNOWN}
"""The exit statuses of verdicts."""


class Asking(Record, Generic[AnyQuestion]):
    """A question of the command line, how to answer it, and where the answer goes; None for
    nowhere."""

    question: AnyQuestion
    options: Options
    json: bool
    certificate: Path | None
    report: Path | None
    plot: Path | None


def asking_of(words: argparse.Namespace, question: type[AnyQuestion]) -> Asking[AnyQuestion]:
    """Read the flags of a question and of how it is computed, and where its answer goes."""
    plot: Path | None = getattr(words, "plot", None)
    if plot is not None:
        pictures.check_picture(plot)
    asked = read(question, vars(words), spelled_as_flag)
    options = options_of(words)
    record: Path | None = getattr(words, "certificate", None)
    if record is not None:
        check_place(record, CERTIFICATE)
    if words.report is not None:
        check_new(words.report, flags.REPORT)
    return Asking(asked, options, words.json, record, words.report, plot)


def write_report(
    asked: Asking[AnyQuestion],
    source: Source,
    found: Result,
    digest: str | None = None,
    about: tuple[Program, Pairs] | None = None,
) -> None:
    """Write the page for a reviewer, if one is wanted; for pairs of a program also draw where the
    worst one lies, and the profile around a claim."""
    others: tuple[Chart, ...] = ()
    drawn = asked.report is not None or asked.plot is not None
    if drawn and about is not None and isinstance(found, RunResult):
        if asked.report is not None:
            others = review.profile_of(*about, found, asked.options)
        others += review.around(*about, found, asked.options, asked.plot)
    if asked.report is not None:
        review.write(asked.report, found, (text_of(source),), asked.certificate, digest, others)


def loaded(
    program: OpenProgram, pairs: Pairs, *, reals: bool = False, delta: object = None
) -> Program:
    """Load a program about which something is claimed; warn if the claim says nothing."""
    found = load(program, pairs.text, reals=reals, delta=delta)
    if count_selected(found, pairs.select(found)) == 0:
        print(_VACUOUS, file=sys.stderr)
    return found


def certified_answer(
    asked: Asking[AnyQuestion], source: Source, program: Program, found: Found, pairs: Pairs
) -> tuple[Found, str | None]:
    """Return an answer with its proof, and the digest of its certificate, if one is wanted."""
    if asked.certificate is None:
        return found, None
    own = replace(source, name=program.name)
    setting = Setting(program, pairs.select(program), asked.options)
    return certified(
        found,
        asked.certificate,
        lambda: files.with_proof(setting, found),
        lambda answer: files.certify_answer(setting, own, answer),
    )


def status_of(found: Verdict | IntervalVerdict | Decision | Proof) -> int:
    return Status.INTERRUPTED if found.interrupted else STATUS[found.answer]
