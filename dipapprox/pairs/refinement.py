"""The ladder of precisions: an attempt is repeated with twice the bits until it is good enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Found = TypeVar("Found")


def precisions(first: int, last: int) -> tuple[int, ...]:
    """Return the ladder first, 2 * first, 4 * first, … that ends with `last` (or is `first`)."""
    ladder = [first]
    while ladder[-1] < last:
        ladder.append(min(2 * ladder[-1], last))
    return tuple(ladder)


def refined(
    ladder: Iterable[int],
    attempt: Callable[[int, Found], Found | None],
    enough: Callable[[Found], bool],
    start: Found,
) -> Found:
    """Climb a ladder of precisions.

    Args:
        ladder: Bits to ask for, ascending.
        attempt: Called with bits and what is known; returns what is known then. None ends the
            climb.
        enough: Whether to stop.
        start: What is known before.
    """
    found = start
    for bits in ladder:
        better = attempt(bits, found)
        if better is None:
            break
        found = better
        if enough(found):
            break
    return found
