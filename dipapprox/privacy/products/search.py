"""All pairs of a product against a claim: a road like those of `pairs.roads`, ending in `Search`.

    bits := the first precision
    enclose the delta of every candidate  --- some > delta ------->  stop: Not_DP
        ^          |            `--------- all <= delta ---------->  DP
        |      some undecided
        |   closed forms known? -- yes: candidates by closed forms,
        |          | no                 all compared exactly ------>  DP or Not_DP
        +-- yes - bits left? -- no: at best Unknown

Candidates by enclosures stand for pairs that look alike at some bits; what is true of one exactly
need not be true of the others. So closed forms have candidates of their own.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.errors import LimitReached
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed, Side, compare
from dipapprox.pairs.attempt import Attempt
from dipapprox.pairs.search import Search
from dipapprox.privacy.products.exact import ExactProduct
from dipapprox.privacy.products.losses import Losses


def search_product(
    search: Search, losses: Losses, exact: ExactProduct | None, total: int | None
) -> None:
    """Check all selected pairs of a product.

    Args:
        search: Fresh; afterwards it holds what was found. Its attempts have no distributions.
        losses: Of the selected pairs.
        exact: The closed forms that `search.exact` uses, if they may be used.
        total: The number of the pairs, if known.

    Raises:
        LimitReached: If a budget runs out.
        BrokenInvariant: If enclosures contradict each other.
    """
    attempts: list[Attempt] = []
    for bits in search.ladder:
        search.bits = max(search.bits, bits)
        factor = search.factor(bits)
        found = losses.at(bits)
        if isinstance(found, NotEnclosed):
            attempts = attempts or [losses.blocked(bits, found, factor)]
            break
        settled, attempts = [], []
        search.limits.check()
        for loss in found:
            pair, delta = loss.candidate.pair, loss.delta(factor)
            attempt = Attempt(pair, bits, delta, factor, obstacle=losses.loose)
            match compare(attempt.delta, search.delta):
                case Side.ABOVE:
                    search.violation = losses.alone(attempt)
                    search.checked = 1
                    return
                case Side.BELOW:
                    settled.append(attempt.delta)
                case Side.UNDECIDED:
                    attempts.append(attempt)
        if attempts and bits == search.ladder[0] and exact is not None:
            if _all_exactly(search, losses, exact, bits):
                attempts = []
            if search.violation is not None:
                search.checked = 1
                return
        if not attempts:
            lower = max((each.lower for each in settled), default=Fraction(0))
            upper = max((each.upper for each in settled), default=Fraction(0))
            search.cover(total or 0, Enclosure(lower, upper))
            return
    for attempt in attempts:
        search.give_up(attempt)
    search.checked = total or 0


def _all_exactly(search: Search, losses: Losses, exact: ExactProduct, bits: int) -> bool:
    """Compare all candidates exactly, up to a violation; whether all are decided."""
    try:
        candidates = losses.candidates(exact.kind_of)
    except LimitReached:
        search.limits.check()
        return False  # too many: enclosures may still decide
    if exact.obstacle is not None:
        return False
    factor = search.factor(bits)
    for each in candidates:
        search.limits.check()
        if not search.check_exactly(each.pair, Attempt(each.pair, bits, UNIT, factor)):
            return False
        if search.violation is not None:
            return False
    return True
