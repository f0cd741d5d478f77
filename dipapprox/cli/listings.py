"""The programs that a certificate is about, for the page of `check --report`."""

from __future__ import annotations

from dipapprox.certificates.budgets import RecordedAutomaton, RecordedRounds
from dipapprox.certificates.compositions import (
    CertificateAgainstComposition,
    CertificateOfComposition,
    ProgramRun,
)
from dipapprox.certificates.reading import read_certificate
from dipapprox.certificates.services import RecordedService
from dipapprox.certificates.statement import RecordedProgram
from dipapprox.language.load import DIPA, DPG
from dipapprox.privacy.page import Listing

OfAnything = RecordedProgram | RecordedAutomaton | RecordedRounds | RecordedService
"""What a certificate is about."""


def listings_of(text: str) -> tuple[list[Listing], str]:
    """Return the texts of the programs that a certificate is about, each once, and its digest.

    Args:
        text: Of the file.
    """
    record, _ = read_certificate(text)
    if isinstance(record, CertificateOfComposition | CertificateAgainstComposition):
        runs = (run.what for run in record.runs)
        texts = [_listing(run.program) for run in runs if isinstance(run, ProgramRun)]
        return list(dict.fromkeys(texts)), record.digest
    return [_listing(record.program)], record.digest


def _listing(program: OfAnything) -> Listing:
    match program:
        case RecordedAutomaton():
            language = DIPA
        case RecordedRounds():
            language = DPG
        case _:
            language = program.language
    return Listing(program.name, language, program.text)
