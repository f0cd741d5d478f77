"""Graphs of Laplace noise and choices, exactly: scalars as quotients of exponential polynomials.

The densities of Lap, LapPlus and LapMinus with the scale c / eps are, between their means, sums of
C(eps) * x^k * e^(b eps x) with rational b and quotients C; so are the masses of DLap on the
integers, in pieces between halves of odd integers. Such functions are closed under products,
restriction, and integration, or summation: with D f = f', or D f(x) = f(x + 1/2) - f(x - 1/2), a
function F with D F = f has F(q) - F(p) as the integral of f from p to q, or as the sum over the
integers between p and q. With m = k for b != 0, m = k + 1 for b = 0,

    D x^m e^(b eps x) = sum of d_i x^i e^(b eps x) over i <= k, d_k != 0 at every eps > 0,

which gives such an F for x^k e^(b eps x), one k after the other. At one eps any scale is c / eps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, comb, floor
from typing import Any

from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import NotProved, Refused, Refuted
from dipapprox.kernel.exponentials import Ratio, Sum, power
from dipapprox.kernel.laws import Law
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.signs import Signs

MOST_PIECES = 2_000
"""Of a function."""

MOST_WORK = 2_000_000
"""Products of two terms, in one evaluation."""

Piece = Mapping[tuple[int, Fraction], Ratio]
"""(k, b): C stands for C(eps) * x^k * e^(b eps x); terms add up, C != 0."""

_ZERO, _ONE, _HALF = Ratio(Sum(())), Ratio.constant(Fraction(1)), Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Pieces:
    """A function of one real variable, or of an integer.

    Attributes:
        points: Ascending; halves of odd integers if it is one of an integer.
        pieces: One more: up to the first point, between two points, from the last one on.
    """

    points: tuple[Fraction, ...]
    pieces: tuple[Piece, ...]


def exact_values(graph: Graph, scalars: Iterable[Node], signs: Signs) -> dict[Node, Ratio]:
    """Return scalars of a graph as functions of eps, where signs are known."""
    return _Evaluation(graph, signs).run(set(scalars))


class _Evaluation:
    def __init__(self, graph: Graph, signs: Signs) -> None:
        self._graph = graph
        self._signs = signs
        self._primitives: dict[tuple[int, Fraction, bool], Piece] = {}
        self._work = 0

    def run(self, wanted: set[Node]) -> dict[Node, Ratio]:
        values: dict[Node, Any] = {}
        for number, parts in sorted(self._graph.needed(wanted).items()):
            spend(10)
            values[number] = self._value(number, [values[part] for part in parts])
        return {number: values[number] for number in wanted}

    def _value(self, number: Node, known: list[Any]) -> Any:
        kind, made_of, data = self._graph.nodes[number]
        integers = any(self._graph.discrete[part] for part in (number, *made_of))
        match kind:
            case "density":
                return self._density(*data)
            case "restrict":
                return _restricted(known[0], data[0], data[1], integers)
            case "running":
                return self._running(known[0], data[0], integers)
            case "rise":
                return _sum(known[0], _times(known[1], _MINUS_ONE))
            case "convolved":
                return self._convolved(known[0], data[0], integers)
            case "total":
                parts = self._integrals(known[0], integers)
                return sum((_rise(low, high) for _, low, high in parts), _ZERO)
            case "mix":
                found = Pieces((), ({},))
                for scalar, function in zip(known[::2], known[1::2], strict=True):
                    found = _sum(found, _times(function, scalar))
                return found
            case "product" if self._graph.discrete[number] is not None:
                return self._product(*known)
            case "product":
                return known[0] * known[1]
            case "sum":
                return known[0] + known[1]
            case "rational":
                return Ratio.constant(*data)
            case "weight":
                return data[0]
            case "star":
                rest = _ONE + known[0].scaled(Fraction(-1))
                if not self._signs.tell(rest.numerator, positive=True):
                    raise NotProved("a loop that is not known to end")
                return rest.inverse()
        raise Refused(f"a {kind} without a closed form")

    def _density(self, law: Law, factor: Fraction) -> Pieces:
        if law.family not in _SIDES:
            raise Refused(f"the kernel has no closed form of {law.family} noise")
        scale = law.coefficient
        if law.power != -1:
            point = self._signs.epsilons.point
            if point is None:
                raise Refused("a closed form for every eps wants scales of the form a / eps")
            scale = law.scale(point) * point
        pieces: list[Piece] = []
        for share, sign in zip(_SIDES[law.family], (1, -1), strict=True):
            # The density is size * e^(rate eps x), and so is the mass.
            rate = Fraction(sign) / scale
            size = Ratio(Sum.of([((-rate * law.mean, 1), share * factor / scale)]))
            if law.is_discrete:
                step = Sum.exponential(-1 / scale)
                total = Ratio(_ONE.numerator + step).inverse()
                size = Ratio(Sum.of([((-rate * law.mean, 0), factor)])) * total
                size = size * Ratio(_ONE.numerator - step)
            pieces.append(_cleaned({(0, rate): size}))
        return Pieces((law.mean + _HALF if law.is_discrete else law.mean,), tuple(pieces))

    def _convolved(self, function: Pieces, law: Law, integers: bool) -> Pieces:
        """Integrals of f, tilted, up to t and from t on: one for each side of the law."""
        found = Pieces((), ({},))
        density = self._density(law, Fraction(1))
        for piece, from_left in zip(density.pieces, (False, True), strict=True):
            for (_, rate), size in piece.items():
                tilted = self._running(_tilted(function, -rate), from_left, integers)
                found = _sum(found, _times(_tilted(tilted, rate), size))
                if integers and from_left:
                    # Both sums count f(t) times the mass of 0.
                    found = _sum(found, _times(function, size * _MINUS_ONE))
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
            found.append(
                _added(
                    ((k + m, b + d), c * e)
                    for (k, b), c in one.items()
                    for (m, d), e in other.items()
                )
            )
        return Pieces(points, tuple(found))

    def _integrals(
        self, function: Pieces, integers: bool
    ) -> list[tuple[Piece, Ratio | None, Ratio | None]]:
        """Return a primitive of every piece, with its values at both ends; None: it has none."""
        points, found = function.points, []
        for number, piece in enumerate(function.pieces):
            primitive = self._primitive(piece, integers)
            # At infinity terms vanish, or do not converge.
            low = _ZERO if all(b > 0 for _, b in piece) else None
            high = _ZERO if all(b < 0 for _, b in piece) else None
            if number:
                low = _at(primitive, points[number - 1])
            if number < len(points):
                high = _at(primitive, points[number])
            found.append((primitive, low, high))
        return found

    def _running(self, function: Pieces, from_left: bool, integers: bool) -> Pieces:
        step = 1 if from_left else -1
        sign, parts = Fraction(step), self._integrals(function, integers)[::step]
        pieces: list[Piece] = []
        reached = _ZERO
        for primitive, *ends in parts:
            # `reached` is the integral over the pieces before; the primitive goes on from there.
            constant = reached + _rise(_ZERO, ends[::step][0]).scaled(-sign)
            running = [(key, c.scaled(sign)) for key, c in primitive.items()]
            found = _added([*running, ((0, Fraction(0)), constant)])
            # Sums up to t, which counts, end half a step behind it.
            pieces.append(_moved(found, sign * _HALF) if integers else found)
            if len(pieces) < len(parts):
                reached += _rise(*ends)
        return Pieces(function.points, tuple(pieces[::step]))

    def _primitive(self, piece: Piece, integers: bool) -> Piece:
        """F with D F = f, of the same form."""
        parts = ((self._primitive_of(k, b, integers), c) for (k, b), c in piece.items())
        return _added((key, c * d) for part, c in parts for key, d in part.items())

    def _primitive_of(self, k: int, b: Fraction, integers: bool) -> Piece:
        key = k, b, integers
        if key not in self._primitives:
            top = k if b else k + 1
            *less, leading = (_slope(top, i, b, integers) for i in range(k + 1))
            sign = Fraction(-1 if b < 0 else 1)
            found = [((top, b), _ONE)]
            for i, slope in enumerate(less):
                if slope.terms:
                    part = self._primitive_of(i, b, integers)
                    found += [(each, c * Ratio(slope) * _MINUS_ONE) for each, c in part.items()]
            inverse = Ratio(leading.scaled(sign)).inverse().scaled(sign)
            self._primitives[key] = _added((each, c * inverse) for each, c in found)
        return self._primitives[key]


def _rise(low: Ratio | None, high: Ratio | None) -> Ratio:
    if low is None or high is None:
        raise Refuted("an integral that does not converge")
    return high + low.scaled(Fraction(-1))


def _slope(top: int, i: int, b: Fraction, integers: bool) -> Sum:
    """d_i: how often x^i e^(b eps x) is in D x^top e^(b eps x)."""
    if not integers:
        if i == top:
            return Sum.of([((Fraction(0), 1), b)])
        return Sum.constant(Fraction(top if i == top - 1 else 0))
    # (x + 1/2)^top e^(b eps / 2) - (x - 1/2)^top e^(-b eps / 2).
    size = comb(top, i) * power(_HALF, top - i)
    return Sum.of([((b / 2, 0), size), ((-b / 2, 0), -size * (-1) ** (top - i))])


_MINUS_ONE = Ratio.constant(Fraction(-1))

_SIDES: Mapping[str, tuple[Fraction, Fraction]] = {
    "Lap": (_HALF, _HALF),
    "LapPlus": (Fraction(0), Fraction(1)),
    "LapMinus": (Fraction(1), Fraction(0)),
    "DLap": (_HALF, _HALF),
}
"""How much of the mass is to the left and to the right of the mean."""


def _added(terms: Iterable[tuple[tuple[int, Fraction], Ratio]]) -> Piece:
    found: dict[tuple[int, Fraction], Ratio] = {}
    for key, c in terms:
        found[key] = found[key] + c if key in found else c
    return _cleaned(found)


def _cleaned(piece: Piece) -> Piece:
    return {key: c for key, c in piece.items() if not c.numerator.is_zero()}


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
    pairs = zip(_on(left, points), _on(right, points), strict=True)
    return Pieces(points, tuple(_added([*one.items(), *other.items()]) for one, other in pairs))


def _times(function: Pieces, factor: Ratio) -> Pieces:
    found = [_cleaned({key: c * factor for key, c in own.items()}) for own in function.pieces]
    return Pieces(function.points, tuple(found))


def _tilted(function: Pieces, rate: Fraction) -> Pieces:
    """f times e^(rate eps x)."""
    found = [{(k, b + rate): c for (k, b), c in piece.items()} for piece in function.pieces]
    return Pieces(function.points, tuple(found))


def _restricted(
    function: Pieces, lower: Fraction | None, upper: Fraction | None, integers: bool
) -> Pieces:
    if integers:
        lower = None if lower is None else ceil(lower) - _HALF
        upper = None if upper is None else floor(upper) + _HALF
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


def _moved(piece: Piece, shift: Fraction) -> Piece:
    """x -> f(x + shift)."""
    return _added(
        ((i, b), c * Ratio(Sum.of([((b * shift, 0), comb(k, i) * power(shift, k - i))])))
        for (k, b), c in piece.items()
        for i in range(k + 1)
    )


def _at(piece: Piece, point: Fraction) -> Ratio:
    """The value at a rational number."""
    values = (c * Ratio(Sum.of([((b * point, 0), power(point, k))])) for (k, b), c in piece.items())
    return sum(values, _ZERO)
