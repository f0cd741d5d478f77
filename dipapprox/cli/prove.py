"""`dipapprox prove`: the least budget for every ε, every length and all real inputs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from dipapprox.cli import arguments, asking, certificate, flags
from dipapprox.cli.asking import add_file, add_parameters, parameters_of
from dipapprox.cli.command import Commands, add_command
from dipapprox.cli.output import check_place, show_answer, write_whole
from dipapprox.data_classes import dataclass
from dipapprox.deferred import Deferred
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.language.load import DIPA, DPG, PYTHON, language_of, source_text
from dipapprox.language.services import Service
from dipapprox.privacy.options import Options
from dipapprox.proofs.automaton_proof import AutomatonProof
from dipapprox.proofs.streams.stream_proof import StreamProof
from dipapprox.proofs.subject import Subject, load_subject
from dipapprox.questions.proof_certificates import Certifiable
from dipapprox.questions.prove import Prove
from dipapprox.services.family_files import read_families
from dipapprox.services.family_proof import prove_families
from dipapprox.services.implementation import prove_implementation

if TYPE_CHECKING:
    from rich.console import Console

    from dipapprox.cli import review
    from dipapprox.privacy import page as pages
    from dipapprox.privacy.result import Result
else:
    pages = Deferred("dipapprox.privacy.page")
    review = Deferred("dipapprox.cli.review")

_EXAMPLES = """examples:
  dipapprox prove svt.dipa                          the least D: (D ε, 0)-DP for all ε > 0
  dipapprox prove svt_laplace.dpg --reals -p N=4    the same for a program with 4 real inputs
  dipapprox prove svt_laplace.dpg --for-all N       and with any number of them
  dipapprox prove slots.dpg                         a service, every sequence of calls
  dipapprox prove users.dpg --examiner alice            what alice alone may learn
  dipapprox prove users.dpg --eps 1                 at one ε only
  dipapprox prove svt.dipa --budget 1               (ε, 0)-DP for all ε > 0
  dipapprox prove range.dipa --stops visible --json
  dipapprox prove svt_without_limit.dipa --draw svt.dot
  dipapprox prove svt_laplace.dpg --for-all N --certificate svt.json
  dipapprox check svt.json                          the kernel replays the proof

