"""What a run comes to: a graph of functions of one real or integer variable, and of numbers.

Every node is there once, so states, outputs and inputs share what they have in common; nothing is
evaluated here. Functions are >= 0 (densities, or masses of the integers; integrals of them;
products and sums). A scalar is a probability, or a factor of one. On the integers an integral is
a sum, and its bounds count.

    Density(law, factor)           t -> factor * the density of the law at t
    Restrict(f, lower, upper)      t -> f(t) if lower <= t <= upper, else 0
    Running(f, True)               t -> integral of f over (-inf, t]; on the integers f(t) included
    Running(f, False)              t -> integral of f over [t, inf); on the integers f(t) included
    Rise(upper, lower)             t -> upper(t) - lower(t), functions with 0 <= lower <= upper
    Product                        t -> product of f(t) ** exponent
    Mix                            t -> sum of scalar * f(t)
    Convolved(f, law)              t -> integral of f(s) * (density of the law at t - s) over s

    Rational(q), Weight(w)         a number; the value of an expression in eps
    Total(f)                       the integral of f over everything
    ScalarProduct, ScalarSum       of scalars; powers and multiples are counted
    Star(p)                        1 + p + p^2 + ..., which is 1 / (1 - p) where 0 <= p < 1

A change of variables t -> slope * t + offset is a rewriting of the graph down to its laws, by
`moved`; so no evaluator has to shift a function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import Refused
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.laws import FAMILIES, Law

Node = int
"""The number of a node in its `Graph`; what a node is made of has smaller numbers."""

MOST_PARTS = 4_000_000
"""Of all products and sums together: what is kept of them."""

Powers = tuple[tuple[Node, int], ...]
"""(node, how often >= 1), by ascending node."""


@dataclass(frozen=True, slots=True)
class Density:
    """A law's density, or its masses on the integers, times a factor > 0."""

    law: Law
    factor: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class Restrict:
    """A function between two constants, 0 elsewhere; None is no bound. Both ends belong to it."""

    function: Node
    lower: Fraction | None
    upper: Fraction | None


@dataclass(frozen=True, slots=True)
class Running:
    """The integral of a function up to t, or from t on."""

    function: Node
    from_left: bool


@dataclass(frozen=True, slots=True)
class Rise:
    """The difference of two functions of which one is nowhere smaller than the other."""

    upper: Node
    lower: Node


@dataclass(frozen=True, slots=True)
class Product:
    """A product of functions that are no products themselves."""

    factors: Powers


@dataclass(frozen=True, slots=True)
class Mix:
    """A sum of functions, each times a scalar.

    Attributes:
        terms: (scalar, function), ascending.
    """

    terms: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True, slots=True)
class Convolved:
    """The density of X + Y, where f is that of X, and Y independent with a law of the mean 0."""

    function: Node
    law: Law


