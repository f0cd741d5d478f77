"""Sets of pairs (u, u') of inputs, some of them real: all adjacent ones, and parts of these.

Inputs with a finite domain have one value in u and one in u' throughout a set; a real input has a
convex polygon for its values in both (`polygons`). Adjacency l1 also bounds the sum of all
distances of real inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import assert_never

from dipapprox.data_classes import dataclass
from dipapprox.errors import LimitReached, UserError
from dipapprox.language.core import Cell, Everyone, Input, Listed, Norm, Program, Value, Within
from dipapprox.language.domains import AllReals
from dipapprox.pairs.adjacency import FREE, CellAdjacency, radius_of
from dipapprox.pairs.boxes.polygons import Polygon, clipped, diagonal, extent, rectangle

_MOST_SETS = 20_000
"""Combinations of the values of finite inputs."""


@dataclass(frozen=True, slots=True)
class PairSet:
    """A set of pairs.

    Attributes:
        polygons: For each real input, in the order of the program.
        first: The values of u, of real inputs None.
        second: Of u' likewise.
        budget: The most that distances of real inputs may add up to; None for no bound.
    """

    polygons: tuple[Polygon, ...]
    first: tuple[Value | None, ...]
    second: tuple[Value | None, ...]
    budget: Fraction | None

    @property
    def is_one_pair(self) -> bool:
        """Whether nothing is left to choose."""
        return all(len(polygon) == 1 for polygon in self.polygons)

    @property
    def is_empty(self) -> bool:
        """Whether even the least distances exceed the budget."""
        if self.budget is None:
            return False
        return sum((distances(each)[0] for each in self.polygons), FREE) > self.budget

    @property
    def is_bound(self) -> bool:
        """Whether the budget may keep inputs apart that the polygons allow."""
        if self.budget is None:
            return False
        return sum((distances(each)[1] for each in self.polygons), FREE) > self.budget

    def pair(self, corners: Sequence[tuple[Fraction, Fraction]]) -> tuple[Input, Input]:
        """Return the pair where real inputs have these values, moved together if they must be."""
        spent = sum((abs(x - y) for x, y in corners), FREE)
        if self.budget is not None and spent > self.budget:
            share = self.budget / spent
            corners = [(x, x + share * (y - x)) for x, y in corners]
        xs, ys = iter([x for x, _ in corners]), iter([y for _, y in corners])
        return (
            tuple(next(xs) if value is None else value for value in self.first),
            tuple(next(ys) if value is None else value for value in self.second),
        )


def distances(polygon: Polygon) -> tuple[Fraction, Fraction]:
    """Return the least and the greatest |x - y|."""
    values = [x - y for x, y in polygon]
    low, high = min(values), max(values)
    return max(low, -high, FREE), max(high, -low)


def pairs_of(program: Program) -> list[PairSet]:
    """Return sets that together hold the adjacent pairs of a program with real inputs.

    Raises:
        UserError: If the program lists pairs, or wants distances between named values.
        LimitReached: As `all_pairs`.
    """
    if isinstance(program.adjacency, Listed):
        raise UserError("pairs of real inputs cannot be listed in a program")
    return all_pairs(program.inputs, program.adjacency)


def all_pairs(cells: Sequence[Cell], adjacency: Within | Everyone) -> list[PairSet]:
    """Return sets that together hold the adjacent pairs, and pairs of equal inputs.

    Args:
        cells: The inputs; real ones between bounds.
        adjacency: Of the program.

    Raises:
        UserError: If distances are wanted between named values.
        LimitReached: If finite inputs have too many values, or a real one has no bounds.
    """
    radius = radius_of(adjacency)
    bound = isinstance(adjacency, Within) and adjacency.norm is Norm.L1
    found = [PairSet((), (), (), radius)]
    for cell in cells:
        options = list(_options(cell, adjacency))
        grown = []
        for each in found:
            left = each.budget
            assert left is not None
            for option in options:
                if option.cost <= left:
                    grown.append(
                        PairSet(
                            each.polygons + option.polygon,
                            (*each.first, option.first),
                            (*each.second, option.second),
                            left - option.cost,
                        )
                    )
        if len(grown) > _MOST_SETS:
            raise LimitReached(f"pair limit: finite inputs have more than {_MOST_SETS} pairs")
        found = grown
    if bound:
        return found
    return [PairSet(each.polygons, each.first, each.second, None) for each in found]


@dataclass(frozen=True, slots=True)
class _Option:
    """What one input may be in u and u'; a real one has a polygon."""

    polygon: tuple[Polygon, ...]
    first: Value | None
    second: Value | None
    cost: Fraction


def _options(cell: Cell, adjacency: Within | Everyone) -> Iterator[_Option]:
    if not isinstance(cell.domain, AllReals):
        relation = CellAdjacency(cell, adjacency)
        for value in cell.domain:
            yield _Option((), value, value, FREE)
            for other, cost in relation.of(value):
                yield _Option((), value, other, cost)
        return
    if cell.domain.bounds is None:
        raise LimitReached(
            f"the input '{cell.name}' has no bounds: only 'real -5..5' and the like are covered"
        )
    low, high = cell.domain.bounds
    whole = rectangle(low, high)
    match adjacency:
        case Everyone():
            yield _Option((whole,), None, None, FREE)
        case Within(Norm.L0, _):
            yield _Option((diagonal(low, high),), None, None, FREE)
            yield _Option((whole,), None, None, Fraction(1))
        case Within(norm, radius):
            rise = FREE if norm is Norm.DECREASING else radius  # of u' over u
            fall = FREE if norm is Norm.INCREASING else radius
            near = clipped(clipped(whole, 1, -1, fall), -1, 1, rise)
            yield _Option((near,), None, None, FREE)
        case _:
            assert_never(adjacency)


def boxes(pairs: PairSet) -> tuple[tuple[tuple[Fraction, Fraction], ...], ...]:
    """Return the least boxes that hold the real inputs of u, and those of u'."""
    return tuple(
        tuple(extent(polygon, coordinate) for polygon in pairs.polygons) for coordinate in (0, 1)
    )
