"""Proofs about real inputs, replayed by the kernel: both ends of what is found."""

from dipapprox import Answer, RealProof
from dipapprox.errors import NoCertificate
from dipapprox.kernel.errors import Refused
from dipapprox.proofs.replayed import with_proof


def confirm(proof: RealProof) -> None:
    """Fail unless the kernel confirms a proof, or has no rule for what it says."""
    if proof.answer is Answer.UNKNOWN:
        return
    try:
        with_proof(proof)
    except NoCertificate as none:
        assert isinstance(none.__context__, NoCertificate | Refused), none.missing
