"""Decisions that the kernel has replayed proofs of: what `decide --proved` asks for."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from dipapprox.errors import NoCertificate
from dipapprox.kernel.errors import NotProved, Refuted
from dipapprox.kernel.machine import read_weight
from dipapprox.kernel.replay import replay
from dipapprox.kernel.signs import Epsilons, Signs
from dipapprox.kernel.weights import formula_of
from dipapprox.language.core import Program
from dipapprox.limits import Limits
from dipapprox.pairs.selections import PairSelection
from dipapprox.privacy.decisions.decision import EXACT, Decision, Violation
from dipapprox.privacy.decisions.delta import Delta
from dipapprox.privacy.decisions.ranges import FIRST_BITS, LAST_BITS
from dipapprox.privacy.notation import finite
from dipapprox.privacy.verdict import Answer
from dipapprox.proof_steps.formulas import formula_json, ratio_json, times_eps
from dipapprox.proof_steps.machines import Json
from dipapprox.proof_steps.throughout import Broken, GoalThroughout, written_throughout
from dipapprox.proof_steps.verdicts import WrittenProof


def goal_of(decision: Decision) -> GoalThroughout:
    """Return what a decision, DP or Not_DP, says.

    Raises:
        NoCertificate: If the kernel has no rules for it.
    """
    violation, broken = decision.violation, None
    if decision.answer is Answer.DP and decision.engine != EXACT:
        raise NoCertificate("the decision rests on enclosures for all ε of an interval")
    if violation is not None:
        broken = _broken(violation)
    on = Epsilons(decision.epsilons.lower, decision.epsilons.upper)
    deltas = tuple(_deltas(decision.delta, on, below=broken is None))
    return GoalThroughout(on, times_eps(decision.budget), deltas, broken)


def _broken(violation: Violation) -> Broken:
    if not violation.rows:
        raise NoCertificate("no outputs of the violation are named")
    rows = tuple(tuple(finite(row.output)) for row in violation.rows)
    return Broken(violation.eps, violation.input, violation.adjacent, rows)


def _deltas(delta: Delta, on: Epsilons, below: bool) -> Iterator[Json]:
    """Yield δ, or bounds of a δ with irrational constants."""
    if delta.exact is None:
        bits = FIRST_BITS
        while bits <= LAST_BITS:
            yield ratio_json(delta.bounds(bits)[0 if below else 1])
            bits *= 2
        return
    try:
        found = formula_json(delta.formula)
        formula_of(read_weight(found), Signs(on))
    except (NotProved, NoCertificate):
        # As it was written it has more divisors.
        found = ratio_json(delta.exact)
    yield found


def replayed_throughout(
    program: Program, goal: GoalThroughout, selection: PairSelection, limits: Limits
) -> tuple[WrittenProof, float]:
    """Return a proof of a goal that the kernel has replayed, with the seconds that took.

    Raises:
        NoCertificate: If none can be written.
        NotProved: If none holds.
        LimitReached: If a limit is reached.
    """
    failed: NotProved = Refuted("there is nothing to try")
    for proof in written_throughout(program, goal, selection, limits):
        start = perf_counter()
        try:
            replay(proof.machine, proof.claim, proof.steps, ask=limits.check)
        except NotProved as obstacle:
            failed = obstacle
        else:
            return proof, perf_counter() - start
    raise failed
