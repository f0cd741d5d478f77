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

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, comb, floor
from operator import mul
from typing import Any

from dipapprox.kernel.errors import NotProved, Refused, Refuted, spend
from dipapprox.kernel.exponentials import Ratio, Sum, power, total
from dipapprox.kernel.laws import FAMILIES, Law
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.signs import Signs

Piece = Mapping[tuple[int, Fraction], Ratio]
"""(k, b): C stands for C(eps) * x^k * e^(b eps x); terms add up, C != 0."""

_ZERO, _ONE, _HALF = Ratio.constant(0), Ratio.constant(1), Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Pieces:
    """A function of one real variable, or of an integer."""

    points: tuple[Fraction, ...]  # ascending; halves of odd integers if it is one of an integer
    # One more: up to the first point, between two points, from the last one on.
    pieces: tuple[Piece, ...]

    @classmethod
    def term(cls, c: Ratio, rate: Fraction = Fraction(0)) -> Pieces:
        """Return C(eps) * e^(rate eps x)."""
        return cls((), (_collected([((0, rate), c)]),))

    def __add__(self, other: Pieces) -> Pieces:
        return self._with(other, lambda ours, theirs: _collected([*ours.items(), *theirs.items()]))

    def __mul__(self, other: Pieces) -> Pieces:
        return self._with(
            other,
            lambda ours, theirs: _collected(
                ((k + m, b + d), c * e)
                for (k, b), c in ours.items()
                for (m, d), e in theirs.items()
            ),
        )

    def _with(self, other: Pieces, of_two: Callable[[Piece, Piece], Piece]) -> Pieces:
        points = tuple(sorted({*self.points, *other.points}))
        spend(20 * len(points))
        pieces = [of_two(self.pieces[0], other.pieces[0])]
        for point in points:
            both = (each.pieces[bisect_right(each.points, point)] for each in (self, other))
            pieces.append(of_two(*both))
        return Pieces(points, tuple(pieces))

    def restrict(self, lower: Fraction | None, upper: Fraction | None, integers: bool) -> Pieces:
        """Return f between two numbers, 0 elsewhere."""
        if integers:
            lower = None if lower is None else ceil(lower) - _HALF
            upper = None if upper is None else floor(upper) + _HALF
        if lower is not None and upper is not None and lower >= upper:
            return Pieces((), ({},))
        one: Piece = {(0, Fraction(0)): _ONE}
        inside = [*[{}] * (lower is not None), one, *[{}] * (upper is not None)]
        ends = [end for end in (lower, upper) if end is not None]
        window = Pieces(tuple(ends), tuple(inside))
        return self._with(window, lambda ours, theirs: ours if theirs else {})

    def integrals(self, integers: bool) -> list[tuple[Piece, Ratio | None, Ratio | None]]:
        """Return a primitive of every piece, with its values at both ends; None: it has none."""
        points, found = self.points, []
        for number, piece in enumerate(self.pieces):
            primitive = _primitive(piece, integers)
            # At infinity terms vanish, or do not converge.
            low = _ZERO if all(b > 0 for _, b in piece) else None
            high = _ZERO if all(b < 0 for _, b in piece) else None
            if number:
                low = _at(primitive, points[number - 1])
            if number < len(points):
                high = _at(primitive, points[number])
            found.append((primitive, low, high))
        return found

    def running(self, from_left: bool, integers: bool) -> Pieces:
        """Return the integral, or the sum, up to x, or from x on."""
        step = 1 if from_left else -1
        parts, pieces, reached = self.integrals(integers)[::step], list[Piece](), _ZERO
        for primitive, *ends in parts:
            # `reached` is the integral over the pieces before; the primitive goes on from there.
            constant = reached + _rise(_ZERO, ends[::step][0]).scaled(-step)
            running = [(key, c.scaled(step)) for key, c in primitive.items()]
            found = _collected([*running, ((0, Fraction(0)), constant)])
            # Sums up to x, which counts, end half a step behind it.
            pieces.append(_moved(found, step * _HALF) if integers else found)
            if len(pieces) < len(parts):
                reached += _rise(*ends)
        return Pieces(self.points, tuple(pieces[::step]))


def exact_values(graph: Graph, scalars: Iterable[Node], signs: Signs) -> dict[Node, Ratio]:
    """Return scalars of a graph as functions of eps, where signs are known."""
    values: dict[Node, Any] = {}
    wanted = set(scalars)
    for number, parts in sorted(graph.needed(wanted).items()):
        spend(10)
        values[number] = _value(graph, number, [values[part] for part in parts], signs)
    return {number: values[number] for number in wanted}


