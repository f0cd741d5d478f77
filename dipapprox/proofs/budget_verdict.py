"""A claim about all real inputs that was not decided: the budget of a program may answer.

(D ε, 0)-differential privacy at every ε gives (ε_prv, δ) where D ε <= ε_prv, whatever δ >= 0 is.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import replace
from dipapprox.errors import EarlyEnd, SourceError, UserError
from dipapprox.exact.signs.nonnegative import Nonnegative, is_nonnegative
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.language.ast import Name, Number
from dipapprox.language.core import Program
from dipapprox.language.domains import AllReals
from dipapprox.language.formula import Formula, Operation, Operator, names_of
from dipapprox.limits import Limits, limited
from dipapprox.pairs.selections import AllPairs, PairSelection
from dipapprox.privacy.decisions.delta import as_ratio
from dipapprox.privacy.decisions.epsilons import closed_interval
from dipapprox.privacy.intervals.formula_claim import BITS, FormulaClaim
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.verdict import BY_BUDGET, Answer, Verdict
from dipapprox.proofs.prove_real import prove_real

Found = TypeVar("Found", Verdict, IntervalVerdict)


def with_budget(
    program: Program,
    verdict: Found,
    claim: FormulaClaim,
    epsilons: tuple[Fraction, Fraction],
    selection: PairSelection,
    limits: Limits,
) -> Found:
    """Return a verdict, or DP where it is Unknown and the least budget of the program is enough.

    Args:
        program: A closed core program.
        verdict: About it.
        claim: The claim.
        epsilons: The least and the greatest ε that it is about.
        selection: The pairs that the verdict is about.
        limits: What is left of them.
    """
    asked = verdict.answer is Answer.UNKNOWN and not verdict.interrupted
    if not (asked and isinstance(selection, AllPairs) and program.rounding is None):
        return verdict
    if not all(isinstance(cell.domain, AllReals) for cell in program.inputs):
        return verdict
    enough = False
    with EarlyEnd(), limited(limits):
        proof = prove_real(program, limits)
        # Beside integer noise budgets are about integers among the inputs.
        if proof.answer is Answer.DP and proof.upper is not None and not proof.integers:
            enough = _is_enough(proof.upper, claim, *epsilons, limits)
    if not enough:
        return verdict
    run = replace(verdict.run, engine=BY_BUDGET, precision=0, reason=None)
    found = replace(
        verdict,
        run=replace(run, seconds=limits.elapsed()),
        answer=Answer.DP,
        delta_enclosure=Enclosure.exact(0),
    )
    if isinstance(found, IntervalVerdict):
        return replace(found, remaining=())
    return replace(found, witness=None)


def _is_enough(
    budget: Fraction, claim: FormulaClaim, lower: Fraction, upper: Fraction, limits: Limits
) -> bool:
    """Whether budget · ε <= ε_prv and δ >= 0 are proved for every ε between two, both included."""
    if lower == upper:
        eps_prv, delta = claim.at(lower, BITS)
        return eps_prv.lower >= budget * lower and delta.lower >= 0
    lost = Operation(Number(budget), Operator.MULTIPLY, Name("eps"))
    rest = Operation(claim.eps_prv, Operator.SUBTRACT, lost)
    try:
        if claim.check(lower, upper) is not None:
            return False
        exact = _function(rest)
        if exact is None:
            return replace(claim, eps_prv=rest).check(lower, upper) is None
    except UserError:
        return False  # somewhere it is not
    if not exact:
        return True
    return isinstance(is_nonnegative(exact, closed_interval(lower, upper), limits), Nonnegative)


def _function(formula: Formula) -> ExponentialPolynomial | None:
    """Return what a formula is as a sum of c ε^n e^(r ε); None if it is none, or not about ε."""
    if names_of(formula) != {"eps"}:
        return None
    try:
        found = as_ratio(formula)
    except SourceError:
        return None
    return None if found.denominator else found.numerator
