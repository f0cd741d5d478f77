"""Sets of outcomes in; their probabilities out, as arithmetic circuits over the choices' weights.

A circuit is a list of sums of products: node n is Σ weight · node, over nodes before it. Its size
is that of the decision diagrams (`semantics.outcomes`) that it is made from, however many paths
they stand for. Nothing is left of which choice a weight belongs to, nor, for conjunctions, of their
order: sets of equal probability mostly become one node.

References:
    A. Darwiche: A differential approach to inference in Bayesian networks, 2003 (circuits).
"""

from __future__ import annotations

from collections.abc import Sequence

from dipapprox.data_classes import dataclass
from dipapprox.distributions import ChainLaw, ChoiceLaw, FiniteLaw
from dipapprox.exponentials import ExponentialRatio
from dipapprox.semantics.outcomes import ALWAYS, NEVER, UNION, Node, reachable
from dipapprox.semantics.state import Choice

NOTHING, EVERYTHING = 0, 1
"""The nodes 0 and 1 of every circuit are these constants."""


@dataclass(frozen=True, slots=True)
class Absorbed:
    """The weight of where a Markov chain ends: the probability of one outcome."""

    law: ChainLaw
    outcome: int


Weight = ExponentialRatio | Absorbed

Products = tuple[tuple[int, int], ...]
"""Terms (number of a weight, number of a node), ascending; a term may occur more than once."""


@dataclass(frozen=True, slots=True, eq=False)
class Circuit:
    """Sums of products of weights.

    Attributes:
        weights: As functions of the program's eps; weight 0 is 1.
        nodes: By number; every node is the sum of its terms. The first two stand for 0 and 1.
        roots: The nodes that are asked for, ascending.
    """

    weights: tuple[Weight, ...]
    nodes: tuple[Products, ...]
    roots: tuple[int, ...]


NO_CHOICES = Circuit((ExponentialRatio.constant(1),), ((), ((0, EVERYTHING),)), (EVERYTHING,))
"""The circuit of a program without choices."""


def circuit_of(
    choices: Sequence[Choice], nodes: Sequence[Node], sets: Sequence[int]
) -> tuple[Circuit, tuple[int, ...]]:
    """Return a circuit for the probabilities of sets, and the node of each.

    Args:
        choices: By number, see `FinalStates`.
        nodes: Of the decision diagrams.
        sets: What is asked for.
    """
    maker = _Maker(choices)
    for number in reachable(nodes, sets):
        maker.add(number, nodes[number])
    found = tuple(maker.of[number] for number in sets)
    circuit = Circuit(tuple(maker.weights), tuple(maker.nodes), tuple(sorted(set(found))))
    return circuit, found


class _Maker:
    """Builds a circuit from nodes, children before their parents.

    A conjunction of outcomes is made as the product of its factors in one fixed order.

    Attributes:
        weights: See `Circuit`.
        nodes: See `Circuit`.
        of: The node for every node of the diagrams.
    """

    def __init__(self, choices: Sequence[Choice]) -> None:
        one = ExponentialRatio.constant(1)
        self.weights: list[Weight] = [one]
        self.nodes: list[Products] = list(NO_CHOICES.nodes)
        self.of = {NEVER: NOTHING, ALWAYS: EVERYTHING}
        self._choices = choices
        self._weights: dict[Weight, int] = {one: 0}
        self._numbers: dict[Products, int] = {(): NOTHING}
        self._of_choice: dict[int, tuple[int, ...]] = {}
        self._last: dict[int, _Factor] = {}  # of nodes that are conjunctions

    def add(self, number: int, node: Node) -> None:
        """Make the node of the circuit for one of the diagrams."""
        if number in self.of:
            return
        choice, outcomes, children = node
        if choice == UNION:
            self.of[number] = self._node([(0, self.of[child]) for child in children])
            return
        weights = self._weights_of(choice)
        chosen = [weights[outcome] for outcome in outcomes]
        if len(set(children)) == 1:
            self.of[number] = self._product(tuple(sorted(chosen)), self.of[children[0]])
        else:
            terms = zip(chosen, (self.of[child] for child in children), strict=True)
            self.of[number] = self._node(list(terms))

    def _product(self, factor: _Factor, node: int) -> int:
        """Multiply a node by a sum of weights; factors ascend towards the root."""
        above: list[_Factor] = []
        while node in self._last and self._last[node] > factor:
            above.append(self._last[node])
            node = self.nodes[node][0][1]
        for each in (factor, *reversed(above)):
            node = self._node([(weight, node) for weight in each])
            self._last[node] = each
        return node

    def _node(self, terms: list[tuple[int, int]]) -> int:
        products = tuple(sorted(terms))
        if len(products) == 1 and products[0][0] == 0:
            return products[0][1]
        number = self._numbers.setdefault(products, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(products)
        return number

    def _weights_of(self, choice: int) -> tuple[int, ...]:
        found = self._of_choice.get(choice)
        if found is None:
            found = tuple(map(self._weight, outcome_weights(self._choices[choice].law)))
            self._of_choice[choice] = found
        return found

    def _weight(self, weight: Weight) -> int:
        number = self._weights.setdefault(weight, len(self.weights))
        if number == len(self.weights):
            self.weights.append(weight)
        return number


_Factor = tuple[int, ...]
"""Numbers of weights that are added up, ascending."""


def outcome_weights(law: ChoiceLaw) -> tuple[Weight, ...]:
    """Return the probabilities of the outcomes of a law."""
    match law:
        case FiniteLaw(weights):
            return weights
        case ChainLaw(_, outcomes):
            return tuple(Absorbed(law, outcome) for outcome in range(len(outcomes)))
