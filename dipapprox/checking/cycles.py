"""Partial orders of samples, and orders with cycles as signed sums of trees.

A partial order that is no tree is rewritten, a and b standing for samples of one factor:

    [l < r < h]  =  [l < h] ([r < h] - [r < l])       r has no other neighbours
    1            =  [a < b] + [b < a]                 up to probability 0
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.distributions import Distribution
from dipapprox.limits import Limits


@dataclass(frozen=True, slots=True)
class Sample:
    """A law restricted to [lower, upper]; None: no bound.

    `published` marks one whose density is asked for, not only its mass.
    """

    law: Distribution
    lower: Fraction | None
    upper: Fraction | None
    published: bool = False

    def shifted(self, by: Fraction) -> Sample:
        """Return the sample of x + by."""
        return Sample(
            self.law.affine(Fraction(1), by),
            None if self.lower is None else self.lower + by,
            None if self.upper is None else self.upper + by,
            self.published,
        )


@dataclass(frozen=True, slots=True)
class Order:
    """Samples with a partial order: (a, b) in `edges` means x_a <= x_b. No edge is implied.

    (a, b, w) in `bands` means x_b - w <= x_a besides, (a, b) being an edge; then there is no cycle.
    """

    samples: tuple[Sample, ...]
    edges: tuple[tuple[int, int], ...]
    bands: tuple[tuple[int, int, Fraction], ...] = ()


Trees = tuple[Order, ...]
"""Independent connected orders without cycles; their probabilities multiply."""


def components(size: int, groups: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the samples that are connected through groups, in ascending order."""
    leader = list(range(size))

    def find(x: int) -> int:
        while leader[x] != x:
            leader[x] = leader[leader[x]]
            x = leader[x]
        return x

    for group in groups:
        for other in group[1:]:
            leader[find(other)] = find(group[0])
    found: dict[int, list[int]] = {}
    for x in range(size):
        found.setdefault(find(x), []).append(x)
    return list(found.values())


def trees(order: Order, limits: Limits) -> Iterator[tuple[int, Trees]]:
    """Yield (sign, trees): the order's probability is the sum of sign * product, up to ties.

    Raises:
        LimitReached: If it takes too long or has too many terms.
    """
    waiting: list[tuple[int, Trees]] = [(1, (order,))]
    pieces = 0
    while waiting:
        sign, orders = waiting.pop()
        cyclic = next((o for o in orders if is_cyclic(o)), None)
        if cyclic is None:
            yield sign, orders
            pieces += 1
            limits.check_pieces(pieces + len(waiting))
            continue
        limits.check()
        others = tuple(o for o in orders if o is not cyclic)
        for factor, edges in _rewritten(cyclic):
            waiting.append((sign * factor, (*others, *_split(cyclic.samples, edges))))


def is_cyclic(order: Order) -> bool:
    """Whether a connected order is no tree."""
    return len(order.edges) >= len(order.samples)


def _rewritten(order: Order) -> list[tuple[int, set[tuple[int, int]]]]:
    """Apply one of the two rules to an order with a cycle."""
    edges = set(order.edges)
    for r in range(len(order.samples)):
        below = [a for a, b in edges if b == r]
        above = [b for a, b in edges if a == r]
        if len(below) == 1 and len(above) == 1 and _on_cycle(edges, below[0], r):
            (low,), (high,) = below, above
            rest = (edges - {(low, r), (r, high)}) | {(low, high)}
            return [(1, rest | {(r, high)}), (-1, rest | {(r, low)})]
    # Every vertex of a cycle that is nowhere passed straight through has two neighbours on one
    # side; comparing them with each other breaks the cycle open.
    for ends in (edges, {(b, a) for a, b in edges}):
        for vertex in range(len(order.samples)):
            near = [a for a, b in sorted(ends) if b == vertex and _on_cycle(edges, a, b)]
            if len(near) > 1:
                a, b = near[0], near[1]
                return [(1, edges | {(a, b)}), (1, edges | {(b, a)})]
    raise AssertionError("a cycle has a highest vertex")


def _on_cycle(edges: set[tuple[int, int]], a: int, b: int) -> bool:
    """Whether a and b stay connected, whatever the directions, without the edge between them."""
    reached, waiting = {a}, [a]
    while waiting:
        x = waiting.pop()
        for pair in edges:
            if x in pair and set(pair) != {a, b}:
                y = pair[0] if pair[1] == x else pair[1]
                if y not in reached:
                    reached.add(y)
                    waiting.append(y)
    return b in reached


def _split(samples: Sequence[Sample], edges: set[tuple[int, int]]) -> list[Order]:
    """Drop implied edges and return the connected components."""
    kept = set(edges)
    for a, b in sorted(edges):
        if _reaches(kept - {(a, b)}, a, b):
            kept.discard((a, b))
    found = []
    for members in components(len(samples), sorted(kept)):
        place = {member: k for k, member in enumerate(members)}
        own = tuple((place[a], place[b]) for a, b in sorted(kept) if a in place)
        found.append(Order(tuple(samples[m] for m in members), own))
    return found


def _reaches(edges: set[tuple[int, int]], start: int, end: int) -> bool:
    reached, waiting = {start}, [start]
    while waiting:
        x = waiting.pop()
        for a, b in edges:
            if a == x and b not in reached:
                reached.add(b)
                waiting.append(b)
    return end in reached
