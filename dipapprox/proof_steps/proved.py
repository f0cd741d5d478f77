"""Proofs that are tried, goals and verdicts that the kernel has replayed some of: `--proved`."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TypeVar

from dipapprox.data_classes import dataclass, replace
from dipapprox.errors import EarlyEnd, NoCertificate
from dipapprox.kernel.errors import NotProved, Refused, Refuted, asking
from dipapprox.kernel.grid import MOST_BITS
from dipapprox.kernel.replay import replay
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verdict import Answer, Replayed, Verdict
from dipapprox.proof_steps.verdicts import (
    BY_BUDGET,
    IN_CLOSED_FORM,
    IN_PARTS,
    Goal,
    attempts,
    goal_of,
    least_of,
    written,
)

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class NoProof:
    """Why the kernel has no proof."""

    missing: str
    # Whether a limit was reached, or somebody interrupted: nothing else need be tried.
    ended: bool = False
    interrupted: bool = False  # whether it was Ctrl-C

    def to(self, answer: Answer) -> str:
        """Say that an answer has no proof."""
        return f"found {answer.value}, but the kernel has no proof: {self.missing}"


def attempted(prove: Callable[[], Found]) -> Found | NoProof:
    """Return what a proof comes to, or what kept it from that."""
    missing = ""
    with EarlyEnd() as end:
        try:
            return prove()
        except NoCertificate as none:
            missing = none.missing
        except NotProved as obstacle:
            missing = str(obstacle)
    return NoProof(end.reason or missing, end.reason is not None, end.interrupted)


class Attempts:
    """Proofs that are tried for one answer, until a limit is reached.

    Attributes:
        replayed: All that the kernel has replayed; None if nothing.
        ended: What ended the search; None if nothing did.
    """

    def __init__(self) -> None:
        self.replayed: Replayed | None = None
        self.ended: str | None = None

    def obstacle(self, prove: Callable[[], Replayed]) -> str | None:
        """Try a proof; return what kept it from being replayed, None if nothing did."""
        if self.ended is not None:
            return self.ended
        found = attempted(prove)
        if not isinstance(found, NoProof):
            self.replayed = found if self.replayed is None else self.replayed + found
            return None
        if found.interrupted:
            raise KeyboardInterrupt
        self.ended = found.missing if found.ended else None
        return found.missing


def proved(setting: Setting, verdict: Verdict) -> Verdict:
    """Return a verdict with what the kernel says; Unknown where it does not follow."""
    if verdict.answer is Answer.UNKNOWN:
        return verdict
    found = attempted(lambda: replayed(setting, goal_of(verdict)))
    if not isinstance(found, NoProof):
        return replace(verdict, replayed=found)
    return replace(
        verdict,
        run=replace(verdict.run, reason=found.to(verdict.answer)),
        answer=Answer.UNKNOWN,
        interrupted=found.interrupted,
    )


def replayed(setting: Setting, goal: Goal) -> Replayed:
    """Replay proofs of a goal until one holds."""
    start = perf_counter()
    failed: NotProved | NoCertificate | None = None
    left = {*attempts(goal)}  # what has some hope left
    for bits in attempts(goal, setting.count()):
        if bits not in left:
            continue
        if bits == IN_CLOSED_FORM and setting.program.real_outputs and goal.witness is None:
            continue  # there are no such steps
        try:
            with asking(setting.limits.check):
                proof = written(setting, goal, bits)
                replay(proof.machine, proof.claim, proof.steps)
        except (NoCertificate, NotProved) as obstacle:
            if bits in (IN_PARTS, BY_BUDGET):
                continue  # they tell nothing; others say why
            match obstacle:
                case Refused() if bits == IN_CLOSED_FORM:
                    failed = failed or obstacle
                case Refused():
                    failed, left = obstacle, left - {*filter(_encloses, left)}
                case Refuted() if bits != IN_CLOSED_FORM:
                    failed = obstacle
                    if least_of(goal, bits) < goal.claim.eps_prv:
                        # More was to be proved than is claimed.
                        failed = Refused(f"probabilities below 2^-{MOST_BITS} tell")
                case _:
                    # It is false, or nothing else can be written.
                    failed, left = obstacle, left & {BY_BUDGET}
        else:
            return Replayed(len(proof.steps), perf_counter() - start, bits, proof)
    raise failed or Refused("there is nothing to try")


def _encloses(bits: int) -> bool:
    return bits > 0