@dataclass(frozen=True, slots=True)
class Rational:
    """An exact number."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Weight:
    """A factor that depends on eps."""

    value: Ratio


@dataclass(frozen=True, slots=True)
class Total:
    """The integral of a function over all numbers."""

    function: Node


@dataclass(frozen=True, slots=True)
class ScalarProduct:
    """A product of scalars that are no products themselves."""

    factors: Powers


@dataclass(frozen=True, slots=True)
class ScalarSum:
    """A sum of scalars that are no sums themselves."""

    terms: Powers


@dataclass(frozen=True, slots=True)
class Star:
    """1 / (1 - scalar). Evaluators refuse it unless they know that the scalar is below 1."""

    scalar: Node


Function = Density | Restrict | Running | Rise | Product | Mix | Convolved
Scalar = Rational | Weight | Total | ScalarProduct | ScalarSum | Star


class Graph:
    """All nodes of a proof, each once.

    Attributes:
        nodes: By number.
        via: Of a product, a sum of scalars or a mix: the node that one further part made it of,
            and that part (a mix: the parts (scalar, function)). An evaluator that computes `via`
            first needs one operation.
        discrete: Of each node, whether it is a function on the integers. False for scalars.
    """

    __slots__ = (
        "_moved",
        "_numbers",
        "_parts",
        "discrete",
        "minus_one",
        "nodes",
        "one",
        "via",
        "zero",
    )

    def __init__(self) -> None:
        self.nodes: list[Function | Scalar] = []
        self.via: dict[Node, tuple[Node, Node]] = {}
        self._parts = 0
        self.discrete: list[bool] = []
        self._numbers: dict[Function | Scalar, Node] = {}
        self._moved: dict[tuple[Node, Fraction, Fraction], Node] = {}
        self.zero = self.add(Rational(Fraction(0)))
        self.one = self.add(Rational(Fraction(1)))
        self.minus_one = self.add(Rational(Fraction(-1)))

    def add(self, node: Function | Scalar, via: tuple[Node, Node] | None = None) -> Node:
        """Return the number of a node; a new one is added, made as `via` says."""
        parts = len(getattr(node, "terms", ())) + len(getattr(node, "factors", ()))
        spend(2 + parts)
        number = self._numbers.setdefault(node, len(self.nodes))
        if number == len(self.nodes):
            self._parts += parts
            if self._parts > MOST_PARTS:
                raise Refused(f"functions and numbers of more than {MOST_PARTS} parts")
            self.nodes.append(node)
            self.discrete.append(self._on_integers(node))
            if via is not None:
                self.via[number] = via
        return number

    def _on_integers(self, node: Function | Scalar) -> bool:
        match node:
            case Density(law):
                return law.is_discrete
            case Restrict(function) | Running(function) | Rise(function) | Convolved(function):
                return self.discrete[function]
            case Product(factors):
                return self._agree([factor for factor, _ in factors])
            case Mix(terms):
                return self._agree([function for _, function in terms])
            case _:
                return False

    def _agree(self, functions: list[Node]) -> bool:
        kinds = {self.discrete[function] for function in functions}
        if len(kinds) != 1:
            raise ValueError("functions of real and of integer variables are not combined")
        return kinds.pop()

    # --- functions ---------------------------------------------------------------------------

    def is_law(self, function: Node) -> bool:
        """Whether a function is the density of a law."""
        return isinstance(self.nodes[function], Density)

    def density(self, law: Law) -> Node:
        """Return the density of a law."""
        return self.add(Density(law))

    def restrict(self, function: Node, lower: Fraction | None, upper: Fraction | None) -> Node:
        """Return f between two constants, ends included; where lower > upper it is 0."""
        node = self.nodes[function]
        if isinstance(node, Restrict):
            function = node.function
            lower = _inner(lower, node.lower, max)
            upper = _inner(upper, node.upper, min)
        if lower is None and upper is None:
            return function
        return self.add(Restrict(function, lower, upper))

    def times(self, left: Node, right: Node) -> Node:
        """Return the product of two functions."""
        factors = _multiplied(self._factors(left), self._factors(right))
        return self.add(Product(factors), (left, right))

    def mix(self, terms: list[tuple[Node, Node]]) -> Node:
        """Return the sum of scalar * function over some terms; at least one."""
        collected: dict[Node, Node] = {}
        for scalar, function in terms:
            known = collected.get(function)
            collected[function] = scalar if known is None else self.plus(known, scalar)
        found = sorted((scalar, function) for function, scalar in collected.items())
        if len(found) == 1 and found[0][0] == self.one:
            return found[0][1]
        return self.add(Mix(tuple(found)))

    def scaled(self, function: Node, factor: Fraction) -> Node:
        """Return factor * f, factor > 0."""
        if factor == 1:
            return function
        node = self.nodes[function]
        if isinstance(node, Density):
            return self.add(Density(node.law, factor * node.factor))
        return self.mix([(self.rational(factor), function)])

    def moved(self, function: Node, slope: Fraction, offset: Fraction) -> Node:
        """Return t -> f(slope * t + offset); on the integers slope is 1 or -1, offset whole.

        For f a density, |slope| * this is the density of (X - offset) / slope.
        """
        if slope == 1 and offset == 0:
            return function
        whole = abs(slope) == 1 and offset.denominator == 1
        if slope == 0 or (self.discrete[function] and not whole):
            raise ValueError("no change of variables")
        key = function, slope, offset
        if key not in self._moved:
            self._moved[key] = self._moved_anew(function, slope, offset)
        return self._moved[key]

    def _moved_anew(self, function: Node, slope: Fraction, offset: Fraction) -> Node:
        node = self.nodes[function]
        match node:
            case Density(law, factor):
                # (X - offset) / slope has the density |slope| * f(slope * t + offset).
                other = law.affine(1 / slope, -offset / slope)
                return self.add(Density(other, factor / abs(slope)))
            case Restrict(inner, lower, upper):
                low = None if lower is None else (lower - offset) / slope
                high = None if upper is None else (upper - offset) / slope
                if slope < 0:
                    low, high = high, low
                return self.restrict(self.moved(inner, slope, offset), low, high)
            case Running(inner, from_left):
                # The integral of f up to slope * t + offset is that of |slope| * f(slope * s +
                # offset) over s, up to t or, where the slope is negative, from t on.
                inside = self.scaled(self.moved(inner, slope, offset), abs(slope))
                return self.running(inside, from_left == (slope > 0))
            case Rise(upper_node, lower_node):
                return self.rise(
                    self.moved(upper_node, slope, offset), self.moved(lower_node, slope, offset)
                )
            case Product(factors):
                found: Node | None = None
                for part, exponent in factors:
                    other_part = self.moved(part, slope, offset)
                    for _ in range(exponent):
                        found = other_part if found is None else self.times(found, other_part)
                assert found is not None
                return found
            case Mix(terms):
                return self.mix([(s, self.moved(f, slope, offset)) for s, f in terms])
            case Convolved(inner, law):
                # X + Y = slope * t + offset where (X - offset) / slope + Y / slope = t.
                other_law = law.affine(1 / slope, Fraction(0))
                return self.add(Convolved(self.moved(inner, slope, offset), other_law))
            case _:
                raise ValueError("a scalar is no function")

    def running(self, function: Node, from_left: bool) -> Node:
        """Return the integral of f from the left end to t, or from t to the right end."""
        return self.add(Running(function, from_left))

    def combined(self, left: Node, p: int, right: Node, q: int) -> Node | None:
        """Return the density of p X + q Y, where f and g are those of X and Y; None: none of ours.

        With q Y = m + Z it is that of (p X + m) + Z. Entire densities are preferred for Z.
        """
        if self.discrete[left] and not abs(p) == abs(q) == 1:
            return None
        both = [
            self.scaled(self.moved(f, Fraction(1, k), Fraction(0)), Fraction(1, abs(k)))
            for f, k in ((left, p), (right, q))
        ]
        laws = [(self.nodes[one], other) for one, other in (both, both[::-1])]
        found = [(one, other) for one, other in laws if isinstance(one, Density)]
        if not found:
            return None
        node, other = min(found, key=lambda each: FAMILIES[each[0].law.family].has_kink)
        law = node.law.affine(Fraction(1), -node.law.mean)
        moved = self.moved(other, Fraction(1), -node.law.mean)
        return self.scaled(self.add(Convolved(moved, law)), node.factor)

    def rise(self, upper: Node, lower: Node) -> Node:
        """Return upper(t) - lower(t), where the caller knows that 0 <= lower <= upper."""
        return self.add(Rise(upper, lower))

    # --- scalars ---------------------------------------------------------------------------------

    def rational(self, value: Fraction) -> Node:
        """Return a number."""
        return self.add(Rational(value))

    def weight(self, value: Ratio) -> Node:
        """Return a factor that depends on eps."""
        return self.add(Weight(value))

    def total(self, function: Node) -> Node:
        """Return the integral of f over everything; that of a whole law is 1."""
        node = self.nodes[function]
        if isinstance(node, Density):
            return self.rational(node.factor)
        return self.add(Total(function))

    def by(self, left: Node, right: Node) -> Node:
        """Return the product of two scalars."""
        if self.zero in (left, right):
            return self.zero
        if left == self.one:
            return right
        if right == self.one:
            return left
        a, b = self.nodes[left], self.nodes[right]
        if isinstance(a, Rational) and isinstance(b, Rational):
            return self.rational(a.value * b.value)
        factors = _multiplied(self._scalar_powers(left), self._scalar_powers(right))
        return self.add(ScalarProduct(factors), (left, right))

    def plus(self, left: Node, right: Node) -> Node:
        """Return the sum of two scalars."""
        if left == self.zero:
            return right
        if right == self.zero:
            return left
        a, b = self.nodes[left], self.nodes[right]
        if isinstance(a, Rational) and isinstance(b, Rational):
            return self.rational(a.value + b.value)
        terms = _multiplied(self._scalar_terms(left), self._scalar_terms(right))
        return self.add(ScalarSum(terms), (left, right))

    def star(self, scalar: Node) -> Node:
        """Return the sum of all powers of a scalar."""
        return self.one if scalar == self.zero else self.add(Star(scalar))

    def _factors(self, function: Node) -> Powers:
        node = self.nodes[function]
        return node.factors if isinstance(node, Product) else ((function, 1),)

    def _scalar_powers(self, scalar: Node) -> Powers:
        node = self.nodes[scalar]
        return node.factors if isinstance(node, ScalarProduct) else ((scalar, 1),)

    def _scalar_terms(self, scalar: Node) -> Powers:
        node = self.nodes[scalar]
        return node.terms if isinstance(node, ScalarSum) else ((scalar, 1),)


def _multiplied(left: Powers, right: Powers) -> Powers:
    """Add the exponents, or the multiples, of two sorted lists."""
    found = dict(left)
    for node, count in right:
        found[node] = found.get(node, 0) + count
    return tuple(sorted(found.items()))


def _inner(
    one: Fraction | None, other: Fraction | None, choice: Callable[..., Fraction]
) -> Fraction | None:
    if one is None or other is None:
        return other if one is None else one
    return choice(one, other)


def parts_of(graph: Graph, number: Node) -> tuple[Node, ...]:
    """Return what a node is evaluated from; all have smaller numbers."""
    node = graph.nodes[number]
    match node:
        case Density() | Rational() | Weight():
            return ()
        case Restrict(function) | Running(function) | Total(function) | Convolved(function):
            return (function,)
        case Star(scalar):
            return (scalar,)
        case Rise(upper, lower):
            return upper, lower
        case Product(powers) | ScalarProduct(powers) | ScalarSum(powers):
            pair = graph.via.get(number)
            return tuple([part for part, _ in powers]) if pair is None else pair
        case Mix(terms):
            return tuple([part for term in terms for part in term])
        case _:
            assert_never(node)
