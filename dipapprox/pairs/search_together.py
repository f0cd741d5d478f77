"""All selected pairs together against a claim: the ladder of precisions over one enclosure.

bits := the first precision
bound the largest delta  --- <= claimed ----> DP
    ^      |      |
    |  undecided  +--- > claimed -----------> the pair that attains the lower bound, checked alone
    |      |
    |      +--- the first time: exact forms, as far as they are for all pairs together
    |      |
    |      +--- exact forms for single pairs, and `elsewhere` ------> another way
    |      |
    +- bits left? -- no --------------------> the pairs that may attain the upper bound: Unknown
"""

from __future__ import annotations

from typing import Protocol

from dipapprox.errors import BrokenInvariant
from dipapprox.numerics.enclosure import Side, compare
from dipapprox.pairs.maximum import FACTOR_BITS, Maximum, Together
from dipapprox.pairs.search import Search


class CheckedTogether(Together, Protocol):
    """Pairs that are checked together, and named where one of them is what matters."""

    def exactly(self, search: Search, found: Maximum) -> Maximum:
        """Decide by exact forms what enclosures do not; a violation ends in `search`."""

    def confirm(self, search: Search, found: Maximum) -> None:
        """Record a violation, of the pair that attains the lower bound."""

    def give_up(self, search: Search, found: Maximum) -> bool:
        """Record the pairs that the last enclosure does not decide; False if others may."""


def search_together(
    search: Search, pairs: CheckedTogether, total: int, *, elsewhere: bool = False
) -> bool:
    """Climb the ladder with all pairs together.

    Args:
        search: Fresh; afterwards it holds what was found.
        pairs: All selected pairs.
        total: Their number.
        elsewhere: Whether pairs can be gone through one by one instead, where that may decide.

    Returns:
        False if another way is better: if it takes too much after all, or if the claimed delta
        may be attained, which exact forms decide pair by pair.

    Raises:
        LimitReached: If a limit is reached.
        BrokenInvariant: If enclosures contradict each other.
    """
    exact = search.exact
    found: Maximum | None = None
    for bits in search.ladder:
        search.limits.check()
        search.bits = max(search.bits, bits)
        found = pairs.at(search.factor(max(bits, FACTOR_BITS)), bits)
        if found is None:
            return False
        undecided = compare(found.delta, search.delta) is Side.UNDECIDED
        if undecided and exact is not None and bits == search.ladder[0]:
            found = pairs.exactly(search, found)
            if search.violation is not None:
                return True
        match compare(found.delta, search.delta):
            case Side.BELOW:
                search.cover(total, found.delta)
                return True
            case Side.ABOVE:
                pairs.confirm(search, found)
                return True
            case Side.UNDECIDED:
                if elsewhere and exact is not None and exact.has_forms:
                    return False
        if pairs.blocked:
            break
    assert found is not None, "the ladder is empty"
    return pairs.give_up(search, found)


def check_alone(search: Search, found: Maximum, total: int) -> None:
    """Check the pair alone that violates the claim together with others: that gives the witness.

    Raises:
        BrokenInvariant: If it does not.
    """
    assert found.pair is not None
    search.cover(total, found.delta)
    search.check(found.pair)
    if search.violation is None and not search.undecided:
        raise BrokenInvariant("a pair violates together with others, but not alone")
