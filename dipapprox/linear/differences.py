"""Systems of differences x[v] - x[u] < w: whether they hold together, and what they imply.

As edges u -> v of weight w they form a graph, in which weights along paths add up to what follows.
Up to null sets a system holds together if no cycle has a weight <= 0; in integers and with <= it
does if no cycle has a weight < 0. A bound is implied if another path has no larger weight.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import TypeVar

Edge = tuple[int, int]

Weight = TypeVar("Weight", int, Fraction)


def are_open(differences: Sequence[tuple[int, int, Weight]]) -> bool:
    """Whether differences hold together at some point, and so in an open set.

    With integer weights, a simple cycle has weight <= 0 exactly if it is negative after
    w -> w * (vertices + 1) - 1, because it has at most that many edges.
    """
    count = len({vertex for u, v, _ in differences for vertex in (u, v)})
    scale = lcm(*(w.denominator for _, _, w in differences)) * (count + 1)
    return potentials([(u, v, int(w * scale) - 1) for u, v, w in differences], 0) is not None


def potentials(edges: Sequence[tuple[int, int, Weight]], zero: Weight) -> dict[int, Weight] | None:
    """Return the greatest point with all x <= 0 and x[v] <= x[u] + w for every edge.

    None if there is none: a cycle is negative (Bellman and Ford). The point for integers is one of
    integers.
    """
    distance = dict.fromkeys((vertex for u, v, _ in edges for vertex in (u, v)), zero)
    for _ in range(len(distance) + 1):
        changed = False
        for u, v, weight in edges:
            length = distance[u] + weight
            if length < distance[v]:
                distance[v] = length
                changed = True
        if not changed:
            return distance
    return None


def tight(bounds: Mapping[Edge, int]) -> dict[Edge, int] | None:
    """Drop the bounds that paths of others imply; None if a cycle has a total of at most 0."""
    return needed(bounds) if are_open([(u, v, w) for (u, v), w in bounds.items()]) else None


def needed(bounds: Mapping[Edge, Weight]) -> dict[Edge, Weight]:
    """Return the bounds that no path of others implies.

    No cycle may have a weight <= 0. So all that are implied can be dropped at once: two bounds
    cannot need each other.
    """
    outgoing: dict[int, list[tuple[int, Weight]]] = {}
    incoming: dict[int, list[tuple[int, Weight]]] = {}
    for (u, v), weight in bounds.items():
        outgoing.setdefault(u, []).append((v, weight))
        incoming.setdefault(v, []).append((u, weight))
    kept: dict[Edge, Weight] = {}
    distances: dict[int, dict[int, Weight]] = {}
    for (u, v), weight in bounds.items():
        # If one bound alone begins at u, or ends at v, every path from u to v uses this one.
        if len(outgoing[u]) > 1 and len(incoming[v]) > 1:
            if u not in distances:
                distances[u] = _distances(outgoing, u)
            reached = distances[u]
            if any(k != u and k in reached and reached[k] + w <= weight for k, w in incoming[v]):
                continue
        kept[u, v] = weight
    return kept


def _distances(
    outgoing: Mapping[int, Sequence[tuple[int, Weight]]], start: int
) -> dict[int, Weight]:
    """Return the weights of the lightest paths from `start` elsewhere; all cycles are positive."""
    distance: dict[int, Weight] = {}
    queue = deque([start])
    queued = {start}
    while queue:
        vertex = queue.popleft()
        queued.discard(vertex)
        for head, weight in outgoing.get(vertex, ()):
            length = distance[vertex] + weight if vertex != start else weight
            if head != start and (head not in distance or length < distance[head]):
                distance[head] = length
                if head not in queued:
                    queued.add(head)
                    queue.append(head)
    return distance
