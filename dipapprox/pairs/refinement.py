"""The ladder of precisions: an attempt is repeated with twice the bits until it is good enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def precisions(first: int, last: int) -> tuple[int, ...]:
    """Return the ladder first, 2 * first, 4 * first, … that ends with `last` (or is `first`)."""
    ladder = [first]
    while ladder[-1] < last:
        ladder.append(min(2 * ladder[-1], last))
    return tuple(ladder)


def refined(
    ladder: tuple[int, ...],
    attempt: Callable[[int, Found | None], Found | None],
    enough: Callable[[Found], bool],
    start: Found | None = None,
) -> Found | None:
    """Climb a ladder of precisions.

    Args:
        ladder: Bits to ask for, ascending.
        attempt: Called with bits and what is known so far; None ends the climb, as does a limit
            that it raises.
        enough: Whether to stop at what is known.
        start: What is known before.

    Returns:
        The last thing found; None if nothing was.
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
