"""Certificates of what `prove` answers, of each kind."""

from __future__ import annotations

from dipapprox.limits import Limits, limited
from dipapprox.privacy.certificate import Certificate
from dipapprox.proofs.automaton_proof import AutomatonProof, StreamProof
from dipapprox.proofs.real_proof import RealProof
from dipapprox.proofs.replayed import with_proof
from dipapprox.replays.budget_files import certify_replayed
from dipapprox.services.service_proof import ServiceProof

Certifiable = AutomatonProof | RealProof | StreamProof | ServiceProof


def certify_proof(proof: Certifiable, text: str, limits: Limits) -> Certificate:
    """Record what was proved: its proof, which the kernel replays first if it has not.

    Args:
        proof: The answer.
        text: Of the automaton, program or service.
        limits: Asked while the proof is written and replayed.

    Raises:
        UserError: If the kernel confirms no proof, or `text` is another one's.
        LimitReached: If `limits` run out.
    """
    with limited(limits):
        return certify_replayed(with_proof(proof, limits), text)
