"""Files of proofs of budgets: certificates of what `prove` answers, of each kind."""

from __future__ import annotations

from typing import Any

from dipapprox.digits import exact_text
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.language.load import DIPA, DPG
from dipapprox.limits import Limits, limited
from dipapprox.privacy.certificate import Certificate
from dipapprox.proofs.automaton_proof import AutomatonProof, StreamProof
from dipapprox.proofs.budget_answer import BudgetAnswer
from dipapprox.proofs.real_proof import RealProof
from dipapprox.proofs.replayed import proved_subject, with_proof
from dipapprox.replays.budgets import meant
from dipapprox.replays.digest import text_fields
from dipapprox.replays.files import recorded_proof
from dipapprox.services.service_proof import ServiceProof

Certifiable = AutomatonProof | RealProof | StreamProof | ServiceProof


def certify_proof(proof: BudgetAnswer, text: str, limits: Limits) -> Certificate:
    """Record what was proved: its proof, which the kernel replays first if it has not.

    Args:
        text: Of the automaton, program or service.
    """
    with limited(limits):
        answer = with_proof(proof, limits)
        written = answer.written
        if written is None:
            raise UserError("the kernel has replayed no proof")
        language = DIPA if isinstance(answer, AutomatonProof) else DPG
        program, about = text_fields(answer.program, language, text), _about(answer)
        _, machines, scope = meant(about, program, answer.parameters, written.claim)
        if written.machine not in machines:
            raise UserError("the text is not that of which this was proved")
        params = {each: exact_text(value) for each, value in answer.parameters.items()}
        described = {"program": program, "params": params, "about": about}
        return recorded_proof(described, scope, answer.answer, written)


def _about(answer: BudgetAnswer) -> dict[str, Any]:
    """Return what a proof is about, as files have it."""
    if isinstance(answer, ServiceProof):
        return {"seen by": sorted(answer.subject.users)}
    subject, seen = proved_subject(answer)
    rounds = subject.rounds if isinstance(subject, Program) else None
    return {"for all": None if rounds is None else rounds.parameter, "stops are seen": seen}
