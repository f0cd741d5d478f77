"""What a certificate of a decision states, compared with what the checker derives."""

from __future__ import annotations

from typing import assert_never

from dipapprox.certificates.decisions import CertificateOfPrivacy, CertificateOfViolation
from dipapprox.checking.decisions import private, violated
from dipapprox.checking.decisions.claim import DecisionClaim
from dipapprox.checking.partial_result import PartialResult
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.limits import Limits


def examine_decision(
    record: CertificateOfPrivacy | CertificateOfViolation,
    claim: DecisionClaim,
    program: Program,
    partial: PartialResult,
    limits: Limits,
) -> None:
    """Derive again what the record states about its program, and compare.

    Raises:
        Stuck, NoBounds: If the checker cannot follow or enclose something.
        LimitReached: If `limits` run out.
    """
    try:
        match record:
            case CertificateOfPrivacy():
                private.examine(record, claim, program, partial, limits)
            case CertificateOfViolation():
                violated.examine(record, claim, program, partial, limits)
            case _:
                assert_never(record)
    except UserError as error:  # a row that is none, or a delta
        partial.differ("rows, delta", error.message)
