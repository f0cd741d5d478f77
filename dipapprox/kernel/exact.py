"""Graphs of Laplace noise and choices, exactly: scalars as quotients of exponential polynomials.

The densities of Lap, LapPlus and LapMinus with the scale c / eps are, between their means,
sums of C(eps) * x^k * e^(b eps x) with rational b and exponential polynomials C. Such functions,
in pieces between rational points, are closed under products, restriction and integration:

    int x^k e^(b eps x) dx = e^(b eps x) sum_j (-1)^j k! / (k - j)! x^(k - j) / (b eps)^(j + 1)

for b != 0, and x^(k + 1) / (k + 1) for b = 0. At one eps any scale is c / eps with a rational c.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import factorial

from dipapprox.kernel.errors import NotProved, Refused, Refuted
from dipapprox.kernel.exponentials import Ratio, Sum, power
from dipapprox.kernel.laws import Law
from dipapprox.kernel.nodes import Graph, Node

MOST_PIECES = 2_000
"""Of a function."""

MOST_WORK = 2_000_000
"""Products of two terms, in one evaluation."""

Piece = Mapping[tuple[int, Fraction], Sum]
"""(k, b): C stands for C(eps) * x^k * e^(b eps x); terms add up, C != 0."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """A function of one real variable.

    Attributes:
        points: Ascending.
        pieces: One more: up to the first point, between two points, from the last one on.
    """

    points: tuple[Fraction, ...]
    pieces: tuple[Piece, ...]


def exact_values(
    graph: Graph, scalars: Iterable[Node], eps: Fraction | None, ask: Callable[[], None]
) -> dict[Node, Ratio]:
    """Return scalars of a graph as functions of eps.

    Args:
        graph: The graph.
        scalars: Nodes.
        eps: Where the functions are to hold; None: for every eps > 0.
        ask: Called all the time; what it raises ends the evaluation.

    Raises:
        Refused: If some law has no closed form here, or there are too many terms.
    """
    return _Evaluation(graph, eps, ask).run(set(scalars))


class _Evaluation:
    def __init__(self, graph: Graph, eps: Fraction | None, ask: Callable[[], None]) -> None:
        self._graph = graph
        self._eps = eps
        self._ask = ask
        self._functions: dict[Node, Pieces] = {}
        self._scalars: dict[Node, Ratio] = {}
        self._work = 0

    def run(self, wanted: set[Node]) -> dict[Node, Ratio]:
        for number in sorted(self._graph.needed(wanted)):
            self._ask()
            if self._graph.discrete[number] is None:
                self._scalars[number] = self._scalar(number)
            else:
                self._functions[number] = self._function(number)
        return {number: self._scalars[number] for number in wanted}

    def _scalar(self, number: Node) -> Ratio:
        known = self._scalars
        match self._graph.nodes[number]:
            case "rational", _, (value,):
                return Ratio.constant(value)
            case "weight", _, (Ratio() as value,):
                return value
            case "total", (function,), _:
                pieces = self._functions[function]
                numbers = range(len(pieces.pieces))
                total = sum((self._total(pieces, number) for number in numbers), Sum(()))
                return Ratio(total, Sum.constant(Fraction(1)))
            case "product", _, _:
                left, right = self._graph.via[number]
                return known[left] * known[right]
            case "sum", _, _:
                left, right = self._graph.via[number]
                return known[left] + known[right]
            case "star", (again,), _:
                rest = Ratio.constant(Fraction(1)) + known[again] * Ratio.constant(Fraction(-1))
                if self._eps is None:
                    raise Refused("a closed form of loops for every eps")
                if rest.sign(self._eps) <= 0:
                    raise NotProved("a loop that is not known to end")
                return rest.inverse()
        raise Refused("a number without a closed form")

    def _function(self, number: Node) -> Pieces:
        known = self._functions
        match self._graph.nodes[number]:
            case "density", _, (law, factor):
                return self._density(law, factor)
            case "restrict", (function,), (lower, upper):
                return _restricted(known[function], lower, upper)
            case "running", (function,), (from_left,):
                return self._running(known[function], from_left)
            case "rise", (upper_node, lower_node), _:
                return _sum(known[upper_node], _times(known[lower_node], Fraction(-1)))
            case "product", _, _:
                left, right = self._graph.via[number]
                return self._product(known[left], known[right])
            case "mix", parts, _:
                found = Pieces((), ({},))
                for scalar, function in zip(parts[::2], parts[1::2], strict=True):
                    weight = self._scalars[scalar]
                    if weight.denominator != Sum.constant(Fraction(1)):
                        raise Refused("a sum of functions whose weights are quotients")
                    constant = Pieces((), ({(0, Fraction(0)): weight.numerator},))
                    found = _sum(found, self._product(constant, known[function]))
                return found
            case "convolved", (function,), (law,):
                return self._convolved(known[function], law)
        raise Refused("a function without a closed form")

    def _density(self, law: Law, factor: Fraction) -> Pieces:
        if law.family not in _SIDES:
            raise Refused(f"the kernel has no closed form of {law.family} noise")
        scale = law.coefficient
        if law.power != -1:
            if self._eps is None:
                raise Refused("a closed form for every eps wants scales of the form a / eps")
            scale = law.scale(self._eps) * self._eps
        pieces: list[Piece] = []
        for share, sign in zip(_SIDES[law.family], (1, -1), strict=True):
            if not share:
                pieces.append({})
                continue
            # The density is size * e^(rate eps x).
            rate = Fraction(sign) / scale
            size = Sum.of([((-rate * law.mean, 1), share * factor / scale)])
            pieces.append({(0, rate): size})
        return Pieces((law.mean,), tuple(pieces))

    def _convolved(self, function: Pieces, law: Law) -> Pieces:
        """Integrals of f, tilted, up to t and from t on: one for each side of the law."""
        found = Pieces((), ({},))
        for piece, from_left in zip(
            self._density(law, Fraction(1)).pieces, (False, True), strict=True
        ):
            for (_, rate), size in piece.items():
                tilt = Pieces((), ({(0, -rate): size},))
                back = Pieces((), ({(0, rate): Sum.constant(Fraction(1))},))
                tilted = self._running(self._product(function, tilt), from_left)
                found = _sum(found, self._product(back, tilted))
        return found

    def _product(self, left: Pieces, right: Pieces) -> Pieces:
        points = tuple(sorted({*left.points, *right.points}))
        if len(points) > MOST_PIECES:
            raise Refused(f"a function in more than {MOST_PIECES} pieces")
        found = []
        for one, other in zip(_on(left, points), _on(right, points), strict=True):
            self._work += len(one) * len(other)
            if self._work > MOST_WORK:
                raise Refused(f"more than {MOST_WORK} products of terms")
            piece: dict[tuple[int, Fraction], Sum] = {}
            for (k, b), c in one.items():
                for (m, d), e in other.items():
                    key = k + m, b + d
                    term = c * e
                    piece[key] = piece[key] + term if key in piece else term
            found.append(_cleaned(piece))
        return Pieces(points, tuple(found))

    def _total(self, function: Pieces, number: int) -> Sum:
        """The integral over a piece.

        Raises:
            Refuted: If it does not converge.
        """
        piece, points = function.pieces[number], function.points
        primitive = _primitive(piece)
        total = Sum(())
        if number < len(points):
            total += _at(primitive, points[number])
        elif any(b >= 0 for _, b in piece):
            raise Refuted("an integral up to infinity that does not converge")
        if number:
            total -= _at(primitive, points[number - 1])
        elif any(b <= 0 for _, b in piece):
            raise Refuted("an integral from -infinity that does not converge")
        return total

    def _running(self, function: Pieces, from_left: bool) -> Pieces:
        points, last = function.points, len(function.points)
        sign = Fraction(1 if from_left else -1)
        pieces: list[Piece] = [{}] * (last + 1)
        reached = Sum(())
        for number in range(last + 1) if from_left else reversed(range(last + 1)):
            piece = function.pieces[number]
            primitive = _primitive(piece)
            start = number - from_left
            # `reached` is the integral over the pieces before; the primitive goes on from there.
            constant = reached
            if 0 <= start < last:
                constant -= _at(primitive, points[start]).scaled(sign)
            elif any(b * sign <= 0 for _, b in piece):
                raise Refuted("an integral from infinity that does not converge")
            running = {key: c.scaled(sign) for key, c in primitive.items()}
            key = 0, Fraction(0)
            running[key] = running[key] + constant if key in running else constant
            pieces[number] = _cleaned(running)
            if number != (last if from_left else 0):
                reached += self._total(function, number)
        return Pieces(points, tuple(pieces))


_SIDES: Mapping[str, tuple[Fraction, Fraction]] = {
    "Lap": (Fraction(1, 2), Fraction(1, 2)),
    "LapPlus": (Fraction(0), Fraction(1)),
    "LapMinus": (Fraction(1), Fraction(0)),
}
"""How much of the mass is to the left and to the right of the mean."""


def _cleaned(piece: Piece) -> Piece:
    return {key: c for key, c in piece.items() if not c.is_zero()}


def _on(function: Pieces, points: tuple[Fraction, ...]) -> list[Piece]:
    """The pieces of a function between more points; its own are among them."""
    found, own = [], 0
    for number in range(len(points) + 1):
        found.append(function.pieces[own])
        if number < len(points) and own < len(function.points):
            own += points[number] == function.points[own]
    return found


def _sum(left: Pieces, right: Pieces) -> Pieces:
    points = tuple(sorted({*left.points, *right.points}))
    found = []
    for one, other in zip(_on(left, points), _on(right, points), strict=True):
        piece = dict(one)
        for key, c in other.items():
            piece[key] = piece[key] + c if key in piece else c
        found.append(_cleaned(piece))
    return Pieces(points, tuple(found))


def _times(function: Pieces, factor: Fraction) -> Pieces:
    return Pieces(
        function.points,
        tuple([{key: c.scaled(factor) for key, c in piece.items()} for piece in function.pieces]),
    )


def _restricted(function: Pieces, lower: Fraction | None, upper: Fraction | None) -> Pieces:
    if lower is not None and upper is not None and lower >= upper:
        return Pieces((), ({},))
    ends = {end for end in (lower, upper) if end is not None}
    points = tuple(sorted({*function.points, *ends}))
    pieces = _on(function, points)
    for number in range(len(pieces)):
        before = number and lower is not None and points[number - 1] >= lower
        after = number < len(points) and upper is not None and points[number] <= upper
        if not ((lower is None or before) and (upper is None or after)):
            pieces[number] = {}
    return Pieces(points, tuple(pieces))


def _primitive(piece: Piece) -> Piece:
    """An antiderivative, of the same form."""
    found: dict[tuple[int, Fraction], Sum] = {}
    for (k, b), c in piece.items():
        if not b:
            parts = [(k + 1, c.scaled(Fraction(1, k + 1)))]
        else:
            parts = []
            for j in range(k + 1):
                factor = factorial(k) // factorial(k - j) / power(-b, j + 1)
                # eps is divided by: its powers may be below 0.
                parts.append((k - j, c * Sum.of([((Fraction(0), -j - 1), -factor)])))
        for exponent, term in parts:
            key = exponent, b
            found[key] = found[key] + term if key in found else term
    return _cleaned(found)


def _at(piece: Piece, point: Fraction) -> Sum:
    """The value at a rational number."""
    found = Sum(())
    for (k, b), c in piece.items():
        found += c * Sum.of([((b * point, 0), power(point, k))])
    return found
