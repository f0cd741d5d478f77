"""Measures in space in, pairs of measures on the line out, where they are products.

A measure that is the sum of several parts is a product if the parts differ in one coordinate at
most: then the sum is over that coordinate only. What two measures have in common, a factor that is
the same for both, is a factor of their divergence:

    sup over S of (f ⊗ c)(S) - growth (g ⊗ c)(S)  =  (mass of c) · sup over S of f(S) - growth g(S),

by Fubini: both sides are ∫ max(0, f - growth g), times ∫ c.
"""

from __future__ import annotations

from collections.abc import Sequence

from dipapprox.data_classes import dataclass
from dipapprox.events.event import Part

Line = tuple[Part, ...]
"""Parts with one published number each; their measures add up."""


@dataclass(frozen=True, slots=True)
class Factored:
    """Two product measures.

    Attributes:
        pairs: By coordinate, those on which they differ: (coordinate, first, second).
        common: The factors that are the same for both, each with a positive mass.
    """

    pairs: tuple[tuple[int, Line, Line], ...]
    common: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Mixed:
    """Two measures that are no products, but for what is the same everywhere.

    Attributes:
        coordinates: Those in which parts differ, or the two measures.
        common: The other coordinates' factors, each with a positive mass.
    """

    coordinates: tuple[int, ...]
    common: tuple[Line, ...]

    @property
    def reason(self) -> str:
        """Why they are no products, for people."""
        numbers = " and ".join(f"number {k + 1}" for k in self.coordinates)
        return f"paths that publish the same depend on each other in {numbers} of what is published"


def factored(first: Sequence[Part], second: Sequence[Part]) -> Factored | Mixed:
    """Write two measures as products.

    Args:
        first: At least one part; all with the same number, >= 1, of published numbers.
        second: The same.

    Returns:
        The factors; with events of the parts in one of them, a pair if there is any. Or what is
        common to parts that differ in several coordinates.
    """
    count = len(first[0].marginals)
    columns = [
        [[part.marginals[k] for part in side] for side in (first, second)] for k in range(count)
    ]
    varying = [k for k, sides in enumerate(columns) if any(_vary(side) for side in sides)]
    if len(varying) > 1:
        kept = {k for k, (own, other) in enumerate(columns) if _vary([*own, *other])}
        shared = [(Part((), (columns[k][0][0],)),) for k in range(count) if k not in kept]
        return Mixed(tuple(sorted(kept)), tuple(shared))
    differing = [k for k, (own, other) in enumerate(columns) if own[0] != other[0]]
    home = varying[0] if varying else differing[0] if differing else 0
    pairs: list[tuple[int, Line, Line]] = []
    common: list[Line] = []
    for k, (own, other) in enumerate(columns):
        one: Line = (Part((), (own[0],)),)
        two: Line = (Part((), (other[0],)),)
        if k == home:
            one, two = _line(first, k), _line(second, k)
        if one == two:
            common.append(one)
        else:
            pairs.append((k, one, two))
    return Factored(tuple(pairs), tuple(common))


def _line(side: Sequence[Part], coordinate: int) -> Line:
    return tuple(Part(part.events, (part.marginals[coordinate],)) for part in side)


def _vary(marginals: Sequence[object]) -> bool:
    return any(each != marginals[0] for each in marginals)
