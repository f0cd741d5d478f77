"""The augmented automaton and its quotient: graphs all of whose walks are feasible runs.

A run orders its samples: `insample < x` at position j puts the sample of j below the one that x
holds. It has positive probability, it is *feasible*, iff these relations have no cycle. The
augmented automaton (paper, Definition 14) remembers, beside the control state, which stored values
are equal and what the guards so far say about their order; a transition whose guard would close a
cycle has no edge. Its walks from the initial node are exactly the feasible runs (Proposition 6).

The quotient is its coarsest bisimulation: nodes agree if their states have the same kind and the
same noise and their edges have, guard by guard, the same output, the same assigned variables and
agreeing targets. A walk of the quotient from its initial node is followed by exactly one walk of
the augmented automaton, with the same guards, assignments, outputs and rates, hence the same
dependency graph: all that is said about budgets. A closed walk of the quotient, repeated, passes
one node of the augmented automaton twice, because they are finitely many: so it is, after
repetition, a cycle of feasible runs. Weights are taken on the quotient, where the first round of a
loop is one of its rounds already.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from dipapprox.automata.model import Automaton, Output, Transition
from dipapprox.automata.orders import ValueOrder, unordered
from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.graphs import strong_components
from dipapprox.limits import Limits


@dataclass(frozen=True, slots=True)
class UnfoldedEdge:
    """A step between two nodes; `transition` is an index into `Automaton.transitions`."""

    source: int
    transition: int
    target: int


@dataclass(frozen=True, slots=True)
class Unfolding:
    """Nodes over the states of an automaton, node 0 initial; all nodes are reachable."""

    automaton: Automaton
    states: tuple[int, ...]  # the state of each node; in a quotient, that of one of its members
    orders: tuple[ValueOrder, ...]  # what is known at each node; in a quotient, at the same member
    edges: tuple[UnfoldedEdge, ...]
    leaving: tuple[tuple[int, ...], ...]  # indices of the edges that leave each node
    # Numbers of the strongly connected components; edges never lead to larger ones.
    components: tuple[int, ...]

    def transition(self, edge: int) -> Transition:
        """Return the transition of an edge."""
        return self.automaton.transitions[self.edges[edge].transition]

    def label(self, edge: int) -> Label:
        """Return what an edge has in common with bisimilar ones."""
        return label(self.transition(edge))

    def steps(self, node: int) -> dict[int, int]:
        """Return the transitions that are feasible at a node, each with where it leads."""
        edges = (self.edges[index] for index in self.leaving[node])
        return {edge.transition: edge.target for edge in edges}

    def is_internal(self, edge: int) -> bool:
        """Whether an edge lies on a cycle."""
        return self.components[self.edges[edge].source] == self.components[self.edges[edge].target]


Node = tuple[int, ValueOrder]  # a control state, and what is known of the order of the values


def unfolding(
    automaton: Automaton, nodes: Sequence[Node], edges: Sequence[UnfoldedEdge]
) -> Unfolding:
    """Return the graph with these nodes and edges."""
    leaving: list[list[int]] = [[] for _ in nodes]
    for index, edge in enumerate(edges):
        leaving[edge.source].append(index)
    successors = [[edges[index].target for index in indices] for indices in leaving]
    return Unfolding(
        automaton,
        tuple(state for state, _ in nodes),
        tuple(order for _, order in nodes),
        tuple(edges),
        tuple(map(tuple, leaving)),
        strong_components(successors),
    )


def augment(automaton: Automaton, limits: Limits, most: int | None = None) -> Unfolding:
    """Build the reachable part of the augmented automaton, or less of it.

    Args:
        limits: Nodes count as states.
        most: How many nodes are enough, at least 1. They are found depth first then, so that
            cycles come soon, and walks are feasible runs, but not all of them: what is found is
            true of the automaton, what is not found says nothing. None for all nodes.
    """
    leaving = automaton.leaving()
    start: Node = (0, unordered(len(automaton.variables)))
    found = {start: 0}
    nodes = [start]
    edges: list[UnfoldedEdge] = []
    waiting = deque([0])
    while waiting:
        limits.check_states(len(nodes))
        limits.check()
        node = waiting.popleft() if most is None else waiting.pop()
        state, order = nodes[node]
        for index in leaving[state]:
            transition = automaton.transitions[index]
            after = order.after(transition.above, transition.below, transition.assigned)
            if after is None:
                continue
            reached = (transition.target, after)
            if reached not in found:
                if len(nodes) == most:
                    continue
                found[reached] = len(nodes)
                waiting.append(len(nodes))
                nodes.append(reached)
            edges.append(UnfoldedEdge(node, index, found[reached]))
    return unfolding(automaton, nodes, edges)


@dataclass(frozen=True, slots=True)
class Quotient:
    """The coarsest bisimulation of an unfolding: a graph of its classes, and the class of each
    node."""

    graph: Unfolding
    whole: Unfolding
    classes: tuple[int, ...]

    def lift(self, walk: Iterable[int]) -> tuple[int, ...]:
        """Return the walk of the unfolding that follows a walk of the quotient from its initial
        node."""
        return followed(self.whole, map(self.graph.label, walk), self.whole.label)


Step = TypeVar("Step")


def followed(
    graph: Unfolding, steps: Iterable[Step], step_of: Callable[[int], Step]
) -> tuple[int, ...]:
    """Return the edges of the walk from the start whose steps, as `step_of` knows them, these are;
    no two edges that leave a node have one step."""
    node, walk = 0, list[int]()
    for wanted in steps:
        edges = (edge for edge in graph.leaving[node] if step_of(edge) == wanted)
        edge = next(edges, None)
        if edge is None:
            raise BrokenInvariant("there is no such walk")
        walk.append(edge)
        node = graph.edges[edge].target
    return tuple(walk)


Label = tuple[int, int, Output, int]
"""What two bisimilar steps have in common: guard, output, what is stored."""


def label(transition: Transition) -> Label:
    """Return what two bisimilar steps have in common; no two steps of a state share it."""
    return transition.above, transition.below, transition.output, transition.assigned


def quotient(whole: Unfolding, limits: Limits) -> Quotient:
    """Return the coarsest bisimulation, by refinement of a partition.

    After a class is split, only the predecessors of its smaller part are looked at again
    (Hopcroft 1971): the classes of steps into the two parts differ only there.
    """
    labels: dict[Label, int] = {}
    kinds = [labels.setdefault(label(t), len(labels)) for t in whole.automaton.transitions]
    into: list[list[tuple[int, int]]] = [[] for _ in whole.states]
    for edge in whole.edges:
        into[edge.target].append((edge.source, kinds[edge.transition]))
    starts: dict[object, list[int]] = {}
    for node, state in enumerate(whole.states):
        outgoing = frozenset(kinds[whole.edges[e].transition] for e in whole.leaving[node])
        control = whole.automaton.states[state]
        noise = (control.reads, control.compared, control.fresh) if outgoing else None
        starts.setdefault((noise, outgoing), []).append(node)
    blocks = [set(nodes) for nodes in starts.values()]
    block_of = [0] * len(whole.states)
    for number, block in enumerate(blocks):
        for node in block:
            block_of[node] = number
    waiting = set(range(len(blocks)))
    while waiting:
        limits.check()
        splitter = waiting.pop()
        reaching: dict[int, set[int]] = {}
        for node in blocks[splitter]:
            for source, kind in into[node]:
                reaching.setdefault(kind, set()).add(source)
        for sources in reaching.values():
            touched: dict[int, set[int]] = {}
            for source in sources:
                touched.setdefault(block_of[source], set()).add(source)
            for number, inside in touched.items():
                outside = len(blocks[number]) - len(inside)
                if not outside:
                    continue
                blocks[number] -= inside
                blocks.append(inside)
                for node in inside:
                    block_of[node] = len(blocks) - 1
                if number in waiting or len(inside) <= outside:
                    waiting.add(len(blocks) - 1)
                else:
                    waiting.add(number)
    return _merged(whole, block_of)


def _merged(whole: Unfolding, block_of: Sequence[int]) -> Quotient:
    """Return the quotient with classes numbered in the order in which walks reach them."""
    members_of: dict[int, int] = {}
    for node, block in enumerate(block_of):
        members_of.setdefault(block, node)
    numbers = {block: number for number, block in enumerate(members_of)}
    edges = []
    for block, member in members_of.items():
        for index in whole.leaving[member]:
            edge = whole.edges[index]
            target = numbers[block_of[edge.target]]
            edges.append(UnfoldedEdge(numbers[block], edge.transition, target))
    nodes = [(whole.states[member], whole.orders[member]) for member in members_of.values()]
    graph = unfolding(whole.automaton, nodes, edges)
    return Quotient(graph, whole, tuple(numbers[block] for block in block_of))
