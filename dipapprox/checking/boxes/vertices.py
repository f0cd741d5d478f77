"""Programs that publish numbers and nothing else: pairs of real inputs that stand for all.

If a program has one path, without any inequality or choice, and all it publishes is y = A X + B u +
c with Gaussian X, then δ of u, u' is a function of their difference t that does not fall as the
norm of B t + c - c' for the covariance of A X grows (Balle and Wang 2018, theorem 8). Only c may
depend on finite inputs: A, B and the laws of X must be the same in u and u'. For one number with
Laplace noise δ is a function of |B t + c - c'| that does not fall. Both are convex in t, so over a
polytope of differences the largest is at a vertex. For a box of differences a vertex has the least
or the greatest change of each real input; for a budget of changes that no input's range limits, all
of the budget is one input's change. An input without bounds whose changes a radius limits has the
same differences in a range as wide as the radius.
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
    for place, polygon in enumerate(own.polygons):
        still: list[Point] = [(each[0][0], each[0][0]) for each in own.polygons]
        for x, y in _ends(polygon):
            if abs(x - y) < own.budget:
                raise Stuck("a real input with a range smaller than the radius of l1")
            step = own.budget if x > y else -own.budget
            yield [*still[:place], (y + step, y), *still[place + 1 :]]


def _ends(polygon: Polygon) -> tuple[Point, ...]:
    """Return corners with the least and the greatest change."""
    changes = [x - y for x, y in polygon]
    found = polygon[changes.index(min(changes))], polygon[changes.index(max(changes))]
    return tuple(dict.fromkeys(found))
