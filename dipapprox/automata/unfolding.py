"""What runs of an automaton know of the order of the values that they hold.

The augmented automaton and its quotient: graphs all of whose walks are feasible runs.

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

Stopping made visible: where no guard holds, a step to a sink that shows a symbol.

The published definition of privacy compares outputs of runs of the whole input: that a computation
stops, because no guard holds, is in no output. A user of the real mechanism sees it. With a step
for every gap, the budget covers it; it may be larger, or there may be none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import lcm
from typing import TypeVar

from dipapprox.automata.model import Automaton, ControlState, Output, Transition, gaps, uncovered
from dipapprox.data_classes import Record, replace
from dipapprox.errors import BrokenInvariant
from dipapprox.graphs import StableCells, bits, strong_components
from dipapprox.language.traversal import free_name
from dipapprox.limits import check_limits, check_states


class ValueOrder(Record):
    """What is known of the order of values: rows of masks, one for each variable.

    Of variables that are larger, those that are smaller (the transpose), and those that hold the
    same sample, the variable itself among them.
    """

    over: tuple[int, ...]
    under: tuple[int, ...]
    equal: tuple[int, ...]

    def at_most(self, variables: int) -> int:
        """Return the variables that are smaller than, or equal to, one of `variables`."""
        found = 0
        for i in bits(variables):
            found |= self.under[i] | self.equal[i]
        return found

    def at_least(self, variables: int) -> int:
        """Return the variables that are larger than, or equal to, one of `variables`."""
        found = 0
        for i in bits(variables):
            found |= self.over[i] | self.equal[i]
        return found

    def after(self, above: int, below: int, assigned: int) -> ValueOrder | None:
        """Return the order after a sample above `above`, below `below` went to `assigned`; None if
        no sample can lie there, as some value that is to be below it is not below one that is to be
        above it."""
        small, large = self.at_most(above), self.at_least(below)
        if small & large:
            return None
        if not assigned and not (small and large):
            return self
        over, under, equal = list(self.over), list(self.under), list(self.equal)
        for i in bits(small):
            over[i] |= large
        for i in bits(large):
            under[i] |= small
        if assigned:
            kept = ~assigned
            for i in range(len(over)):
                over[i] &= kept
                under[i] &= kept
                equal[i] &= kept
            small &= kept
            large &= kept
            for i in bits(small):
                over[i] |= assigned
            for i in bits(large):
                under[i] |= assigned
            for i in bits(assigned):
                over[i], under[i], equal[i] = large, small, assigned
        return ValueOrder(tuple(over), tuple(under), tuple(equal))


def unordered(count: int) -> ValueOrder:
    """Return the order of `count` variables of which nothing is known."""
    return ValueOrder((0,) * count, (0,) * count, tuple(1 << i for i in range(count)))


def steps_before_stops(automaton: Automaton, most: int) -> int:
    """Return how many steps all feasible runs take, whatever their samples are, up to `most`;
    perhaps fewer, where there are many orders of the values."""
    leaving = automaton.leaving()
    now = {(0, unordered(len(automaton.variables)))}
    for steps in range(most):
        after = set()
        for state, order in now:
            own = [automaton.transitions[index] for index in leaving[state]]
            missing = uncovered(own)
            if any(order.after(above, below, 0) is not None for above, below in missing):
                return steps
            for step in own:
                reached = order.after(step.above, step.below, step.assigned)
                if reached is not None:
                    after.add((step.target, reached))
        if len(after) > _MOST_ORDERS:
            return steps + 1
        now = after
    return most


_MOST_ORDERS = 1_000


class UnfoldedEdge(Record):
    """A step between two nodes; `transition` is an index into `Automaton.transitions`."""

    source: int
    transition: int
    target: int


class Unfolding(Record):
    """Nodes over the states of an automaton, node 0 initial; all nodes are reachable."""

    automaton: Automaton
    states: tuple[int, ...]  # the state of each node; in a quotient, that of one of its members
    orders: tuple[ValueOrder, ...]  # what is known at each node; in a quotient, at the same member
    edges: tuple[UnfoldedEdge, ...]
    leaving: tuple[tuple[int, ...], ...]  # indices of the edges that leave each node
    # Numbers of the strongly connected components; edges never lead to larger ones.
    components: tuple[int, ...]

    def transition(self, edge: int) -> Transition:
        return self.automaton.transitions[self.edges[edge].transition]

    def label(self, edge: int) -> Label:
        return label(self.transition(edge))

    def steps(self, node: int) -> dict[int, int]:
        """Return the transitions that are feasible at a node, each with where it leads."""
        edges = (self.edges[index] for index in self.leaving[node])
        return {edge.transition: edge.target for edge in edges}

    def is_internal(self, edge: int) -> bool:
        """Whether an edge lies on a cycle."""
        return self.components[self.edges[edge].source] == self.components[self.edges[edge].target]


def unit_of(graph: Unfolding) -> Fraction:
    """Return a cost of which all costs are whole multiples, in multiples of ε."""
    automaton = graph.automaton
    denominators = [1]
    for transition in automaton.transitions:
        denominators.append(automaton.rate(transition).denominator)
        denominators.append(automaton.fresh_cost(transition).denominator)
    return Fraction(1, lcm(*denominators))


Node = tuple[int, ValueOrder]  # a control state, and what is known of the order of the values


def unfolding(
    automaton: Automaton, nodes: Sequence[Node], edges: Sequence[UnfoldedEdge]
) -> Unfolding:
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


def augment(automaton: Automaton, most: int | None = None) -> Unfolding:
    """Build the reachable part of the augmented automaton, or less of it.

    Args:
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
        check_states(len(nodes))
        check_limits()
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


