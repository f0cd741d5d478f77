"""Maximal flows with whole capacities, exactly: capacities may be any Python integers."""

from __future__ import annotations

from collections.abc import Sequence

from dipapprox.data_classes import Record

Arc = tuple[int, int, int | None]
"""Tail, head and capacity of an arc; None for no bound."""


class Flow(Record):
    """A flow of greatest value, and a cut that shows that it is.

    Attributes:
        value: What leaves the source.
        sent: The flow along each arc.
        reached: Whether each vertex is on the source's side of a least cut.
    """

    value: int
    sent: tuple[int, ...]
    reached: tuple[bool, ...]


def maximum_flow(size: int, arcs: Sequence[Arc], source: int, sink: int) -> Flow:
    """Return a maximal flow (Dinic 1970): blocking flows along shortest augmenting paths.

    Every path from the source to the sink must have an arc with a bound.
    """
    ends: list[int] = []  # arc k has its reverse at k ^ 1
    unbounded = sum(capacity or 0 for _, _, capacity in arcs) + 1
    left: list[int] = []
    leaving: list[list[int]] = [[] for _ in range(size)]
    for tail, head, capacity in arcs:
        leaving[tail].append(len(ends))
        ends.append(head)
        left.append(unbounded if capacity is None else capacity)
        leaving[head].append(len(ends))
        ends.append(tail)
        left.append(0)
    value = 0
    while True:
        level = _levels(source, ends, left, leaving)
        if level[sink] < 0:
            sent = tuple(left[2 * k + 1] for k in range(len(arcs)))
            return Flow(value, sent, tuple(rank >= 0 for rank in level))
        value += _blocking_flow(source, sink, ends, left, leaving, level)


def _levels(
    source: int, ends: Sequence[int], left: Sequence[int], leaving: Sequence[Sequence[int]]
) -> list[int]:
    """Return the distance of each vertex from the source in the residual graph; -1 if none."""
    level = [-1] * len(leaving)
    level[source] = 0
    waiting = [source]
    for vertex in waiting:
        for arc in leaving[vertex]:
            if left[arc] and level[ends[arc]] < 0:
                level[ends[arc]] = level[vertex] + 1
                waiting.append(ends[arc])
    return level


def _blocking_flow(
    source: int,
    sink: int,
    ends: Sequence[int],
    left: list[int],
    leaving: Sequence[Sequence[int]],
    level: list[int],
) -> int:
    """Send flow along paths of rising level until none is left; return how much."""
    value = 0
    following = [0] * len(leaving)
    path: list[int] = []
    vertex = source
    while True:
        if vertex == sink:
            amount = min(left[arc] for arc in path)
            value += amount
            for arc in path:
                left[arc] -= amount
                left[arc ^ 1] += amount
            first = next(place for place, arc in enumerate(path) if not left[arc])
            vertex = ends[path[first] ^ 1]
            del path[first:]
            continue
        for place in range(following[vertex], len(leaving[vertex])):
            arc = leaving[vertex][place]
            if left[arc] and level[ends[arc]] == level[vertex] + 1:
                following[vertex] = place
                path.append(arc)
                vertex = ends[arc]
                break
        else:
            if not path:
                return value
            level[vertex] = -2  # a dead end
            vertex = ends[path.pop() ^ 1]
