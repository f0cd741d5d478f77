"""Sets of outcomes in; their probabilities out, as arithmetic circuits over the choices' weights.

A circuit is a list of sums of products: node n is Σ weight · node, over nodes before it. Its size
is that of the decision diagrams (`semantics.outcomes`) that it is made from, however many paths
they stand for. Nothing is left of which choice a weight belongs to, nor, for conjunctions, of their
order: sets of equal probability mostly become one node.

References:
    A. Darwiche: A differential approach to inference in Bayesian networks, 2003 (circuits).
    R. I. Bahar et al.: Algebraic decision diagrams and their applications, 1993.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from dipapprox.data_classes import Record
from dipapprox.errors import LimitReached
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language.traversal import solved
from dipapprox.laws.distribution import ChainLaw, FiniteLaw
from dipapprox.limits import ask
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
    diagrams: InputDiagrams | None = None

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
        self.diagrams = InputDiagrams() if reads else None
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

    def diagram(self, diagrams: InputDiagrams, number: int) -> int:
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


# --- functions of the input -----------------------------------------------------------------------

MOST_DIAGRAMS = 2_000_000
"""More are not made: then what is published is different at nearly every input."""

_BETWEEN = 256  # diagrams between two looks at the clock
_VALUE = -1  # the cell of what is a value


class InputDiagrams:
    """Functions of the input with small numbers as values, as algebraic decision diagrams.

    A diagram is a number: of a value, or of a cell with a diagram for each value of its domain.
    Cells are asked in the order of the program, the last one first, for programs mostly read them
    in their order, and what is read last is asked for on top. Equal functions have equal numbers:
    what depends on how many of N cells are 1 has N (N + 1) / 2 of them.
    """

    def __init__(self) -> None:
        self._things: list[tuple[int, tuple[int, ...]]] = []  # the cell, and the diagrams
        self._numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        self._cells: list[int] = []  # all that are asked, as masks
        self._asked: dict[tuple[int, tuple[int, ...]], int] = {}
        self._sums: dict[Products, int] = {}
        self._given: dict[tuple[int, int, int], int] = {}

    def value(self, value: int) -> int:
        return self._number(_VALUE, (value,))

    def value_of(self, diagram: int) -> int | None:
        """Return the value that a diagram has at all inputs; None if there are several."""
        cell, found = self._things[diagram]
        return found[0] if cell == _VALUE else None

    def cells(self, diagram: int) -> tuple[int, ...]:
        """Return the places of the cells that a diagram depends on, in the order of asking."""
        mask = self._cells[diagram]
        return tuple([place for place in reversed(range(mask.bit_length())) if mask >> place & 1])

    def values(self, diagram: int) -> Iterator[int]:
        """Yield all values that a diagram has, each once."""
        waiting, seen = [diagram], {diagram}
        while waiting:
            cell, found = self._things[waiting.pop()]
            if cell == _VALUE:
                yield found[0]
                continue
            waiting += (new := set(found) - seen)
            seen |= new

    def at(self, diagram: int, places: Callable[[int], int]) -> int:
        """Return the value at an input: `places` says where in its domain a cell's value is."""
        cell, found = self._things[diagram]
        while cell != _VALUE:
            cell, found = self._things[found[places(cell)]]
        return found[0]

    def step(self, diagram: int, cell: int, value: int) -> int:
        """Return what is left of a diagram that asks for no later cell, where one has a value."""
        own, found = self._things[diagram]
        return found[value] if own == cell else diagram

    def ask(self, cell: int, diagrams: Sequence[int]) -> int:
        """Return the diagram that is one of several, by the place of a cell's value."""

        def parts(key: tuple[int, tuple[int, ...]]) -> list[tuple[int, tuple[int, ...]]]:
            top = self._first(key[1])
            if top <= cell:
                return []
            return [(cell, tuple(own)) for own in self._columns(key[1], top)]

        def joined(key: tuple[int, tuple[int, ...]], found: list[int]) -> int:
            if found:
                return self._branch(self._first(key[1]), found)
            own = [self.step(each, cell, value) for value, each in enumerate(key[1])]
            return self._branch(cell, own)

        return solved((cell, tuple(diagrams)), self._asked, parts, joined)

    def total(self, terms: Products, add: Callable[[Products], int]) -> int:
        """Return a sum of diagrams with weights; `add` returns the value for weights and values."""

        def parts(key: Products) -> list[Products]:
            top = self._first([diagram for _, diagram in key])
            if top == _VALUE:
                return []
            columns = self._columns([diagram for _, diagram in key], top)
            weights = [weight for weight, _ in key]
            return [tuple(sorted(zip(weights, own, strict=True))) for own in columns]

        def joined(key: Products, found: list[int]) -> int:
            if found:
                return self._branch(self._first([diagram for _, diagram in key]), found)
            values = [(weight, self._things[diagram][1][0]) for weight, diagram in key]
            return self.value(add(tuple(sorted(values))))

        return solved(terms, self._sums, parts, joined)

    def exchanged(self, diagram: int, first: int, second: int) -> int:
        """Return the diagram with two cells of equal domains exchanged."""
        mask = self._cells[diagram]
        if not (mask >> first | mask >> second) & 1:
            return diagram
        given = self._given_value
        size = self._size(diagram, first) or self._size(diagram, second)
        return self.ask(
            first,
            [
                self.ask(second, [given(given(diagram, first, w), second, v) for w in range(size)])
                for v in range(size)
            ],
        )

    def _given_value(self, diagram: int, cell: int, value: int) -> int:
        """Return what a diagram is where a cell has a value."""

        def parts(key: tuple[int, int, int]) -> list[tuple[int, int, int]]:
            own, found = self._things[key[0]]
            if own == cell or not self._cells[key[0]] >> cell & 1:
                return []
            return [(each, cell, value) for each in found]

        def joined(key: tuple[int, int, int], found: list[int]) -> int:
            if found:
                return self._branch(self._things[key[0]][0], found)
            return self.step(key[0], cell, value)

        return solved((diagram, cell, value), self._given, parts, joined)

    def _size(self, diagram: int, cell: int) -> int:
        """Return how many values a cell has that a diagram depends on; 0 if it does not."""
        while self._cells[diagram] >> cell & 1:
            own, found = self._things[diagram]
            if own == cell:
                return len(found)
            diagram = next(each for each in found if self._cells[each] >> cell & 1)
        return 0

    def _first(self, diagrams: Sequence[int]) -> int:
        """Return the first cell that some diagrams ask for."""
        return max([self._things[each][0] for each in diagrams])

    def _columns(self, diagrams: Sequence[int], cell: int) -> list[list[int]]:
        """Return what diagrams are for each value of the first cell that they ask for."""
        size = next(len(own) for d in diagrams for c, own in (self._things[d],) if c == cell)
        return [[self.step(each, cell, value) for each in diagrams] for value in range(size)]

    def _branch(self, cell: int, diagrams: Sequence[int]) -> int:
        first = diagrams[0]
        if all(each == first for each in diagrams):
            return first
        return self._number(cell, tuple(diagrams))

    def _number(self, cell: int, below: tuple[int, ...]) -> int:
        found = self._numbers.setdefault((cell, below), len(self._things))
        if found == len(self._things):
            if not found % _BETWEEN:
                ask()
            if found >= MOST_DIAGRAMS:
                raise LimitReached(
                    f"more than {MOST_DIAGRAMS} different probabilities of choices at the inputs"
                )
            self._things.append((cell, below))
            mask = 0
            if cell != _VALUE:
                mask = 1 << cell
                for each in below:
                    mask |= self._cells[each]
            self._cells.append(mask)
        return found
