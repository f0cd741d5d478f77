"""The dependency graph of a nested integral, and the paper's Algorithm 5 on it.

Edges run from the outer variable to the inner one whose bounds mention it (DiPApprox section 6.2);
the graph is acyclic by construction.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dipapprox.events.event import Event
from dipapprox.integrals.integral import Integral, Level, Multiply, NestedIntegral, Plan
from dipapprox.linear.form import difference


def dependencies(nested: NestedIntegral) -> tuple[tuple[int, int], ...]:
    """Return the edges (outer variable, inner variable) of the dependency graph."""
    return tuple((outer, level.variable) for level in nested.levels for outer in mentioned(level))


def mentioned(level: Level) -> tuple[int, ...]:
    """Return the variables in the bounds of a level, ascending."""
    found = {s for b in (level.lower, level.upper) if b is not None for s in b.samples()}
    return tuple(sorted(found))


def order_edges(event: Event) -> tuple[tuple[int, int], ...]:
    """Return an edge (larger, smaller) for every guard that compares two samples.

    Other guards with several samples give no orientation and no edge.
    """
    found = (difference(guard) for guard in event.guards)
    return tuple((u, v) for u, v, _ in filter(None, found) if u >= 0 and v >= 0)


def naive(nested: NestedIntegral) -> Plan:
    """Nest all levels literally, in their order: the published baseline, nothing optimised.

    The integral must have been built with `literal=True`.
    """
    plan: Plan | None = None
    for level in reversed(nested.levels):
        plan = Integral(level, plan)
    return Multiply(()) if plan is None else plan


def optimise_paper(nested: NestedIntegral) -> Plan:
    """Algorithm 5: split into weakly connected components, then peel off all sources at once.

    The integral must have been built with `literal=False`.

    References:
        DiPApprox section 6.2, Algorithm 5 and Theorem 5 (the result equals the integral).
    """
    # Imported here: igraph loads its drawing back ends, a third of a second at least.
    graph = import_module("igraph").Graph(directed=True)
    place = {level.variable: k for k, level in enumerate(nested.levels)}
    graph.add_vertices(len(place), {"level": nested.levels, "place": list(place.values())})
    graph.add_edges([(place[outer], place[inner]) for outer, inner in dependencies(nested)])
    return _generate(graph)


def _generate(graph: Any) -> Plan:
    """GenExpr of the paper on a part of the dependency graph."""
    parts = [graph.induced_subgraph(part) for part in graph.connected_components(mode="weak")]
    if len(parts) != 1:
        parts.sort(key=lambda part: min(part.vs["place"]))
        return Multiply(tuple(map(_generate, parts)))
    if graph.vcount() == 1:
        return Integral(graph.vs[0]["level"], None)
    plan = _generate(graph.induced_subgraph(graph.vs.select(_indegree_gt=0)))
    sources = sorted(graph.vs.select(_indegree=0), key=lambda v: v["place"], reverse=True)
    for source in sources:
        plan = Integral(source["level"], plan)
    return plan
