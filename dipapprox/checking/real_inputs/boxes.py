"""Changes of inputs: boxes of them, and their ends, which stand for what lies between."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from dipapprox.language.core import Adjacency, Everyone, Norm, Within

Box = tuple[tuple[int, int], ...]
"""For every input the least and the greatest change, in units."""

MOST_CORNERS = 64
"""Changes that are looked at one by one where several parts read the same inputs."""


def contains(box: Box, change: Sequence[int]) -> bool:
    return all(lo <= each <= hi for (lo, hi), each in zip(box, change, strict=True))


def is_within(inner: Sequence[tuple[int, int]], outer: Box) -> bool:
    return len(inner) == len(outer) and all(
        lo <= a <= b <= hi for (a, b), (lo, hi) in zip(inner, outer, strict=True)
    )


def cover(box: Box, boxes: Sequence[Sequence[tuple[int, int]]]) -> bool:
    """Whether boxes cover another, where the ends of an interval stand for all of it."""
    if any(is_within(box, tuple(each)) for each in boxes):
        return True
    inside = [each for each in boxes if is_within(each, box)]
    for place, (lo, hi) in enumerate(box):
        if lo < hi and inside and all(a == b for a, b in (each[place] for each in inside)):
            ends = ((*box[:place], (end, end), *box[place + 1 :]) for end in (lo, hi))
            return all(cover(end, inside) for end in ends)
    return False


def corners_of(boxes: Sequence[Box]) -> list[Box]:
    """Return the corners of boxes, if they are few: they stand for all changes."""
    found = list[Box]()
    for box in boxes:
        for corner in product(*(sorted({*ends}) for ends in box)):
            found.append(tuple((end, end) for end in corner))
            if len(found) > MOST_CORNERS:
                return list(boxes)
    return list(dict.fromkeys(found))


def allowed(adjacency: Adjacency, change: Sequence[Fraction]) -> bool:
    """Whether inputs that differ so are adjacent; no where they are listed."""
    match adjacency:
        case Everyone():
            return True
        case Within(norm=norm, radius=radius):
            sizes = {
                Norm.L0: Fraction(sum(1 for each in change if each)),
                Norm.L1: sum(map(abs, change), Fraction(0)),
            }
            size = sizes.get(norm, max(map(abs, change), default=Fraction(0)))
            wrong = {Norm.INCREASING: -1, Norm.DECREASING: 1}.get(norm, 0)
            return size <= radius and not any(each * wrong > 0 for each in change)
        case _:
            return False
