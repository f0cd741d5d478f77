"""What the commands that ask about a program have in common: its file, the question, the answer."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Generic

from dipapprox.cli import arguments
from dipapprox.cli.command import Status
from dipapprox.cli.program_file import ProgramFile, add_program, program_of
from dipapprox.data_classes import dataclass
from dipapprox.deferred import Deferred
from dipapprox.language.core import Program
from dipapprox.pairs.adjacency import count_selected
from dipapprox.privacy.options import Options
from dipapprox.privacy.verdict import Answer
from dipapprox.questions.kinds import Pairs
from dipapprox.questions.question import AnyQuestion, Question

if TYPE_CHECKING:
    from dipapprox.cli import certificate
    from dipapprox.privacy.decisions.decision import Decision
    from dipapprox.privacy.intervals.verdict import IntervalVerdict
    from dipapprox.privacy.verdict import Verdict
    from dipapprox.questions.prove import Proof
else:
    certificate = Deferred("dipapprox.cli.certificate")

_VACUOUS = "warning: no two different inputs are adjacent: the claim holds vacuously"

_STATUS = {Answer.DP: 0, Answer.NOT_DP: 1, Answer.UNKNOWN: Status.UNKNOWN}


@dataclass(frozen=True, slots=True)
class Asking(Generic[AnyQuestion]):
    """A command line, read: its program is not loaded yet.

    Attributes:
        certificate: Where to write one; None for nowhere.
    """

    program: ProgramFile
    question: AnyQuestion
    options: Options
    json: bool
    certificate: Path | None


def add_asking(parser: argparse.ArgumentParser, question: type[Question]) -> None:
    """Add FILE, the flags of the question and of how it is computed, and --json."""
    add_program(parser)
    arguments.add_question(parser, question)


def add_certificate(parser: argparse.ArgumentParser) -> None:
    """Add --certificate, for answers that may have one."""
    parser.add_argument(
        "--certificate",
        type=Path,
        metavar="OUT",
        help="write a record of DP or Not_DP that `dipapprox check` can check",
    )


def asking_of(words: argparse.Namespace, question: type[AnyQuestion]) -> Asking[AnyQuestion]:
    """Read the words of `add_asking` and `add_certificate`.

    Raises:
        UserError: If a value is malformed or out of range.
    """
    return Asking(
        program=program_of(words),
        question=arguments.question_of(words, question),
        options=arguments.options_of(words),
        json=words.json,
        certificate=getattr(words, "certificate", None),
    )


def loaded(program: ProgramFile, pairs: Pairs) -> Program:
    """Load a program about which something is claimed; warn if the claim says nothing.

    Raises:
        UserError: If the program or the pairs are wrong.
    """
    found = program.load(pairs.text)
    if count_selected(found, pairs.select(found)) == 0:
        print(_VACUOUS, file=sys.stderr)
    return found


def write_certificate(
    command: Asking[AnyQuestion], program: Program, found: Verdict | Decision, pairs: Pairs
) -> None:
    """Write the certificate of an answer, if one is wanted.

    Raises:
        UserError: If it cannot be written.
    """
    if command.certificate is not None:
        selection = pairs.select(program)
        certificate.write(
            command.certificate, command.program.path, program, found, selection, command.options
        )


def status_of(found: Verdict | IntervalVerdict | Decision | Proof) -> int:
    """Return the exit status of an answer."""
    return Status.INTERRUPTED if found.interrupted else _STATUS[found.answer]
