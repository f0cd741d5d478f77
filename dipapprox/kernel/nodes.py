"""What a run comes to: a graph of functions of one real or integer variable, and of numbers.

Every node is there once, so states, outputs and inputs share what they have in common; nothing is
evaluated here. Functions are >= 0 (densities, or masses of the integers; integrals of them;
products and sums). A scalar is a probability, or a factor of one. On the integers an integral is
a sum, and its bounds count. Of each kind, its parts, which are nodes, and what else it is made of:

    density     ; law, factor        t -> factor * the density of the law at t, factor > 0
                ; law, factor, form  the same at t + form: of inputs that are not told, ~k the k-th
    restrict    f; lower, upper      t -> f(t) if lower <= t <= upper, else 0; None is no bound
    running     f; True              t -> integral of f over (-inf, t]
    running     f; False             t -> integral of f over [t, inf)
    rise        f, g                 t -> f(t) - g(t), where 0 <= g <= f
    product     f, ...; k, ...       product of f ** k, of functions or of scalars that are none
    mix         s, f, ...            t -> sum of s * f(t); s >= 0, as masses of runs are
    convolved   f; law               t -> integral of f(s) * (density of the law at t - s) over s;
                                     the mean of the law is 0; a form as above
    rational    ; q                  a number
    weight      ; w                  a factor that depends on eps
    total       f                    the integral of f over everything
    sum         s, ...; k, ...       sum of k * s, scalars that are no sums
    star        p                    1 + p + p^2 + ..., which is 1 / (1 - p) where 0 <= p < 1
    excess      f, g, p, q; a, side  the integral of max(0, p f - a q g); for any number of pairs
    sets        f, g, p, q; step     disjoint sets of it, by masses

A change of variables t -> slope * t + offset is a rewriting of the graph down to its laws, by
`moved`; so no evaluator has to shift a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple

from dipapprox.kernel.errors import Refused, spend
from dipapprox.kernel.forms import Form, size_of
from dipapprox.kernel.laws import FAMILIES, Law

Node = int  # the number of a node in its `Graph`; what a node is made of has smaller numbers

Bounds = tuple[Fraction | None, Fraction | None]
"""Of what lies between them, or is one of them; None is no bound."""

MOST_PARTS = 4_000_000  # of all nodes together, and of inputs that they wait for


class Made(NamedTuple):
    """How a node is made, as above."""

    kind: str
    parts: tuple[Node, ...] = ()
    data: tuple[Any, ...] = ()


class Graph:
    """All nodes of a proof, each once."""

    def __init__(self) -> None:
        self.nodes: list[Made] = []  # by number
        # Of a product or a sum: two nodes of which it is one. Who computes them first needs one
        # operation.
        self.via: dict[Node, tuple[Node, Node]] = {}
        self.discrete: list[bool | None] = []  # whether functions are on the integers, or scalars
        self.untold: list[tuple[int, ...]] = []  # the inputs that a node waits for, ascending
        self._told: dict[tuple[Node, tuple[Any, ...]], Node] = {}
        self._parts = 0
        self._numbers: dict[Made, Node] = {}
        self._moved: dict[tuple[Node, Fraction, Fraction], Node] = {}
        self.zero, self.one, self.minus_one = (self.rational(Fraction(k)) for k in (0, 1, -1))

    def add(self, kind: str, parts: Iterable[Node], *data: Any) -> Node:
        """Return the number of a node; a new one is added."""
        node = Made(kind, tuple(parts), data)
        spend(2 + len(node.parts))
        number = self._numbers.setdefault(node, len(self.nodes))
        if number == len(self.nodes):
            own = [~atom for form in data if isinstance(form, Form) for atom, _ in form.terms]
            places = set(own).union(*[self.untold[part] for part in node.parts])
            spend(len(places))
            self._parts += len(node.parts) + len(places)
            if self._parts > MOST_PARTS:
                raise Refused(f"functions and numbers of more than {MOST_PARTS} parts")
            self.nodes.append(node)
            self.discrete.append(self._on_integers(node))
            self.untold.append(tuple(sorted(places)))
        return number

    def _on_integers(self, node: Made) -> bool | None:
        if node.kind == "density":
            return bool(node.data[0].is_discrete)
        if node.kind in ("total", "excess", "sets"):
            return None
        kinds = {self.discrete[part] for part in node.parts}
        if node.kind == "mix":
            kinds.remove(None)
        if len(kinds) > 1:
            raise ValueError("functions of real and of integer variables, or numbers, are combined")
        return kinds.pop() if kinds else None

    def parts_of(self, number: Node) -> tuple[Node, ...]:
        """Return what a node is evaluated from; all have smaller numbers."""
        return self.via.get(number) or self.nodes[number].parts

    def needed(self, numbers: Iterable[Node]) -> dict[Node, tuple[Node, ...]]:
        """Return all nodes that some are evaluated from, each with its parts."""
        found: dict[Node, tuple[Node, ...]] = {}
        waiting = list(numbers)
        while waiting:
            number = waiting.pop()
            if number not in found:
                found[number] = self.parts_of(number)
                waiting += found[number]
        return found

    # --- functions ---------------------------------------------------------------------------

    def is_law(self, function: Node) -> bool:
        """Whether a function is the density of a law."""
        return self.nodes[function].kind == "density"

    def density(self, law: Law, factor: Fraction = Fraction(1), *form: Form) -> Node:
        """Return the density of a law, times a factor."""
        return self.add("density", (), law, factor, *form)

    def restrict(self, function: Node, lower: Fraction | None, upper: Fraction | None) -> Node:
        """Return f between two constants, ends included; where lower > upper it is 0."""
        node = self.nodes[function]
        if node.kind == "restrict":
            (function,) = node.parts
            lower, upper = both((lower, upper), node.data)
        if lower is None and upper is None:
            return function
        return self.add("restrict", [function], lower, upper)

    def mix(self, terms: Iterable[tuple[Node, Node]]) -> Node:
        """Return the sum of scalar * function over some terms; at least one."""
        found = self._collected_terms(self._joined(self._collected_terms(terms)))
        if len(found) == 1 and found[0][0] == self.one:
            return found[0][1]
        return self.add("mix", [part for term in found for part in term])

    def _collected_terms(self, terms: Iterable[tuple[Node, Node]]) -> list[tuple[Node, Node]]:
        collected: dict[Node, Node] = {}
        for scalar, function in terms:
            collected[function] = self.plus(collected.get(function, self.zero), scalar)
        return sorted((scalar, function) for function, scalar in collected.items())

    def _joined(self, terms: Iterable[tuple[Node, Node]]) -> Iterator[tuple[Node, Node]]:
        """Yield the same sum: f from a to b, and f from b to c, are f from a to c, but for b."""
        parts: dict[tuple[Node, Node], list[Bounds]] = {}
        for scalar, function in terms:
            node = self.nodes[function]
            if node.kind == "restrict" and not self.discrete[function]:
                parts.setdefault((scalar, node.parts[0]), []).append(node.data)
            else:
                yield scalar, function
        for (scalar, inner), own in parts.items():
            own.sort(key=lambda ends: (ends[0] is not None, ends[0] or 0))
            (first, last), *others = own
            for lower, upper in others:
                ascend = [end for end in (first, last, upper) if end is not None]
                if lower is not None and lower == last and ascend == sorted(ascend):
                    last = upper
                else:
                    yield scalar, self.restrict(inner, first, last)
                    first, last = lower, upper
            yield scalar, self.restrict(inner, first, last)

    def scaled(self, function: Node, factor: Fraction) -> Node:
        """Return factor * f, factor > 0."""
        if factor == 1:
            return function
        node = self.nodes[function]
        if node.kind == "density":
            law, size, *form = node.data
            return self.density(law, factor * size, *form)
        return self.mix([(self.rational(factor), function)])

    def running(self, function: Node, from_left: bool) -> Node:
        """Return the integral of f from the left end to t, or from t to the right end."""
        return self.add("running", [function], from_left)

    def combined(self, left: Node, p: int, right: Node, q: int) -> Node | None:
        """Return the density of p X + q Y, where f and g are those of X and Y; None: none of ours.

        With q Y = m + Z it is that of (p X + m) + Z. Z is what is easier to add: Gumbel noise last.
        """
        if self.discrete[left] and not abs(p) == abs(q) == 1:
            return None
        one, other = (
            self.scaled(self.moved(f, Fraction(1, k), Fraction(0)), Fraction(1, abs(k)))
            for f, k in ((left, p), (right, q))
        )
        known = [pair for pair in ((one, other), (other, one)) if self.is_law(pair[0])]
        if not known:
            return None
        ranks = {[*FAMILIES].index(self.nodes[own[0]].data[0].family): own for own in known[::-1]}
        density, other = ranks[min(ranks)]
        law, factor, *form = self.nodes[density].data
        centred = law.affine(Fraction(1), -law.mean)
        moved = self.moved(other, Fraction(1), -law.mean)
        return self.scaled(self.add("convolved", [moved], centred, *form), factor)

    def moved(self, function: Node, slope: Fraction, offset: Fraction) -> Node:
        """Return t -> f(slope * t + offset); on the integers slope is 1 or -1, offset whole.

        For f a density, |slope| * this is the density of (X - offset) / slope. Scalars stay.
        """
        if self.discrete[function] is None or (slope == 1 and offset == 0):
            return function
        whole = abs(slope) == 1 and offset.denominator == 1
        if slope == 0 or (self.discrete[function] and not whole):
            raise ValueError("no change of variables")
        key = function, slope, offset
        if key not in self._moved:
            kind, parts, data = self.nodes[function]
            inner = [self.moved(part, slope, offset) for part in parts]
            self._moved[key] = self._made(kind, inner, data, slope, offset)
        return self._moved[key]

    def _made(
        self, kind: str, inner: list[Node], data: Sequence[Any], slope: Fraction, offset: Fraction
    ) -> Node:
        forms = [each.scaled(1 / slope) for each in data if isinstance(each, Form)]
        match kind:
            case "density":
                # (X - offset) / slope has the density |slope| * f(slope * t + offset).
                law = data[0].affine(1 / slope, -offset / slope)
                return self.density(law, data[1] / abs(slope), *forms)
            case "restrict":
                ends = [None if end is None else (end - offset) / slope for end in data]
                return self.restrict(inner[0], *(ends if slope > 0 else ends[::-1]))
            case "running":
                # The integral of f up to slope * t + offset is that of |slope| * f(slope * s +
                # offset) over s, up to t or, where the slope is negative, from t on.
                return self.running(self.scaled(inner[0], abs(slope)), data[0] == (slope > 0))
            case "product":
                both = zip(inner, data, strict=True)
                return reduce(self.times, [part for part, count in both for _ in range(count)])
            case "mix":
                return self.mix(zip(inner[::2], inner[1::2], strict=True))
            case "convolved":
                # X + Y = slope * t + offset where (X - offset) / slope + Y / slope = t.
                return self.add("convolved", inner, data[0].affine(1 / slope, Fraction(0)), *forms)
            case _:
                return self.add(kind, inner, *data)

    def told(self, numbers: Iterable[Node], input: Sequence[Any]) -> dict[Node, Node]:
        """Return what nodes are with the values of an input in the place of what is not told."""
        sizes, keys, found = [*map(size_of, input)], dict[Node, Any](), dict[Node, Node]()
        waiting = [*numbers]
        while waiting:
            if (number := waiting.pop()) not in keys:
                places = self.untold[number]
                spend(2 + sum([sizes[place] for place in places]))
                keys[number] = key = number, tuple([input[place] for place in places])
                waiting += self.parts_of(number) if places and key not in self._told else ()
        for number, key in sorted(keys.items()):
            if key[1] and key not in self._told:
                spend(10)
                parts = [found[part] for part in self.parts_of(number)]
                self._told[key] = self._told_anew(number, parts, input)
            found[number] = self._told[key] if key[1] else number
        return found

    def _told_anew(self, number: Node, inner: list[Node], input: Sequence[Any]) -> Node:
        kind, _, data = self.nodes[number]
        if kind in ("product", "sum"):
            return (self.times if kind == "product" else self.plus)(*inner)
        terms = [term for form in data if isinstance(form, Form) for term in form.terms]
        offset = sum([input[~atom] * factor for atom, factor in terms], Fraction(0))
        moved = [self.moved(part, Fraction(1), offset) for part in inner]
        rest = [each for each in data if not isinstance(each, Form)]
        return self._made(kind, moved, rest, Fraction(1), offset)

    # --- scalars, and products of both -------------------------------------------------------

    def rational(self, value: Fraction) -> Node:
        """Return a number."""
        return self.add("rational", (), value)

    def total(self, function: Node) -> Node:
        """Return the integral of f over everything; that of a whole law is 1."""
        if self.is_law(function):
            return self.rational(self.nodes[function].data[1])
        return self.add("total", [function])

    def times(self, left: Node, right: Node) -> Node:
        """Return the product of two functions, or of two scalars."""
        if self.zero in (left, right):
            return self.zero
        if self.one in (left, right):
            return right if left == self.one else left
        return self._collected("product", left, right, Fraction.__mul__)

    def plus(self, left: Node, right: Node) -> Node:
        """Return the sum of two scalars."""
        if self.zero in (left, right):
            return right if left == self.zero else left
        return self._collected("sum", left, right, Fraction.__add__)

    def star(self, scalar: Node) -> Node:
        """Return the sum of all powers of a scalar."""
        return self.one if scalar == self.zero else self.add("star", [scalar])

    def _collected(self, kind: str, left: Node, right: Node, of_two: Callable[..., Any]) -> Node:
        """Return a product with powers, or a sum with multiples, of what two nodes are made of."""
        a, b = self.nodes[left], self.nodes[right]
        if a.kind == b.kind == "rational":
            return self.rational(of_two(a.data[0], b.data[0]))
        found: dict[Node, int] = {}
        for number, node in ((left, a), (right, b)):
            own = zip(node.parts, node.data, strict=True) if node.kind == kind else [(number, 1)]
            for part, count in own:
                found[part] = found.get(part, 0) + count
        parts = sorted(found)
        number = self.add(kind, parts, *[found[part] for part in parts])
        self.via.setdefault(number, (left, right))
        return number


def both(one: Bounds, other: Bounds) -> Bounds:
    """Return the bounds of what lies between these and those."""
    lows, highs = (
        [end for end in ends if end is not None] for ends in zip(one, other, strict=True)
    )
    return max(lows, default=None), min(highs, default=None)
