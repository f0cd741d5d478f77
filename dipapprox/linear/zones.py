"""Systems of differences x[v] - x[u] < w, and when the union of some is one again.

A zone is such a system closed under shortest paths, as for the clocks of timed automata: w_uv is
then the least bound. Bounds are added one at a time, each to a new zone, because pieces share what
they had; systems that get no more bounds need fewer paths (below). The hull of some zones
has the largest of their bounds, which are closed again; it is the least zone around all of them. It
is their union, up to null sets, if nothing is left when they are taken out of it one by one. Where
S is taken out of Z, the rest is, for every facet x[v] - x[u] < w of S, what is left of Z between
the facets before and x[u] - x[v] <= -w; a bound that is added changes the others to

    w'_ab = min(w_ab, w_au + w + w_vb),        empty if w + w_vu <= 0.

So `v1 <= v2 - 9` and `v2 - 9 < v1 < v3`, both with v2 - 9 < v3, are one: v1 < v3.

As edges u -> v of weight w differences form a graph, in which weights along paths add up to what
follows. Up to null sets a system holds together if no cycle has a weight <= 0; in integers and with
<= it does if no cycle has a weight < 0. A bound is implied if another path has no larger weight.

References:
    J. Bengtsson, W. Yi, Timed automata: semantics, algorithms and tools, LNCS 3098 (2004).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import TypeVar

from dipapprox.data_classes import Record
from dipapprox.linear.form import Difference, LinearForm, Symbol

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


Bounds = Mapping[Edge, Fraction]
"""{(u, v): w}: x[v] - x[u] < w, closed; the vertex -1 stands for the number 0."""

_MOST_PIECES = 256  # most pieces that a hull is cut into, to see whether zones fill it


class Zone(Record, eq=False):
    """A closed system, and those of its bounds that no others imply."""

    bounds: Bounds
    facets: Bounds

    @classmethod
    def of(cls, differences: Iterable[Difference]) -> Zone | None:
        """Close a system; None if it leaves a null set."""
        given: dict[Edge, Fraction] = {}
        for u, v, w in differences:
            given[u, v] = min(given.get((u, v), w), w)
        bounds: Bounds = {}
        for edge, w in given.items():
            tighter = _tightened(bounds, edge, w)
            if tighter is None:
                return None
            bounds = tighter
        return cls(bounds, needed(given))

    def forms(self) -> Iterable[LinearForm]:
        """The facets as forms < 0."""
        for (u, v), w in self.facets.items():
            terms: dict[Symbol, Fraction] = {v: Fraction(1), u: Fraction(-1)}
            terms.pop(-1, None)
            yield LinearForm.of(terms, -w).normalised()


def union(zones: Sequence[Zone]) -> Zone | None:
    """Return the zone that the union of some is, up to null sets; None if it is not seen to be one.

    Every facet of the result is one of theirs.
    """
    first, *others = zones
    hull = dict(first.bounds)
    for zone in others:
        common = hull.keys() & zone.bounds.keys()
        hull = {edge: max(hull[edge], zone.bounds[edge]) for edge in common}
    if len(zones) == 2 and any(
        sum(hull.get(edge) != w for edge, w in zone.facets.items()) > 1 for zone in zones
    ):
        return None  # of two that fill it one facet is between them, and all others are its own
    facets = needed(hull)
    if not facets.items() <= {facet for zone in zones for facet in zone.facets.items()}:
        return None
    return Zone(hull, facets) if _fill(zones, hull) else None


def _fill(zones: Sequence[Zone], hull: Bounds) -> bool:
    waiting: list[tuple[Bounds, int]] = [(hull, 0)]
    pieces = 0
    while waiting:
        piece, place = waiting.pop()
        if place == len(zones):
            return False
        zone = zones[place]
        if any((v, u) in piece and piece[v, u] + w <= 0 for (u, v), w in zone.facets.items()):
            waiting.append((piece, place + 1))  # they do not meet
            continue
        inside: Bounds | None = piece
        for (u, v), w in zone.facets.items():
            if inside is None:
                break
            if (u, v) in inside and inside[u, v] <= w:
                continue
            outside = _tightened(inside, (v, u), -w)
            if outside is not None:
                waiting.append((outside, place + 1))
                pieces += 1
                if pieces > _MOST_PIECES:
                    return False
            inside = _tightened(inside, (u, v), w)
    return True


def _tightened(bounds: Bounds, edge: Edge, w: Fraction) -> Bounds | None:
    """Add a bound to a closed system; None if that leaves a null set."""
    u, v = edge
    if edge in bounds and bounds[edge] <= w:
        return bounds
    if (v, u) in bounds and bounds[v, u] + w <= 0:
        return None
    before = [(a, d) for (a, end), d in bounds.items() if end == u]
    after = [(b, d) for (start, b), d in bounds.items() if start == v]
    found = dict(bounds)
    nothing = Fraction(0)
    for a, first in [*before, (u, nothing)]:
        for b, last in [*after, (v, nothing)]:
            total = first + w + last
            if a != b and ((a, b) not in found or total < found[a, b]):
                found[a, b] = total
    return found
