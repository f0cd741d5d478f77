"""Every verdict of the suite is replayed by the kernel, as far as its rules go."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import Any

from dipapprox import Answer, Options, Program
from dipapprox.errors import EarlyEnd, NoCertificate
from dipapprox.kernel.errors import Refused, Refuted
from dipapprox.language.domains import has_real_inputs
from dipapprox.limits import Limits
from dipapprox.pairs.selections import PairSelection
from dipapprox.privacy import verifier
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.verdict import Verdict
from dipapprox.proof_steps import parts, proved
from dipapprox.proof_steps.verdicts import goal_of

MOST_PROBABILITIES = 600
"""Inputs times outputs; larger verdicts are left to tests of their own."""

MOST_PARTS = 2_000
"""Sets that pairs of real inputs are cut into."""

outcomes: Counter[str] = Counter()
"""How many verdicts were replayed, and how many not, by the reason."""

_found = verifier.verify


def replayed(
    program: Program,
    claim: Claim,
    selection: PairSelection,
    options: Options,
    *more: Any,
) -> Verdict:
    """Verify, and let the kernel confirm what is found, or refuse."""
    verdict = _found(program, claim, selection, options, *more)
    if verdict.answer is not Answer.UNKNOWN:
        outcomes[_replay(program, verdict, selection)] += 1
    return verdict


def _replay(program: Program, verdict: Verdict, selection: PairSelection) -> str:
    if program.real_outputs:
        return "real numbers"
    inputs = 1
    if not has_real_inputs(program):
        inputs = prod(len(cell.domain) for cell in program.inputs)
    if max(inputs, 1) * verdict.run.outputs > MOST_PROBABILITIES:
        return "large"
    with EarlyEnd() as end:
        try:
            proved.replayed(program, goal_of(verdict), selection, Limits())
        except (NoCertificate, Refused) as outside:
            return str(outside)
        except Refuted:
            # A bound that is attained: closed forms tell, enclosures do not.
            if (
                verdict.delta_enclosure is not None
                and verdict.claim.delta in verdict.delta_enclosure
            ):
                return "attained"
            raise
        return "replayed"
    return end.reason or ""


def install() -> None:
    """From now on `verify` is the function above."""
    verifier.verify = replayed
    parts.MOST_PARTS = MOST_PARTS
