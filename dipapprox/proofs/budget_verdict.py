"""A claim about all real inputs that was not decided at its ε: a budget for every ε may answer.

(D ε, 0)-differential privacy at every ε gives (ε_prv, δ) at one with D ε <= ε_prv, whatever δ is.
"""

from __future__ import annotations

from dipapprox.data_classes import replace
from dipapprox.errors import EarlyEnd
from dipapprox.language.core import Program
from dipapprox.language.domains import AllReals
from dipapprox.limits import Limits, limited
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.pairs.selections import AllPairs, PairSelection
from dipapprox.privacy.verdict import BY_BUDGET, Answer, Verdict
from dipapprox.proofs.prove_real import prove_real


def with_budget(
    program: Program, verdict: Verdict, selection: PairSelection, limits: Limits
) -> Verdict:
    """Return a verdict, or DP where it is Unknown and the least budget of the program is enough.

    Args:
        program: A closed core program.
        verdict: About it, and a claim of rational numbers.
        selection: The pairs that the verdict is about.
        limits: What is left of them.
    """
    asked = verdict.answer is Answer.UNKNOWN and not verdict.interrupted
    if not (asked and isinstance(selection, AllPairs) and program.rounding is None):
        return verdict
    if not all(isinstance(cell.domain, AllReals) for cell in program.inputs):
        return verdict
    with EarlyEnd(), limited(limits):
        proof = prove_real(program, limits)
        # Beside integer noise budgets are about integers among the inputs.
        if proof.answer is Answer.DP and proof.upper is not None and not proof.integers:
            claim = verdict.claim
            if proof.upper * claim.eps <= claim.eps_prv:
                run = replace(verdict.run, engine=BY_BUDGET, precision=0, reason=None)
                return replace(
                    verdict,
                    run=replace(run, seconds=limits.elapsed()),
                    answer=Answer.DP,
                    delta_enclosure=Enclosure.exact(0),
                    witness=None,
                )
    return verdict
