"""What a budget of all numbers tells of the questions of one ε and of intervals.

(D ε, 0)-differential privacy at every ε gives (ε_prv, δ) where D ε <= ε_prv, whatever δ >= 0 is.

| question | asked | |
|---|---|---|
| a claim of δ = 0, ε_prv next to D ε | first | enclosures take long next to what is attained |
| any other claim | last, where it was not decided | enclosures have certificates of their own |
| the least ε_prv for δ = 0; calibration | first, as an upper end | the lower one is a pair's |

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
from dipapprox.data_classes import replace
from dipapprox.errors import EarlyEnd, SourceError, UserError
from dipapprox.exact.signs.nonnegative import Nonnegative, is_nonnegative
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.language.ast import Name, Number
from dipapprox.language.core import Program
from dipapprox.language.domains import AllReals, bounds_of, has_real_inputs
from dipapprox.language.formula import Formula, Operation, Operator, names_of
from dipapprox.limits import Limits, limited
from dipapprox.numerics.formula_values import Undefined
from dipapprox.pairs.adjacency import count_selected
from dipapprox.pairs.selections import AllPairs, PairSelection
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.decisions.delta import as_ratio
from dipapprox.privacy.decisions.epsilons import closed_interval
from dipapprox.privacy.intervals.formula_claim import BITS, FormulaClaim
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.options import Options
from dipapprox.privacy.profiles.least_eps_prv import BUDGET
from dipapprox.privacy.run import Run, run_of
from dipapprox.privacy.scope import scope_of
from dipapprox.privacy.verdict import BY_BUDGET, Answer, Verdict
from dipapprox.proofs.prove_real import prove_real
from dipapprox.semantics.real_inputs import execute_for_declared

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


def by_budget(
    program: Program,
    budget: Fraction,
    claim: Claim | FormulaClaim,
    formulas: FormulaClaim,
    epsilons: tuple[Fraction, Fraction],
    selection: PairSelection,
    options: Options,
) -> Verdict | IntervalVerdict | None:
    """Return DP for a claim that a budget proves; None for others.

    Of real inputs δ = 0 must be claimed, next to the budget: other claims have certificates.

    Args:
        program: A closed core program.
        budget: From `serving_budget`.
        claim: The claim: of numbers at one ε, of formulas on an interval.
        formulas: The same.
        epsilons: The least and the greatest ε that it is about.
        selection: The pairs.
        options: How to compute.

    Raises:
        UserError: If the value of a real input is needed.
    """
    limits = options.limits
    run: Run | None = None
    with EarlyEnd(), limited(limits):
        near = not has_real_inputs(program) or _is_near(budget, formulas, epsilons)
        if near and _is_enough(budget, formulas, *epsilons, limits):
            states = execute_for_declared(program, options.merge, limits)
            run = run_of(
                program,
                scope_of(program, selection),
                pairs=None if has_real_inputs(program) else count_selected(program, selection),
                outputs=len(states.outputs),
                final_states=len(states.states),
                precision=0,
                engine=BY_BUDGET,
                seconds=limits.elapsed(),
                reason=None,
                by=(BUDGET, BUDGET),
            )
    if run is None:
        return None
    nothing = Enclosure.exact(0)
    if isinstance(claim, Claim):
        return Verdict(
            run=run, claim=claim, answer=Answer.DP, delta_enclosure=nothing, witness=None
        )
    lower, upper = epsilons
    return IntervalVerdict(
        run=run,
        lower=lower,
        upper=upper,
        claim=claim,
        answer=Answer.DP,
        points=0,
        delta_enclosure=nothing,
        violation=None,
        remaining=(),
    )


def with_budget(
    verdict: Verdict | IntervalVerdict,
    budget: Fraction,
    claim: FormulaClaim,
    epsilons: tuple[Fraction, Fraction],
    limits: Limits,
) -> Verdict | IntervalVerdict:
    """Return a verdict, or DP where it is Unknown and a budget of the program is enough.

    Args:
        verdict: About all real inputs.
        budget: From `serving_budget`.
        claim: The claim.
        epsilons: The least and the greatest ε that it is about.
        limits: What is left of them.
    """
    if verdict.answer is not Answer.UNKNOWN or verdict.interrupted:
        return verdict
    enough = False
    with EarlyEnd(), limited(limits):
        enough = _is_enough(budget, claim, *epsilons, limits)
    if not enough:
        return verdict
    seconds, nothing = limits.elapsed(), Enclosure.exact(0)
    by = BUDGET, BUDGET
    run = replace(verdict.run, engine=BY_BUDGET, precision=0, reason=None, seconds=seconds, by=by)
    if isinstance(verdict, IntervalVerdict):
        return replace(verdict, run=run, answer=Answer.DP, delta_enclosure=nothing, remaining=())
    return replace(verdict, run=run, answer=Answer.DP, delta_enclosure=nothing, witness=None)


def _is_near(budget: Fraction, claim: FormulaClaim, epsilons: tuple[Fraction, Fraction]) -> bool:
    """Whether δ = 0 is claimed for an ε_prv that is not far above budget · ε, at both ends."""
    for eps in epsilons:
        try:
            eps_prv, delta = claim.at(eps, BITS)
        except (UserError, Undefined):
            return False
        if delta.upper or eps_prv.upper > budget * eps * _NEXT_TO:
            return False
    return True


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
