"""Proved signs on parts of panels in, a union of intervals out on which a function is positive.

Where signs are proved to change, some point of the undecided gap between them is taken: any is as
good, as the whole gap counts as undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

from dipapprox.data_classes import dataclass
from dipapprox.events.intervals import Interval
from dipapprox.numerics.algebras.grid import Grid

Gap = tuple[Fraction, Fraction]
"""Two numbers between which a sign changes; equal where it jumps."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A part of a panel: of its 2**depth equal parts that of number `place`.

    Attributes:
        panel: Number of the panel.
        depth: Halvings.
        place: From the left, from 0.
        sign: 1 or -1 where it is proved; else 0.
        excess: At least ∫ |h| if the sign is 0, else 0.
    """

    panel: int
    depth: int
    place: int
    sign: int
    excess: Fraction


@dataclass(frozen=True, slots=True)
class LineSigns:
    """Where a function on the line is positive.

    Attributes:
        gaps: Where its sign changes, ascending: an odd number of sign changes in each.
        first: Its sign to the left of all gaps; 0 if it is known nowhere.
        excess: At least ∫ |h| over the points with a sign that is not proved.
    """

    gaps: tuple[Gap, ...]
    first: int
    excess: Fraction


def collected(leaves: Iterable[Leaf], grid: Grid) -> LineSigns:
    """Put the leaves of all panels together; beyond the panels signs continue."""
    leaves = tuple(leaves)
    deepest = max((leaf.depth for leaf in leaves), default=0)
    ordered = sorted(leaves, key=lambda leaf: (leaf.panel, leaf.place << deepest - leaf.depth))
    excess = sum((leaf.excess for leaf in ordered if leaf.excess), Fraction(0))
    proved = [leaf for leaf in ordered if leaf.sign]
    gaps: list[Gap] = []
    for before, after in pairwise(proved):
        if before.sign != after.sign:
            gaps.append((_place(before, 1, grid), _place(after, 0, grid)))
    return LineSigns(tuple(gaps), proved[0].sign if proved else 0, excess)


def _place(leaf: Leaf, end: int, grid: Grid) -> Fraction:
    low, high = grid.marks[leaf.panel], grid.marks[leaf.panel + 1]
    part = Fraction(leaf.place + end, 2**leaf.depth)
    return (low + (high - low) * part) / grid.unit


def positive_part(first: int, ends: Sequence[Fraction]) -> tuple[Interval, ...]:
    """The intervals where a sign is positive that begins as `first` and changes at `ends`."""
    if first == 0:
        return ()
    marks: list[Fraction | None] = [None, *ends, None]
    start = 0 if first > 0 else 1
    return tuple((marks[k], marks[k + 1]) for k in range(start, len(marks) - 1, 2))
