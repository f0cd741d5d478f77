"""Two budgets that a well-formed automaton keeps, from one look at every edge of its quotient.

A *position* of a run costs at most what the following shifts cost: +1 for samples that lie below
a repeated, lower-bounded sample (*g-nodes*), -1 for those above a repeated, upper-bounded one
(*l-nodes*), the change of the input itself for samples that show nothing, are not compared later
and have g-nodes below and l-nodes above (*quasi-cyclic*: they ride free), and 0 for all others.
What "repeated" means makes the two weights.

**Published weight** (paper, Corollary 10): repeated is every position whose edge lies on a cycle
of the quotient. Under WF⁺ (`paths.py`) no position is both a g- and an l-node and none of them
shows its sample, so the shifts are admissible: along i → j, if j is a g-node so is i, if i is an
l-node so is j; otherwise both are quasi-cyclic or other, a quasi-cyclic node has edges only to its
own g-nodes below and l-nodes above, and 0 >= 0 remains. A repeated edge that assigns no live
variable is quasi-cyclic or free; one that does is charged once, because at all its occurrences but
the last the variable is assigned again before it is compared (else the automaton would have a
leaking cycle). Without WF⁺ it may be too small: `GAP-PV` in the tests has weight 9/10 and needs
101/5.

**Fallback weight** (ours): repeated is a position that lies in a part of *this* run that begins
and ends at the same node of the quotient. For every well-formed automaton
(1) the quotient has no bad structure in this sense: its closed walks, repeated, contain cycles of
    the augmented automaton, and paths survive repetition (`structures.py`);
(2) no position is both a g- and an l-node: a path from k₁ in a closed part S₁ through it to k_r in
    a closed part S₂ would be a leaking pair if the parts are disjoint; if k_r lies in S₁ (or k₁ in
    S₂), repeat that part and take k₁ in its first and k_r in its second copy; if they overlap
    otherwise, repeat the earlier part: its first copy and the shifted other part are disjoint;
(3) no such node shows its sample: that would be a privacy violating path;
(4) so the shifts are admissible, as above;
(5) a position costs at most 2·d if it reads an input, d if not, and d' for a fresh sample;
(6) a transition that occurs several times costs nothing at all but its last occurrence, since all
    of them lie in closed parts; and a self-loop that assigns no live variable never costs anything.
So the sum over the distinct edges of the run bounds its budget.

Both are the heaviest path through the components, where a component weighs the sum of its edges.

Dear runs by construction, for automata whose cost vectors are too wide to search.

Along a heaviest path through the components, every component is gone round so that each of its
edges is used, some times; inputs that lie below what they are compared with fall, those above
rise, those between do both in turn. What is found is a lower bound by its flows; nothing is
claimed of how good it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache

from dipapprox.automata.runs import Changes, RunCost, closing_walk, run_cost, run_of, shortest_walk
from dipapprox.automata.unfolding import Quotient, Unfolding, unit_of
from dipapprox.data_classes import Record
from dipapprox.graphs import masks_ahead
from dipapprox.limits import check_limits


class PathWeight(Record):
    """A sum along a heaviest path through the components, and the edges between them in order."""

    value: Fraction
    bridges: tuple[int, ...]


def live_variables(graph: Unfolding) -> tuple[int, ...]:
    """Return, for each node, the variables that some walk compares before it assigns them."""
    steps = [graph.automaton.transitions[edge.transition] for edge in graph.edges]
    ends = [(edge.source, edge.target) for edge in graph.edges]
    used, kept = [step.used for step in steps], [~step.assigned for step in steps]
    return tuple(masks_ahead(len(graph.states), ends, used, kept))


def published_weight(graph: Unfolding) -> PathWeight:
    """Return the paper's weight of a graph: a budget if WF⁺ holds with respect to this graph."""
    return _heaviest(graph, graph.is_internal)


def fallback_weight(graph: Unfolding) -> PathWeight:
    """Return the fallback weight of a graph: a budget if the automaton is well-formed."""
    return _heaviest(graph, lambda edge: graph.edges[edge].source == graph.edges[edge].target)


def _heaviest(graph: Unfolding, repeats: Callable[[int], bool]) -> PathWeight:
    """Return the heaviest path; a repeating edge is free unless it assigns a live variable."""
    automaton, live, unit = graph.automaton, live_variables(graph), unit_of(graph)

    @cache
    def cost(taken: int, moves: bool) -> int:
        step = automaton.transitions[taken]
        moved = automaton.rate(step) * (2 if automaton.reads(step) else 1) if moves else 0
        return int((automaton.fresh_cost(step) + moved) / unit)

    costs = []
    for index, edge in enumerate(graph.edges):
        keeps = automaton.transitions[edge.transition].assigned & live[edge.target]
        costs.append(cost(edge.transition, not repeats(index) or bool(keeps)))
    count = max(graph.components) + 1
    inside = [0] * count
    bridges: list[list[int]] = [[] for _ in range(count)]
    for index, edge in enumerate(graph.edges):
        if graph.is_internal(index):
            inside[graph.components[edge.source]] += costs[index]
        else:
            bridges[graph.components[edge.source]].append(index)
    best: list[int] = []
    following: list[int | None] = []
    for component in range(count):  # edges never lead to larger numbers
        along = {
            k: costs[k] + best[graph.components[graph.edges[k].target]] for k in bridges[component]
        }
        chosen = max(along, key=along.__getitem__, default=None)
        best.append(inside[component] + (0 if chosen is None else along[chosen]))
        following.append(chosen)
    path = []
    component = graph.components[0]
    while (bridge := following[component]) is not None:
        path.append(bridge)
        component = graph.components[graph.edges[bridge].target]
    return PathWeight(best[graph.components[0]] * unit, tuple(path))


LONGEST = 3000  # steps of a run that is tried
_ROUNDS = (0, 2, 4, 8)


def dear_runs(quotient: Quotient, weight: PathWeight) -> Iterator[RunCost]:
    """Yield dearer and dearer runs along a weight's path; none if the shortest made is too long."""
    automaton, graph = quotient.whole.automaton, quotient.graph
    inside: dict[int, list[int]] = {}
    for edge in filter(graph.is_internal, range(len(graph.edges))):
        inside.setdefault(graph.components[graph.edges[edge].source], []).append(edge)
    best: RunCost | None = None
    for rounds in _ROUNDS:
        walk: list[int] = []
        node = 0
        for bridge in (*weight.bridges, None):
            check_limits()
            here = sorted(
                inside.get(graph.components[node], ()),
                key=lambda edge: graph.edges[edge].source != node,
            )
            if rounds and 0 < len(here) <= LONGEST:
                walk += closing_walk(graph, here) * rounds
            if max(len(walk), len(here) * rounds) > LONGEST:
                return
            if bridge is not None:
                goal = graph.edges[bridge].source
                walk += shortest_walk(graph, node, goal.__eq__, graph.components[node]) or ()
                walk.append(bridge)
                node = graph.edges[bridge].target
        run = run_of(quotient.whole, quotient.lift(walk))
        found = run_cost(automaton, run, first_changes(graph, tuple(walk)))
        if best is None or found.value > best.value:
            best = found
            yield best


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
