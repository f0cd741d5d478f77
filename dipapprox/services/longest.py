"""Longest paths in graphs with cycles: by strong components, or a cycle that gains something.

Weights are integers, so nothing is lost to rounding. A path may end anywhere: no value is < 0.

Nodes are improved by their arcs as long as that is possible (Bellman and Ford). Let the best arc of
a node be the one that improved it last. As values only grow, V(node) <= weight + V(target) for it,
and < just before it was the best: so the way round a cycle of such arcs gains something. Without
such cycles values are weights of simple paths, of which there are finitely many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from dipapprox.graphs import strong_components
from dipapprox.limits import Limits

Arc = tuple[int, int]  # target and weight; a target < 0 is an end
Cycle = tuple[tuple[int, int], ...]  # nodes and numbers of their arcs, round a cycle


def longest_paths(arcs: Sequence[Sequence[Arc]], limits: Limits) -> tuple[tuple[int, ...], Cycle]:
    """Find the longest path from every node; `arcs` are given for each.

    Returns:
        For each node the greatest weight of a path that begins there, at least 0; and a cycle of
        positive weight, empty if there is none. If there is one, the values mean nothing.
    """
    component = strong_components([[t for t, _ in row if t >= 0] for row in arcs])
    values = [0] * len(arcs)
    # Arcs lead to components of the same or a smaller number.
    order = sorted(range(len(arcs)), key=lambda node: component[node])
    for _, group in groupby(order, key=lambda node: component[node]):
        nodes = list(group)
        best: dict[int, int] = {}
        improved = True
        while improved:
            limits.check()
            improved = False
            nodes.reverse()  # paths go up or down, mostly
            for node in nodes:
                for number, (target, weight) in enumerate(arcs[node]):
                    value = weight + (values[target] if target >= 0 else 0)
                    if value > values[node]:
                        values[node], best[node] = value, number
                        improved = True
            cycle = _cycle(arcs, best)
            if cycle:
                return tuple(values), cycle
    return tuple(values), ()


def _cycle(arcs: Sequence[Sequence[Arc]], best: Mapping[int, int]) -> Cycle:
    """Return a way round along the best arcs of nodes; empty if there is none."""
    seen: dict[int, int] = {}
    for start in best:
        node = start
        while node in best and node not in seen:
            seen[node] = start
            node = arcs[node][best[node]][0]
        if seen.get(node) == start:
            turn = [node]
            while (node := arcs[node][best[node]][0]) != turn[0]:
                turn.append(node)
            return tuple([(each, best[each]) for each in turn])
    return ()
