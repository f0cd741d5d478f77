"""Loops: what all their courses come to, as scalars of what they end with.

A loop's heads are the states before its condition, without their scalars: stores with the functions
and inequalities of the samples that they hold. One turn is linear in the scalar: it takes a head to
finitely many heads and ends, each with a weight >= 0. The measure of an end is the sum, over all
finite courses that lead there, of the products of their weights. Heads are left out one after the
other (Kleene 1956; Kemeny and Snell, Finite Markov Chains, on absorbing chains): a course from i to
j by way of k goes to k, returns there any number of times, and goes on, so that

    w_ij + w_ik (1 + w_kk + w_kk^2 + ...) w_kj

are the courses from i to j by way of heads that are left out. The series converges where w_kk < 1,
which whoever evaluates it has to know. A set of heads that is never left has one that is the last
to be left out: it leads nowhere, or to itself alone, and the loop is refused. Else the courses end,
but for a null set (there are finitely many heads). A loop that ends for certain is no special case.
"""

from __future__ import annotations

from collections.abc import Iterator

from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import NotProved, Refused
from dipapprox.kernel.integration import forget
from dipapprox.kernel.measures import Measure
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.states import State, canonical, held

MOST_HEADS = 2_000
"""Most heads of one loop."""

Weights = dict[int, Node]


class Heads:
    """The heads of a loop by number; 0 is where it is entered. Weights are in the graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._numbers: dict[object, int] = {}
        self._heads: list[State] = []
        # Where a turn from each head leads: to heads, and to ends, as -1, -2, …
        self._onward: list[Weights] = [{}]

    def waiting(self) -> Iterator[tuple[int, State]]:
        """Yield every head with its number, also those that are reached meanwhile."""
        # Lists may grow while they are gone through.
        yield from enumerate(self._heads, 1)

    def reach(self, source: int, states: list[State]) -> None:
        """A turn from a head leads to these heads; their scalars are the weights."""
        for state in states:
            measure = forget(self._graph, state.measure, held(state))
            key, renamed = canonical(State(state.store, measure))
            functions = tuple([component.functions for component in renamed.measure.components])
            number = self._numbers.setdefault((key, functions), len(self._onward))
            if number == len(self._onward):
                if number > MOST_HEADS:
                    raise Refused(f"a loop with more than {MOST_HEADS} states at its head")
                self._onward.append({})
                whole = Measure(self._graph.one, renamed.measure.components)
                self._heads.append(State(renamed.store, whole))
            self._add(source, number, measure.scalar)

    def leave(self, source: int, end: int, weight: Node) -> None:
        """A turn from a head leads to an end, 0, 1, …"""
        self._add(source, -1 - end, weight)

    def solved(self) -> Weights:
        """Return the ends, each with the sum over all courses from where the loop is entered."""
        graph, count = self._graph, len(self._onward)
        for middle in range(1, count):
            onward = self._onward[middle]
            again = onward.pop(middle, graph.zero)
            if not onward:
                raise NotProved("a loop that is not known to end")
            for source in (0, *range(middle + 1, count)):
                to = self._onward[source].pop(middle, graph.zero)
                if to == graph.zero:
                    continue
                spend(len(onward))
                through = graph.times(to, graph.star(again))
                for target, weight in onward.items():
                    self._add(source, target, graph.times(through, weight))
        return {-1 - end: weight for end, weight in self._onward[0].items()}

    def _add(self, source: int, target: int, weight: Node) -> None:
        weights = self._onward[source]
        weights[target] = self._graph.plus(weights.get(target, self._graph.zero), weight)
