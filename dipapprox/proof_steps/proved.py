"""Verdicts that the kernel has replayed: what `--proved` asks for."""

from __future__ import annotations

from time import perf_counter

from dipapprox.data_classes import replace
from dipapprox.errors import EarlyEnd, NoCertificate
from dipapprox.kernel.errors import NotProved, Refuted
from dipapprox.kernel.replay import replay
from dipapprox.language.core import Program
from dipapprox.limits import Limits
from dipapprox.pairs.adjacency import PairSelection
from dipapprox.privacy.verdict import Answer, Replayed, Verdict
from dipapprox.proof_steps.verdicts import verdict_proof

FINEST = 8
"""How many times the bits that seem to be enough are tried at last."""


def proved(program: Program, verdict: Verdict, selection: PairSelection, limits: Limits) -> Verdict:
    """Return the verdict with what the kernel says; Unknown where it does not follow.

    Args:
        program: What was verified.
        verdict: What was found.
        selection: The pairs that were selected.
        limits: Asked while the kernel works.
    """
    if verdict.answer is Answer.UNKNOWN:
        return verdict
    start = perf_counter()
    reason: str | None = None
    with EarlyEnd() as end:
        try:
            steps, finer = replayed(program, verdict, selection, limits)
            spent = perf_counter() - start
            return replace(verdict, replayed=Replayed(steps, spent, finer))
        except NoCertificate as none:
            reason = none.message
        except NotProved as obstacle:
            reason = str(obstacle)
    why = f"found {verdict.answer.value}, but the kernel has no proof: {end.reason or reason}"
    return replace(
        verdict,
        run=replace(verdict.run, reason=why),
        answer=Answer.UNKNOWN,
        interrupted=end.interrupted,
    )


def replayed(
    program: Program, verdict: Verdict, selection: PairSelection, limits: Limits
) -> tuple[int, int]:
    """Replay proofs until one holds; return how many steps it has, and how fine it is.

    Raises:
        NoCertificate: If none can be written.
        NotProved: If none holds.
        LimitReached: If a limit is reached.
    """
    finer = 1
    while True:
        proof = verdict_proof(program, verdict, selection, finer)
        try:
            replay(proof.machine, proof.claim, proof.steps, ask=limits.check)
        except Refuted:
            finer *= 2
            if finer > FINEST:
                raise
        else:
            return len(proof.steps), finer