exit status: 0 DP, 1 Not_DP, 2 bad input or usage, 3 Unknown, 130 interrupted
"""

_DRAW = "--draw"
_FAMILIES = "--families"
_IMPLEMENTS = "--implements"


@dataclass(frozen=True, slots=True)
class ProveCommand:
    """The command line, read.

    Attributes:
        for_all: The parameter that may be any number; None for none.
        draw: Where to draw the automaton; None for nowhere.
        certificate: Where to write one; None for nowhere.
        report: Where to write the page for a reviewer; None for nowhere.
        families: Relations to check, for a service; None to find the budget.
        implements: A service that it has the laws of; None to find the budget of its own.
    """

    path: Path
    parameters: Mapping[str, Fraction]
    for_all: str | None
    question: Prove
    options: Options
    json: bool
    draw: Path | None
    certificate: Path | None
    report: Path | None
    families: Path | None
    implements: Path | None


def add_parser(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "prove",
        description="Find the least D for which an automaton or a program with Laplace noise is\n"
        "(D ε, 0)-differentially private, for every ε > 0 and all real inputs, or a service for\n"
        "every sequence of calls: exactly, or from both sides; or show what leaves it without any.",
        epilog=_EXAMPLES,
        read=read,
        run=run,
    )
    add_file(parser, "a program (.dpg, module.py:name), an automaton (.dipa), or the name of one")
    add_parameters(parser)
    parser.add_argument(
        "--for-all",
        metavar="N",
        help="take the parameter N as any number: the loop up to it is one over rounds",
    )
    arguments.add_question(parser, Prove)
    parser.add_argument(
        _DRAW,
        type=Path,
        metavar="OUT",
        help="draw it in the DOT language, a tight run or what leaves no budget in red",
    )
    parser.add_argument(
        _FAMILIES,
        type=Path,
        metavar="FILE",
        help="check these unwinding families of a service, instead of finding the budget (JSON)",
    )
    parser.add_argument(
        _IMPLEMENTS,
        type=Path,
        metavar="SERVICE",
        help="show that a service with subroutines has the laws of this one, and find its budget",
    )
    asking.add_certificate(parser)
    flags.add_report(parser)


def read(words: argparse.Namespace) -> ProveCommand:
    """Turn words into values.

    Raises:
        UserError: If a value is malformed or out of range.
    """
    return ProveCommand(
        path=words.file,
        parameters=parameters_of(words),
        for_all=words.for_all,
        question=arguments.question_of(words, Prove),
        options=arguments.options_of(words),
        json=words.json,
        draw=words.draw,
        certificate=words.certificate,
        report=words.report,
        families=words.families,
        implements=words.implements,
    )


def run(command: ProveCommand, console: Console) -> int:
    """Prove, report on `console`, and return the exit status."""
    if command.draw is not None:
        check_place(command.draw, _DRAW)
    asking.check_places(command.certificate, command.report)
    listings = _listings(command)
    subject = load_subject(command.path, command.parameters, command.for_all)
    endless = isinstance(subject, Program) and subject.rounds is not None
    if command.draw is not None and not endless and language_of(command.path) != DIPA:
        raise UserError(f"{_DRAW} is for automata and rounds: this program has no picture")
    if command.implements is not None:
        return _check_implementation(command, subject, listings, console)
    if command.families is not None:
        return _check_families(command, subject, listings, console)
    proof = command.question.answer(subject, command.options)
    if command.draw is not None and isinstance(proof, AutomatonProof | StreamProof):
        write_whole(command.draw, proof.to_dot(), _DRAW)
    digest = None
    if command.certificate is not None and isinstance(proof, Certifiable):
        proof = certificate.budget_with_proof(proof, command.options)
        text = source_text(command.path, command.parameters)
        digest = certificate.write_proof(command.certificate, text, proof, command.options)
    if command.json and isinstance(proof, AutomatonProof) and proof.stopping:
        where = ", ".join(proof.stopping)
        print(
            f"warning: that it may stop in {where} is taken as unseen (--stops visible)",
            file=sys.stderr,
        )
    show_answer(console, proof, json=command.json)
    _write_report(command, listings, proof, digest)
    return asking.status_of(proof)


def _listings(command: ProveCommand) -> tuple[pages.Listing, ...]:
    """Read the texts for the report, if one is wanted."""
    if command.report is None:
        return ()
    files = [each for each in (command.path, command.implements) if each is not None]
    return tuple(
        pages.Listing(path.stem, _shown_as(path), source_text(path, command.parameters))
        for path in files
    )


def _shown_as(path: Path) -> str:
    # What stands for a mechanism in Python is the program that it is.
    language = language_of(path)
    return DPG if language == PYTHON else language


def _write_report(
    command: ProveCommand,
    listings: tuple[pages.Listing, ...],
    proof: Result,
    digest: str | None = None,
) -> None:
    """Write the page for a reviewer, if one is wanted."""
    if command.report is not None:
        review.refuse_changes(listings, _listings(command))
        review.write(command.report, proof, listings, command.certificate, digest)


def _check_implementation(
    command: ProveCommand, subject: Subject, listings: tuple[pages.Listing, ...], console: Console
) -> int:
    """Compare with an idealised service, report on `console`, and return the exit status."""
    path, question = command.implements or Path(), command.question
    idealised = load_subject(path, command.parameters)
    for each, file in ((subject, command.path), (idealised, path)):
        if not isinstance(each, Service):
            raise UserError(f"{_IMPLEMENTS} is for services: '{file}' is none")
    if command.certificate is not None or command.families is not None or question.eps is not None:
        raise UserError(f"{_IMPLEMENTS} goes with --budget and --examiner only")
    assert isinstance(subject, Service)
    assert isinstance(idealised, Service)
    proof = prove_implementation(
        subject, idealised, question.budget, question.examiner, command.options.limits
    )
    show_answer(console, proof, json=command.json)
    _write_report(command, listings, proof)
    return asking.status_of(proof)


def _check_families(
    command: ProveCommand, subject: Subject, listings: tuple[pages.Listing, ...], console: Console
) -> int:
    """Check given families, report on `console`, and return the exit status."""
    if not isinstance(subject, Service):
        raise UserError(f"{_FAMILIES} is for services: '{command.path}' is none")
    if command.certificate is not None:
        raise UserError(f"{_FAMILIES} has no certificate: the families are what there is to check")
    families = read_families(command.families or Path(), subject)
    question = command.question
    limits = command.options.limits
    proof = prove_families(
        subject, families, question.budget, question.examiner, limits, question.eps
    )
    show_answer(console, proof, json=command.json)
    _write_report(command, listings, proof)
    return asking.status_of(proof)
