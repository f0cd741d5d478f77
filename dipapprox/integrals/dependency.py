"""The dependency graph of a nested integral, and the paper's Algorithm 5 on it.

Edges run from the outer variable to the inner one whose bounds mention it (DiPApprox section 6.2);
the graph is acyclic by construction.
"""

from __future__ import annotations

from dipapprox import graphs
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
    levels = {level.variable: level for level in nested.levels}
    return _generate(tuple(levels), levels, dependencies(nested))


def _generate(
    variables: tuple[int, ...], levels: dict[int, Level], edges: tuple[tuple[int, int], ...]
) -> Plan:
    """GenExpr of the paper on the subgraph of `variables`, which are in order of nesting."""
    place = {variable: k for k, variable in enumerate(variables)}
    inside = tuple((place[a], place[b]) for a, b in edges if a in place and b in place)
    parts = graphs.components(len(variables), inside)
    if len(parts) != 1:
        return Multiply(
            tuple(_generate(tuple(variables[k] for k in part), levels, edges) for part in parts)
        )
    if len(variables) == 1:
        return Integral(levels[variables[0]], None)
    first = set(graphs.sources(len(variables), inside))
    rest = tuple(v for k, v in enumerate(variables) if k not in first)
    plan = _generate(rest, levels, edges)
    for k in sorted(first, reverse=True):
        plan = Integral(levels[variables[k]], plan)
    return plan
