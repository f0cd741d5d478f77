"""Programs that publish numbers and nothing else: pairs of real inputs that stand for all.

If a program has one path, without any inequality or choice, and all it publishes is y = A X + B u +
c with Gaussian X, then δ of u, u' is a function of their difference t that does not fall as the
norm of B t + c - c' for the covariance of A X grows (Balle and Wang 2018, theorem 8). Only c may
depend on finite inputs: A, B and the laws of X must be the same in u and u'. For one number with
Laplace noise δ is a function of |B t + c - c'| that does not fall. Both are convex in t, so over a
polytope of differences the largest is at a vertex. For a box of differences a vertex has the least
or the greatest change of each real input; for a budget of changes inputs change by all their range
or not at all, but for one at most, which takes what is left of the budget. An input without bounds
whose changes a radius limits has the same differences in a range as wide as the radius.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from dipapprox.checking import pairs
from dipapprox.checking.boxes.sets import Pairs, Point, Polygon, Range, all_pairs, real_ranges
from dipapprox.checking.distributions import Distributions
from dipapprox.checking.paths import symbolic_paths
from dipapprox.checking.values import Stuck
from dipapprox.distributions import Family
from dipapprox.language.core import Norm, Program, Value, Within
from dipapprox.limits import Limits

_MOST_PAIRS = 20_000
_MOST_REAL = 12
_NOTHING = Fraction(0)


def vertex_pairs(derived: Distributions, limits: Limits) -> list[pairs.Pair]:
    """Return pairs of which one has the largest δ of all; see the module.

    Raises:
        Stuck: If the program does more than publish numbers, or there are too many pairs.
        LimitReached: If `limits` run out.
    """
    found: dict[pairs.Pair, None] = {}
    shapes: dict[tuple[Value | None, ...], _Shape] = {}
    for own in all_pairs(derived.program, _ranges(derived.program)):
        for row in (own.first, own.second):
            if row not in shapes:
                shapes[row] = _shape(derived, row, limits)
        if shapes[own.first] != shapes[own.second]:
            raise Stuck("finite inputs change how numbers depend on real ones, or their noise")
        for corners in _vertices(own):
            pair = own.with_polygons([(corner,) for corner in corners]).pair
            if pair is not None and pair[0] != pair[1]:
                found[pair] = None
        if len(found) > _MOST_PAIRS:
            raise Stuck(f"more than {_MOST_PAIRS} vertices")
    return list(found)


def _ranges(program: Program) -> list[Range | None]:
    """Return ranges with the differences of all values, where a radius limits these."""
    adjacency, found = program.adjacency, real_ranges(program)
    if not isinstance(adjacency, Within) or adjacency.norm is Norm.L0:
        return found
    return [(Fraction(0), adjacency.radius) if own is None else own for own in found]


_Shape = tuple[tuple[tuple[tuple[int, Fraction], ...], ...], tuple[tuple[Family, Fraction], ...]]
"""B and A, number by number, with samples by their order, and of each its family and scale."""


def _shape(derived: Distributions, row: Sequence[Value | None], limits: Limits) -> _Shape:
    """Return what u and u' must have in common.

    Raises:
        Stuck: If the theorems do not cover what is published.
    """
    found = list(symbolic_paths(derived.program, derived.eps, row, limits))
    if len(found) != 1 or found[0].lines or found[0].chances:
        raise Stuck("numbers beside inequalities or choices, and real inputs")
    (path,) = found
    inputs = sum(value is None for value in row)
    noise = {symbol for form in path.reals for symbol, _ in form.terms if symbol >= inputs}
    families = {path.laws[symbol].family for symbol in noise}
    alone = len(path.reals) == 1 and len(noise) == 1
    if families != {Family.GAUSSIAN} and not (alone and families == {Family.LAPLACE}):
        raise Stuck("real inputs in numbers whose noise is neither Gaussian nor one Laplace sample")
    terms = tuple(tuple(sorted(form.terms)) for form in path.reals)
    return terms, tuple((law.family, law.scale) for law in path.laws[inputs:])


def _vertices(own: Pairs) -> Iterator[Sequence[Point]]:
    if not own.is_tied or own.budget is None:
        yield from product(*map(_ends, own.polygons))
        return
    changes = [[x - y for x, y in _ends(polygon)] for polygon in own.polygons]
    widths = [max(each) for each in changes]
    if [min(each) for each in changes] != [-width for width in widths]:
        raise Stuck("a real input that changes farther in one direction than in the other")
    for sizes in _largest(widths, own.budget):
        for signs in product((1, -1), repeat=sum(size > 0 for size in sizes)):
            sign = iter(signs)
            moves = [next(sign) * size if size else size for size in sizes]
            yield [_moved(each, move) for each, move in zip(own.polygons, moves, strict=True)]


def _largest(widths: Sequence[Fraction], budget: Fraction) -> Iterator[list[Fraction]]:
    """Yield the vertices of all sizes up to `widths` whose sum is at most the budget.

    Only those where no size can grow with the others as they are: elsewhere some change is 0 that
    could as well be positive or negative. So a size is as large as its width, or 0, but for one
    that takes what is left.
    """
    if sum(widths) <= budget:
        yield list(widths)
        return
    if len(widths) > _MOST_REAL and min(widths) < budget:
        raise Stuck(f"more than {_MOST_REAL} real inputs with ranges smaller than the radius of l1")
    choices = product((False, True), repeat=len(widths)) if min(widths) < budget else [()]
    for chosen in choices:
        whole = chosen or (False,) * len(widths)
        full = [width if all_of else _NOTHING for width, all_of in zip(widths, whole, strict=True)]
        left = budget - sum(full)
        for place, width in enumerate(widths):
            if not whole[place] and 0 <= left <= width:
                yield [*full[:place], left, *full[place + 1 :]]


def _moved(polygon: Polygon, change: Fraction) -> Point:
    """Return a point of a polygon with a change, between equal values and its ends."""
    if not change:
        return polygon[0][0], polygon[0][0]
    toward = 1 if change > 0 else -1
    _, y = max(_ends(polygon), key=lambda end: (end[0] - end[1]) * toward)
    return y + change, y


def _ends(polygon: Polygon) -> tuple[Point, ...]:
    """Return corners with the least and the greatest change."""
    changes = [x - y for x, y in polygon]
    found = polygon[changes.index(min(changes))], polygon[changes.index(max(changes))]
    return tuple(dict.fromkeys(found))
