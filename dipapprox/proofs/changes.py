"""Adjacency of real inputs: the changes Δ = q' - q that it allows, as boxes.

What a change costs is convex and homogeneous in Δ (`worst_change`), so the worst change is a corner
of the set of all changes:

    linf r          the box [-r, r]^n           increasing r    [0, r]^n
    decreasing r    [-r, 0]^n                   l1 r            the points ± r at one input

For integer inputs r is rounded down. Where a change may be any number (l0 with at least one change,
`all`) costs grow without bound unless they are 0; then r = 1 at one input stands for all.

If all inputs lie between bounds, no change of one input is larger than the largest distance w of
two bounds: r is at most w, except for l1; `all` is linf w, and l0 k are the boxes of k inputs. Of
l1 r > w the boxes of k = ⌈r / w⌉ inputs hold all changes, and are no more than these if w divides
r: then corners of |Δ_i| <= w, Σ |Δ_i| <= r are ± w at k inputs. So boxes may hold more than an
adjacency allows, which does no harm above; below, `allows` says what is adjacent.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from math import ceil, comb, floor, prod
from typing import assert_never

from dipapprox.data_classes import dataclass, replace
from dipapprox.language.core import Adjacency, Everyone, Listed, Norm, Within
from dipapprox.semantics.real_inputs import NotReal

Box = tuple[tuple[int, int], ...]
"""For every input the least and the greatest change, in multiples of the radius: -1, 0 or 1."""

Change = tuple[int, ...]
"""A change of every input, in multiples of the radius."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of inputs, all between adjacent ones among them: the convex hull of some boxes.

    Attributes:
        boxes: The boxes.
        radius: What 1 stands for, >= 0.
        is_bounded: If not, all multiples of the changes are allowed, too.
    """

    boxes: tuple[Box, ...]
    radius: Fraction
    is_bounded: bool = True

    def in_corners(self, most: int) -> Changes:
        """Return the same changes with the corners for boxes, if there are at most so many."""
        ends = [[sorted({*each}) for each in box] for box in self.boxes]
        if sum(prod(len(each) for each in box) for box in ends) > most:
            return self
        corners = (corner for box in ends for corner in product(*box))
        boxes = tuple(tuple((d, d) for d in corner) for corner in corners)
        return replace(self, boxes=tuple(dict.fromkeys(boxes)))


MOST_BOXES = 1_000
"""Of l0 with bounds; where there are more, all inputs may change."""


def changes_of(
    adjacency: Adjacency, count: int, integers: bool, width: Fraction | None = None
) -> Changes:
    """Return the changes that an adjacency allows to `count` real, or integer, inputs.

    Args:
        adjacency: Of the program.
        count: How many inputs there are.
        integers: Whether they are integers.
        width: What no input can change by more than; None if there is no bound.

    Raises:
        NotReal: If adjacent inputs are listed.
    """
    match adjacency:
        case Listed():
            raise NotReal("a list of adjacent inputs does not speak of all real inputs")
        case Everyone() if width is not None:
            return Changes((((-1, 1),) * count,), width)
        case Everyone():
            return Changes(_single(count), Fraction(1), is_bounded=False)
        case Within(norm=Norm.L0, radius=radius) if width is not None:
            most = min(floor(radius), count)
            return Changes(_of_some(count, most), width if most else Fraction(0))
        case Within(norm=norm, radius=radius):
            if integers or norm is Norm.L0:
                radius = Fraction(floor(radius))
            if width is not None and norm is Norm.L1 and 0 < width < radius:
                return Changes(_of_some(count, min(ceil(radius / width), count)), width)
            if width is not None:
                radius = min(radius, width)
            match norm:
                case Norm.LINF:
                    return Changes((((-1, 1),) * count,), radius)
                case Norm.INCREASING:
                    return Changes((((0, 1),) * count,), radius)
                case Norm.DECREASING:
                    return Changes((((-1, 0),) * count,), radius)
                case Norm.L1:
                    return Changes(_single(count), radius)
                case Norm.L0:
                    return Changes(_single(count), min(radius, Fraction(1)), is_bounded=False)
            assert_never(norm)
    assert_never(adjacency)


def allows(adjacency: Adjacency, change: Sequence[Fraction]) -> bool:
    """Whether inputs that differ by a change are adjacent; no where they are listed."""
    match adjacency:
        case Everyone():
            return True
        case Listed():
            return False
        case Within(norm=norm, radius=radius):
            largest = max(map(abs, change), default=Fraction(0))
            match norm:
                case Norm.LINF:
                    return largest <= radius
                case Norm.INCREASING:
                    return largest <= radius and all(d >= 0 for d in change)
                case Norm.DECREASING:
                    return largest <= radius and all(d <= 0 for d in change)
                case Norm.L1:
                    return sum(map(abs, change), Fraction(0)) <= radius
                case Norm.L0:
                    return sum(d != 0 for d in change) <= radius
            assert_never(norm)
    assert_never(adjacency)


def _of_some(count: int, most: int) -> tuple[Box, ...]:
    """Changes of at most so many inputs at a time; of all where these are too many boxes."""
    if comb(count, most) > MOST_BOXES:
        most = count
    chosen = (frozenset(each) for each in combinations(range(count), most))
    return tuple(tuple((-1, 1) if k in cells else (0, 0) for k in range(count)) for cells in chosen)


def _single(count: int) -> tuple[Box, ...]:
    """Changes of one input at a time, in either direction."""
    return tuple(
        tuple((sign, sign) if k == cell else (0, 0) for k in range(count))
        for cell in range(count)
        for sign in (1, -1)
    )
