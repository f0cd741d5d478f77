"""A violated inequality becomes a violation: one rational ε, and both sides enclosed there.

The exact forms certify it. An engine that computes with enclosures only, at that ε, without the
forms, must agree as far as its precision goes; if it contradicts, there is a bug, and no verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import add

from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.exact.signs.interval import simplest_between
from dipapprox.exact.signs.negative_set import NegativeRange
from dipapprox.exact.signs.values import enclose_at
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.privacy.decisions.decision import Violation, ViolationRow
from dipapprox.privacy.decisions.gaps import Functions, Gap, exponential_factor
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.decisions.ranges import violated_ranges
from dipapprox.privacy.decisions.signs import Signs
from dipapprox.privacy.divergence import budget_factor, difference_over
from dipapprox.privacy.options import Options
from dipapprox.privacy.sources import open_probabilities
from dipapprox.semantics.state import FinalStates

_BITS = (64, 128, 256, 512, 1024, 2048)
"""Of the enclosures, until the two sides are told apart."""

_ENGINE_BITS = (40, 80, 160, 320)
"""Of the independent engine."""

_STEEPEST = 128
"""Largest wanted exponent q ε of an e^(q ε) in a witness: enclosures end at an absolute precision,
below which two numbers cannot be told apart, and nobody reads them."""

_SECONDS = 30.0
"""For the same: the violation is proved without it."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Both sides of an inequality at one ε.

    Attributes:
        first: Pr[P(u) = o] for the outputs o of O.
        second: Pr[P(u') = o].
        left: Pr[P(u) in O].
        right: e^{tε} Pr[P(u') in O] + δ.
        delta: δ(ε).
    """

    first: tuple[Enclosure, ...]
    second: tuple[Enclosure, ...]
    left: Enclosure
    right: Enclosure
    delta: Enclosure


def build_violation(
    gap: Gap,
    slack: ExponentialPolynomial,
    question: DecisionQuestion,
    functions: Functions,
    signs: Signs,
    states: FinalStates,
    options: Options,
) -> Violation:
    """Certify a violation at a simple rational ε and let an engine check it.

    Raises:
        BrokenInvariant: If something contradicts the exact forms.
    """
    first, second = functions.row(gap.pair[0]), functions.row(gap.pair[1])
    forms = [(functions.known[first[o]], functions.known[second[o]]) for o in gap.outputs]
    epsilon = choose_epsilon(signs.negative(slack, question.width), _rate(forms))
    if signs.sign_at(slack, epsilon) >= 0:
        raise BrokenInvariant(f"a function negative on a range is not negative at {epsilon}")
    sides = _sides(forms, question, epsilon, options.limits)
    outputs = states.outputs()
    rows = tuple(
        ViolationRow(outputs[o], sides.first[k], sides.second[k], *forms[k])
        for k, o in enumerate(gap.outputs)
    )
    engine = _checked_by(gap, sides, question, epsilon, states, options)
    ranges = violated_ranges(gap, question, signs)
    return Violation(
        gap.pair[0], gap.pair[1], rows, epsilon, sides.left, sides.right, ranges, engine
    )


def choose_epsilon(ranges: Sequence[NegativeRange], rate: Fraction = Fraction(0)) -> Fraction:
    """Choose a simple rational well inside the widest range.

    Args:
        ranges: Not empty.
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


def _sides(
    forms: Sequence[tuple[ExponentialRatio, ExponentialRatio]],
    question: DecisionQuestion,
    epsilon: Fraction,
    limits: Limits,
) -> Sides:
    """Enclose both sides so well that they are apart.

    Raises:
        LimitReached: If the last precision does not suffice.
    """
    nothing = ExponentialRatio.constant(0)
    left_form = reduce(add, (first for first, _ in forms), nothing)
    right_form = reduce(add, (second for _, second in forms), nothing) * ExponentialRatio(
        exponential_factor(question.budget)
    )
    for bits in _BITS:
        first, second = (
            tuple(enclose_at(form, epsilon, bits, limits) for form in both)
            for both in (zip(*forms, strict=True) if forms else ((), ()))
        )
        low, high = question.delta.bounds(bits)
        ends = [enclose_at(each, epsilon, bits, limits) for each in (low, high)]
        left = enclose_at(left_form, epsilon, bits, limits)
        right = enclose_at(right_form + high, epsilon, bits, limits)
        found = (*first, *second, *ends, left, right)
        known = [each for each in found if not isinstance(each, NotEnclosed)]
        if len(known) == len(found) and known[-2].lower > known[-1].upper:
            count = len(forms)
            below, above = known[2 * count : 2 * count + 2]
            return Sides(
                tuple(map(_probability, known[:count])),
                tuple(map(_probability, known[count : 2 * count])),
                known[-2],
                Enclosure(known[-1].lower - (above.upper - below.lower), known[-1].upper),
                Enclosure(below.lower, above.upper),
            )
    raise LimitReached(
        f"precision-budget: the two sides are too close, too small or too large at eps = {epsilon}"
    )


def _probability(value: Enclosure) -> Enclosure:
    return value.intersect(UNIT, "the exact form of a probability")


def _checked_by(
    gap: Gap,
    sides: Sides,
    question: DecisionQuestion,
    epsilon: Fraction,
    states: FinalStates,
    options: Options,
) -> str | None:
    """Let the engines of `verify` evaluate the same pair; None if they come to no end."""
    options = replace(options, limits=options.limits.ending_within(_SECONDS))
    try:
        probabilities = open_probabilities(states, epsilon, options)
        for bits in _ENGINE_BITS:
            first, second = probabilities.distributions(gap.pair, bits)
            if isinstance(first, NotEnclosed) or isinstance(second, NotEnclosed):
                return None
            found = [first[o] for o in gap.outputs] + [second[o] for o in gap.outputs]
            for ours, theirs in zip((*sides.first, *sides.second), found, strict=True):
                if not ours.meets(theirs):
                    raise BrokenInvariant("an exact probability lies outside an engine's enclosure")
            factor = budget_factor(question.budget * epsilon, bits)
            if factor.upper is None:
                return None
            difference = difference_over(gap.outputs, first, second, factor)
            if difference.lower > sides.delta.upper:
                return probabilities.name
            if difference.upper <= sides.delta.lower:
                raise BrokenInvariant("an engine contradicts the exact violation")
    except LimitReached:
        return None
    return None
