"""The files of commands with --certificate: written whole or not at all."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dipapprox.cli.output import write_whole
from dipapprox.deferred import Deferred
from dipapprox.errors import EarlyEnd, NoCertificate
from dipapprox.language.core import Program
from dipapprox.language.load import Source
from dipapprox.pairs.selections import PairSelection
from dipapprox.privacy.certificate import Certificate, ProgramText
from dipapprox.privacy.options import Options

if TYPE_CHECKING:
    from dipapprox.privacy.compositions.result import ComposedAnswer
    from dipapprox.privacy.decisions.decision import Decision
    from dipapprox.privacy.intervals.verdict import IntervalVerdict
    from dipapprox.privacy.verdict import Verdict
    from dipapprox.proof_steps import composed_ends
    from dipapprox.proofs import replayed
    from dipapprox.questions import proof_certificates
    from dipapprox.questions.proof_certificates import Certifiable
    from dipapprox.replays import composition_files, files
else:
    composed_ends = Deferred("dipapprox.proof_steps.composed_ends")
    replayed = Deferred("dipapprox.proofs.replayed")
    proof_certificates = Deferred("dipapprox.questions.proof_certificates")
    composition_files = Deferred("dipapprox.replays.composition_files")
    files = Deferred("dipapprox.replays.files")

FLAG = "--certificate"

Found = TypeVar("Found", bound="Verdict | IntervalVerdict | Decision")
Budget = TypeVar("Budget", bound="Certifiable")
Answered = TypeVar("Answered")


def with_proof(program: Program, found: Found, selection: PairSelection, options: Options) -> Found:
    """Return an answer with a proof that the kernel has replayed; if there is none, say so."""
    return _noted(found, lambda: files.with_proof(program, found, selection, options.limits))


def budget_with_proof(proof: Budget, options: Options) -> Budget:
    """Return the answer of `prove` likewise."""
    return _noted(proof, lambda: replayed.with_proof(proof, options.limits))


def composition_with_proofs(found: ComposedAnswer, options: Options) -> ComposedAnswer:
    """Return the answer of `compose` likewise."""
    return _noted(found, lambda: composed_ends.with_proofs(found, options))


def _noted(found: Answered, proved: Callable[[], Answered]) -> Answered:
    with EarlyEnd() as end:
        try:
            return proved()
        except NoCertificate as none:
            print(none.message, file=sys.stderr)
    if end.reason is not None:
        print(f"no certificate: {end.reason}", file=sys.stderr)
    return found


def write(
    path: Path,
    source: Source,
    program: Program,
    found: Verdict | IntervalVerdict | Decision,
    selection: PairSelection,
    options: Options,
) -> str | None:
    """Write the certificate of an answer about a program, if it has a proof.

    Returns:
        Its digest; None if there is none.

    Raises:
        UserError: If the program's file has changed, or the certificate cannot be written.
    """
    if found.replayed is None:
        return None
    text = ProgramText(program.name, source.language, source.text)
    return _write(path, files.certify_answer(program, text, found, selection, options.limits))


def write_proof(path: Path, source: str, proof: Certifiable, options: Options) -> str | None:
    """Write the certificate of a budget, if it has a proof.

    Args:
        path: Where to.
        source: The text of the automaton, program or service.
        proof: What was found.
        options: Their limits.

    Returns:
        Its digest; None if there is none.

    Raises:
        UserError: If the text has changed, or the certificate cannot be written.
    """
    if proof.replayed is None:
        return None
    return _write(path, proof_certificates.certify_proof(proof, source, options.limits))


def write_composition(path: Path, found: ComposedAnswer, options: Options) -> str | None:
    """Write the certificate of a composition, if it has proofs.

    Returns:
        Its digest; None if there is none.

    Raises:
        UserError: If the certificate cannot be written.
    """
    if not found.proofs:
        return None
    try:
        return _write(path, composition_files.certify_composition(found, options))
    except NoCertificate as missing:
        print(missing.message, file=sys.stderr)
        return None


def _write(path: Path, certificate: Certificate) -> str:
    write_whole(path, certificate.to_json(), FLAG)
    return str(certificate.fields["digest"])
