"""Certificates of budgets of automata."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

from dipapprox.automata.description import automaton_of
from dipapprox.language.dipa import parse_dipa
from dipapprox.limits import Limits
from dipapprox.proofs.automaton_certificate import certify_budget, without_evidence
from dipapprox.proofs.automaton_proof import AutomatonProof, Stops
from dipapprox.proofs.prove_automaton import NamedAutomaton, prove_automaton
from tests.checking.certified import Fields


def proved(
    text: str, budget: Fraction | None = None, stops: Stops = Stops.HIDDEN
) -> AutomatonProof:
    return prove_automaton(
        NamedAutomaton("automaton", automaton_of(parse_dipa(text))), budget, stops, Limits()
    )


def budget_certificate(
    source: Path | str, budget: Fraction | None = None, stops: Stops = Stops.HIDDEN
) -> Fields:
    """Prove, certify, and return the certificate as a file would have it."""
    text = source.read_text("utf-8") if isinstance(source, Path) else source
    proof = proved(text, budget, stops)
    assert without_evidence(proof) is None
    fields = json.loads(certify_budget(proof, text, Limits()).to_json())
    assert isinstance(fields, dict)
    return fields
