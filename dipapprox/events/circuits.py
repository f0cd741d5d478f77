"""Sets of outcomes in; their probabilities out, as arithmetic circuits over the choices' weights.

A circuit is a list of sums of products: node n is Σ weight · node, over nodes before it. Its size
is that of the decision diagrams (`semantics.outcomes`) that it is made from, however many paths
they stand for. Nothing is left of which choice a weight belongs to, nor, for conjunctions, of their
order: sets of equal probability mostly become one node.

References:
    A. Darwiche: A differential approach to inference in Bayesian networks, 2003 (circuits).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dipapprox.data_classes import Record
from dipapprox.events import input_diagrams
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language.traversal import solved
from dipapprox.laws.distribution import ChainLaw, FiniteLaw
from dipapprox.semantics.outcomes import ALWAYS, NEVER, UNION, Node, reachable
from dipapprox.semantics.state import Choice, Reading

NOTHING, EVERYTHING = 0, 1
"""The nodes 0 and 1 of every circuit are these constants."""


class Absorbed(Record):
    """The weight of where a Markov chain ends: the probability of one outcome."""

    law: ChainLaw
    outcome: int


Weight = ExponentialRatio | Absorbed
Products = tuple[tuple[int, int], ...]
"""Terms (number of a weight, number of a node), ascending; a term may occur more than once."""


class Circuit(Record, eq=False):
    """Sums of products of weights: functions of eps, weight 0 is 1. Roots are what is asked for."""

    weights: tuple[Weight, ...]
    nodes: tuple[Products, ...]
    roots: tuple[int, ...]


NO_CHOICES = Circuit((ExponentialRatio.constant(1),), ((), ((0, EVERYTHING),)), (EVERYTHING,))
"""The circuit of a program without choices."""


class Chances(Record, eq=False):
    """The probabilities of sets of outcomes, at every input."""

    circuit: Circuit  # its roots are the probabilities
    # For each set its node in the circuit; if there are diagrams, a diagram of nodes.
    sets: tuple[int, ...]
    # None if no probability depends on the input.
    diagrams: input_diagrams.InputDiagrams | None = None

    def root(self, number: int) -> int | None:
        """Return the node of a set; None if it depends on the input."""
        found = self.sets[number]
        return found if self.diagrams is None else self.diagrams.value_of(found)


def chances_of(
    choices: Sequence[Choice | Reading],
    sizes: Sequence[int],
    nodes: Sequence[Node],
    sets: Sequence[int],
) -> Chances:
    """Return the probabilities of sets.

    Args:
        choices: By number, see `FinalStates`.
        sizes: Of the domains of the input cells.
        nodes: Of the decision diagrams.
        sets: What is asked for.

    Raises:
        LimitReached: If there are too many, for they are different at nearly all inputs.
    """
    maker = _Maker(choices, sizes)
    for number in reachable(nodes, sets):
        maker.add(number, nodes[number])
    diagrams = maker.diagrams
    if diagrams is None:
        found = tuple(maker.of[number] for number in sets)
        roots = set(found)
    else:
        found = tuple(maker.diagram(diagrams, number) for number in sets)
        roots = {value for each in set(found) for value in diagrams.values(each)}
    circuit = Circuit(tuple(maker.weights), tuple(maker.nodes), tuple(sorted(roots)))
    return Chances(circuit, found, diagrams)


class _Maker:
    """Builds a circuit from nodes, children before their parents.

    A conjunction of outcomes is made as the product of its factors in one fixed order. What depends
    on the input is a diagram of nodes; of those with equal polynomials in the weights it has the
    first one only.

    Attributes:
        diagrams: Of nodes; None if nothing depends on the input.
        of: The node for every set whose probability does not depend on the input.
    """

    def __init__(self, choices: Sequence[Choice | Reading], sizes: Sequence[int]) -> None:
        one = ExponentialRatio.constant(1)
        self.weights: list[Weight] = [one]
        self.nodes: list[Products] = list(NO_CHOICES.nodes)
        self.of = {NEVER: NOTHING, ALWAYS: EVERYTHING}
        reads = any(isinstance(each, Reading) for each in choices)
        self.diagrams = input_diagrams.InputDiagrams() if reads else None
        self._choices = choices
        self._sizes = sizes
        self._by_input: dict[int, int] = {}
        self._polynomials: dict[int, _Polynomial | None] = {NOTHING: {}, EVERYTHING: {0: 1}}
        self._alike: dict[frozenset[tuple[int, int]], int] = {}
        self._weights: dict[Weight, int] = {one: 0}
        self._numbers: dict[Products, int] = {(): NOTHING}
        self._of_choice: dict[int, tuple[int, ...]] = {}
        self._laws: set[tuple[int, ...]] = set()  # all weights of a choice, ascending
        self._last: dict[int, _Factor] = {}  # of nodes that are conjunctions

    def add(self, number: int, node: Node) -> None:
        """Make the node of the circuit for one of the diagrams."""
        if number in self.of or (self.diagrams is not None and self._read(number, node)):
            return
        choice, outcomes, children = node
        if choice == UNION:
            self.of[number] = self._node([(0, self.of[child]) for child in children])
            return
        chosen = [self._weights_of(choice)[outcome] for outcome in outcomes]
        if len(set(children)) == 1:
            self.of[number] = self._product(tuple(sorted(chosen)), self.of[children[0]])
        else:
            products = zip(chosen, (self.of[child] for child in children), strict=True)
            self.of[number] = self._node(list(products))

    def diagram(self, diagrams: input_diagrams.InputDiagrams, number: int) -> int:
        """Return the diagram of a set that was added."""
        found = self._by_input.get(number)
        return diagrams.value(self.of[number]) if found is None else found

    def _read(self, number: int, node: Node) -> bool:
        """Make the diagram of a set, if it depends on the input; return whether it does."""
        choice, outcomes, children = node
        diagrams, reading = self.diagrams, self._choices[choice] if choice != UNION else None
        assert diagrams is not None
        below = [self.diagram(diagrams, child) for child in children]
        if isinstance(reading, Reading):
            own = [diagrams.value(NOTHING)] * self._sizes[reading.place]
            for outcome, child in zip(outcomes, below, strict=True):
                own[outcome] = child
            self._by_input[number] = diagrams.ask(reading.place, own)
        elif any(child in self._by_input for child in children):
            chosen = [0] * len(children)
            if choice != UNION:
                weights = self._weights_of(choice)
                chosen = [weights[outcome] for outcome in outcomes]
            terms = tuple(sorted(zip(chosen, below, strict=True)))
            self._by_input[number] = diagrams.total(terms, self._first_alike)
        return number in self._by_input

    def _first_alike(self, products: Products) -> int:
        """Return a sum of products, or the first node that is the same polynomial.

        What each outcome of a law is multiplied by alike is not changed by the law: it adds up to
        1. So choices that tell nothing leave nothing behind.
        """
        if tuple(weight for weight, _ in products) in self._laws:
            nodes = {node for _, node in products}
            if len(nodes) == 1:
                return nodes.pop()
        number = self._node([(weight, node) for weight, node in products if node != NOTHING])
        polynomial = self._polynomial(number)
        if polynomial is None:
            return number
        return self._alike.setdefault(frozenset(polynomial.items()), number)

    def _polynomial(self, number: int) -> _Polynomial | None:
        """Return a node as a polynomial in the weights; None if it is long."""

        def added(node: int, factors: list[_Polynomial | None]) -> _Polynomial | None:
            total: _Polynomial = {}
            for (weight, _), factor in zip(self.nodes[node], factors, strict=True):
                if factor is None:
                    return None
                unit = 1 << _DIGIT * weight if weight else 0
                for monomial, count in factor.items():
                    total[monomial + unit] = total.get(monomial + unit, 0) + count
            return total if len(total) <= _LONG else None

        def children(node: int) -> list[int]:
            return [child for _, child in self.nodes[node]]

        return solved(number, self._polynomials, children, added)

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
            made = self._choices[choice]
            assert isinstance(made, Choice), "a reading has no weights"
            law = made.law
            weights: Iterable[Weight] = (
                law.weights
                if isinstance(law, FiniteLaw)
                else (Absorbed(law, outcome) for outcome in range(len(law.outcomes)))
            )
            found = tuple(map(self._weight, weights))
            self._of_choice[choice] = found
            self._laws.add(tuple(sorted(found)))
        return found

    def _weight(self, weight: Weight) -> int:
        number = self._weights.setdefault(weight, len(self.weights))
        if number == len(self.weights):
            self.weights.append(weight)
        return number


_LONG = 64  # polynomials with more terms are not compared
_DIGIT = 32  # bits for an exponent: circuits have far fewer than 2^32 nodes
_Polynomial = dict[int, int]
"""Coefficients by monomials, whose digit k is the exponent of weight k; weight 0 is 1."""

_Factor = tuple[int, ...]  # numbers of weights that are added up, ascending
