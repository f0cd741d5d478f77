"""Integer inequalities brought into a short form: tightened, without what others imply.

Rows are divided by their common divisor and bounds rounded down. Of parallel rows the tightest is
kept. In systems of differences everything implied is dropped, by shortest paths, and it is known
exactly whether there is a solution.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from dipapprox.linear.differences import potentials

Row = tuple[int, ...]

Bounds = tuple[tuple[Row, int], ...]
"""(a, b): Σ a_i z_i <= b; rows without common divisor, each once, ascending."""


def tightened(inequalities: Iterable[tuple[Row, int]]) -> Bounds | None:
    """Bring a system into its short form; None if it is seen to have no integer solution."""
    tightest: dict[Row, int] = {}
    for row, bound in inequalities:
        divisor = gcd(*row)
        if divisor == 0:
            if bound < 0:
                return None
            continue
        if divisor > 1:
            row, bound = tuple([a // divisor for a in row]), bound // divisor
        known = tightest.get(row)
        if known is None or bound < known:
            tightest[row] = bound
    for row, bound in tightest.items() if len(tightest) > 1 else ():
        opposite = tightest.get(tuple([-a for a in row]))
        if opposite is not None and bound + opposite < 0:
            return None
    bounds = tuple(sorted(tightest.items()))
    edges = [_edge(row, bound) for row, bound in bounds]
    known_edges = [edge for edge in edges if edge is not None]
    if len(known_edges) < len(edges):
        return bounds
    kept = _irredundant(known_edges)
    if kept is None:
        return None
    return tuple(bounds[k] for k in kept)


def _edge(row: Row, bound: int) -> tuple[int, int, int] | None:
    """Read z_v - z_u <= bound as (u, v, bound); vertex -1 stands for 0. None: no difference."""
    head = tail = -1
    for i, a in enumerate(row):
        if a == 1 and head < 0:
            head = i
        elif a == -1 and tail < 0:
            tail = i
        elif a:
            return None
    return tail, head, bound


def _irredundant(edges: list[tuple[int, int, int]]) -> list[int] | None:
    """Return the places of bounds that imply all others; None if there is a negative cycle.

    Bounds are dropped one after the other, each implied by those that are left at its turn: where
    cycles have weight 0, two may need each other.
    """
    kept = list(range(len(edges)))
    if len(edges) < 2:
        return kept
    if potentials(edges, 0) is None:
        return None
    for k, (u, v, bound) in enumerate(edges):
        if not _may_be_implied(edges, kept, k):
            continue
        others = [edges[j] for j in kept if j != k]
        if potentials([*others, (v, u, -bound - 1)], 0) is None:
            kept.remove(k)
    return kept


def _may_be_implied(edges: list[tuple[int, int, int]], kept: list[int], place: int) -> bool:
    """Whether a path from u to v has another first and another last edge."""
    u, v, _ = edges[place]
    return any(edges[j][0] == u and j != place for j in kept) and any(
        edges[j][1] == v and j != place for j in kept
    )
