"""Products of triangles, segments and points, thousands at once: put together, and cut in halves.

Corners are multiples of a unit times powers of 2, and stay exact doubles: cuts add halves, and sets
that have no exact ones are not cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.rounding import Array
from dipapprox.data_classes import dataclass

_FINEST = 2.0**-36
"""Units: sets whose corners are no multiples of it are not cut."""

_SIMILAR = 0.25
"""Inputs that count for at least so much of the largest are cut along with it."""


@dataclass(frozen=True, slots=True, eq=False)
class TriangleSets:
    """Sets of one kind.

    Attributes:
        corners: For each real input an array of sets, corners, and x and y, in units.
        upper: At least the largest delta, by set.
        bends: κ and E κ', by set, input, and x and y.
    """

    corners: tuple[Array, ...]
    upper: Array
    bends: Array

    def taken(self, places: NDArray[np.intp] | NDArray[np.bool_]) -> TriangleSets:
        """Return some of the sets."""
        corners = tuple(each[places] for each in self.corners)
        return TriangleSets(corners, self.upper[places], self.bends[places])


def joined(parts: Sequence[TriangleSets]) -> TriangleSets:
    """Put sets of one kind together."""
    corners = zip(*(each.corners for each in parts), strict=True)
    return TriangleSets(
        tuple(np.concatenate(own) for own in corners),
        np.concatenate([each.upper for each in parts]),
        np.concatenate([each.bends for each in parts]),
    )


def _edges(corners: Array) -> list[tuple[int, int]]:
    return list(combinations(range(corners.shape[1]), 2))


def have_halves(sets: TriangleSets) -> NDArray[np.bool_]:
    """Say which sets are no points, and have halves whose corners are exact."""
    found = np.zeros(len(sets.upper), dtype=np.bool_)
    for each in sets.corners:
        found |= (each != each[:, :1]).any(axis=(1, 2))
    for each in sets.corners:
        found &= (each % _FINEST == 0).all(axis=(1, 2))
    return found


def halved(sets: TriangleSets) -> Iterator[TriangleSets]:
    """Cut sets across the longest edges of the inputs that matter most."""
    weights = []
    for axis, corners in enumerate(sets.corners):
        own = sets.bends[:, axis] + 2.0**-60
        sizes = [
            (own * (corners[:, b] - corners[:, a]) ** 2).sum(axis=-1) for a, b in _edges(corners)
        ]
        weights.append(np.stack(sizes, axis=1) if sizes else np.zeros((len(own), 1)))
    largest = np.stack([each.max(axis=1) for each in weights], axis=1)
    cut = largest >= _SIMILAR * largest.max(axis=1, keepdims=True)
    parts = [(sets, cut, [each.argmax(axis=1) for each in weights])]
    for axis, corners in enumerate(sets.corners):
        edges = np.array(_edges(corners) or [(0, 0)])
        grown = []
        for part, own, chosen in parts:
            here = own[:, axis] & (corners.shape[1] > 1)
            if not here.any():
                grown.append((part, own, chosen))
                continue
            if not here.all():
                grown.append((part.taken(~here), own[~here], [each[~here] for each in chosen]))
            part, rows = part.taken(here), np.arange(int(here.sum()))
            ends = edges[chosen[axis][here]].T
            middle = (part.corners[axis][rows, ends[0]] + part.corners[axis][rows, ends[1]]) / 2
            for end in ends:
                moved = part.corners[axis].copy()
                moved[rows, end] = middle
                halves = (*part.corners[:axis], moved, *part.corners[axis + 1 :])
                half = TriangleSets(halves, part.upper, part.bends)
                grown.append((half, own[here], [each[here] for each in chosen]))
        parts = grown
    return (part for part, _, _ in parts)
