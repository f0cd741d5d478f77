"""Runs: walks from the initial state, their dependency graphs, and closed parts of them.

A run is a tuple of indices of transitions. Its dependency graph (paper, Definition 8) has the
positions as vertices and an edge i → j where a guard says that the sample of i is below the sample
of j: for `insample < x` at position p from p to the last position before p that assigned x, for
`insample >= x` from there to p. The run is feasible iff the graph has no cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dipapprox.automata.model import Automaton, members
from dipapprox.automata.unfolding import Unfolding, ValueOrder, unordered
from dipapprox.data_classes import Record
from dipapprox.graphs import shortest_way

Run = tuple[int, ...]
Arc = tuple[int, int]  # two positions: the sample of the first is below the sample of the second


class Segment(Record):
    """The positions `start <= position < end` of a run."""

    start: int
    end: int

    def __contains__(self, position: int) -> bool:
        return self.start <= position < self.end


def dependencies(automaton: Automaton, run: Run) -> tuple[Arc, ...]:
    """Return the edges of the dependency graph, in order of the positions that create them."""
    last: dict[int, int] = {}
    arcs = []
    for position, index in enumerate(run):
        transition = automaton.transitions[index]
        arcs += [(last[x], position) for x in members(transition.above) if x in last]
        arcs += [(position, last[x]) for x in members(transition.below) if x in last]
        last.update((x, position) for x in members(transition.assigned))
    return tuple(dict.fromkeys(arcs))


def orders(automaton: Automaton, run: Run) -> tuple[ValueOrder, ...] | None:
    """Return what is known of the order of the values before, between and after the steps; None if
    the run is not feasible."""
    order: ValueOrder | None = unordered(len(automaton.variables))
    found = [unordered(len(automaton.variables))]
    for index in run:
        transition = automaton.transitions[index]
        order = found[-1].after(transition.above, transition.below, transition.assigned)
        if order is None:
            return None
        found.append(order)
    return tuple(found)


def shortest_walk(
    graph: Unfolding, start: int, is_goal: Callable[[int], bool], component: int | None = None
) -> tuple[int, ...] | None:
    """Return the edges of a shortest walk from a node to a goal, in a component if one is given;
    None if there is none."""

    def leaving(node: int) -> Iterator[tuple[int, int]]:
        for edge in graph.leaving[node]:
            target = graph.edges[edge].target
            if component in (None, graph.components[target]):
                yield edge, target

    found = shortest_way([start], leaving, is_goal)
    return None if found is None else tuple(found[1])


def closing_walk(graph: Unfolding, edges: Sequence[int]) -> tuple[int, ...]:
    """Return a closed walk through some edges of one component, which begins with the first."""
    component = graph.components[graph.edges[edges[0]].source]
    walk: list[int] = []
    following = (*edges[1:], edges[0])
    for edge, after in zip(edges, following, strict=True):
        goal = graph.edges[after].source
        rest = shortest_walk(graph, graph.edges[edge].target, goal.__eq__, component)
        if rest is None:
            raise ValueError("the edges do not lie in one component")
        walk += [edge, *rest]
    return tuple(walk)


def walk_to(graph: Unfolding, node: int) -> tuple[int, ...]:
    """Return the edges of a shortest walk from the initial node."""
    walk = shortest_walk(graph, 0, lambda reached: reached == node)
    if walk is None:
        raise ValueError("every node is reachable")
    return walk


def run_of(graph: Unfolding, walk: Sequence[int]) -> Run:
    """Return the transitions of a walk."""
    return tuple(graph.edges[edge].transition for edge in walk)
