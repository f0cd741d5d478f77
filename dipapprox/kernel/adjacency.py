"""Values of cells, inputs, and which pairs of inputs are adjacent."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dipapprox.kernel.errors import BadProof

Number = int | Fraction
"""Exact. Whole numbers that are read are `int`: they are compared by the million."""

Value = Number | str
Input = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """All real numbers between two ends, both included; None is no end."""

    low: Fraction | None
    high: Fraction | None

    def __contains__(self, value: Value) -> bool:
        if isinstance(value, str):
            return False
        return (self.low is None or self.low <= value) and (self.high is None or value <= self.high)


Domain = tuple[Value, ...] | Range

NORMS = ("linf", "l1", "l0", "increasing", "decreasing")


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Which ordered pairs of different inputs are adjacent.

    Attributes:
        norm: One of `NORMS`, "all", or "pairs".
        radius: Of the norm.
        pairs: Those that are listed, in both orders unless they are meant one way.
    """

    norm: str
    radius: Number = 0
    pairs: frozenset[tuple[Input, Input]] = frozenset()

    @property
    def symmetric(self) -> bool:
        """Whether it holds in either order."""
        if self.norm == "pairs":
            return all((second, first) in self.pairs for first, second in self.pairs)
        return self.norm in ("linf", "l1", "l0", "all")

    def holds(self, first: Input, second: Input) -> bool:
        """Whether a pair of different inputs is adjacent.

        Raises:
            BadProof: If named values stand where numbers are subtracted.
        """
        if first == second:
            return False
        if self.norm == "all":
            return True
        if self.norm == "pairs":
            return (first, second) in self.pairs
        if self.norm == "l0":
            return sum(u != v for u, v in zip(first, second, strict=True)) <= self.radius
        changes = [change_of(u, v) for u, v in zip(first, second, strict=True)]
        match self.norm:
            case "linf":
                return max(changes) <= self.radius and min(changes) >= -self.radius
            case "l1":
                return sum(max(change, -change) for change in changes) <= self.radius
            case "increasing":
                return min(changes) >= 0 and max(changes) <= self.radius
            case "decreasing":
                return max(changes) <= 0 and min(changes) >= -self.radius
            case _:
                raise BadProof(f"unknown norm {self.norm!r}")


def change_of(before: Value, after: Value) -> Number:
    """Return after - before.

    Raises:
        BadProof: If one is a named value.
    """
    if isinstance(before, str) or isinstance(after, str):
        raise BadProof("named values have no distance")
    return after - before
