"""The files of commands with --certificate: written whole or not at all."""

from __future__ import annotations

import sys
from fractions import Fraction
from functools import partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from dipapprox.checking.boxes.examine import require_reach
from dipapprox.checking.inputs import MOST_INPUTS
from dipapprox.checking.values import Stuck
from dipapprox.cli.output import write_whole
from dipapprox.deferred import Deferred
from dipapprox.errors import LimitReached, NoCertificate, UserError
from dipapprox.language.core import Program
from dipapprox.language.domains import has_real_inputs
from dipapprox.language.load import Source
from dipapprox.pairs.selections import AllPairs, PairSelection
from dipapprox.privacy.certificate import Certificate, ProgramText
from dipapprox.privacy.compositions.result import ComposedAnswer
from dipapprox.privacy.decisions.decision import Decision
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.options import Options
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.questions.proof_certificates import Certifiable, certify_proof
from dipapprox.questions.proof_certificates import without_evidence as without_proof_evidence

if TYPE_CHECKING:
    from dipapprox.replays import files
else:
    files = Deferred("dipapprox.replays.files")

FLAG = "--certificate"


def write(
    path: Path,
    source: Source,
    program: Program,
    found: Verdict | IntervalVerdict | Decision,
    selection: PairSelection,
    options: Options,
) -> str | None:
    """Write the certificate of a verdict or decision; if it can have none, say so.

    Returns:
        Its digest; None if there is none.

    Raises:
        UserError: If the program's file has changed, or the certificate cannot be written.
    """
    match found:
        case Verdict():
            missing = "the verdict is Unknown" if found.answer is Answer.UNKNOWN else None
            certified = partial(files.certify_verdict, verdict=found)
        case Decision() | IntervalVerdict():
            missing = "the answer is Unknown" if found.answer is Answer.UNKNOWN else None
            certified = partial(files.certify_throughout, found=found)
        case _:
            assert_never(found)
    if missing is not None:
        print(f"no certificate: {missing}", file=sys.stderr)
        return None
    written = ProgramText(program.name, source.language, source.text)
    try:
        certificate = certified(program, written, selection=selection, options=options)
    except LimitReached as limit:
        print(f"no certificate: {limit.reason}", file=sys.stderr)
        return None
    except NoCertificate as none:
        print(none.message, file=sys.stderr)
        return None
    digest = _write(path, certificate)
    if isinstance(found, Verdict) and found.answer is Answer.DP and found.replayed is None:
        _warn(program, found.claim.eps, selection, options)
    return digest


def write_proof(path: Path, source: str, proof: Certifiable, options: Options) -> str | None:
    """Write the certificate of a proved budget; if it can have none, say so.

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
    missing = without_proof_evidence(proof)
    if missing is None:
        try:
            return _write(path, certify_proof(proof, source, options.limits))
        except LimitReached as limit:
            missing = limit.reason
    print(f"no certificate: {missing}", file=sys.stderr)
    return None


def write_composition(path: Path, found: ComposedAnswer, options: Options) -> str | None:
    """Write the certificate of a composition; if it can have none, say so.

    Returns:
        Its digest; None if there is none.

    Raises:
        UserError: If the certificate cannot be written.
    """
    try:
        certificate = files.certify_composition(found, options)
    except LimitReached as limit:
        print(f"no certificate: {limit.reason}", file=sys.stderr)
        return None
    except UserError as missing:
        print(missing.message, file=sys.stderr)
        return None
    return _write(path, certificate)


def _write(path: Path, certificate: Certificate) -> str:
    write_whole(path, certificate.to_json(), FLAG)
    return str(certificate.fields["digest"])


def _warn(program: Program, eps: Fraction, selection: PairSelection, options: Options) -> None:
    """Say so if a certificate about all pairs is none that `check` can confirm."""
    if not isinstance(selection, AllPairs):
        return
    if has_real_inputs(program):
        try:
            require_reach(program.with_rational_scales(), eps, options.limits)
        except (Stuck, LimitReached) as reason:
            text = f"warning: `check` cannot confirm this certificate: {reason}"
            print(text, file=sys.stderr)
        return
    inputs = prod(len(cell.domain) for cell in program.inputs)
    if inputs > MOST_INPUTS:
        print(
            f"warning: `check` cannot confirm this certificate: it derives at most {MOST_INPUTS} "
            f"inputs again, of {inputs}",
            file=sys.stderr,
        )
