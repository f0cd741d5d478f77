"""A violated inequality becomes a violation: one rational ε, and both sides enclosed there.

The exact sign of the inequality certifies it; everything else only describes it. So what cannot be
computed, for want of time or bits, is left out, and the violation stays. An engine that computes
with enclosures only, at that ε, without the forms, must agree as far as its precision goes; if it
contradicts, there is a bug, and no verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from operator import add

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, if_enclosed, sure
from dipapprox.data_classes import replace
from dipapprox.errors import BrokenInvariant, Contradiction, LimitReached
from dipapprox.exact.signs.interval import simplest_between
from dipapprox.exact.signs.nonnegative import NegativeRange
from dipapprox.exact.signs.values import enclose_at
from dipapprox.exponentials import ExponentialRatio
from dipapprox.limits import Limits
from dipapprox.pairs.divergence import difference_over, eps_prv_factor
from dipapprox.privacy.decisions.decision import Violation, ViolationRow
from dipapprox.privacy.decisions.divergences import (
    Divergence,
    Functions,
    exponential_factor,
    probability,
)
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.decisions.search import Violated, violated_ranges
from dipapprox.privacy.decisions.signs import Signs
from dipapprox.privacy.options import Options
from dipapprox.privacy.sources import open_probabilities
from dipapprox.semantics.state import FinalStates

_BITS = (64, 128, 256, 512, 1024, 2048)  # of the enclosures, until the two sides are told apart
_ENGINE_BITS = (40, 80, 160, 320)  # of the independent engine
_STEEPEST = 128
"""Largest wanted exponent q ε of an e^(q ε) in a witness: enclosures end at an absolute precision,
below which two numbers cannot be told apart, and nobody reads them."""

_STEPS = 100_000
_FORMS = "closed forms"  # for the same: the violation is proved without it


def certain_violation(found: Violated, functions: Functions, states: FinalStates) -> Violation:
    """Return what is certain of a violation without any further computation."""
    divergence, outputs = found.divergence, states.outputs
    first, second = functions.for_input(divergence.pair[0]), functions.for_input(divergence.pair[1])
    known = functions.known
    rows = tuple(
        ViolationRow(tuple(outputs[o]), UNIT, UNIT, known[first[o]], known[second[o]])
        for o in divergence.outputs
    )
    return Violation(*divergence.pair, rows, found.eps)


def described(
    violation: Violation,
    found: Violated,
    question: DecisionQuestion,
    signs: Signs,
    states: FinalStates,
    options: Options,
) -> Violation:
    """Describe a violation at a simple rational ε, as far as limits allow.

    Raises:
        BrokenInvariant: If something contradicts the exact forms.
    """
    forms = [(row.form, row.adjacent_form) for row in violation.rows]
    known = [(p, q) for p, q in forms if p is not None and q is not None]
    eps = _simple_epsilon(found, question, signs, _rate(known))
    shown, delta = _enclosed(replace(violation, eps=eps), known, question, options.limits)
    if delta is not None:
        engine = _checked_by(found.divergence, shown, delta, question, states, options)
        shown = replace(shown, checked_by=engine)
    try:
        ranges = violated_ranges(found.divergence, question, signs)
    except LimitReached:
        ranges = None
    return replace(shown, ranges=ranges)


def _simple_epsilon(
    found: Violated, question: DecisionQuestion, signs: Signs, rate: Fraction
) -> Fraction:
    """Return a simple number well inside a violated range; the known one if limits forbid."""
    try:
        eps = choose_epsilon(signs.negative(found.slack, question.width), rate)
        sign = signs.sign_at(found.slack, eps)
    except LimitReached:
        return found.eps
    if sign >= 0:
        raise BrokenInvariant(f"a function negative on a range is not negative at {eps}")
    return eps


def choose_epsilon(ranges: Sequence[NegativeRange], rate: Fraction = Fraction(0)) -> Fraction:
    """Choose a simple rational well inside the widest range.

    Args:
        rate: The largest |q| of an e^(q ε) there; q ε is kept moderate if the range allows it.
    """
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
        return simplest_between(lower * Fraction(5, 4), None)
    if lower == upper:
        return lower
    quarter = (upper - lower) / 4
    return simplest_between(lower + quarter, upper - quarter)


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
    limits: Limits,
) -> tuple[Violation, Enclosure | None]:
    """Enclose both sides so well that they are apart, if the last precision suffices; and δ."""
    eps, nothing = violation.eps, ExponentialRatio.constant(0)
    left_form = reduce(add, (first for first, _ in forms), nothing)
    right_form = reduce(add, (second for _, second in forms), nothing) * ExponentialRatio(
        exponential_factor(question.budget)
    )

    @if_enclosed
    def sides(bits: int) -> tuple[Enclosure, Enclosure, Enclosure] | None:
        low, high = question.delta.bounds(bits)
        wanted = low, high, left_form, right_form + high
        below, above, left, right = (sure(enclose_at(f, eps, bits, limits)) for f in wanted)
        if left.lower <= right.upper:
            return None
        right = Enclosure(right.lower - (above.upper - below.lower), right.upper)
        return probability(left), right, Enclosure(below.lower, above.upper)

    reason = f"they are too close, too small or too large at eps = {eps}"
    shown = violation
    try:
        for bits in _BITS:
            known = [
                [probability(enclose_at(f, eps, bits, limits)) for f in both] for both in forms
            ]
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
def _checked_by(
    divergence: Divergence,
    violation: Violation,
    delta: Enclosure,
    question: DecisionQuestion,
    states: FinalStates,
    options: Options,
) -> str | None:
    """Let the engines of `verify` evaluate the same pair; None if they come to no end."""
    options = replace(options, limits=options.limits.within(_STEPS))
    try:
        probabilities = open_probabilities(states, violation.eps, options)
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
