"""Certificates of what `prove` answers, of each kind."""

from __future__ import annotations

from typing import assert_never

from dipapprox.limits import Limits, limited
from dipapprox.privacy.certificate import Certificate
from dipapprox.proofs import automaton_certificate, real_certificate
from dipapprox.proofs.automaton_certificate import certify_budget
from dipapprox.proofs.automaton_proof import AutomatonProof
from dipapprox.proofs.real_certificate import certify_real
from dipapprox.proofs.real_proof import RealProof
from dipapprox.proofs.streams import certificate as stream_certificate
from dipapprox.proofs.streams.certificate import certify_rounds
from dipapprox.proofs.streams.stream_proof import StreamProof
from dipapprox.replays.budget_files import certify_replayed
from dipapprox.services import certificate as service_certificate
from dipapprox.services.certificate import certify_service
from dipapprox.services.service_proof import ServiceProof

Certifiable = AutomatonProof | RealProof | StreamProof | ServiceProof


def certify_proof(proof: Certifiable, text: str, limits: Limits) -> Certificate:
    """Record what was proved.

    Args:
        proof: The answer.
        text: Of the automaton, program or service.
        limits: For what is searched for again.

    Raises:
        UserError: If there is no evidence that could be recorded, or `text` is another one's.
        LimitReached: If `limits` run out, or the evidence is too large.
    """
    if proof.written is not None:
        return certify_replayed(proof, text)
    with limited(limits):
        match proof:
            case AutomatonProof():
                return certify_budget(proof, text, limits)
            case RealProof():
                return certify_real(proof, text, limits)
            case StreamProof():
                return certify_rounds(proof, text, limits)
            case ServiceProof():
                return certify_service(proof, text)
            case _:
                assert_never(proof)


def without_evidence(proof: Certifiable) -> str | None:
    """Say why a proof has no evidence that could be recorded; None if it has some."""
    if proof.written is not None or proof.unproved is not None:
        return proof.unproved
    match proof:
        case AutomatonProof():
            return automaton_certificate.without_evidence(proof)
        case RealProof():
            return real_certificate.without_evidence(proof)
        case StreamProof():
            return stream_certificate.without_evidence(proof)
        case ServiceProof():
            return service_certificate.without_evidence(proof)
        case _:
            assert_never(proof)
