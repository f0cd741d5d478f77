"""Changes of inputs: boxes of them, and their ends, which stand for what lies between."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

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
