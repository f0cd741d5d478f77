"""Certificates of budgets of automata are written: what was proved, and all a check needs.

In: a proof and the automaton's text. Out: the JSON object that `certificates.budgets` defines.
Unknown has no certificate.
"""

from __future__ import annotations

from typing import Any

from dipapprox.automata.description import automaton_of
from dipapprox.automata.stops import stop_symbol, stopping_states
from dipapprox.certificates.budgets import (
    FORMAT,
    VERSION,
    Branch,
    BudgetClaimed,
    CertificateAgainstBudget,
    CertificateOfBudget,
    HiddenStops,
    RecordedAutomaton,
    StatedBounds,
    VisibleStops,
)
from dipapprox.certificates.digest import text_hash
from dipapprox.certificates.statement import Computed
from dipapprox.certificates.writing import UNSIGNED
from dipapprox.errors import UserError
from dipapprox.language.dipa import parse_dipa
from dipapprox.limits import Limits
from dipapprox.privacy.certificate import Certificate, versions
from dipapprox.privacy.verdict import Answer
from dipapprox.proofs.automaton_proof import AutomatonProof, Stops
from dipapprox.proofs.budget_evidence import evidence_of, lack_of_evidence


def certify_budget(proof: AutomatonProof, text: str, limits: Limits) -> Certificate:
    """Record what was proved of an automaton.

    Args:
        proof: The answer.
        text: The automaton's text.
        limits: For the search for vectors.

    Raises:
        UserError: If there is no evidence that could be recorded, or `text` is not the automaton's.
        LimitReached: If `limits` run out, or the evidence is too large.
    """
    missing = without_evidence(proof)
    if missing is not None:
        raise UserError(f"no certificate: {missing}")
    if automaton_of(parse_dipa(text, proof.program)) != proof.automaton:
        raise UserError("the text is not that of the automaton of which this was proved")
    private = proof.answer is Answer.DP
    stated: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "program": RecordedAutomaton(name=proof.program, text=text, sha256=text_hash(text)),
        "stops": _stops(proof, limits),
        "claim": BudgetClaimed(budget=proof.budget),
        "least_budget": StatedBounds(lower=proof.lower, upper=proof.upper if private else None),
        "evidence": evidence_of(
            proof.analysis,
            private=private,
            has_lower=proof.lower > 0,
            unbounded=proof.analysis.unbounded,
            stop=stop_symbol(proof.automaton, proof.analysis.automaton),
            limits=limits,
        ),
        "computed": Computed(engine="exact", **versions()),
        "digest": UNSIGNED,
    }
    if private:
        return Certificate.of(CertificateOfBudget(**stated, verdict="DP"))
    return Certificate.of(CertificateAgainstBudget(**stated, verdict="Not_DP"))


def without_evidence(proof: AutomatonProof) -> str | None:
    """Say why a proof has no evidence that could be recorded; None if it has some."""
    return lack_of_evidence(proof.answer, proof.analysis)


def _stops(proof: AutomatonProof, limits: Limits) -> HiddenStops | VisibleStops:
    automaton, total = proof.automaton, proof.analysis.automaton
    if proof.stops is Stops.HIDDEN:
        states = stopping_states(automaton, limits) if proof.stopping else ()
        return HiddenStops(states=tuple([automaton.states[state].name for state in states]))
    branches = [
        Branch(
            state=total.states[added.source].name,
            at_least=total.names(added.above),
            less=total.names(added.below),
        )
        for added in total.transitions[len(automaton.transitions) :]
    ]
    return VisibleStops(branches=tuple(branches))
