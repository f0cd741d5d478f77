"""Certificates of budgets of programs with rounds are written: what was proved, for a check.

In: a proof and the program's text. Out: the JSON object that `certificates.budgets` defines, with
evidence about the automaton that the program is. Unknown has no certificate.
"""

from __future__ import annotations

from typing import Any

from dipapprox.certificates.budgets import (
    FORMAT,
    VERSION,
    BudgetClaimed,
    CertificateAgainstBudget,
    CertificateOfBudget,
    RecordedRounds,
    StatedBounds,
    VisibleStops,
)
from dipapprox.certificates.digest import text_hash
from dipapprox.certificates.statement import Computed
from dipapprox.certificates.writing import UNSIGNED
from dipapprox.errors import UserError
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DPG, parse_program
from dipapprox.limits import Limits
from dipapprox.privacy.certificate import Certificate, versions
from dipapprox.privacy.verdict import Answer
from dipapprox.proofs.budget_evidence import evidence_of, lack_of_evidence
from dipapprox.proofs.streams.stream_proof import StreamProof


def certify_rounds(proof: StreamProof, text: str, limits: Limits) -> Certificate:
    """Record what was proved of a program with rounds.

    Args:
        proof: The answer.
        text: The program's text.
        limits: For the search for vectors.

    Raises:
        UserError: If there is no evidence that could be recorded, or `text` is not the program's.
        LimitReached: If `limits` run out, or the evidence is too large.
    """
    missing = without_evidence(proof)
    analysis, program = proof.analysis, proof.subject
    if missing is not None or analysis is None:
        raise UserError(f"no certificate: {missing}")
    for_all = None if program.rounds is None else program.rounds.parameter
    parsed = parse_program(text, DPG, program.name)
    if elaborate(parsed, program.parameters, program.name, for_all=for_all) != program:
        raise UserError("the text is not that of the program of which this was proved")
    private = proof.answer is Answer.DP
    stated: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "program": RecordedRounds(
            name=program.name,
            text=text,
            sha256=text_hash(text),
            params=dict(program.parameters),
            for_all=for_all,
        ),
        "stops": VisibleStops(branches=()),
        "claim": BudgetClaimed(budget=proof.budget),
        "least_budget": StatedBounds(lower=proof.analysed, upper=proof.upper if private else None),
        "evidence": evidence_of(
            analysis,
            private=private,
            has_lower=proof.analysed > 0,
            unbounded=proof.has_none,
            stop=None,
            limits=limits,
        ),
        "computed": Computed(engine="exact", **versions()),
        "digest": UNSIGNED,
    }
    if private:
        return Certificate.of(CertificateOfBudget(**stated, verdict="DP"))
    return Certificate.of(CertificateAgainstBudget(**stated, verdict="Not_DP"))


def without_evidence(proof: StreamProof) -> str | None:
    """Say why a proof has no evidence that could be recorded; None if it has some."""
    if proof.analysis is None or proof.compiled is None:
        return proof.ended
    if not proof.compiled.factor:
        return "adjacent inputs are equal"
    few, budget = proof.few, proof.budget
    if few is not None and budget is not None and proof.analysed <= budget < few.lower:
        return f"what {few.turns} rounds need, written out, is not recorded"
    return lack_of_evidence(proof.answer, proof.analysis)
