"""What a certificate of a decision states, compared with what the checker derives."""

from __future__ import annotations

from typing import assert_never

from dipapprox.checking.decisions import private, violated
from dipapprox.checking.decisions.record import (
    DecisionRecord,
    RecordedInequalities,
    RecordedViolation,
)
from dipapprox.checking.findings import Findings
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.limits import Limits


def examine_decision(
    record: DecisionRecord, program: Program, findings: Findings, limits: Limits
) -> None:
    """Derive again what the record states about its program, and compare.

    Raises:
        Stuck, NoBounds: If the checker cannot follow or enclose something.
        LimitReached: If `limits` run out.
    """
    try:
        match record.evidence:
            case RecordedInequalities() as evidence:
                private.examine(record, evidence, program, findings, limits)
            case RecordedViolation() as evidence:
                violated.examine(record, evidence, program, findings, limits)
            case _:
                assert_never(record.evidence)
    except UserError as error:  # a row that is none, or a delta
        findings.differ("rows, delta", error.message)
