"""From a graph to balls around its numbers, at one eps.

Nodes are evaluated in the order of their numbers, each once, and forgotten when no other needs
them. Functions that have to do with each other share a grid: those that are combined, directly or
through others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TypeVar, assert_never

from flint import arb

from dipapprox.kernel import nodes
from dipapprox.kernel.accuracy import Accuracy
from dipapprox.kernel.balls import precision, to_ball
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import NotProved, Refused, Refuted
from dipapprox.kernel.lattice import Lattice
from dipapprox.kernel.nodes import Graph, Node, parts_of
from dipapprox.kernel.panels import Panels
from dipapprox.kernel.sampled import Leaves, Sampled, Space

MOST_VALUES = 10**7
"""Of all functions that are kept at a time: a gigabyte."""


def evaluate(
    graph: Graph,
    scalars: Iterable[Node],
    eps: Fraction,
    accuracy: Accuracy,
    ask: Callable[[], None] = lambda: None,
) -> dict[Node, arb]:
    """Return balls that contain scalars of a graph.

    Args:
        graph: Its functions are >= 0; scalars are those of mixes, too.
        scalars: Nodes.
        eps: > 0.
        accuracy: How finely functions are sampled.
        ask: Called before every node; what it raises ends the evaluation.

    Raises:
        Refuted: If a node is no scalar, or eps is not > 0.
        Refused: If the grids would be too large, or too many functions were needed at a time.
        NotProved: If an integral could not be bounded.
    """
    wanted = set(scalars)
    if any(isinstance(graph.nodes[number], nodes.Function) for number in wanted):
        raise Refuted("a function is no number")
    if eps <= 0:
        raise Refuted(f"eps must be > 0, got {eps}")
    with precision(accuracy.precision):
        return _Evaluation(graph, wanted, eps, accuracy).run(ask)


def most_factors(graph: Graph, scalars: Iterable[Node]) -> int:
    """Return how many functions are multiplied at most on the way to some scalars."""
    products = (graph.nodes[number] for number in _needed(graph, scalars))
    return max(
        (sum(k for _, k in p.factors) for p in products if isinstance(p, nodes.Product)), default=1
    )


class _Evaluation:
    """The values of nodes, in the making.

    Attributes:
        parts: Of each node that is needed, what it is made of.
        uses: How many needed nodes are still to be made of it, one more for wanted ones.
        grid_of: Of each function that is needed, one that stands for all on its grid.
        leaves: By that one, what the grid depends on.
        spaces: By that one, the grid, once it is needed.
    """

    def __init__(self, graph: Graph, wanted: set[Node], eps: Fraction, accuracy: Accuracy) -> None:
        self.graph = graph
        self.wanted = wanted
        self.eps = eps
        self.accuracy = accuracy
        self.parts = _needed(graph, wanted)
        self.uses: dict[Node, int] = dict.fromkeys(wanted, 1)
        self.scalars: dict[Node, arb] = {}
        self.functions: dict[Node, Sampled] = {}
        self.leaves: dict[Node, Leaves] = {}
        self.spaces: dict[Node, Space] = {}
        for parts in self.parts.values():
            for part in parts:
                self.uses[part] = self.uses.get(part, 0) + 1
        self.grid_of = self._grids()

    def _grids(self) -> dict[Node, Node]:
        """Tell which functions have to do with each other, and note their leaves."""
        parent: dict[Node, Node] = {}

        def top(number: Node) -> Node:
            while parent[number] != number:
                parent[number] = number = parent[parent[number]]
            return number

        functions = [
            n for n in sorted(self.parts) if isinstance(self.graph.nodes[n], nodes.Function)
        ]
        for number in functions:
            parent[number] = number
            # Of a mix, the scalars are numbers wherever they come from.
            for part in self.parts[number]:
                if part in parent:
                    parent[top(part)] = number
        found = {number: top(number) for number in functions}
        samples: dict[Node, int] = {}
        for number, grid in found.items():
            leaves = self.leaves.setdefault(grid, Leaves(set(), set(), set()))
            node = self.graph.nodes[number]
            samples[number] = max((samples.get(part, 0) for part in self.parts[number]), default=0)
            if isinstance(node, nodes.Density):
                leaves.laws.add(node.law)
            elif isinstance(node, nodes.Restrict):
                leaves.bounds.update(b for b in (node.lower, node.upper) if b is not None)
            elif isinstance(node, nodes.Convolved):
                leaves.added.add(node.law)
                samples[number] += 1
                leaves.samples = max(leaves.samples, samples[number])
        return found

    def _space(self, number: Node) -> Space:
        """Return the grid of a function."""
        grid = self.grid_of[number]
        if grid not in self.spaces:
            kind = Lattice if self.graph.discrete[number] else Panels
            self.spaces[grid] = kind(self.leaves[grid], self.eps, self.accuracy)
        return self.spaces[grid]

    def run(self, ask: Callable[[], None]) -> dict[Node, arb]:
        """Evaluate all that is needed; return what is wanted."""
        held = 0
        for number in sorted(self.parts):
            ask()
            node = self.graph.nodes[number]
            if isinstance(node, nodes.Function):
                found = self.functions[number] = self._function(number, node)
                costs = (len(found.values) // 4 + 10) * (1 + len(self.parts[number]) // 2)
                spend(costs * self.accuracy.nodes if isinstance(node, nodes.Running) else costs)
                held += len(found.values)
                if held > MOST_VALUES:
                    raise Refused(f"more than {MOST_VALUES} values of functions at a time")
            else:
                self.scalars[number] = self._scalar(number, node)
            for part in self.parts[number]:
                self.uses[part] -= 1
                if self.uses[part]:
                    continue
                if part in self.functions:
                    held -= len(self.functions.pop(part).values)
                else:
                    del self.scalars[part]
        return {number: self.scalars[number] for number in self.wanted}

    def _function(self, number: Node, node: nodes.Function) -> Sampled:
        space, known = self._space(number), self.functions
        match node:
            case nodes.Density(law, factor):
                return space.density(law, factor)
            case nodes.Restrict(function, lower, upper):
                return space.restrict(known[function], lower, upper)
            case nodes.Running(function, from_left):
                return space.running(known[function], from_left)
            case nodes.Rise(upper_node, lower_node):
                return space.rise(known[upper_node], known[lower_node])
            case nodes.Product(factors):
                pair = self.graph.via.get(number)
                if pair is not None:
                    return space.product(known[pair[0]], known[pair[1]])
                return _product([(known[f], count) for f, count in factors], space.product)
            case nodes.Mix(terms):
                return space.mix([(self.scalars[s], known[f]) for s, f in terms])
            case nodes.Convolved(function, law):
                return space.convolved(known[function], law)
            case _:
                assert_never(node)

    def _scalar(self, number: Node, node: nodes.Scalar) -> arb:
        known = self.scalars
        match node:
            case nodes.Rational(value):
                return to_ball(value)
            case nodes.Weight(value):
                found: arb = value.ball(self.eps)
                return found
            case nodes.Total(function):
                return self._space(function).total(self.functions[function])
            case nodes.ScalarProduct(factors):
                pair = self.graph.via.get(number)
                if pair is not None:
                    return known[pair[0]] * known[pair[1]]
                return _product([(known[f], count) for f, count in factors], arb.__mul__)
            case nodes.ScalarSum(terms):
                pair = self.graph.via.get(number)
                if pair is not None:
                    return known[pair[0]] + known[pair[1]]
                return sum((known[f] * count for f, count in terms), arb(0))
            case nodes.Star(again):
                if not known[again] < 1:
                    raise NotProved("a loop that is not known to end")
                return 1 / (1 - known[again])
            case _:
                assert_never(node)


def _needed(graph: Graph, scalars: Iterable[Node]) -> dict[Node, tuple[Node, ...]]:
    """Return all nodes that some are evaluated from, each with its parts."""
    found: dict[Node, tuple[Node, ...]] = {}
    waiting = list(scalars)
    while waiting:
        number = waiting.pop()
        if number not in found:
            found[number] = parts_of(graph, number)
            waiting += found[number]
    return found


T = TypeVar("T")


def _product(powers: list[tuple[T, int]], times: Callable[[T, T], T]) -> T:
    """Return the product of all, each as often as its exponent >= 1 says, by squaring."""
    found: T | None = None
    for base, exponent in powers:
        while exponent:
            if exponent % 2:
                found = base if found is None else times(found, base)
            exponent //= 2
            if exponent:
                base = times(base, base)
    if found is None:
        raise Refuted("a product of nothing")
    return found
