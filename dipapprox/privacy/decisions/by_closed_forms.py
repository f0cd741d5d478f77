"""Between closed forms, which know all ε, and `verify`, whose enclosures know one.

A violated inequality becomes a violation: one rational ε, and both sides enclosed there. The exact
sign of the inequality certifies it; everything else only describes it. So what cannot be computed,
for want of time or bits, is left out, and the violation stays. An engine that computes with
enclosures only, at that ε, without the forms, must agree as far as its precision goes; if it
contradicts, there is a bug, and no verdict.

A claim of `verify`, final states with formulas at one ε or on an interval, is settled by closed
forms where enclosures do not tell: if what `decide` knows tells, budgets t ε, and δ of its class
(`delta`). Any other claim is implied by one of these, on every part of an interval (`at_least`).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import islice
from operator import add

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, if_enclosed, simplest, sure
from dipapprox.data_classes import Record, replace
from dipapprox.errors import BrokenInvariant, Contradiction, LimitReached, UserError
from dipapprox.exact.distributions import ExactDistributions
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exact.signs.nonnegative import NegativeRange, Nonnegative
from dipapprox.exact.signs.values import enclose_at, sign_at
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language.formula import names_of, parse_formula
from dipapprox.limits import at_most, check_limits
from dipapprox.numerics import intervals
from dipapprox.numerics.formula_values import Undefined
from dipapprox.pairs.divergence import difference_over, eps_prv_factor
from dipapprox.pairs.published import together as published_search
from dipapprox.pairs.selections import Pair, one_by_one
from dipapprox.privacy import subjects
from dipapprox.privacy.decisions.decision import DecisionQuestion, Violation, ViolationRow
from dipapprox.privacy.decisions.delta import as_ratio, read_delta
from dipapprox.privacy.decisions.search import DecisionSearch, Violated
from dipapprox.privacy.decisions.signs import Signs, check_delta
from dipapprox.privacy.exact_pairs import Divergence, Functions, Obstacle, probability
from dipapprox.privacy.intervals.verdict import BITS, FormulaClaim
from dipapprox.privacy.run import Options, Setting
from dipapprox.privacy.verdict import Answer, Claim, Verdict
from dipapprox.privacy.verifier import verify
from dipapprox.semantics.state import FinalStates

_BITS = (64, 128, 256, 512, 1024, 2048)  # of the enclosures, until the two sides are told apart
_ENGINE_BITS = (40, 80, 160, 320)  # of the independent engine
_STEEPEST = 128
"""Largest wanted exponent q ε of an e^(q ε) in a witness: enclosures end at an absolute precision,
below which two numbers cannot be told apart, and nobody reads them."""

STEPS = 100_000  # for an engine that agrees, for trials, and again for a proof
_FORMS = "closed forms"  # for the same: the violation is proved without it


def certain_violation(search: DecisionSearch, states: FinalStates) -> Violation:
    """Return what is certain of a violation without any further computation."""
    assert search.violation is not None
    divergence, outputs = search.violation.divergence, states.outputs
    known = search.functions.known
    first, second = map(search.functions.for_input, divergence.pair)
    rows = tuple(
        ViolationRow(tuple(outputs[o]), UNIT, UNIT, known[first[o]], known[second[o]])
        for o in divergence.outputs
    )
    return Violation(*divergence.pair, rows, search.violation.eps)


def described(
    violation: Violation, search: DecisionSearch, states: FinalStates, options: Options
) -> Violation:
    """Describe a violation at a simple rational ε, as far as limits allow; a `BrokenInvariant` if
    something contradicts the exact forms."""
    assert search.violation is not None
    divergence, question = search.violation.divergence, search.question
    forms = [(row.form, row.adjacent_form) for row in violation.rows]
    known = [(p, q) for p, q in forms if p is not None and q is not None]
    eps = _simple_epsilon(search.violation, search, _rate(known))
    shown, delta = _enclosed(replace(violation, eps=eps), known, question)
    if delta is not None:
        engine = _checked_by(divergence, shown, delta, question, states, options)
        shown = replace(shown, checked_by=engine)
    try:
        ranges = search.ranges(divergence)
    except LimitReached:
        ranges = None
    return replace(shown, ranges=ranges)


def _simple_epsilon(found: Violated, search: DecisionSearch, rate: Fraction) -> Fraction:
    """Return a simple number well inside a violated range; the known one if limits forbid."""
    try:
        eps = choose_epsilon(search.signs.negative(found.slack, search.question.width), rate)
        sign = sign_at(found.slack, eps)
    except LimitReached:
        return found.eps
    if sign >= 0:
        raise BrokenInvariant(f"a function negative on a range is not negative at {eps}")
    return eps


def choose_epsilon(ranges: Sequence[NegativeRange], rate: Fraction = Fraction(0)) -> Fraction:
    """Choose a simple rational well inside the widest range, so that q ε is moderate, if it allows
    that, for the largest |q| of an e^(q ε) there, the rate."""
    if not ranges:
        raise BrokenInvariant("a violated inequality is violated nowhere")
    widest = max(ranges, key=_width)
    lower = widest.lower.upper
    chosen = _inside(lower, None if widest.upper is None else widest.upper.lower)
    if chosen * rate <= _STEEPEST or lower * rate >= _STEEPEST:
        return chosen
    return _inside(lower, _STEEPEST / rate)


def _inside(lower: Fraction, upper: Fraction | None) -> Fraction:
    if upper is None:
        return simplest(lower * Fraction(5, 4), None, inside=True)
    if lower == upper:
        return lower
    quarter = (upper - lower) / 4
    return simplest(lower + quarter, upper - quarter, inside=True)


def _rate(forms: Sequence[tuple[ExponentialRatio, ExponentialRatio]]) -> Fraction:
    """Return the largest |q| of an e^(q ε) in the numerators of probabilities."""
    terms = (term for both in forms for form in both for term in form.numerator.terms)
    return max((abs(q) for (_, q), _ in terms), default=Fraction(0))


def _width(each: NegativeRange) -> tuple[bool, Fraction]:
    if each.upper is None:
        return True, Fraction(0)
    return False, each.upper.lower - each.lower.upper


def _enclosed(
    violation: Violation,
    forms: Sequence[tuple[ExponentialRatio, ExponentialRatio]],
    question: DecisionQuestion,
) -> tuple[Violation, Enclosure | None]:
    """Enclose both sides so well that they are apart, if the last precision suffices; and δ."""
    eps, nothing = violation.eps, ExponentialRatio.constant(0)
    left_form = reduce(add, (first for first, _ in forms), nothing)
    right_form = reduce(add, (second for _, second in forms), nothing)
    right_form = right_form * ExponentialRatio(question.factor)

    @if_enclosed
    def sides(bits: int) -> tuple[Enclosure, Enclosure, Enclosure] | None:
        low, high = question.delta.bounds(bits)
        wanted = low, high, left_form, right_form + high
        below, above, left, right = (sure(enclose_at(f, eps, bits)) for f in wanted)
        if left.lower <= right.upper:
            return None
        right = Enclosure(right.lower - (above.upper - below.lower), right.upper)
        return probability(left), right, Enclosure(below.lower, above.upper)

    reason = f"they are too close, too small or too large at eps = {eps}"
    shown = violation
    try:
        for bits in _BITS:
            known = [[probability(enclose_at(f, eps, bits)) for f in both] for both in forms]
            rows = tuple(
                replace(row, probability=p, adjacent_probability=q)
                for row, (p, q) in zip(violation.rows, known, strict=True)
            )
            shown = replace(violation, rows=rows)
            apart = sides(bits)
            if apart is not None:
                return replace(shown, left=apart[0], right=apart[1]), apart[2]
    except LimitReached as limit:
        reason = limit.reason
    reason = f"by the signs of exact forms; not by enclosures: {reason}"
    return replace(shown, not_enclosed=reason), None


@if_enclosed
@at_most(STEPS)
def _checked_by(
    divergence: Divergence,
    violation: Violation,
    delta: Enclosure,
    question: DecisionQuestion,
    states: FinalStates,
    options: Options,
) -> str | None:
    """Let the engines of `verify` evaluate the same pair; None if they come to no end."""
    try:
        probabilities = subjects.open_probabilities(states, violation.eps, options)
        for bits in _ENGINE_BITS:
            first, second = map(sure, probabilities.distributions(divergence.pair, bits))
            for o, row in zip(divergence.outputs, violation.rows, strict=True):
                of = probabilities.name, _FORMS, "the probability of an output"
                row.probability.intersect(first[o], *of)
                row.adjacent_probability.intersect(second[o], *of)
            factor = eps_prv_factor(question.budget * violation.eps, bits)
            if factor.upper is None:
                return None
            difference = difference_over(divergence.outputs, first, second, factor)
            if difference.lower > delta.upper:
                return probabilities.name
            if difference.upper <= delta.lower:
                claimed, found_by = f"above {delta}", probabilities.name
                raise Contradiction("δ", (_FORMS, claimed), (found_by, str(difference)))
    except LimitReached:
        pass
    return None


_DELTA_BITS = 128


def verify_at(setting: Setting, question: DecisionQuestion, eps: Fraction) -> Verdict | None:
    """Verify the claim at one ε: with a larger δ to refute, with a smaller one to prove."""
    delta = _delta(question, eps)
    if delta is None:
        return None
    budget = question.budget * eps
    verdict = verify(setting, Claim(eps, delta.upper, budget))
    if verdict.answer is Answer.DP and delta.width:
        return verify(setting, Claim(eps, delta.lower, budget))
    return verdict


def violation_at(setting: Setting, question: DecisionQuestion, eps: Fraction) -> Violation | None:
    """Certify a violation at one ε by enclosures; None if they do not show one."""
    verdict = verify_at(setting, question, eps)
    if verdict is None or verdict.answer is not Answer.NOT_DP:
        return None
    return certified(verdict, question)


@if_enclosed
def _delta(question: DecisionQuestion, eps: Fraction) -> Enclosure:
    ends = question.delta.bounds(_DELTA_BITS)
    low, high = (sure(enclose_at(each, eps, _DELTA_BITS)) for each in ends)
    one = Fraction(1)
    return Enclosure(min(max(low.lower, Fraction(0)), one), min(max(high.upper, Fraction(0)), one))


def certified(verdict: Verdict, question: DecisionQuestion) -> Violation:
    """Return the violation that a verdict, Not_DP, has certified."""
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
    pair, engine = (witness.input, witness.adjacent), verdict.engine
    if factor.upper is not None or not adjacent.upper:
        grown = Enclosure(factor.lower, factor.upper or factor.lower)  # of 0 where it has no end
        right = intervals.multiply(grown, adjacent) + Enclosure.exact(verdict.claim.delta)
        if left.lower > right.upper:
            return Violation(*pair, rows, eps, left, right, checked_by=engine)
    difference = f"left minus right, without δ, is in {witness.delta_enclosure}, above δ"
    reason = f"the two sides are not told apart by enclosures, but {witness.argument or difference}"
    reason = "; ".join((reason, *witness.examples("O")))
    return Violation(*pair, rows, eps, not_enclosed=reason, checked_by=engine)


_NEARLY = 1 - Fraction(1, 2**20)
_SETTLING_STEPS = 50_000  # most that is given to closed forms, where they are the last resort


class Settled(Record):
    """What closed forms say of a claim: at which ε, and by which pair, it is violated; or that it
    holds."""

    eps: Fraction | None = None
    pair: Pair | None = None


def settle(
    states: FinalStates, claim: FormulaClaim, lower: Fraction, upper: Fraction, setting: Setting
) -> Settled | None:
    """Decide a claim for every ε in [lower, upper] by closed forms; None if they do not tell.

    A short share of the limits is used up at most.
    """
    question = _question(claim, EpsilonInterval(lower, upper, True, True))
    if question is None:
        return None
    if states.program.real_outputs:
        return _of_shifts(states, question, setting)
    signs = Signs(question.interval)
    functions = Functions(ExactDistributions(states, None), question.factor)
    search = DecisionSearch(question, signs, functions)
    try:
        with at_most(_SETTLING_STEPS):
            check_delta(question.delta, signs)
            search.run(one_by_one(setting.pairs()))
    except (Obstacle, UserError):
        return None
    except LimitReached:
        check_limits()
        return None
    found = search.violation
    if found is not None:
        return Settled(found.eps, found.divergence.pair)
    return None if search.undecided else Settled()


def at_least(claim: FormulaClaim, lower: Fraction, upper: Fraction) -> FormulaClaim | None:
    """Return a claim that closed forms may settle, and that implies this one on [lower, upper].

    That is the claim itself, if it is of their class; else t ε <= eps_prv, and a δ below. Between
    two ε a function f with f'' <= C is nowhere further below its chord than C w² / 8, for the width
    w, and a chord over ε is monotone: so f / ε is at least what it is at one end, less C w² / 8 ε.
    Both eps_prv and delta are >= 0 there; None if the formulas have no bounds on the interval.
    """
    epsilons = EpsilonInterval(lower, upper, True, True)
    if lower == upper or _question(claim, epsilons) is not None:
        return claim
    try:
        eps_prv, delta = claim.over(lower, upper)
    except Undefined:
        return None
    most = eps_prv.value.lower / upper
    if eps_prv.slopes is not None:
        bend = max(eps_prv.slopes[1].upper, Fraction(0)) * (upper - lower) ** 2 / (8 * lower)
        most = max(most, min(claim.at(eps, BITS)[0].lower / eps for eps in (lower, upper)) - bend)
    most = max(most, Fraction(0))
    budget = f"{simplest(most * _NEARLY, most)} * eps"
    found = replace(claim, eps_prv=parse_formula(budget, "eps_prv", ["eps"]), eps_prv_text=budget)
    if _question(found, epsilons) is None:
        least = str(max(delta.value.lower, Fraction(0)))
        found = replace(found, delta=parse_formula(least, "delta", ["eps"]), delta_text=least)
    return found


def _of_shifts(states: FinalStates, question: DecisionQuestion, setting: Setting) -> Settled | None:
    """Prove a claim about one published Laplace number; None if that does not tell.

    With t the largest shift in scales and L the budget, the least δ is 1 - e^((L - t)/2), or 0
    (`composition.shifted_noise`); with scales a/ε both are multiples of ε.
    """
    epsilons = question.interval
    eps, delta = epsilons.lower, question.delta
    if epsilons.is_point:
        delta = delta.at_point(eps)
    elif any(sample.scale.power != -1 for sample in states.samples):
        return None
    listed = list(islice(setting.pairs(), published_search.MOST_PAIRS + 1))
    if delta.exact is None or len(listed) > published_search.MOST_PAIRS:
        return None
    divergences = subjects.open_published(states, eps, setting.options)
    shifts = published_search.PublishedPairs(divergences, lambda: listed, len(listed)).shifts()
    if shifts is None or any(each.square or len(each) > 1 for each, _ in shifts):
        return None
    largest = max((t for each, _ in shifts for t, _ in each.shifts), default=Fraction(0)) / eps
    rate = min(question.budget - largest, Fraction(0)) / 2
    least = ExponentialRatio.constant(1) - ExponentialRatio(
        ExponentialPolynomial.monomial(1, rate=rate)
    )
    signs = Signs(epsilons)
    try:
        with at_most(_SETTLING_STEPS):
            check_delta(delta, signs)
            enough = signs.is_nonnegative(signs.numerator(delta.exact - least))
    except UserError:
        return None
    except LimitReached:
        check_limits()
        return None
    return Settled() if isinstance(enough, Nonnegative) else None


def _question(claim: FormulaClaim, epsilons: EpsilonInterval) -> DecisionQuestion | None:
    """Ask the same of closed forms; None if the claim is not of their class."""
    try:
        budget = _budget(claim, epsilons)
        if budget is None:
            return None
        return DecisionQuestion(budget, read_delta(claim.delta_text), epsilons)
    except UserError:
        return None


def _budget(claim: FormulaClaim, epsilons: EpsilonInterval) -> Fraction | None:
    """Return t, if eps_prv is t ε."""
    if epsilons.is_point:
        eps_prv, _ = claim.at(epsilons.lower, BITS)
        return None if eps_prv.width else eps_prv.lower / epsilons.lower
    if "delta" in names_of(claim.eps_prv):
        return None
    ratio = as_ratio(claim.eps_prv)
    match ratio.numerator.terms, ratio.denominator:
        case (), ():
            return Fraction(0)
        case (((1, rate), factor),), () if not rate:
            return factor
        case _:
            return None
