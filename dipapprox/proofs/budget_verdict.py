"""What a budget of all numbers tells of the questions of one ε and of intervals.

(D ε, 0)-differential privacy at every ε gives (ε_prv, δ) where D ε <= ε_prv, whatever δ >= 0 is.

| question | asked | |
|---|---|---|
| a claim of δ = 0, ε_prv next to D ε | first | enclosures take long next to what is attained |
| any other claim, finite inputs too | last, if open | enclosures have certificates of their own |
| the least ε_prv for δ = 0; calibration | first, as an upper end | the lower one is a pair's |
| real inputs of which nothing else bounds all pairs | last, as an upper end | any δ, as below |

**Theorem (less than the budget).** Let B = D ε and 0 <= ε_prv <= B. For a set S of outputs, and
adjacent u, u', let P = Pr[S | u] and Q = Pr[S | u']. Then P <= e^B Q and P <= 1, so P - e^ε_prv Q
is at most 1 - e^(ε_prv - B). If u', u are adjacent, too, 1 - Q <= e^B (1 - P), and it is at most
what it is where both bounds are attained (randomised response): (e^B - e^ε_prv) / (e^B + 1).

What serves is found by one linear programme for each final state and change: about a tenth of a
second. So inputs of finitely many values are asked about in the same way where their pairs are very
many.

**Theorem (finite domains).** A budget of all numbers between the least and the greatest value of
every input serves the finite domains, too: whether u and u' are adjacent is told by the changes
u'_i - u_i alone, not by which other values there are; so adjacent inputs of the finite domains are
adjacent among all numbers, and an output has the same probability at the same input. Beside integer
noise budgets are about integers: then all values must be integers.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.extended import Extended
from dipapprox.arithmetic.precision import exponential
from dipapprox.data_classes import dataclass, replace
from dipapprox.errors import EarlyEnd, SourceError, UserError
from dipapprox.exact.signs.nonnegative import Nonnegative, is_nonnegative
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.language.ast import Name, Number
from dipapprox.language.core import Program
from dipapprox.language.domains import AllReals, bounds_of, has_real_inputs
from dipapprox.language.formula import Formula, Operation, Operator, names_of
from dipapprox.limits import Limits, limited
from dipapprox.numerics.formula_values import Undefined
from dipapprox.numerics.powers import logarithm
from dipapprox.pairs.adjacency import count_selected
from dipapprox.pairs.selections import AllPairs, PairSelection, is_symmetric
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.decisions.decision import Decision
from dipapprox.privacy.decisions.delta import as_ratio
from dipapprox.privacy.decisions.question import closed_interval
from dipapprox.privacy.intervals.formula_claim import BITS, FormulaClaim
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.options import Options
from dipapprox.privacy.profiles.least_eps_prv import BUDGET, LEAST
from dipapprox.privacy.profiles.profile_result import LeastDelta, LeastEpsPrv, ProfileAnswer
from dipapprox.privacy.run import Run, run_of
from dipapprox.privacy.scope import scope_of
from dipapprox.privacy.verdict import BY_BUDGET, Answer, Verdict
from dipapprox.proofs.prove_real import prove_real
from dipapprox.semantics.real_inputs import execute_for_declared

_LARGE = 100
"""Budgets beyond say next to nothing of claims of less."""

_NEXT_TO = Fraction(17, 16)
"""Times the budget: claims up to there are hard for enclosures."""


def serving_budget(program: Program, selection: PairSelection, limits: Limits) -> Fraction | None:
    """Return a D such that the program is (D ε, 0)-private for every ε; None if none is known.

    Args:
        program: A closed core program.
        selection: The pairs that are asked about.
        limits: What is left of them.
    """
    if not (isinstance(selection, AllPairs) and program.rounding is None and program.inputs):
        return None
    domains = [cell.domain for cell in program.inputs]
    listed = [each for each in domains if not isinstance(each, AllReals)]
    if listed:
        bounds = [bounds_of(each) for each in listed]
        if len(listed) < len(domains) or None in bounds:
            return None
        cells = zip(program.inputs, bounds, strict=True)
        wide = tuple(replace(cell, domain=AllReals(ends)) for cell, ends in cells)
        program = replace(program, inputs=wide)
    with EarlyEnd(), limited(limits):
        try:
            proof = prove_real(program, limits, serving=True)
        except UserError:
            return None  # no program for every ε
        whole = bool(listed) and all(
            isinstance(value, Fraction) and value.denominator == 1
            for each in listed
            for value in each
        )
        if proof.answer is Answer.DP and (whole or not proof.integers):
            return proof.upper
    return None


@dataclass(frozen=True, slots=True)
class MeantClaim:
    """A claim, and the ε that it is about.

    Attributes:
        numbers: The claim, if it is made of numbers at one ε.
        formulas: The same, made of formulas.
        lower, upper: The least and the greatest ε.
    """

    numbers: Claim | None
    formulas: FormulaClaim
    lower: Fraction
    upper: Fraction


def by_budget(
    found: Verdict | IntervalVerdict | None,
    budget: Fraction,
    claim: MeantClaim,
    program: Program,
    selection: PairSelection,
    options: Options,
) -> Verdict | IntervalVerdict | None:
    """Return DP for a claim that a budget proves; for others what was found.

    Before anything was found, claims of real inputs must be next to the budget: other claims have
    certificates.

    Args:
        found: Unknown; None if nothing was asked before.
        budget: From `serving_budget`.
        claim: The claim.
        program: A closed core program.
        selection: The pairs.
        options: How to compute.

    Raises:
        UserError: If the value of a real input is needed.
    """
    limits, real = options.limits, has_real_inputs(program)
    most: Fraction | None = None
    run: Run | None = None
    with EarlyEnd(), limited(limits):
        if found is not None or not real or _is_near(budget, claim):
            most = Fraction(0) if _is_enough(budget, claim, limits) else None
        if found is not None:
            most = _less_than(budget, claim, program) if most is None else most
            run = found.run
        elif most is not None:
            seconds = limits.elapsed()
            states = execute_for_declared(program, options.merge, limits)
            run = run_of(
                program,
                scope_of(program, selection),
                pairs=None if real else count_selected(program, selection),
                outputs=len(states.outputs),
                final_states=len(states.states),
                precision=0,
                engine=BY_BUDGET,
                seconds=seconds,
                reason=None,
            )
    if run is None or most is None:
        return found
    told, engine = Extended(Fraction(0), most, BUDGET, BUDGET), BY_BUDGET
    if found is not None and found.delta_enclosure is not None:
        before = found.delta_enclosure
        told = told.meet(Extended(before.lower, before.upper, *found.run.by), "the largest δ")
        engine = engine if told.by == (BUDGET, BUDGET) else f"{found.engine} + {BY_BUDGET}"
    bits = 0 if engine == BY_BUDGET else run.precision
    run = replace(run, engine=engine, precision=bits, reason=None, by=told.by)
    run, known = replace(run, seconds=limits.elapsed()), told.enclosure()
    match found, claim.numbers:
        case Verdict(), _:
            return replace(found, run=run, answer=Answer.DP, delta_enclosure=known, witness=None)
        case IntervalVerdict(), _:
            return replace(found, run=run, answer=Answer.DP, delta_enclosure=known, remaining=())
        case _, Claim() as numbers:
            return Verdict(run, numbers, Answer.DP, known, None)
        case _:
            formulas, ends = claim.formulas, (claim.lower, claim.upper)
            return IntervalVerdict(run, *ends, formulas, Answer.DP, 0, known, None, ())


def within_budget(found: ProfileAnswer, budget: Fraction, program: Program) -> ProfileAnswer:
    """Return a least ε_prv, or a least δ, with what a budget proves, if that is less."""
    beside = _beside(program)
    engine, by = f"{found.engine} + {BY_BUDGET}", (found.run.by[0], BUDGET)
    if isinstance(found, LeastDelta):
        if isinstance(found.eps_prv, str):
            return found
        most = _most(budget * found.eps, found.eps_prv, beside)
        if most and most >= found.delta_enclosure.upper:
            return found
        told = Enclosure(Fraction(0), most)
        known = found.delta_enclosure.intersect(told, BUDGET, by[0], "the largest δ")
        run = replace(found.run, engine=engine, by=by, reason=found.reason if most else None)
        witness = found.witness if most else None
        return replace(found, delta_enclosure=known, witness=witness, run=run)
    if not isinstance(found, LeastEpsPrv) or found.eps_prv_enclosure.infinite:
        return found
    least = found.eps_prv_enclosure.meet(
        Extended.at_most(_least(budget * found.eps, found.delta, beside), BUDGET), LEAST
    )
    if least == found.eps_prv_enclosure:
        return found
    reason = found.reason if least.width else None
    return replace(
        found,
        eps_prv_enclosure=least,
        run=replace(found.run, engine=engine, by=least.by, reason=reason),
    )


def _beside(program: Program) -> int:
    """What is added to e^B: 1 if adjacent inputs are so in both orders."""
    return int(is_symmetric(program, AllPairs()))


def _most(budget: Fraction, eps_prv: Fraction, beside: int) -> Fraction:
    """Bound the largest δ of what is (budget, 0)-private."""
    if eps_prv >= budget:
        return Fraction(0)
    if budget > _LARGE:
        return Fraction(1)
    high, low = exponential(budget, BITS).upper, exponential(eps_prv, BITS).lower
    return (high - low) / (high + beside)


def _least(budget: Fraction, delta: Fraction, beside: int) -> Fraction:
    """Bound the least ε_prv of what is (budget, 0)-private: where the above is δ."""
    if not delta or budget > _LARGE:
        return budget
    high = exponential(budget, BITS).upper
    factor = high - delta * (high + beside)
    return min(budget, logarithm(factor, BITS).upper) if factor > 1 else Fraction(0)


def _less_than(budget: Fraction, stated: MeantClaim, program: Program) -> Fraction | None:
    """Bound the largest δ at one ε, if that is at most what is claimed."""
    if stated.lower < stated.upper:
        return None
    eps_prv, delta = stated.formulas.at(stated.lower, BITS)
    most = _most(budget * stated.lower, eps_prv.lower, _beside(program))
    return most if eps_prv.lower >= 0 and most <= delta.lower else None


def decided(found: Decision) -> Decision:
    """Return a decision, Unknown, as DP: a budget for every ε is at most the claimed one."""
    run = replace(found.run, engine=BY_BUDGET, reason=None)
    return replace(found, run=run, answer=Answer.DP, cause=None, note="", open=())


def _is_near(budget: Fraction, claim: MeantClaim) -> bool:
    """Whether δ = 0 is claimed for an ε_prv that is not far above budget · ε, at both ends."""
    for eps in (claim.lower, claim.upper):
        try:
            eps_prv, delta = claim.formulas.at(eps, BITS)
        except (UserError, Undefined):
            return False
        if delta.upper or eps_prv.upper > budget * eps * _NEXT_TO:
            return False
    return True


def _is_enough(budget: Fraction, stated: MeantClaim, limits: Limits) -> bool:
    """Whether budget · ε <= ε_prv and δ >= 0 are proved for every ε between two, both included."""
    claim, lower, upper = stated.formulas, stated.lower, stated.upper
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
