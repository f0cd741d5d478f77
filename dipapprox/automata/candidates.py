"""Dear runs by construction, for automata whose cost vectors are too wide to search.

Along a heaviest path through the components, every component is gone round so that each of its
edges is used, some times; inputs that lie below what they are compared with fall, those above
rise, those between do both in turn. What is found is a lower bound by its flows; nothing is
claimed of how good it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from dipapprox.automata.runs import run_of, shortest_walk
from dipapprox.automata.shifts import Changes, RunCost, run_cost
from dipapprox.automata.unfolding import Quotient, Unfolding
from dipapprox.automata.weights import PathWeight
from dipapprox.limits import Limits

LONGEST = 3000  # steps of a run that is tried
_ROUNDS = (0, 2, 4, 8)


def dear_runs(quotient: Quotient, weight: PathWeight, limits: Limits) -> Iterator[RunCost]:
    """Yield dearer and dearer runs along a weight's path; none if the shortest made is too long."""
    automaton = quotient.whole.automaton
    best: RunCost | None = None
    for walk in _walks(quotient.graph, weight, limits):
        run = run_of(quotient.whole, quotient.lift(walk))
        found = run_cost(automaton, run, first_changes(quotient.graph, walk))
        if best is None or found.value > best.value:
            best = found
            yield best


def _walks(graph: Unfolding, weight: PathWeight, limits: Limits) -> Iterator[tuple[int, ...]]:
    for rounds in _ROUNDS:
        walk = _covering(graph, weight, rounds, limits)
        if len(walk) > LONGEST:
            return
        yield walk


def _covering(graph: Unfolding, weight: PathWeight, rounds: int, limits: Limits) -> tuple[int, ...]:
    walk: list[int] = []
    node = 0
    for bridge in (*weight.bridges, None):
        tour = _tour(graph, node, limits)
        walk += tour * rounds
        if bridge is None or len(walk) > LONGEST:
            break
        walk += _to(graph, node, graph.edges[bridge].source)
        walk.append(bridge)
        node = graph.edges[bridge].target
    return tuple(walk)


def _tour(graph: Unfolding, node: int, limits: Limits) -> list[int]:
    """Return a closed walk from a node through all edges of its component; empty if none, or if it
    would be too long to be of use."""
    component = graph.components[node]
    left: dict[int, list[int]] = {}
    for edge in range(len(graph.edges)):
        source = graph.edges[edge].source
        if graph.components[source] == component and graph.is_internal(edge):
            left.setdefault(source, []).append(edge)
    tour: list[int] = []
    here = node
    while left and len(tour) <= LONGEST:
        limits.check()
        walk = shortest_walk(graph, here, left.__contains__, component)
        if walk is None:
            break
        here = graph.edges[walk[-1]].target if walk else here
        edge = left[here].pop()
        if not left[here]:
            del left[here]
        tour += [*walk, edge]
        here = graph.edges[edge].target
    return [*tour, *_to(graph, here, node)] if tour else []


def _to(graph: Unfolding, start: int, goal: int) -> tuple[int, ...]:
    return shortest_walk(graph, start, goal.__eq__, graph.components[start]) or ()


def first_changes(graph: Unfolding, walk: tuple[int, ...]) -> Changes:
    """Return changes of the inputs of a walk by what they are compared with."""
    least, most = min(graph.automaton.changes), max(graph.automaton.changes)
    seen: dict[int, int] = {}
    changes = []
    for edge in walk:
        transition = graph.transition(edge)
        times = seen[edge] = seen.get(edge, 0) + 1
        if not graph.automaton.reads(transition):
            changes.append(0)
        elif transition.above and transition.below:
            changes.append(most if times % 2 else least)
        else:
            changes.append(least if transition.below else most)
    return tuple(changes)
