"""Adjacency of real inputs: the changes Δ = q' - q that it allows, as boxes.

What a change costs is convex and homogeneous in Δ (`worst_change`), so the worst change is a corner
of the set of all changes:

    linf r          the box [-r, r]^n           increasing r    [0, r]^n
    decreasing r    [-r, 0]^n                   l1 r            the points ± r at one input

For integer inputs r is rounded down. Where a change may be any number (l0 with at least one change,
`all`) costs grow without bound unless they are 0; then r = 1 at one input stands for all.

Between bounds an input changes by no more than their distance w_i, by 0 where nobody reads it: of
the boxes above what |Δ_i| <= w_i leaves; `all` is the box of all w_i, and l0 k are those of k
inputs. Corners of |Δ_i| <= w_i, Σ |Δ_i| <= r, for l1, are ± w_i at some inputs, what is left of r
at one more; where these are too many, the boxes |Δ_i| <= w of ⌈r / w⌉ inputs, w the largest w_i,
hold more than is allowed, which does no harm above; below, `allows` says what is adjacent.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, compress, product
from math import ceil, comb, floor, gcd, lcm, prod
from typing import assert_never

from dipapprox.data_classes import Record, replace
from dipapprox.language.core import Adjacency, Everyone, Listed, Norm, Within
from dipapprox.semantics.real_inputs import NotReal

Box = tuple[tuple[int, int], ...]
"""For every input the least and the greatest change, in multiples of a unit."""

Change = tuple[int, ...]  # a change of every input, in multiples of a unit


class Changes(Record):
    """Changes of inputs, all between adjacent ones among them: the convex hull of some boxes."""

    boxes: tuple[Box, ...]
    unit: Fraction  # what 1 stands for, >= 0
    is_bounded: bool = True  # if not, all multiples of the changes are allowed, too

    @property
    def sizes(self) -> tuple[Fraction, ...]:
        """How much an input changes at ends of the boxes, ascending."""
        ends = {abs(end) for box in self.boxes for each in box for end in each}
        return tuple([self.unit * end for end in sorted(ends)])

    def in_corners(self, most: int) -> Changes:
        """Return the same changes with the corners for boxes, if there are at most so many."""
        ends = [[sorted({*each}) for each in box] for box in self.boxes]
        if sum(prod(len(each) for each in box) for box in ends) > most:
            return self
        corners = (corner for box in ends for corner in product(*box))
        boxes = tuple(tuple((d, d) for d in corner) for corner in corners)
        return replace(self, boxes=tuple(dict.fromkeys(boxes)))


MOST_BOXES = 1_000  # of l0 with bounds; where there are more, all inputs may change


def changes_of(
    adjacency: Adjacency, widths: Sequence[Fraction | None], integers: bool, *, proved: bool = False
) -> Changes:
    """Return the changes that an adjacency allows to real, or integer, inputs.

    Args:
        widths: By input, what it cannot change by more than; None if there is no bound.
        proved: Whether boxes are wanted as the kernel has them: no radius is shared in these.
    """
    count = len(widths)
    known = [width for width in widths if width is not None]
    match adjacency:
        case Listed():
            raise NotReal("a list of adjacent inputs does not speak of all real inputs")
        case Everyone() if len(known) == count:
            return _in_units([_box(known)])
        case Everyone():
            return Changes(_single(count), Fraction(1), is_bounded=False)
        case Within(norm=Norm.L0, radius=radius) if len(known) == count:
            return _in_units(_of_some(known, floor(radius)))
        case Within(norm=norm, radius=radius):
            if integers or norm is Norm.L0:
                radius = Fraction(floor(radius))
            most = [radius if width is None else min(radius, width) for width in widths]
            match norm:
                case Norm.LINF:
                    return _in_units([_box(most)])
                case Norm.INCREASING:
                    return _in_units([_box(most, low=0)])
                case Norm.DECREASING:
                    return _in_units([_box(most, high=0)])
                case Norm.L1:
                    if any(0 < each < radius for each in most):
                        return _in_units(_sharing(most, radius, MOST_BOXES * (not proved)))
                    return Changes(_single(count), max(most, default=radius))
                case Norm.L0:
                    return Changes(_single(count), min(radius, Fraction(1)), is_bounded=False)
            assert_never(norm)
    assert_never(adjacency)


_Ends = Sequence[tuple[Fraction, Fraction]]  # of every input the least and the greatest change


def _in_units(boxes: Sequence[_Ends]) -> Changes:
    """Return boxes as multiples of the greatest unit of which their ends are."""
    ends = [end for box in boxes for each in box for end in each]
    unit = Fraction(gcd(*(x.numerator for x in ends)), lcm(*(x.denominator for x in ends)))
    whole = unit or Fraction(1)
    found = (tuple((int(lo / whole), int(hi / whole)) for lo, hi in box) for box in boxes)
    return Changes(tuple(dict.fromkeys(found)), unit)


def _box(most: Sequence[Fraction], low: int = -1, high: int = 1) -> _Ends:
    return [(low * each, high * each) for each in most]


def _of_some(most: Sequence[Fraction], count: int) -> Sequence[_Ends]:
    """Changes of at most so many inputs at a time; of all where these are too many boxes."""
    count = min(count, len(most))
    if comb(len(most), count) > MOST_BOXES:
        return [_box(most)]
    chosen = map(frozenset, combinations(range(len(most)), count))
    return [_box([each * (k in own) for k, each in enumerate(most)]) for own in chosen]


def _sharing(most: Sequence[Fraction], radius: Fraction, ways: int) -> Sequence[_Ends]:
    """Changes of all inputs that together are at most a radius; more where ways are too many."""
    widths, found = {k: each for k, each in enumerate(most) if each}, list[_Ends]()
    if 2 ** len(widths) > ways:
        widest = max(most)
        return _of_some([widest if each else each for each in most], ceil(radius / widest))
    for chosen in product((False, True), repeat=len(widths)):
        own = dict(compress(widths.items(), chosen))
        left = radius - sum(own.values())
        last = [k for k, width in widths.items() if k not in own and width > left]
        if left >= 0 and (last or len(own) == len(widths)):
            boxes = ({**own, k: left} for k in last) if last else (own,)
            found += [_box([box.get(k, Fraction(0)) for k in range(len(most))]) for box in boxes]
    return found


def _single(count: int) -> tuple[Box, ...]:
    return tuple(
        tuple((sign, sign) if k == cell else (0, 0) for k in range(count))
        for cell in range(count)
        for sign in (1, -1)
    )
