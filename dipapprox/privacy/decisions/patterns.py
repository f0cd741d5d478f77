"""Which sets of outputs matter when δ > 0: one for each sign pattern, not one for each subset.

At a given ε the worst set holds the outputs o with g_o = Pr[P(u) = o] - e^{tε} Pr[P(u') = o] > 0.
It stays the same between two sign changes of the g_o, so there are at most as many sets as sign
changes, plus one. Sign changes are put in order exactly, equal ones together. Where that cannot be
done, all sets that some order could give are taken: more sets than needed are never wrong, because
the claim is about every set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dipapprox.arithmetic.enclosure import Enclosure, short
from dipapprox.data_classes import dataclass
from dipapprox.errors import LimitReached
from dipapprox.exact.signs.zero import Zero, ZeroCluster, in_order
from dipapprox.limits import Limits

_MOST_TOGETHER = 8
"""Most functions whose sign changes are taken in any order."""


@dataclass(frozen=True, slots=True)
class SignChanges:
    """The sign of a function of ε on an interval: before its first change, and where it changes."""

    positive: bool
    changes: tuple[Zero, ...]


def sign_patterns(signs: Mapping[int, SignChanges], limits: Limits) -> Iterator[frozenset[int]]:
    """Yield the sets of functions, by their numbers, that may be positive together, each once.

    Raises:
        LimitReached: If too many sign changes cannot be told apart, or limits run out.
    """
    owners = [f for f, sign in signs.items() for _ in sign.changes]
    places = in_order([zero for sign in signs.values() for zero in sign.changes], limits)
    current = frozenset(f for f, sign in signs.items() if sign.positive)
    found: set[frozenset[int]] = set()
    for each in [current, *_later(places, owners, current)]:
        if each not in found:
            found.add(each)
            yield each


def _later(
    places: tuple[ZeroCluster, ...], owners: list[int], current: frozenset[int]
) -> Iterator[frozenset[int]]:
    """Yield the sets from the first sign change on."""
    for place in places:
        changing = [owners[k] for k in place.members]
        if not place.equal:
            yield from _all_orders(place, frozenset(changing), current)
        for f in changing:
            current = current ^ {f}
        yield current


def _all_orders(
    place: ZeroCluster, changing: frozenset[int], current: frozenset[int]
) -> Iterator[frozenset[int]]:
    """Yield the sets that some order of the sign changes gives."""
    if len(changing) > _MOST_TOGETHER:
        near, _ = short(Enclosure.exact(place.lower))
        raise LimitReached(
            f"degree-budget: {len(changing)} sign changes cannot be told apart at {near}"
        )
    sets = {current}
    for f in changing:
        sets |= {each ^ {f} for each in sets}
    yield from sets
