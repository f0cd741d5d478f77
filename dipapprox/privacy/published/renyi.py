"""Rényi divergences of programs with real outputs, all pairs: from moments of what they publish.

Shifted noise has closed forms, whatever the order and the shift (`shifted_noise`). Otherwise from
above a divergence of an order is known where noise is plain, or where a coupling bounds all
losses; else only from below: densities in tails are not compared.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.events.measures import NoProduct
from dipapprox.pairs.published.together import PublishedPairs, shift_of
from dipapprox.pairs.selections import Pair
from dipapprox.privacy.profiles.extended import INFINITE, Extended
from dipapprox.privacy.profiles.renyi import OrderBounds, divergence_of

_BITS = 64

_NO_BOUND = "no bound of the quotient of densities is known"


def largest_published_divergence(pairs: PublishedPairs, order: Fraction) -> OrderBounds:
    """Bound the largest Rényi divergence of a finite order >= 1 over all pairs.

    Args:
        pairs: The pairs.
        order: At least 1; 1 is the Kullback-Leibler divergence.

    Raises:
        LimitReached: If a limit is reached, or there are too many pairs.
    """
    lower, upper = Fraction(0), Fraction(0)
    attaining: Pair | None = None
    limit: str | None = None
    for terms, pair in pairs.classes():
        if isinstance(terms, NoProduct):
            limit = limit or terms.reason
            continue
        shift = shift_of(terms)
        if shift is not None:
            own = shift.renyi(order, _BITS)
            upper = max(upper, own.upper)
            if attaining is None or own.lower > lower:
                lower, attaining = own.lower, pair
            continue
        found = pairs.divergences.moment(terms, order, pairs.budget(pair))
        if isinstance(found, NotEnclosed):
            limit = limit or found.reason
            continue
        if found.infinite:
            return OrderBounds(INFINITE, pair, _BITS)
        least = divergence_of(found.lower, order, _BITS)[0]
        if attaining is None or least > lower:
            lower, attaining = least, pair
        if found.upper is None:
            limit = limit or _NO_BOUND
        else:
            upper = max(upper, divergence_of(found.upper, order, _BITS)[1])
    return OrderBounds(Extended(lower, None if limit else upper), attaining, _BITS, limit)
