"""`dipapprox prove`: the least budget for every ε, every length and all real inputs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path

from dipapprox.cli import asking, command, review
from dipapprox.cli.asking import Asking, add_file, add_parameters, parameters_of
from dipapprox.cli.output import Output, certified, check_place, write_whole
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.language.load import DIPA, DPG, PYTHON, language_of, source_text
from dipapprox.language.services import Service
from dipapprox.privacy.description import ProgramText
from dipapprox.proofs import replayed
from dipapprox.proofs.endless_proof import AutomatonProof, StreamProof
from dipapprox.proofs.subject import Subject, load_subject
from dipapprox.questions import certifying
from dipapprox.questions import prove as questions
from dipapprox.questions.prove import Prove
from dipapprox.services.families import prove_families, read_families
from dipapprox.services.service_proof import prove_implementation

_DRAW = "--draw"
_FAMILIES = "--families"
_IMPLEMENTS = "--implements"


def add_words(parser: argparse.ArgumentParser) -> None:
    add_file(parser, "a program (.dpg, module.py:name), an automaton (.dipa), or the name of one")
    add_parameters(parser)
    help = "take the parameter N as any number: the loop up to it is one over rounds"
    parser.add_argument("--for-all", metavar="N", help=help)
    help = "draw it in the DOT language, a tight run or what leaves no budget in red"
    parser.add_argument(_DRAW, type=command.path, metavar="OUT", help=help)
    help = "check these unwinding families of a service, instead of finding the budget (JSON)"
    parser.add_argument(_FAMILIES, type=command.path, metavar="FILE", help=help)
    help = "show that a service with subroutines has the laws of this one, and find its budget"
    parser.add_argument(_IMPLEMENTS, type=command.path, metavar="SERVICE", help=help)
    asking.add_question(parser, Prove, certificate=True)


def run(words: argparse.Namespace, out: Output) -> int:
    asked = asking.asking_of(words, Prove)
    if words.draw is not None:
        check_place(words.draw, _DRAW)
    parameters = parameters_of(words)
    files = [each for each in (words.file, words.implements) if each is not None]
    listings = _listings(files, parameters) if asked.report is not None else []
    subject = load_subject(words.file, parameters, words.for_all)
    endless = isinstance(subject, Program) and subject.rounds is not None
    if words.draw is not None and not endless and language_of(words.file) != DIPA:
        raise UserError(f"{_DRAW} is for automata and rounds: this program has no picture")
    digest = None
    proof: questions.Proof
    if words.implements is not None:
        proof = _implementation(words, asked, subject, load_subject(words.implements, parameters))
    elif words.families is not None:
        proof = _families(words, asked, subject)
    else:
        proof = asked.question.answer(subject, asked.options)
        if words.draw is not None and isinstance(proof, AutomatonProof | StreamProof):
            write_whole(words.draw, proof.to_dot(), _DRAW)
        if asked.certificate is not None:
            found, text = proof, source_text(words.file, parameters)
            proof, digest = certified(
                found,
                asked.certificate,
                lambda: replayed.with_proof(found),
                lambda answer: certifying.certify_proof(answer, text),
            )
        if asked.json and isinstance(proof, AutomatonProof) and proof.stopping:
            where = ", ".join(proof.stopping)
            warning = f"that it may stop in {where} is taken as unseen (--stops visible)"
            print(f"warning: {warning}", file=sys.stderr)
    out.show_answer(proof, json=asked.json, why=words.why)
    if asked.report is not None:
        review.refuse_changes(listings, _listings(files, parameters))
        review.write(asked.report, proof, listings, asked.certificate, digest)
    return asking.status_of(proof)


def _listings(files: Iterable[Path], parameters: Mapping[str, Fraction]) -> list[ProgramText]:
    return [ProgramText(p.stem, _shown_as(p), source_text(p, parameters)) for p in files]


def _shown_as(path: Path) -> str:
    # What stands for a mechanism in Python is the program that it is.
    language = language_of(path)
    return DPG if language == PYTHON else language


def _implementation(
    words: argparse.Namespace, asked: Asking[Prove], subject: Subject, idealised: Subject
) -> questions.Proof:
    question = asked.question
    if not isinstance(subject, Service) or not isinstance(idealised, Service):
        file = words.implements if isinstance(subject, Service) else words.file
        raise UserError(f"{_IMPLEMENTS} is for services: '{file}' is none")
    if asked.certificate is not None or words.families is not None or question.eps is not None:
        raise UserError(f"{_IMPLEMENTS} goes with --budget and --examiner only")
    return prove_implementation(subject, idealised, question.budget, question.examiner)


def _families(words: argparse.Namespace, asked: Asking[Prove], subject: Subject) -> questions.Proof:
    if not isinstance(subject, Service):
        raise UserError(f"{_FAMILIES} is for services: '{words.file}' is none")
    if asked.certificate is not None:
        raise UserError(f"{_FAMILIES} has no certificate: the families are what there is to check")
    families = read_families(words.families, subject)
    question = asked.question
    return prove_families(subject, families, question.budget, question.examiner, question.eps)
