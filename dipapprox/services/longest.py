"""Longest paths in graphs with cycles: by strong components, or a cycle that gains something.

Weights are integers, so nothing is lost to rounding. A path may end anywhere: no value is < 0.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from dipapprox.data_classes import dataclass
from dipapprox.graphs import strong_components
from dipapprox.limits import Limits

Arc = tuple[int, int]
"""Target and weight; a target < 0 is an end."""


@dataclass(frozen=True, slots=True)
class LongestPaths:
    """The answer.

    Attributes:
        values: For each node the greatest weight of a path that begins there, at least 0.
        following: For each node the number of the first arc of such a path; -1 where it ends.
        cycle: Nodes and numbers of their arcs, round a cycle of positive weight; then the values
            mean nothing. Empty if there is none.
    """

    values: tuple[int, ...]
    following: tuple[int, ...]
    cycle: tuple[tuple[int, int], ...] = ()


def longest_paths(arcs: Sequence[Sequence[Arc]], limits: Limits) -> LongestPaths:
    """Find the longest path from every node.

    Args:
        arcs: For each node.
        limits: Asked often.

    Raises:
        LimitReached: If the time runs out.
    """
    size = len(arcs)
    component = strong_components([[t for t, _ in row if t >= 0] for row in arcs])
    members: list[list[int]] = [[] for _ in range(max(component, default=-1) + 1)]
    for node, number in enumerate(component):
        members[number].append(node)
    values, following = [0] * size, [-1] * size
    # Arcs lead to components of the same or a smaller number.
    for nodes in members:
        limits.check()
        found = _settle(nodes, arcs, component, values, following, limits)
        if found:
            return LongestPaths(tuple(values), tuple(following), found)
    return LongestPaths(tuple(values), tuple(following))


def _settle(
    nodes: list[int],
    arcs: Sequence[Sequence[Arc]],
    component: Sequence[int],
    values: list[int],
    following: list[int],
    limits: Limits,
) -> tuple[tuple[int, int], ...]:
    """Find the values of one component, those below it being known; return a gaining cycle.

    Nodes are improved as long as that is possible (Bellman and Ford). A walk of as many improving
    arcs as there are nodes comes back to one of them, and then the way round has gained.
    """
    before: dict[int, list[int]] = {node: [] for node in nodes}
    own = component[nodes[0]]
    for node in nodes:
        for target, _ in arcs[node]:
            if target >= 0 and component[target] == own:
                before[target].append(node)
    waiting, queued = deque(nodes), set(nodes)
    length = dict.fromkeys(nodes, 0)
    while waiting:
        node = waiting.popleft()
        queued.discard(node)
        best, place = values[node], -1
        for number, (target, weight) in enumerate(arcs[node]):
            value = weight + (values[target] if target >= 0 else 0)
            if value > best:
                best, place = value, number
        if place < 0:
            continue
        limits.check()
        values[node], following[node] = best, place
        target = arcs[node][place][0]
        inside = target >= 0 and component[target] == own
        length[node] = length[target] + 1 if inside else 1
        if inside and length[node] > len(nodes):
            cycle = _cycle(node, arcs, following, own, component)
            if cycle:
                return cycle
        for each in before[node]:
            if each not in queued:
                queued.add(each)
                waiting.append(each)
    return ()


def _cycle(
    node: int,
    arcs: Sequence[Sequence[Arc]],
    following: Sequence[int],
    own: int,
    component: Sequence[int],
) -> tuple[tuple[int, int], ...]:
    """Follow the first arcs until a node comes again, and return the way round if it gains."""
    seen: dict[int, int] = {}
    walk: list[tuple[int, int]] = []
    while node >= 0 and component[node] == own and following[node] >= 0:
        if node in seen:
            round_ = tuple(walk[seen[node] :])
            gained = sum(arcs[each][arc][1] for each, arc in round_)
            return round_ if gained > 0 else ()
        seen[node] = len(walk)
        walk.append((node, following[node]))
        node = arcs[node][following[node]][0]
    return ()