class Quotient(Record):
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


def quotient(whole: Unfolding) -> Quotient:
    """Return the coarsest bisimulation, its classes in the order in which walks reach them."""
    labels: dict[Label, int] = {}
    kinds = [labels.setdefault(label(t), len(labels)) for t in whole.automaton.transitions]
    into: list[list[tuple[int, int]]] = [[] for _ in whole.states]
    for edge in whole.edges:
        into[edge.target].append((edge.source, kinds[edge.transition]))
    colours: dict[object, int] = {}
    starts = []
    for node, state in enumerate(whole.states):
        outgoing = frozenset(kinds[whole.edges[e].transition] for e in whole.leaving[node])
        control = whole.automaton.states[state]
        noise = (control.reads, control.compared, control.fresh) if outgoing else None
        starts.append(colours.setdefault((noise, outgoing), len(colours)))
    block_of = StableCells(starts, into, check_limits).home
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


STOP = "ostop"


def with_visible_stops(automaton: Automaton) -> Automaton:
    """Return the automaton with a transition for every case that its guards leave out.

    Halting states stay as they are: their place in the run says that they stop. The new symbol and
    state have names that the automaton does not use.
    """
    found = gaps(automaton)
    if not found:
        return automaton
    symbol = free_name(STOP, {t.output for t in automaton.transitions})
    sink = ControlState(free_name("qstop", {state.name for state in automaton.states}), False, None)
    leaving = automaton.leaving()
    added = []
    for state in found:
        guards = [automaton.transitions[index] for index in leaving[state]]
        for above, below in uncovered(guards):
            target = len(automaton.states)
            added.append(Transition(state, above, below, target, symbol, 0))
    return replace(
        automaton, states=(*automaton.states, sink), transitions=(*automaton.transitions, *added)
    )


def stopping_states(automaton: Automaton) -> tuple[int, ...]:
    """Return the states in which some feasible run may find no guard that holds."""
    total = with_visible_stops(automaton)
    seen = {edge.transition for edge in augment(total).edges}
    added = range(len(automaton.transitions), len(total.transitions))
    return tuple(sorted({total.transitions[index].source for index in added if index in seen}))
