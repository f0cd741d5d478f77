"""From a graph to balls around its numbers, at one eps.

Nodes are evaluated in the order of their numbers, each once, and forgotten when no other needs
them. Functions that have to do with each other share a grid: those that are combined, directly or
through others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from flint import arb

from dipapprox.kernel.balls import precision, to_ball
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import NotProved, Refused, Refuted
from dipapprox.kernel.grid import Accuracy, Leaves
from dipapprox.kernel.lattice import Lattice
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.panels import Panels
from dipapprox.kernel.sampled import Sampled, Space, mixed, rise

MOST_VALUES = 10**7
"""Of all functions that are kept at a time: a gigabyte."""


def evaluate(
    graph: Graph, scalars: Iterable[Node], eps: Fraction, accuracy: Accuracy
) -> dict[Node, arb]:
    """Return balls that contain scalars of a graph at eps > 0."""
    wanted = set(scalars)
    if any(graph.discrete[number] is not None for number in wanted):
        raise Refuted("a function is no number")
    if eps <= 0:
        raise Refuted(f"eps must be > 0, got {eps}")
    with precision(accuracy.precision):
        return _Evaluation(graph, wanted, eps, accuracy).run()


def most_factors(graph: Graph, scalars: Iterable[Node]) -> int:
    """Return how many functions are multiplied at most on the way to some scalars."""
    functions = (n for n in graph.needed(scalars) if graph.discrete[n] is not None)
    made = (graph.nodes[number] for number in functions)
    return max((sum(node.data) for node in made if node.kind == "product"), default=1)


class _Evaluation:
    """The values of nodes, in the making.

    Attributes:
        parts: Of each node that is needed, what it is made of.
        uses: How many needed nodes are still to be made of it, one more for wanted ones.
        values: Of nodes: a ball, or a function.
        grids: Of each function that is needed, one that stands for all on its grid.
        spaces: By that one, the grid.
    """

    def __init__(self, graph: Graph, wanted: set[Node], eps: Fraction, accuracy: Accuracy) -> None:
        self.graph = graph
        self.wanted = wanted
        self.eps = eps
        self.accuracy = accuracy
        self.parts = graph.needed(wanted)
        self.uses = Counter([*wanted, *(part for own in self.parts.values() for part in own)])
        self.values: dict[Node, Any] = {}
        self.grids = self._grids()
        self.leaves = self._leaves()
        self.spaces: dict[Node, Space] = {}

    def _grids(self) -> dict[Node, Node]:
        """Tell which functions have to do with each other."""
        parent: dict[Node, Node] = {}

        def top(number: Node) -> Node:
            while parent[number] != number:
                parent[number] = number = parent[parent[number]]
            return number

        for number in sorted(self.parts):
            if self.graph.discrete[number] is not None:
                parent[number] = number
                # Scalars of mixes are numbers wherever they come from.
                for part in self.parts[number]:
                    if part in parent:
                        parent[top(part)] = number
        return {number: top(number) for number in parent}

    def _leaves(self) -> dict[Node, Leaves]:
        """What grids depend on."""
        found: dict[Node, Leaves] = {}
        samples: dict[Node, int] = {}
        for number, grid in self.grids.items():
            leaves = found.setdefault(grid, Leaves(set(), set(), set()))
            kind, _, data = self.graph.nodes[number]
            samples[number] = max((samples.get(part, 0) for part in self.parts[number]), default=0)
            if kind == "density":
                leaves.laws.add(data[0])
            elif kind == "restrict":
                leaves.bounds.update(bound for bound in data if bound is not None)
            elif kind == "convolved":
                leaves.added.add(data[0])
                samples[number] += 1
                leaves.samples = max(leaves.samples, samples[number])
        return found

    def _space(self, number: Node) -> Space:
        """Return the grid of a function."""
        grid = self.grids[number]
        if grid not in self.spaces:
            kind = Lattice if self.graph.discrete[number] else Panels
            self.spaces[grid] = kind(self.leaves[grid], self.eps, self.accuracy)
        return self.spaces[grid]

    def run(self) -> dict[Node, arb]:
        """Evaluate all that is needed; return what is wanted."""
        held = 0
        for number in sorted(self.parts):
            spend(10)
            found = self.values[number] = self._value(number)
            if isinstance(found, Sampled):
                running = self.graph.nodes[number].kind == "running"
                costs = (len(found.cells) // 4 + 10) * (1 + len(self.parts[number]) // 2)
                spend(costs * self.accuracy.terms if running else costs)
                held += len(found.cells)
                if held > MOST_VALUES:
                    raise Refused(f"more than {MOST_VALUES} values of functions at a time")
            for part in self.parts[number]:
                self.uses[part] -= 1
                if not self.uses[part]:
                    value = self.values.pop(part)
                    held -= len(value.cells) if isinstance(value, Sampled) else 0
        return {number: self.values[number] for number in self.wanted}

    def _value(self, number: Node) -> Any:
        kind, parts, data = self.graph.nodes[number]
        known = [self.values[part] for part in self.parts[number]]
        match kind:
            case "density":
                return self._space(number).density(*data)
            case "restrict":
                return self._space(number).restrict(*known, *data)
            case "running":
                return self._space(number).running(*known, *data)
            case "rise":
                return rise(*known)
            case "convolved":
                return self._space(number).convolved(*known, *data)
            case "total":
                return self._space(*parts).total(*known)
            case "mix":
                return mixed(zip(known[::2], known[1::2], strict=True))
            case "product" if self.graph.discrete[number] is not None:
                return self._space(number).product(*known)
            case "product":
                return known[0] * known[1]
            case "sum":
                return known[0] + known[1]
            case "rational":
                return to_ball(*data)
            case "weight":
                return data[0].ball(self.eps)
            case "star":
                if not known[0] < 1:
                    raise NotProved("a loop that is not known to end")
                return 1 / (1 - known[0])
        raise Refuted(f"no node is {kind}")
