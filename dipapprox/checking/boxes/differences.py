"""Sets of noises that differences bound, joined where they meet: bounds as shortest ways.

A set is y_a - y_b <= w for pairs (a, b) of samples; GROUND stands for 0. Its closure has the least
w that follows for every pair (Floyd and Warshall). Two disjoint sets A and B are one set if some
bound of A is denied by B, and what both imply, with the bound, implies A, without it B: then they
are the two sides of what both imply. All of it up to ties, which have probability 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dipapprox.checking.facts import GROUND
from dipapprox.limits import Limits

Bounds = Mapping[tuple[int, int], Fraction]
"""The least w of y_a - y_b <= w, for pairs that have one."""


def closure(bounds: Bounds) -> dict[tuple[int, int], Fraction] | None:
    """Return all that follows; None if the set has no inside."""
    found = dict(bounds)
    members = sorted({each for pair in bounds for each in pair})
    for k in members:
        for a in members:
            first = found.get((a, k))
            if first is None:
                continue
            for b in members:
                second = found.get((k, b))
                if second is not None and a != b:
                    through = first + second
                    if (a, b) not in found or through < found[a, b]:
                        found[a, b] = through
                elif second is not None and first + second <= 0:
                    return None
    return found


def joined(sets: Sequence[Bounds], limits: Limits) -> list[dict[tuple[int, int], Fraction]]:
    """Join disjoint sets, closed ones, until no two are one; empty sets are left out.

    Raises:
        LimitReached: If `limits` run out.
    """
    waiting = [found for each in sets if (found := closure(each)) is not None]
    final: list[dict[tuple[int, int], Fraction]] = []
    while waiting:
        limits.check()
        own = waiting.pop()
        for place, other in enumerate(final):
            both = _both(own, other)
            if both is not None:
                del final[place]
                waiting.append(both)
                break
        else:
            final.append(own)
    return final


def _both(first: Bounds, second: Bounds) -> dict[tuple[int, int], Fraction] | None:
    """Return the union of two disjoint closed sets if it is one of the kind."""
    common = {pair: max(w, second[pair]) for pair, w in first.items() if pair in second}
    for (a, b), w in first.items():
        denied = second.get((b, a)) == -w
        if denied and _implies(common, (a, b), w, first) and _implies(common, (b, a), -w, second):
            return common
    return None


def _implies(common: Bounds, pair: tuple[int, int], w: Fraction, aim: Bounds) -> bool:
    found = closure({**common, pair: min(w, common.get(pair, w))})
    return found is None or all(key in found and found[key] <= aim[key] for key in aim)


def needed(bounds: Bounds) -> dict[tuple[int, int], Fraction]:
    """Leave out what follows from the rest."""
    kept = dict(bounds)
    for pair, w in bounds.items():
        rest = {key: each for key, each in kept.items() if key != pair}
        found = closure(rest)
        if found is not None and pair in found and found[pair] <= w:
            kept = rest
    return kept


def connected(members: Sequence[int], bounds: Bounds) -> list[list[int]]:
    """Return the members that bounds connect, not counting GROUND."""
    leader = {each: each for each in members}

    def find(each: int) -> int:
        while leader[each] != each:
            each = leader[each]
        return each

    for a, b in bounds:
        if GROUND not in (a, b):
            leader[find(a)] = find(b)
    groups: dict[int, list[int]] = {}
    for each in members:
        groups.setdefault(find(each), []).append(each)
    return list(groups.values())
