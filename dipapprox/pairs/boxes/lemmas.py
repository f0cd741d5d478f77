"""Sets of pairs that need not be looked at: what guards say of all probabilities at once.

**Translations.** If every guard stays what it is when all real inputs move by the same number, then
so does delta_{u,u'} when those of u and u' do, and u - u' stays. So every pair can be moved down,
without changing delta, until some u_i or u'_i is at its lower end: the sets where one is hold all
values of delta. Sets of adjacent pairs contain what they are moved to: they are bounded by the
ranges of inputs and by differences. Where differences are as free as the ranges, corners tell as
much, and that is not done.

**Symmetric inputs.** If exchanging two real inputs, in u and u' alike, permutes the outputs
(`events.symmetry`), then it leaves delta as it is; adjacencies do not tell inputs apart. So of the
sets of outputs that become each other one is enough (`regions`).

**Monotone guards**: see `movement`. **Sets of outputs**: see `regions`. **Limits at infinity**: see
`infinity`.
"""

from __future__ import annotations

from collections.abc import Sequence

from dipapprox.events.symmetry import CellSymmetry
from dipapprox.pairs.boxes.cells import PairSet
from dipapprox.pairs.boxes.polygons import X, Y, clipped, extent, rectangle

TRANSLATIONS = "translations"
SYMMETRY = "symmetric inputs"
MONOTONE = "monotone guards"
OUTPUTS = "sets of outputs"
LIMITS = "limits at infinity"
"""The words in reports."""

LEMMAS = frozenset({TRANSLATIONS, SYMMETRY, OUTPUTS})
"""Those that are used where they are asked for."""


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


def exchanges(symmetry: CellSymmetry, places: Sequence[int]) -> list[tuple[int, ...]]:
    """Return exchanges of two real inputs of which all others are made: what outputs become.

    Args:
        symmetry: Of the program.
        places: The positions of real inputs among all.
    """
    found = []
    for number, place in enumerate(places):
        for other in places[:number]:
            swap = symmetry.swap(other, place)
            if swap is not None and all(swap.matched):
                found.append(swap.partners)
                break
    return found
