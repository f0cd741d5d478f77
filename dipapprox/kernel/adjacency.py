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
        """Whether a pair of different inputs is adjacent."""
        if first == second:
            return False
        if self.norm == "pairs":
            return (first, second) in self.pairs
        prices = [self.price(u, v) for u, v in zip(first, second, strict=True)]
        known = [price for price in prices if price is not None]
        return len(known) == len(prices) and self.allows(sum(known))

    def allows(self, price: Number) -> bool:
        """Whether all changes together may have this price."""
        return not price or price <= self.radius

    def price(self, before: Value, after: Value) -> Number | None:
        """Return what a change of one cell takes of the radius; None if no pair may have it."""
        if self.norm == "all":
            return 0
        if self.norm == "l0":
            return int(before != after)
        if isinstance(before, str) or isinstance(after, str):
            raise BadProof("named values have no distance")
        change: Number = after - before
        match self.norm:
            case "l1":
                return max(change, -change)
            case "linf":
                return 0 if -self.radius <= change <= self.radius else None
            case "increasing":
                return 0 if 0 <= change <= self.radius else None
            case "decreasing":
                return 0 if 0 <= -change <= self.radius else None
            case _:
                raise BadProof(f"unknown norm {self.norm!r}")
