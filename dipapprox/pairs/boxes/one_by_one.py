"""Programs that compare samples one by one: sets of pairs of real inputs where delta is largest.

**Lemma (edges).** Let all that depends on u_i, or on u'_i, be one sample with one cut, and let no
budget bind. Then delta is largest where (u_i, u'_i) is a corner, or on an edge parallel to no axis.
Proof. With F strictly increasing, (u_i, u'_i) -> (F(t), F(t')) maps the polygon homeomorphically
into the plane, edges parallel to axes to segments. For fixed other inputs delta is a convex
function of (F(t), F(t')), so largest at an extreme point of the image's hull: that lies in the
image, on its boundary, and not inside a segment.

Outputs that depend on one number made of all real inputs: that is the input then (`images`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import lcm, prod

import numpy as np

from dipapprox.arithmetic.rounding import Array
from dipapprox.data_classes import dataclass
from dipapprox.language.core import Value
from dipapprox.language.domains import AllReals
from dipapprox.pairs.adjacency import FREE
from dipapprox.pairs.boxes.cells import PairSet
from dipapprox.pairs.boxes.images import Image, image_of
from dipapprox.pairs.boxes.polygons import Point, Polygon, clipped
from dipapprox.pairs.boxes.thresholds import Thresholds, thresholds_of
from dipapprox.semantics.state import FinalStates

_MOST_FIXED = 64
"""Values of the finite inputs."""

_MOST_CORNERS = 243
"""Products of corners of one set."""

_MOST_ROOTS = 5_000

_LARGEST = 2**14
"""Of corners, in units: halved 36 times they are still exact."""

Fixed = tuple[Value | None, ...]
"""The values of the finite inputs; None for real ones."""

Kind = tuple[Fixed, Fixed, float | None, tuple[int, ...]]
"""Finite inputs in u and u', the budget in units, and how many corners there are for each input."""


@dataclass(frozen=True, slots=True, eq=False)
class OneByOne:
    """The pairs of such a program.

    Attributes:
        roots: Sets where delta may be largest.
        unit: All corners are small integers in it.
        thresholds: At all values of finite inputs, for this unit.
        images: Where one number stands for real inputs, those of all sets of pairs.
        samples: For each sample the same pairs, where its cell alone is shown; none if that tells
            no more than `thresholds` do.
    """

    roots: list[PairSet]
    unit: Fraction
    thresholds: dict[Fixed, Thresholds]
    images: tuple[Image, ...] = ()
    samples: tuple[OneByOne, ...] = ()

    def points(self, corner: Sequence[Point]) -> Sequence[Point]:
        """Return where real inputs are, at a corner of a set."""
        if not self.images:
            return corner
        return next(own for each in self.images if (own := each.pair(corner[0])) is not None)

    def triangles(self) -> dict[Kind, tuple[Array, ...]]:
        """Return products of triangles, segments and points that hold all pairs, by kind.

        Returns:
            For each real input an array of sets, corners, and x and y, in units.
        """
        return _arranged(self.roots, self.unit)


def one_by_one(states: FinalStates, eps: Fraction, roots: Sequence[PairSet]) -> OneByOne | None:
    """Return the pairs of a program; None if samples are compared with each other.

    Args:
        states: The final states.
        eps: Where it runs.
        roots: Sets that hold all pairs.
    """
    cells, unit = states.program.inputs, _unit_of(roots)
    fixed = dict.fromkeys(side for each in roots for side in (each.first, each.second))
    if unit is None or len(fixed) > _MOST_FIXED:
        return None
    places = [k for k, cell in enumerate(cells) if isinstance(cell.domain, AllReals)]
    found: dict[Fixed, Thresholds] = {}
    for values in fixed:
        input = tuple(FREE if value is None else value for value in values)
        own = thresholds_of(states, eps, input, places, unit)
        if own is None:
            return None
        found[values] = own
    if len(places) > 1 and all(each.number is not None for each in found.values()):
        known = _of_numbers(roots, found, unit)
        if known is not None:
            return known
    axes = range(len(places))
    alone = [axis for axis in axes if all(each.is_alone(axis) for each in found.values())]
    few = _on_edges(roots, alone)
    samples: list[OneByOne | None] = []
    if len(found) == 1 and len(places) > 1:
        ((side, own),) = found.items()
        samples = [_of_numbers(roots, {side: each}, unit) for each in own.of_samples()]
    told = tuple(each for each in samples if each is not None)
    samples_of = told if len(told) == len(samples) else ()
    return OneByOne(few, unit, found, samples=samples_of)


