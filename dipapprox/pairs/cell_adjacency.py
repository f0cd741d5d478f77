"""The adjacency relation of one input cell: a value in, the adjacent ones and their costs out."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import assert_never

from dipapprox.cache import Cache
from dipapprox.errors import UserError
from dipapprox.language.core import Cell, Everyone, Norm, Value, Within

FREE = Fraction(0)

_REMEMBERED = 100_000
"""Most changes kept."""

_MOST_DISTANCES = 2_000_000
"""Distances are not counted when more changes have one."""


def radius_of(adjacency: Within | Everyone) -> Fraction:
    """Return what all changes of an input may cost together."""
    match adjacency:
        case Within(Norm.L1 | Norm.L0, radius):
            return radius
        case Everyone() | Within():
            return FREE
        case _:
            assert_never(adjacency)


class CellAdjacency:
    """The adjacency relation of one cell, value by value: a table would be quadratic in the domain.

    Args:
        cell: Its domain is used; its name only for messages.
        adjacency: Says which changes are allowed and what they cost.

    Raises:
        UserError: If distances are wanted between named values.
    """

    def __init__(self, cell: Cell, adjacency: Within | Everyone) -> None:
        self._domain = cell.domain
        self._near = False
        self._back = self._ahead = FREE
        self._free = True
        self._price = FREE
        self._ordered: list[Fraction] = []
        match adjacency:
            case Everyone():
                pass
            case Within(Norm.L0, _):
                self._price = Fraction(1)
            case Within(norm, radius):
                self._free = norm is not Norm.L1
                self._near = True
                self._back = FREE if norm is Norm.INCREASING else radius
                self._ahead = FREE if norm is Norm.DECREASING else radius
                self._ordered = sorted(_numbers(cell, norm))
            case _:
                assert_never(adjacency)
        self._known: Cache[Value, tuple[tuple[Value, Fraction], ...]] = Cache(_REMEMBERED, len)

    def of(self, value: Value) -> tuple[tuple[Value, Fraction], ...]:
        """Return the values that `value` may change to, with what the change costs."""
        return self._known.find(value, lambda: tuple(self._changes(value)))

    def costs(self) -> dict[Fraction, int] | None:
        """Count the changes of all values by cost; None if that is too much work."""
        size = len(self._domain)
        if not self._near:
            return {self._price: size * (size - 1)}
        windows = [self._window(value) for value in self._ordered]
        number = sum(stop - start for start, stop in windows) - size
        if self._free:
            return {FREE: number}
        if number > _MOST_DISTANCES:
            return None
        return Counter(cost for value in self._ordered for _, cost in self._changes(value))

    def _changes(self, value: Value) -> Iterator[tuple[Value, Fraction]]:
        if not self._near or isinstance(value, str):
            return ((v, self._price) for v in self._domain if v != value)
        start, stop = self._window(value)
        near = (v for v in self._ordered[start:stop] if v != value)
        return ((v, FREE if self._free else abs(v - value)) for v in near)

    def _window(self, value: Fraction) -> tuple[int, int]:
        low, high = value - self._back, value + self._ahead
        return bisect_left(self._ordered, low), bisect_right(self._ordered, high)


def _numbers(cell: Cell, norm: Norm) -> Iterator[Fraction]:
    for value in cell.domain:
        if isinstance(value, str):
            raise UserError(
                f"'adjacent {norm.value}' needs numbers, but '{cell.name}' can be '{value}'",
                "use 'adjacent all', 'adjacent l0 k' or list the pairs",
            )
        yield value
