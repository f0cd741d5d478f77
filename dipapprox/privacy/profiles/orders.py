"""What Rényi divergences of different orders say about each other, and about rho.

D_a does not fall with a, for a pair and so for the largest over pairs. A lower bound serves all
larger orders, with the same witness; an upper bound all smaller ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.data_classes import replace
from dipapprox.errors import BrokenInvariant
from dipapprox.privacy.profiles.extended import INFINITE, Extended
from dipapprox.privacy.profiles.profile_result import OrderResult


def clipped(results: Sequence[OrderResult]) -> list[OrderResult]:
    """Improve bounds of ascending orders by those of smaller and of larger ones.

    Raises:
        BrokenInvariant: If bounds contradict each other.
    """
    found = list(results)
    for k in range(1, len(found)):
        below, here = found[k - 1], found[k]
        low, own = below.divergence.lower, here.divergence.lower
        if low is None and own is not None:
            if here.divergence.upper is not None:
                raise BrokenInvariant("a divergence is finite, one of a smaller order infinite")
            found[k] = replace(here, divergence=INFINITE, witness=below.witness)
        elif low is not None and own is not None and low > own:
            improved = Extended(low, here.divergence.upper)
            found[k] = replace(here, divergence=improved, witness=below.witness)
    for k in range(len(found) - 2, -1, -1):
        high, here = found[k + 1].divergence.upper, found[k]
        own = here.divergence.upper
        if high is None or here.divergence.infinite or (own is not None and own <= high):
            continue
        found[k] = replace(here, divergence=Extended(here.divergence.lower, high))
    for each in found:
        low, high = each.divergence.lower, each.divergence.upper
        if low is not None and high is not None and low > high:
            raise BrokenInvariant("divergences of different orders contradict each other")
    return found


def concentrated(results: Sequence[OrderResult], symmetric: bool) -> Extended:
    """Bound sup over a > 1 of D_a / a; see `RenyiProfile`.

    Args:
        results: Of ascending orders.
        symmetric: Whether the reverse of every pair is looked at, too. Then D_inf bounds both
            directions, and D_a <= a D_inf² / 2 (Bun and Steinke 2016, proposition 3.3).
    """
    lower, upper = Fraction(0), Fraction(0)
    before = Fraction(1)
    bounded = False
    for each in results:
        found = each.divergence
        if not isinstance(each.order, str):
            if found.lower is None:
                return INFINITE
            lower = max(lower, found.lower / each.order)
        if found.upper is None:
            bounded = False
            break
        upper = max(upper, found.upper / before)
        bounded = isinstance(each.order, str)
        if isinstance(each.order, str):
            if symmetric:
                upper = min(upper, found.upper**2 / 2)
        else:
            before = each.order
    return Extended(lower, upper if bounded else None)