def _of_numbers(
    roots: Sequence[PairSet], thresholds: Mapping[Fixed, Thresholds], old: Fraction
) -> OneByOne | None:
    """Return pairs of a program whose outputs depend on one number; None if they are too many.

    Args:
        roots: Sets that hold all pairs.
        thresholds: For real inputs.
        old: Their unit.
    """
    images, sets = [], []
    for root in roots:
        first, second = (thresholds[side].number or () for side in (root.first, root.second))
        image = image_of(root, first, second)
        if image is None:
            return None
        if image.polygon:
            images.append(image)
            sets.append(PairSet((image.polygon,), root.first, root.second, None))
    unit = _unit_of(sets)
    if unit is None:
        return None
    found = {fixed: each.of_number(old, unit) for fixed, each in thresholds.items()}
    alone = [0] if all(each.is_alone(0) for each in found.values()) else []
    return OneByOne(_on_edges(sets, alone), unit, found, tuple(images))


def _arranged(roots: Sequence[PairSet], unit: Fraction) -> dict[Kind, tuple[Array, ...]]:
    """Cut sets into products of triangles, segments and points, by kind."""
    found: dict[Kind, list[tuple[Polygon, ...]]] = {}
    for root in roots:
        bound = root.is_bound
        budget = None if not bound or root.budget is None else float(root.budget / unit)
        for parts in product(*(_triangles(each, bound) for each in root.polygons)):
            kind = (root.first, root.second, budget, tuple(map(len, parts)))
            found.setdefault(kind, []).append(parts)
    return {
        kind: tuple(
            np.array([[[float(x / unit), float(y / unit)] for x, y in each] for each in own])
            for own in zip(*sets, strict=True)
        )
        for kind, sets in found.items()
    }


def _triangles(polygon: Polygon, bound: bool) -> list[Polygon]:
    """Cut a polygon into triangles; on one side of x = y each, if a budget binds."""
    sides = [polygon]
    if bound:
        sides = [clipped(polygon, 1, -1, FREE), clipped(polygon, -1, 1, FREE)]
    found = []
    for side in sides:
        if len(side) <= 3:
            found += [side] if side else []
        else:
            found += [(side[0], side[k], side[k + 1]) for k in range(1, len(side) - 1)]
    return list(dict.fromkeys(found))


def _unit_of(roots: Sequence[PairSet]) -> Fraction | None:
    """Return a unit in which all corners are small integers; None if they are not, or too many."""
    numbers = [each for root in roots for p in root.polygons for corner in p for each in corner]
    numbers += [root.budget for root in roots if root.budget is not None]
    unit = Fraction(1, lcm(*(each.denominator for each in numbers)))
    few = sum(prod(2 * max(len(p) - 2, 1) for p in root.polygons) for root in roots)
    corners = max((prod(min(len(p), 3) for p in root.polygons) for root in roots), default=1)
    small = all(abs(each) <= _LARGEST * unit for each in numbers)
    return unit if small and few <= _MOST_ROOTS and corners <= _MOST_CORNERS else None


def _on_edges(roots: Sequence[PairSet], axes: Sequence[int]) -> list[PairSet]:
    """Return where delta is largest, for inputs as in the lemma of edges.

    Args:
        roots: Sets without budgets that bind.
        axes: Of such inputs.
    """
    found = []
    for root in roots:
        options = [
            _slanted(each) if axis in axes and not root.is_bound else [each]
            for axis, each in enumerate(root.polygons)
        ]
        found += [PairSet(own, root.first, root.second, root.budget) for own in product(*options)]
    return found


def _slanted(polygon: Polygon) -> list[Polygon]:
    edges = [(polygon[k - 1], polygon[k]) for k in range(len(polygon))]
    slanted = [each for each in edges if each[0][0] != each[1][0] and each[0][1] != each[1][1]]
    if len(polygon) == 2:
        slanted = slanted[:1]
    met = {corner for edge in slanted for corner in edge}
    return [*slanted, *((corner,) for corner in polygon if corner not in met)]
