"""The least δ that holds for every pair and every ε of an interval.

It is the largest supremum over ε of a divergence G = Σ_{o in O} (Pr[P(u) = o] - e^{tε} Pr[P(u') =
o]); the sets O that matter are those of `patterns`. Divergences below what is attained already are
dismissed by the decision that attained - G >= 0, without looking for their own supremum.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed, short
from dipapprox.digits import exact_text
from dipapprox.errors import LimitReached
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exact.signs.nonnegative import Nonnegative
from dipapprox.exact.signs.supremum import Supremum, enclose_supremum
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.pairs.selections import Orbit
from dipapprox.privacy.decisions.decision import LeastUniformDelta
from dipapprox.privacy.decisions.divergences import Count, Divergence
from dipapprox.privacy.decisions.patterns import PatternDivergences
from dipapprox.privacy.decisions.question import closed_interval

_COARSE = Fraction(1, 1000)  # width of the ends of the ranges in which a supremum is looked for


def find_least_delta(
    patterns: PatternDivergences, pairs: Iterable[Orbit], width: Fraction
) -> LeastUniformDelta:
    """Enclose the least δ to `width`, exactly where it is a rational limit."""
    lower = upper = Fraction(0)
    best: tuple[Divergence, Supremum] | None = None
    met: set[ExponentialPolynomial | ExponentialRatio] = set()
    for divergence in patterns.divergences(pairs, Count()):
        key = (
            divergence.function
            if divergence.function.denominator
            else divergence.function.numerator
        )
        if key in met:
            continue
        met.add(key)
        if _is_dominated(divergence, lower, patterns):
            continue
        for part in _positive_parts(divergence, patterns):
            found = enclose_supremum(divergence.function, part, width, patterns.limits)
            if isinstance(found, NotEnclosed):
                raise LimitReached(
                    f"precision-budget: the least δ has no enclosure: {found.reason}"
                )
            upper = max(upper, found.value.upper)
            if best is None or found.value.lower > lower:
                lower, best = max(lower, found.value.lower), (divergence, found)
    enclosure = Enclosure(lower, min(max(lower, upper), Fraction(1)))
    exact = lower if enclosure.width == 0 else None
    if best is None:
        return LeastUniformDelta(enclosure, exact, "attained everywhere", None, ())
    divergence, supremum = best
    return LeastUniformDelta(
        enclosure, exact, _where(supremum), divergence.pair, divergence.outputs
    )


def _is_dominated(divergence: Divergence, attained: Fraction, patterns: PatternDivergences) -> bool:
    slack = patterns.signs.numerator(ExponentialRatio.constant(attained) - divergence.function)
    return isinstance(patterns.signs.is_nonnegative(slack), Nonnegative)


def _positive_parts(
    divergence: Divergence, patterns: PatternDivergences
) -> tuple[EpsilonInterval, ...]:
    """Return intervals with all ε at which a divergence is positive; elsewhere it may be -∞."""
    signs = patterns.signs
    ranges = signs.negative(-signs.numerator(divergence.function), _COARSE)
    return tuple(
        closed_interval(each.lower.lower, None if each.upper is None else each.upper.upper)
        for each in ranges
    )


def _where(supremum: Supremum) -> str:
    place = supremum.place
    if place is None:
        return "approached as ε → ∞"
    if place.upper == 0:
        return "approached as ε → 0"
    if place.width == 0:
        return f"attained at ε = {exact_text(place.lower)}"
    low, high = short(place)
    return f"attained at ε in [{low}, {high}]"
