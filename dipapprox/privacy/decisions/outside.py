"""Claims outside the decidable class: Gaussian noise, scales other than a / eps.

Nothing decides them for all ε, but the engines of `verify` give parts of an answer: a violation
certified at one ε, or a proof for a compact range of ε. A range that is the whole interval is a
proof of the claim.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure, if_enclosed, sure
from dipapprox.data_classes import dataclass, replace
from dipapprox.errors import UserError
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exact.signs.values import enclose_at
from dipapprox.language.ast import Name, Number
from dipapprox.language.formula import Operation, Operator
from dipapprox.limits import Limits, silent
from dipapprox.numerics import intervals
from dipapprox.pairs.divergence import eps_prv_factor
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.decisions.decision import Violation, ViolationRow
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.intervals.formula_claim import FormulaClaim
from dipapprox.privacy.intervals.verifier import verify_interval
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.privacy.verifier import verify

_TRIALS = 6  # powers of two on both sides of 1 that are tried
_PROOF_RANGE = Fraction(1, 4), Fraction(4)  # where a proof is tried when the interval is larger
_STEPS = 100_000  # for the trials, and again for the proof
_BITS = 128


@dataclass(frozen=True, slots=True)
class Partial:
    """What is known of a claim outside the class."""

    violation: Violation | None  # certified at one ε; None if none was found
    proved: tuple[Fraction, Fraction] | None
    tried: tuple[Fraction, ...]  # the ε at which no violation was found
    # Ordered pairs that were looked at, at the ε of the violation or wherever they were most.
    pairs: int
    interrupted: bool = False

    def proves(self, epsilons: EpsilonInterval) -> bool:
        """Whether the proved range is the whole interval."""
        if epsilons.is_point and self.proved is not None:
            return self.proved[0] == epsilons.lower == self.proved[1]
        return self.proved == (epsilons.lower, epsilons.upper)


def trial_epsilons(epsilons: EpsilonInterval) -> Iterator[Fraction]:
    """Return the epsilons to try: powers of two from 1 outward, then the ends."""
    powers = (Fraction(2) ** (sign * k) for k in range(_TRIALS + 1) for sign in (-1, 1))
    ends = (end for end in (epsilons.lower, epsilons.upper) if end is not None)
    return filter(epsilons.__contains__, dict.fromkeys((*powers, *ends)))


def decide_partially(setting: Setting, question: DecisionQuestion) -> Partial:
    """Look for a violation at single epsilons, then for a proof on a compact range."""
    trials = replace(setting.within(_STEPS), progress=silent)
    tried: list[Fraction] = []
    pairs = 0
    for eps in trial_epsilons(question.epsilons):
        verdict = _verify_at(trials, question, eps)
        if verdict is None:
            continue
        if verdict.answer is Answer.NOT_DP:
            return Partial(_violation(verdict, question), None, tuple(tried), verdict.pairs or 0)
        pairs = max(pairs, verdict.pairs or 0)
        if verdict.interrupted:
            return Partial(None, None, tuple(tried), pairs, interrupted=True)
        if verdict.answer is Answer.DP and question.epsilons.is_point:
            return Partial(None, (eps, eps), (), pairs)
        tried.append(eps)
    return _prove(setting, question, Partial(None, None, tuple(tried), pairs))


def _prove(setting: Setting, question: DecisionQuestion, known: Partial) -> Partial:
    """Add to what single ε tell what a proof, or its failure, does."""
    lower = max(question.epsilons.lower, _PROOF_RANGE[0])
    upper = _PROOF_RANGE[1]
    if question.epsilons.upper is not None:
        lower, upper = question.epsilons.lower or lower, question.epsilons.upper
    if lower >= upper:
        return known
    budget = Operation(Number(question.budget), Operator.MULTIPLY, Name("eps"))
    text = f"{question.budget} * eps"
    claim = FormulaClaim(budget, question.delta.formula, text, question.delta.text)
    try:
        verdict = verify_interval(setting.within(_STEPS), claim, lower, upper)
    except UserError:  # δ is above 1 somewhere: no claim for `verify`, a harmless one here
        return known
    if verdict.answer is Answer.NOT_DP and verdict.violation is not None:
        violation = _violation(verdict.violation, question)
        return replace(known, violation=violation, pairs=verdict.violation.pairs or 0)
    proved = (lower, upper) if verdict.answer is Answer.DP else None
    pairs = max(known.pairs, verdict.pairs or 0)
    return replace(known, proved=proved, pairs=pairs, interrupted=verdict.interrupted)


def _verify_at(setting: Setting, question: DecisionQuestion, eps: Fraction) -> Verdict | None:
    """Verify the claim at one ε: with a larger δ to refute, with a smaller one to prove."""
    delta = _delta(question, eps, setting.limits)
    if delta is None:
        return None
    budget = question.budget * eps
    verdict = verify(setting, Claim(eps, delta.upper, budget))
    if verdict.answer is Answer.DP and delta.width:
        return verify(setting, Claim(eps, delta.lower, budget))
    return verdict


def violation_at(setting: Setting, question: DecisionQuestion, eps: Fraction) -> Violation | None:
    """Certify a violation at one ε by enclosures; None if they do not show one."""
    verdict = _verify_at(setting, question, eps)
    if verdict is None or verdict.answer is not Answer.NOT_DP:
        return None
    return _violation(verdict, question)


@if_enclosed
def _delta(question: DecisionQuestion, eps: Fraction, limits: Limits) -> Enclosure:
    ends = question.delta.bounds(_BITS)
    low, high = (sure(enclose_at(each, eps, _BITS, limits)) for each in ends)
    one = Fraction(1)
    return Enclosure(min(max(low.lower, Fraction(0)), one), min(max(high.upper, Fraction(0)), one))


def _violation(verdict: Verdict, question: DecisionQuestion) -> Violation:
    witness, eps = verdict.witness, verdict.claim.eps
    assert witness is not None, "Not_DP has a witness"
    rows = tuple(
        ViolationRow(row.output, row.probability, row.adjacent_probability, None, None)
        for row in witness.rows
    )
    nothing = Enclosure.exact(0)
    left = sum((row.probability for row in rows), nothing)
    factor = eps_prv_factor(question.budget * eps, verdict.precision)
    adjacent = sum((row.adjacent_probability for row in rows), nothing)
    claimed = Enclosure.exact(verdict.claim.delta)
    # The right side is below the left one, whatever the size of e^{tε}.
    right = Enclosure(min(claimed.lower, left.lower), left.upper)
    if factor.upper is not None:
        right = intervals.multiply(Enclosure(factor.lower, factor.upper), adjacent) + claimed
    pair, engine = (witness.input, witness.adjacent), verdict.engine
    if witness.argument is None:
        return Violation(*pair, rows, eps, left, right, checked_by=engine)
    reason = f"the two sides are not told apart by enclosures, but {witness.argument}"
    return Violation(*pair, rows, eps, not_enclosed=reason, checked_by=engine)
