"""Which sets of outputs matter when δ > 0: one for each sign pattern, not one for each subset.

At a given ε the worst set holds the outputs o with g_o = Pr[P(u) = o] - e^{tε} Pr[P(u') = o] > 0.
It stays the same between two sign changes of the g_o, so there are at most as many sets as sign
changes, plus one. Sign changes are known up to intervals. Where such intervals overlap, the order
of the changes is open, and all sets that some order could give are taken: more sets than needed
are never wrong, because the claim is about every set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dipapprox.errors import LimitReached
from dipapprox.numerics.decimals import short
from dipapprox.numerics.enclosure import Enclosure

_MOST_TOGETHER = 8
"""Most outputs whose sign changes are taken in any order; for more, intervals are narrowed."""

_NARROWINGS = 4
"""Attempts to tell sign changes apart."""

FIRST_WIDTH = Fraction(1, 2**20)
"""Of the intervals around sign changes."""


@dataclass(frozen=True, slots=True)
class SignChanges:
    """The sign of a function of ε on an interval, zeros without a change left out.

    Attributes:
        positive: Whether it is positive before its first sign change.
        changes: Disjoint intervals around one sign change each, ascending.
    """

    positive: bool
    changes: tuple[tuple[Fraction, Fraction], ...]


Isolate = Callable[[int, Fraction], SignChanges]
"""The sign changes of the function with a number, isolated to a width."""


def sign_patterns(functions: Sequence[int], isolate: Isolate) -> Iterator[frozenset[int]]:
    """Yield the sets of functions that may be positive together, each once.

    Args:
        functions: Numbers of distinct functions.
        isolate: Finds their sign changes.

    Raises:
        LimitReached: If too many sign changes cannot be told apart.
    """
    signs = {f: isolate(f, FIRST_WIDTH) for f in functions}
    width = FIRST_WIDTH
    for _ in range(_NARROWINGS):
        crowded = {f for group in _groups(signs) if _crowded(group) for _, _, f in group}
        if not crowded:
            break
        width **= 2
        signs |= {f: isolate(f, width) for f in crowded}
    found: set[frozenset[int]] = set()
    current = frozenset(f for f, sign in signs.items() if sign.positive)
    for each in [current, *_later(signs, current)]:
        if each not in found:
            found.add(each)
            yield each


_Change = tuple[Fraction, Fraction, int]
"""An interval around a sign change, and whose it is."""


def _later(signs: dict[int, SignChanges], current: frozenset[int]) -> Iterator[frozenset[int]]:
    """Yield the sets from the first sign change on."""
    for group in _groups(signs):
        if _crowded(group):
            count = len({f for _, _, f in group})
            near, _ = short(Enclosure.exact(group[0][0]))
            raise LimitReached(
                f"degree-budget: {count} sign changes cannot be told apart at {near}"
            )
        sets = {current}
        for f in {f for _, _, f in group}:
            sets |= {each ^ {f} for each in sets}
        yield from sets
        for _, _, f in group:
            current = current ^ {f}


def _crowded(group: Sequence[_Change]) -> bool:
    return len({f for _, _, f in group}) > _MOST_TOGETHER


def _groups(signs: dict[int, SignChanges]) -> list[list[_Change]]:
    """Put sign changes together whose intervals overlap, directly or through others."""
    changes = sorted((low, high, f) for f, sign in signs.items() for low, high in sign.changes)
    groups: list[list[_Change]] = []
    end: Fraction | None = None
    for change in changes:
        if end is not None and change[0] <= end:
            groups[-1].append(change)
            end = max(end, change[1])
        else:
            groups.append([change])
            end = change[1]
    return groups
