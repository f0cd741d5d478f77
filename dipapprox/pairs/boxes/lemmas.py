"""Sets of pairs that need not be looked at: what guards say of all probabilities at once.

**Translations.** If every guard stays what it is when all real inputs move by the same number, then
so does delta_{u,u'} when those of u and u' do, and u - u' stays. So every pair can be moved down,
without changing delta, until some u_i or u'_i is at its lower end: the sets where one is hold all
values of delta. Sets of adjacent pairs contain what they are moved to: they are bounded by the
ranges of inputs and by differences. Where differences are as free as the ranges, corners tell as
much, and that is not done.

**Symmetric inputs.** If exchanging two real inputs, in u and u' alike, permutes the outputs
(`events.symmetry`), then it leaves delta as it is; adjacencies do not tell inputs apart. All pairs
are cut into products of the same parts for every one of some exchangeable inputs; of sets that are
permutations of each other one is enough.

**Monotone guards**: see `movement`. **Sets of outputs**: see `regions`. **Limits at infinity**: see
`infinity`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement, product
from math import comb, prod

from dipapprox.events.symmetry import CellSymmetry
from dipapprox.pairs.boxes.cells import PairSet
from dipapprox.pairs.boxes.polygons import Polygon, X, Y, clipped, cut, extent, rectangle

TRANSLATIONS = "translations"
SYMMETRY = "symmetric inputs"
MONOTONE = "monotone guards"
OUTPUTS = "sets of outputs"
LIMITS = "limits at infinity"
"""The words in reports."""

LEMMAS = frozenset({TRANSLATIONS, SYMMETRY, OUTPUTS})
"""Those that are used where they are asked for."""

_MOST_ROOTS = 200
"""Sets that symmetric inputs are cut into."""


def limits_differences(roots: Sequence[PairSet]) -> bool:
    """Whether some inputs of u and u' are kept closer than their ranges are wide."""
    return any(
        root.is_bound or polygon != rectangle(*extent(polygon, X))
        for root in roots
        for polygon in root.polygons
    )


def lowest(roots: Sequence[PairSet]) -> list[PairSet]:
    """Return the parts of sets of pairs where some real input that moves is at its lower end."""
    found: dict[PairSet, None] = {}
    for root in roots:
        moving = [axis for axis, polygon in enumerate(root.polygons) if len(polygon) > 1]
        if not moving:
            found[root] = None
        for axis in moving:
            polygon = root.polygons[axis]
            for coordinate in (X, Y):
                low, _ = extent(polygon, coordinate)
                a, b = (1, 0) if coordinate == X else (0, 1)
                face = clipped(polygon, a, b, low)
                polygons = (*root.polygons[:axis], face, *root.polygons[axis + 1 :])
                found[PairSet(polygons, root.first, root.second, root.budget)] = None
    return list(found)


def exchangeable(symmetry: CellSymmetry, places: Sequence[int]) -> list[list[int]]:
    """Group real inputs, by position among them, that can be exchanged.

    Args:
        symmetry: Of the program.
        places: Their positions among all inputs.
    """
    groups: list[list[int]] = []
    for axis, place in enumerate(places):
        for group in groups:
            swap = symmetry.swap(places[group[0]], place)
            if swap is not None and all(swap.matched):
                group.append(axis)
                break
        else:
            groups.append([axis])
    return groups


def exchanges(
    symmetry: CellSymmetry, places: Sequence[int], groups: Sequence[Sequence[int]]
) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return pairs of real inputs that can be exchanged, and what becomes of each output.

    Args:
        symmetry: Of the program.
        places: The positions of real inputs among all.
        groups: Of `exchangeable`.
    """
    found = []
    for group in groups:
        for a, b in combinations(group, 2):
            swap = symmetry.swap(places[a], places[b])
            if swap is not None and all(swap.matched):
                found.append((a, b, swap.partners))
    return found


def without_permutations(
    roots: Sequence[PairSet], groups: Sequence[Sequence[int]]
) -> list[PairSet]:
    """Return sets such that every pair of some sets is, up to exchanges of inputs, in one of them.

    Args:
        roots: Sets; with each set its permutations are among them.
        groups: Of exchangeable real inputs.
    """
    kept: dict[tuple[object, ...], PairSet] = {}
    for root in roots:
        shapes = list(root.polygons)
        for group in groups:
            own = sorted(shapes[axis] for axis in group)
            for axis, shape in zip(group, own, strict=True):
                shapes[axis] = shape
        kept.setdefault((tuple(shapes), root.first, root.second, root.budget), root)
    return [part for root in kept.values() for part in _sorted_parts(root, groups)]


def _sorted_parts(root: PairSet, groups: Sequence[Sequence[int]]) -> list[PairSet]:
    """Cut the polygons of inputs that are alike in a set, and leave out permutations."""
    alike: list[list[int]] = []
    for group in groups:
        by_shape: dict[Polygon, list[int]] = {}
        for axis in group:
            by_shape.setdefault(root.polygons[axis], []).append(axis)
        alike += [own for own in by_shape.values() if len(own) > 1]
    parts = [_quarters(root.polygons[own[0]]) for own in alike]
    sizes = (comb(len(p) + len(own) - 1, len(own)) for own, p in zip(alike, parts, strict=True))
    if prod(sizes) > _MOST_ROOTS:
        return [root]
    choices = [
        combinations_with_replacement(own, len(axes))
        for axes, own in zip(alike, parts, strict=True)
    ]
    found = []
    for chosen in product(*choices):
        polygons = list(root.polygons)
        for axes, shapes in zip(alike, chosen, strict=True):
            for axis, shape in zip(axes, shapes, strict=True):
                polygons[axis] = shape
        found.append(PairSet(tuple(polygons), root.first, root.second, root.budget))
    return found


def _quarters(polygon: Polygon) -> list[Polygon]:
    parts = [polygon]
    for coordinate in (X, Y):
        low, high = extent(polygon, coordinate)
        if low < high:
            middle = (low + high) / 2
            parts = [half for part in parts for half in cut(part, coordinate, middle)]
    return list(dict.fromkeys(parts))
