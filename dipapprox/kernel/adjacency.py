"""Values of cells, inputs, and which pairs of inputs are adjacent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from dipapprox.kernel.errors import BadProof, Refused, spend

Number = int | Fraction
"""Exact. Whole numbers that are read are `int`: they are compared by the million."""

Value = Number | str
Input = tuple[Value, ...]
Output = tuple[Value, ...]
Inputs = tuple[Input, Input]  # two, in this order


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
    """Which ordered pairs of different inputs are adjacent."""

    norm: str  # one of `NORMS`, "all", or "pairs"
    radius: Number = 0  # of the norm
    # Those that are listed, in both orders unless they are meant one way.
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
        return self.total(zip(first, second, strict=True)) is not None

    def total(self, changes: Iterable[tuple[Value, Value]]) -> Number | None:
        """Return what changes take of the radius together; None if they are not allowed."""
        prices = [self.price(u, v) for u, v in changes]
        known = [price for price in prices if price is not None]
        return sum(known) if len(known) == len(prices) and self.allows(sum(known)) else None

    def change(self, width: Fraction | None, left: Number) -> tuple[Number, Number]:
        """Return the least and the largest change of a number of a range, where others leave so
        much of the radius; None is the width of an endless range.
        """
        if self.norm == "pairs" or (self.norm in ("all", "l0") and width is None):
            raise Refused("inputs may change by any amount")
        most = left if width is None else width if self.norm in ("all", "l0") else min(left, width)
        return -most * (self.norm != "increasing"), most * (self.norm != "decreasing")

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
        if self.norm == "l1":
            return max(change, -change)
        least = -self.radius * (self.norm != "increasing")
        most = self.radius * (self.norm != "decreasing")
        return 0 if least <= change <= most else None


def all_inputs(domains: Sequence[Domain]) -> Iterator[Input]:
    """Yield every input once."""
    listed = [domain for domain in domains if not isinstance(domain, Range)]
    if len(listed) < len(domains):
        raise Refused("inputs are real numbers: nobody goes through them one by one")
    return product(*listed)


def adjacent_pairs(adjacency: Adjacency, domains: Sequence[Domain]) -> Iterator[Inputs]:
    """Yield every ordered pair of different adjacent inputs once.

    None is left out: every cell of the second input runs through all values with a price, as long
    as the prices so far are allowed; they are >= 0.
    """
    if adjacency.norm == "pairs":
        yield from ((u, v) for u, v in sorted(adjacency.pairs, key=repr) if u != v)
        return
    inputs = all_inputs(domains)
    near = [_near(adjacency, domain) for domain in domains if not isinstance(domain, Range)]
    for first in inputs:
        pending: list[tuple[Input, Number]] = [((), 0)]
        while pending:
            spend(1)
            start, spent = pending.pop()
            if len(start) < len(first):
                for value, price in near[len(start)][first[len(start)]]:
                    if adjacency.allows(spent + price):
                        pending.append(((*start, value), spent + price))
            elif start != first:
                yield first, start


def _near(
    adjacency: Adjacency, domain: tuple[Value, ...]
) -> dict[Value, list[tuple[Value, Number]]]:
    """The values that each value may change to, with the price of the change."""
    found = {}
    for before in domain:
        spend(2 * len(domain))
        prices = [(after, adjacency.price(before, after)) for after in domain]
        near = [(after, p) for after, p in prices if p is not None and adjacency.allows(p)]
        # They are kept.
        spend(40 * len(near))
        found[before] = near
    return found
