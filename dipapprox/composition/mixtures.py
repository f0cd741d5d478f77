"""Sums of several products of measures in, bounds of their hockey-stick divergence out.

Paths that publish the same finite values add up to measures f = Σ f_i and g = Σ g_j, each term a
product. Where more than one number tells the terms apart, f and g are no products.

From above. Whatever terms are matched with each other, one to one, and others with 0,

    sup over S of f(S) - α g(S)  <=  Σ over matches of sup over S of f_i(S) - α g_j(S),

as f - α g is the sum of its terms, and a supremum of a sum is at most the sum of suprema (joint
convexity). The bound is exact where all terms have the same best set.

From below. Publishing one of the numbers only is post-processing: what one number alone tells, the
others anywhere, is a lower bound, and comes with a set of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import permutations

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed, enclosing, sure
from dipapprox.data_classes import replace
from dipapprox.events.event import Part
from dipapprox.events.intervals import EVERYWHERE, within
from dipapprox.numerics.real_outputs.hockey_stick import HockeyStick, Split

Divergence = Callable[[Sequence[Part], Sequence[Part]], Split | NotEnclosed]
"""Encloses the divergence of two measures."""

_MOST_TERMS = 5
"""Terms are matched with each other in all ways; with more, only in their order."""

_NOTHING = Enclosure.exact(0)


@enclosing
def mixture(
    first: Sequence[Part],
    second: Sequence[Part],
    growth: Enclosure,
    bits: int,
    divergence: Divergence,
    line: HockeyStick,
) -> Split:
    """Enclose sup over sets S of first(S) - growth · second(S).

    Args:
        first: Several terms, of at least two numbers each.
        second: The same number of numbers.
        growth: The factor, >= 0.
        bits: Wanted of what one number tells; that of the value is what it is.
        divergence: Of two terms, or of one and none.
        line: Divergences of one number.

    Returns:
        The value, and a set that attains its lower end; or the reason why there is no bound.
    """
    most = _above(first, second, divergence).upper
    told = []
    for coordinate in range(len(first[0].marginals)):
        sides = [_alone(side, coordinate) for side in (first, second)]
        found = line.divergence(sides[0], sides[1], growth, bits)
        if isinstance(found, Split):
            told.append(replace(found, coordinate=coordinate))
    nothing = Split(_NOTHING, None, _NOTHING, _NOTHING)
    best = max(told, key=lambda each: each.value.lower, default=nothing)
    least = best.value.lower
    return replace(best, value=Enclosure(least, max(most, least)))


def _above(first: Sequence[Part], second: Sequence[Part], divergence: Divergence) -> Enclosure:
    """Bound the divergence by the best of the matches, or by the terms in order."""

    @cache
    def of(k: int, match: int | None) -> Enclosure:
        return sure(divergence([first[k]], [] if match is None else [second[match]])).value

    own, other = (len(side) for side in (first, second))
    places: list[int | None] = [*range(other), *([None] * max(own - other, 0))]
    everything = max(own, other) <= _MOST_TERMS
    orders = permutations(places, own) if everything else [tuple(places[:own])]
    totals = (sum((of(*each) for each in enumerate(order)), _NOTHING) for order in orders)
    return min(totals, key=lambda total: total.upper)


def _alone(side: Sequence[Part], coordinate: int) -> list[Part]:
    """The law of one number: of the others only that their events happen counts."""
    parts = []
    for part in side:
        events = list(part.events)
        possible = True
        for k, marginal in enumerate(part.marginals):
            found = [] if k == coordinate else within(marginal, EVERYWHERE)
            possible = possible and found is not None
            events += found or []
        if possible:
            parts.append(Part(tuple(events), (part.marginals[coordinate],)))
    return parts