def _value(graph: Graph, number: Node, known: list[Any], signs: Signs) -> Any:
    kind, made_of, data = graph.nodes[number]
    integers = any(graph.discrete[part] for part in (number, *made_of))
    match kind:
        case "density":
            return _density(data[0], data[1], signs)
        case "restrict" | "running":
            return getattr(known[0], kind)(*data, integers)
        case "rise":
            return known[0] + known[1] * Pieces.term(_ONE.scaled(-1))
        case "convolved":
            return _convolved(known[0], data[0], integers, signs)
        case "total":
            parts = known[0].integrals(integers)
            return total(_rise(low, high) for _, low, high in parts)
        case "mix":
            terms = zip(known[::2], known[1::2], strict=True)
            return sum((f * Pieces.term(scalar) for scalar, f in terms), Pieces.term(_ZERO))
        case "product":
            return known[0] * known[1]
        case "sum":
            return known[0] + known[1]
        case "rational":
            return Ratio.constant(*data)
        case "weight":
            return data[0]
        case "star":
            rest = _ONE - known[0]
            if not signs.tell(rest.numerator, positive=True):
                raise NotProved("a loop that is not known to end")
            return rest.inverse()
    raise Refused(f"a {kind} without a closed form")


def _density(law: Law, factor: Fraction, signs: Signs) -> Pieces:
    family = FAMILIES[law.family]
    if not family.is_exponential:
        raise Refused(f"there is no closed form of {law.family} noise")
    scale, point = law.coefficient, signs.epsilons.point
    if law.power != -1:
        if point is None:
            raise Refused("a closed form for every eps wants scales of the form a / eps")
        scale = law.scale(point) * point
    pieces: list[Piece] = []
    for side in (-1, 1):
        # The density is size * e^(rate eps x), and so is the mass.
        rate, share = -side / scale, Fraction(side in family.sides, len(family.sides))
        size = Ratio(Sum.of([((-rate * law.mean, 1), share * factor / scale)]))
        if law.is_discrete:
            step = Ratio(Sum.exponential(-1 / scale))
            size = Ratio(Sum.of([((-rate * law.mean, 0), factor)]))
            size = size * (_ONE - step) * (_ONE + step).inverse()
        pieces.append(_collected([((0, rate), size)]))
    return Pieces((law.mean + _HALF if law.is_discrete else law.mean,), tuple(pieces))


def _convolved(function: Pieces, law: Law, integers: bool, signs: Signs) -> Pieces:
    """Integrals of f, tilted, up to t and from t on: one for each side of the law."""
    found, density = Pieces.term(_ZERO), _density(law, Fraction(1), signs)
    for piece, from_left in zip(density.pieces, (False, True), strict=True):
        for (_, rate), size in piece.items():
            tilted = (function * Pieces.term(_ONE, -rate)).running(from_left, integers)
            found = found + tilted * Pieces.term(size, rate)
            if integers and from_left:
                # Both sums count f(t) times the mass of 0.
                found = found + function * Pieces.term(size.scaled(-1))
    return found


def _collected(terms: Iterable[tuple[tuple[int, Fraction], Ratio]]) -> Piece:
    found: dict[tuple[int, Fraction], list[Ratio]] = {}
    for key, c in terms:
        found.setdefault(key, []).append(c)
    sums = {key: total(own) for key, own in found.items()}
    return {key: c for key, c in sums.items() if not c.numerator.is_zero()}


def _rise(low: Ratio | None, high: Ratio | None) -> Ratio:
    if low is None or high is None:
        raise Refuted("an integral that does not converge")
    return high - low


def _primitive(piece: Piece, integers: bool) -> Piece:
    """F with D F = f, of the same form."""
    found = ((c, _primitive_of(k, b, integers)) for (k, b), c in piece.items())
    return _collected((key, c * d) for c, own in found for key, d in own.items())


@lru_cache(1 << 12)
def _primitive_of(k: int, b: Fraction, integers: bool) -> Piece:
    """That of x^k e^(b eps x)."""
    top = k if b else k + 1
    *less, leading = (_slope(top, i, b, integers) for i in range(k + 1))
    sign = -1 if b < 0 else 1
    inverse = Ratio(leading.scaled(sign)).inverse().scaled(sign)
    found = [((top, b), inverse)]
    for i, slope in enumerate(less):
        if slope.terms:
            factor = Ratio(slope).scaled(-1) * inverse
            own = _primitive_of(i, b, integers).items()
            found += [(each, c * factor) for each, c in own]
    return _collected(found)


def _slope(top: int, i: int, b: Fraction, integers: bool) -> Sum:
    """d_i: how often x^i e^(b eps x) is in D x^top e^(b eps x)."""
    if not integers:
        if i == top:
            return Sum.of([((Fraction(0), 1), b)])
        return Sum.constant(top if i == top - 1 else 0)
    # (x + 1/2)^top e^(b eps / 2) - (x - 1/2)^top e^(-b eps / 2).
    size = comb(top, i) * power(_HALF, top - i)
    return Sum.of([((b / 2, 0), size), ((-b / 2, 0), -size * (-1) ** (top - i))])


def _moved(piece: Piece, shift: Fraction) -> Piece:
    """x -> f(x + shift)."""
    return _collected(
        ((i, b), c * Ratio(Sum.of([((b * shift, 0), comb(k, i) * power(shift, k - i))])))
        for (k, b), c in piece.items()
        for i in range(k + 1)
    )


def _at(piece: Piece, point: Fraction) -> Ratio:
    """The value at a rational number."""
    values = (Ratio(Sum.of([((b * point, 0), power(point, k))])) for k, b in piece)
    return total(map(mul, piece.values(), values))
