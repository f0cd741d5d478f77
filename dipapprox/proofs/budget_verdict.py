"""What a budget of all numbers tells of the questions of one ε and of intervals.

(D ε, 0)-differential privacy at every ε gives (ε_prv, δ) where D ε <= ε_prv, whatever δ >= 0 is.

| question | asked | |
|---|---|---|
| a claim, real inputs | first | enclosures take long next to what is attained |
| a claim, finite inputs | last, if open | enclosures have certificates of their own |
| the least ε_prv for δ = 0; calibration | first, as an upper end | the lower one is a pair's |
| the same, real inputs without bounds | first | none if rays lose less than what serves |
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
from functools import partial
from typing import TypeVar

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.extended import Extended
from dipapprox.arithmetic.precision import exponential
from dipapprox.data_classes import replace
from dipapprox.errors import EarlyEnd, SourceError, UserError
from dipapprox.exact.signs.nonnegative import Nonnegative, is_nonnegative
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.language.ast import Name, Number
from dipapprox.language.core import Draw, Epsilon, Program
from dipapprox.language.domains import AllReals, bounds_of
from dipapprox.language.formula import Formula, Operation, Operator, names_of
from dipapprox.language.traversal import nodes_in, rewrite
from dipapprox.laws.distribution import Scale
from dipapprox.limits import current
from dipapprox.numerics.powers import logarithm
from dipapprox.pairs.selections import AllPairs, is_symmetric
from dipapprox.privacy.decisions.decision import Decision, closed_interval
from dipapprox.privacy.decisions.delta import as_ratio
from dipapprox.privacy.intervals.verdict import BITS, FormulaClaim, IntervalVerdict
from dipapprox.privacy.profiles.curve import BUDGET, LEAST, Envelope, monotone
from dipapprox.privacy.profiles.profile_result import (
    REAL_WIDTH,
    AtDelta,
    AtEpsPrv,
    LeastDelta,
    LeastEpsPrv,
    PrivacyCurve,
    ProfileAnswer,
    Question,
)
from dipapprox.privacy.run import BY_BUDGET, Run, Setting
from dipapprox.privacy.verdict import Answer, Claim, Verdict
from dipapprox.proofs.prove_real import prove_real
from dipapprox.proofs.real_proof import RealProof
from dipapprox.semantics.real_inputs import execute_for_declared

LARGEST = "the largest δ"
_LARGE = 100  # budgets beyond say next to nothing of claims of less


def serving_budget(setting: Setting, eps: Fraction | None = None) -> Fraction | None:
    """Return a D such that a program is (D ε, 0)-private at one ε, or at every ε; None if unknown.

    At one ε the scale c ε^k is c ε^(k + 1) / ε: that of a program with the same laws there.
    """
    proof = _proof(setting, eps, serving=True)
    return None if proof is None else proof.upper


def lost_on_rays(setting: Setting, eps: Fraction) -> Extended | None:
    """Return the least ε_prv for δ = 0 at an ε, if rays of inputs without bounds lose what serves.

    What is lost on a ray is lost at every ε at which its outputs are possible (`worst_change`): not
    where the weight of a choice is 0, so none may depend on ε.
    """
    program = setting.program
    weighed = any(isinstance(each, Epsilon) for each in nodes_in(program.body))
    if weighed or {cell.domain for cell in program.inputs} != {AllReals()}:
        return None
    proof = _proof(setting, eps)
    if proof is None or proof.between is None or not proof.between.is_ray:
        return None
    if proof.upper is None or proof.lower < proof.upper:
        return None
    return Extended(proof.upper * eps, proof.upper * eps, *proof.given_by)


def _proof(setting: Setting, eps: Fraction | None, *, serving: bool = False) -> RealProof | None:
    program = setting.program
    asked = isinstance(setting.selection, AllPairs) and program.rounding is None
    if not (asked and program.inputs):
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
    if eps is not None:
        program = replace(program, body=rewrite(program.body, partial(_rescaled, eps)))
    with EarlyEnd():
        try:
            proof = prove_real(program, serving=serving)
        except UserError:
            return None  # no program for every ε
        whole = bool(listed) and all(
            isinstance(value, Fraction) and value.denominator == 1
            for each in listed
            for value in each
        )
        if whole or not proof.integers:
            return proof
    return None


def _rescaled(eps: Fraction, node: object) -> Draw | None:
    if not isinstance(node, Draw):
        return None
    scale = Scale(node.scale.coefficient * eps ** (node.scale.power + 1), -1)
    return replace(node, scale=scale)


Ends = tuple[Fraction, Fraction]
"""The least and the greatest ε that is asked about."""


def by_budget(
    found: Verdict | IntervalVerdict | None,
    budget: Fraction,
    stated: FormulaClaim,
    epsilons: Ends,
    claim: Claim | None,
    setting: Setting,
) -> Verdict | IntervalVerdict | None:
    """Return DP for a claim that a budget proves; for others what was found.

    Args:
        found: Unknown; None if nothing was asked before.
        claim: The same, if it is made of numbers at one ε.
    """
    most: Fraction | None = None
    run: Run | None = None
    with EarlyEnd():
        most = Fraction(0) if _is_enough(budget, stated, epsilons) else None
        if found is not None:
            if most is None:
                most = _less_than(budget, stated, epsilons, setting.program)
            return found if most is None else kept(found, most, BUDGET, setting)
        run = None if most is None else _header(setting)
    if run is None:
        return None
    known = Enclosure.exact(0)
    if claim is not None:
        return Verdict(run, claim, Answer.DP, known, None)
    return IntervalVerdict(run, *epsilons, stated, Answer.DP, 0, known, None, ())


_Found = TypeVar("_Found", bound="Verdict | IntervalVerdict")


def kept(found: _Found, most: Fraction, by: str, setting: Setting) -> _Found:
    """Return DP for a claim, Unknown, of which a method proves so much about the largest δ."""
    told, before = Extended(Fraction(0), most, by, by), found.delta_enclosure
    if before is not None:
        told = told.meet(Extended(before.lower, before.upper, *found.run.by), LARGEST)
    alone = told.by == (by, by)
    run = replace(
        found.run,
        pairs=_pairs_of(setting),
        engine=_word(by) if alone else f"{found.engine} + {_word(by)}",
        precision=0 if alone else found.run.precision,
        reason=None,
        by=told.by,
        seconds=current().elapsed(),
    )
    known = told.enclosure()
    if isinstance(found, Verdict):
        return replace(found, run=run, answer=Answer.DP, delta_enclosure=known, witness=None)
    return replace(found, run=run, answer=Answer.DP, delta_enclosure=known, remaining=())


def nothing_left(setting: Setting, eps: Fraction, eps_prv: Fraction) -> LeastDelta:
    """Return the least δ of a program for an ε_prv that is no less than its budget: 0."""
    return LeastDelta(_header(setting), eps, eps_prv, Enclosure.exact(0), None)


def _header(setting: Setting) -> Run:
    states = execute_for_declared(setting.program, setting.options.merge)
    return setting.header(
        pairs=_pairs_of(setting),
        sizes=(len(states.outputs), len(states.states)),
        precision=0,
        engine=BY_BUDGET,
        by=(BUDGET, BUDGET),
    )


def _pairs_of(setting: Setting) -> int | None:
    """How many pairs what holds for all is about; None if they are not counted."""
    return None if setting.is_real else setting.count()


def _word(by: str) -> str:
    """Return the engine of what a method gave."""
    return BY_BUDGET if by == BUDGET else by


def _joined(engine: str, by: str) -> str:
    return " + ".join(dict.fromkeys((*engine.split(" + "), _word(by))))


def within_budget(
    found: ProfileAnswer, question: Question, budget: Fraction, program: Program, by: str = BUDGET
) -> ProfileAnswer:
    """Return a least ε_prv, least δ, or a curve, with what a budget proves, if that is less."""
    if isinstance(found, PrivacyCurve):
        points = []
        for each in found.envelope.points:
            most = most_of(budget * found.eps, each.eps_prv, program)
            told = Extended(each.delta.lower, each.delta.upper, *each.by)
            told = told.meet(Extended.at_most(most, by), LARGEST)
            points.append(replace(each, delta=told.enclosure(), by=told.by))
        if not any(each.by[1] == by for each in points):
            return found
        run = replace(found.run, engine=_joined(found.engine, by))
        return replace(found, run=run, envelope=Envelope(monotone(points)))
    if isinstance(found, LeastDelta) and isinstance(found.eps_prv, Fraction):
        most = most_of(budget * found.eps, found.eps_prv, program)
        return at_most(found, question, most, by)
    if isinstance(found, LeastEpsPrv):
        most = _least(budget * found.eps, found.delta, program)
        return at_most(found, question, most, by)
    return found


def leaves_zero_open(curve: PrivacyCurve) -> bool:
    """Whether some δ of a curve may be 0, as far as is known, and is bounded by more.

    A least δ is as narrow as was asked for, or asks budgets anyway.
    """
    return any(not each.delta.lower and each.delta.upper for each in curve.envelope.points)


def at_most(found: ProfileAnswer, question: Question, most: Fraction, by: str) -> ProfileAnswer:
    """Return a least ε_prv, or a least δ, that a method bounds from above, if that is less.

    It has no reason if it is an exact number, or as narrow as was asked for.
    """
    if isinstance(found, LeastDelta):
        told = Extended(found.delta_enclosure.lower, found.delta_enclosure.upper, *found.run.by)
    elif isinstance(found, LeastEpsPrv) and not found.eps_prv_enclosure.infinite:
        told = found.eps_prv_enclosure
    else:
        return found
    of = LEAST if isinstance(found, LeastEpsPrv) else LARGEST
    least = told.meet(Extended.at_most(most, by), of)
    if least == told:
        return found
    wanted = Fraction(0)
    if isinstance(question, AtDelta):
        wanted = question.tolerance
    elif isinstance(question, AtEpsPrv):
        wanted = question.width or (least.upper or wanted) * REAL_WIDTH
    reason = None if least.is_within(wanted) else found.reason
    run = replace(found.run, engine=_joined(found.engine, by), by=least.by, reason=reason)
    if isinstance(found, LeastEpsPrv):
        return replace(found, eps_prv_enclosure=least, run=run)
    witness = found.witness if least.width else None
    return replace(found, delta_enclosure=least.enclosure(), witness=witness, run=run)


def most_of(budget: Fraction, eps_prv: Fraction, program: Program) -> Fraction:
    """Bound the largest δ of what is (budget, 0)-private."""
    if eps_prv >= budget:
        return Fraction(0)
    if budget > _LARGE:
        return Fraction(1)
    high, low = exponential(budget, BITS).upper, exponential(eps_prv, BITS).lower
    return (high - low) / (high + _beside(program))


def _beside(program: Program) -> int:
    """What is added to e^B: 1 if adjacent inputs are so in both orders."""
    return int(is_symmetric(program, AllPairs()))


def _least(budget: Fraction, delta: Fraction, program: Program) -> Fraction:
    """Bound the least ε_prv of what is (budget, 0)-private: where the above is δ."""
    if not delta or budget > _LARGE:
        return budget
    high = exponential(budget, BITS).upper
    factor = high - delta * (high + _beside(program))
    return min(budget, logarithm(factor, BITS).upper) if factor > 1 else Fraction(0)


def _less_than(
    budget: Fraction, stated: FormulaClaim, epsilons: Ends, program: Program
) -> Fraction | None:
    """Bound the largest δ at one ε, if that is at most what is claimed."""
    eps, upper = epsilons
    if eps < upper:
        return None
    eps_prv, delta = stated.at(eps, BITS)
    most = most_of(budget * eps, eps_prv.lower, program)
    return most if eps_prv.lower >= 0 and most <= delta.lower else None


def decided(found: Decision) -> Decision:
    """Return a decision, Unknown, as DP: a budget for every ε is at most the claimed one."""
    run = replace(found.run, engine=BY_BUDGET, reason=None)
    return replace(found, run=run, answer=Answer.DP, cause=None, note="", open=())


def _is_enough(budget: Fraction, claim: FormulaClaim, epsilons: Ends) -> bool:
    """Whether budget · ε <= ε_prv and δ >= 0 are proved for every ε between two, both included."""
    lower, upper = epsilons
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
    return isinstance(is_nonnegative(exact, closed_interval(lower, upper)), Nonnegative)


def _function(formula: Formula) -> ExponentialPolynomial | None:
    """Return what a formula is as a sum of c ε^n e^(r ε); None if it is none, or not about ε."""
    if names_of(formula) != {"eps"}:
        return None
    try:
        found = as_ratio(formula)
    except SourceError:
        return None
    return None if found.denominator else found.numerator
