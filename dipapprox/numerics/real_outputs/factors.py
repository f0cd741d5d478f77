"""Measures in space in, pairs of measures on the line out, where they are products.

A measure that is the sum of several parts is a product if the parts differ in one coordinate at
most: then the sum is over that coordinate only; or if they are all combinations of some for each
coordinate, with the events of each: Σ_ij e_i f_j a_i ⊗ b_j = (Σ_i e_i a_i) ⊗ (Σ_j f_j b_j).

What two measures have in common, a factor that is the same for both, is one of their divergence:

    sup over S of (f ⊗ c)(S) - growth (g ⊗ c)(S)  =  (mass of c) · sup over S of f(S) - growth g(S),

by Fubini: both sides are ∫ max(0, f - growth g), times ∫ c.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from math import gcd, prod
from operator import and_

from dipapprox.data_classes import Record
from dipapprox.events.event import Marginal, Part

Line = tuple[Part, ...]  # parts with one published number each; their measures add up


class Factored(Record):
    """Two product measures."""

    # by coordinate, those on which they differ: (coordinate, first, second)
    pairs: tuple[tuple[int, Line, Line], ...]
    common: tuple[Line, ...]  # the factors that are the same for both, each with a positive mass


class Mixed(Record):
    """Two measures that are no products, but for what is the same everywhere."""

    coordinates: tuple[int, ...]  # those in which parts differ, or the two measures
    common: tuple[Line, ...]  # the other coordinates' factors, each with a positive mass

    @property
    def reason(self) -> str:
        """Why they are no products, for people."""
        numbers = " and ".join(f"number {k + 1}" for k in self.coordinates)
        return f"paths that publish the same depend on each other in {numbers} of what is published"


def factored(first: Sequence[Part], second: Sequence[Part]) -> Factored | Mixed:
    """Write two measures, of at least one part each and equally many numbers, as products.

    Returns:
        The factors; with events of the parts in one of them, a pair if there is any. Or what is
        common to parts that differ in several coordinates.
    """
    count = len(first[0].marginals)
    columns = [
        [[part.marginals[k] for part in side] for side in (first, second)] for k in range(count)
    ]
    varying = [k for k, sides in enumerate(columns) if any(_vary(side) for side in sides)]
    differing = [k for k, (own, other) in enumerate(columns) if own[0] != other[0]]
    homes = varying or differing[:1] or [0]
    own_lines, other_lines = (_lines(side, homes) for side in (first, second))
    if own_lines is None or other_lines is None:
        kept = {k for k, (own, other) in enumerate(columns) if _vary([*own, *other])}
        shared = [(Part((), (columns[k][0][0],)),) for k in range(count) if k not in kept]
        return Mixed(tuple(sorted(kept)), tuple(shared))
    pairs: list[tuple[int, Line, Line]] = []
    common: list[Line] = []
    for k, (own, other) in enumerate(columns):
        one = own_lines.get(k) or (Part((), (own[0],)),)
        two = other_lines.get(k) or (Part((), (other[0],)),)
        if one == two:
            common.append(one)
        else:
            pairs.append((k, one, two))
    return Factored(tuple(pairs), tuple(common))


def _lines(side: Sequence[Part], homes: Sequence[int]) -> dict[int, Line] | None:
    """Write parts that differ in some coordinates as a product of sums; None if they are none.

    Events of all parts are in the first of the coordinates.
    """
    if len(homes) == 1:
        (home,) = homes
        return {home: tuple(Part(part.events, (part.marginals[home],)) for part in side)}
    places = [tuple([part.marginals[k] for k in homes]) for part in side]
    rows = {row: Counter(part.events) for row, part in zip(places, side, strict=True)}
    values = [dict.fromkeys(each) for each in zip(*rows, strict=True)]
    alike = all(rows[row] == Counter(p.events) for row, p in zip(places, side, strict=True))
    if not alike or prod(map(len, values)) != len(rows):
        return None
    counts, base = Counter(places), places[0]
    often = [{v: counts[*base[:k], v, *base[k + 1 :]] for v in own} for k, own in enumerate(values)]
    often = [{v: n // gcd(*own.values()) for v, n in own.items()} for own in often]

    def product(row: tuple[Marginal, ...]) -> int:
        return prod(own[value] for own, value in zip(often, row, strict=True))

    times = counts[base] // product(base)
    if any(count != times * product(row) for row, count in counts.items()):
        return None
    shared = reduce(and_, rows.values())
    needs = [
        {
            value: reduce(and_, (events for row, events in rows.items() if row[k] == value))
            - shared
            for value in own
        }
        for k, own in enumerate(values)
    ]
    for row, events in rows.items():
        if events != sum((needs[k][value] for k, value in enumerate(row)), shared):
            return None
    return {
        home: tuple(
            Part(tuple((own[value] + (Counter() if k else shared)).elements()), (value,))
            for value in own
            for _ in range(often[k][value] * (1 if k else times))
        )
        for k, (home, own) in enumerate(zip(homes, needs, strict=True))
    }


def _vary(marginals: Sequence[object]) -> bool:
    return any(each != marginals[0] for each in marginals)
