"""What compositions cost, for one direction or the greater of two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from dipapprox.arithmetic.extended import Extended


def matters(known: Sequence[Extended], greatest: Sequence[Extended]) -> bool:
    """Whether one direction may be the greater one somewhere."""
    for own, other in zip(known, greatest, strict=True):
        if own.upper is None or (other.lower is not None and own.upper > other.lower):
            return True
    return False


def greatest_of(directions: Iterable[Sequence[Extended]]) -> tuple[Extended, ...]:
    """Bound the greater of two costs, for every value asked."""
    return tuple(reduce(Extended.greater, two) for two in zip(*directions, strict=True))


def are_finite(known: Sequence[Extended]) -> bool:
    """Whether all widths are."""
    return all(each.width is not None for each in known)


def gain(before: Sequence[Extended], after: Sequence[Extended]) -> float:
    """By which part the interval that is narrowed most got narrower."""
    return max(
        1.0
        if old.width is None and new.width is not None
        else 0.0
        if old.width is None or new.width is None or not old.width
        else float(1 - new.width / old.width)
        for old, new in zip(before, after, strict=True)
    )
