"""Bounds of delta on sets of pairs hold for the pairs in them, and maxima lie where they say."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dipapprox
from dipapprox.arithmetic.rounding import above, below
from dipapprox.language.core import Input, Norm, Within
from dipapprox.limits import Limits
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.pairs.boxes.bounds import FactorBounds, SetChoice, bound
from dipapprox.pairs.boxes.cells import PairSet, all_pairs, boxes
from dipapprox.pairs.boxes.models import Models, OutputModels
from dipapprox.pairs.boxes.polygons import (
    Direction,
    Polygon,
    clipped,
    cut,
    faces,
    middle,
    rectangle,
)
from dipapprox.pairs.boxes.vertices import vertex_pairs
from dipapprox.pairs.divergence import Factor, divergence, eps_prv_factor
from dipapprox.privacy.options import Options
from dipapprox.privacy.sources import open_probabilities
from dipapprox.semantics.execution import execute
from tests.texts import text_of
from tests.thorough import examples, part

F0, _HALF, F1 = Fraction(0), Fraction(1, 2), Fraction(1)

_SVT = text_of("boxes/bounds-1")

_BETWEEN = text_of("boxes/bounds-2")


_KEPT = _BETWEEN.replace("b - q[2] >= a", "b - q[2] >= 0").replace("c <= a", "b <= q[1]")
"""A sample between a number and inputs: no mean takes them all."""

_TEXTS = [
    _SVT,
    _BETWEEN,
    _SVT.replace("Gauss", "Lap"),
    _BETWEEN.replace("b <- Gauss", "b <- Lap"),
    _BETWEEN.replace("Gauss", "LapPlus"),
    _KEPT,
    _KEPT.replace("Gauss", "Lap"),
]


@cache
def _opened(text: str) -> tuple[OutputModels, OutputProbabilities]:
    states = execute(dipapprox.parse(text), True, Limits())
    source = open_probabilities(states, Fraction(1), Options())
    return OutputModels(states, Fraction(1), source, Limits()), source


def _delta(source: OutputProbabilities, pair: tuple[Input, Input], factor: Factor) -> Fraction:
    first, second = source.distributions(pair, 40)
    return divergence(first, second, factor).lower  # type: ignore[arg-type]


def _undecided(outputs: int) -> SetChoice:
    return SetChoice(np.zeros(outputs, dtype=np.bool_), np.zeros(outputs, dtype=np.bool_))


def _point(data: st.DataObject, polygon: Polygon) -> tuple[Fraction, Fraction]:
    weights = [data.draw(st.integers(0, 3)) for _ in polygon]
    weights[0] += 1
    total = sum(weights)
    return (
        sum((w * x for w, (x, _) in zip(weights, polygon, strict=True)), Fraction(0)) / total,
        sum((w * y for w, (_, y) in zip(weights, polygon, strict=True)), Fraction(0)) / total,
    )


@pytest.mark.parametrize("text", part(_TEXTS, 2))
@examples(4)
@given(data=st.data())
def test_bounds_hold_for_pairs(text: str, data: st.DataObject) -> None:
    models, source = _opened(text)
    program = dipapprox.parse(text)
    adjacency = data.draw(
        st.sampled_from([Within(Norm.LINF, Fraction(1)), Within(Norm.L1, Fraction(1))])
    )
    (pairs,) = all_pairs(program.inputs, adjacency)
    for _ in range(data.draw(st.integers(0, 8))):
        axis = data.draw(st.integers(0, 1))
        polygons = list(pairs.polygons)
        polygons[axis] = data.draw(st.sampled_from(cut(polygons[axis], *middle(polygons[axis]))))
        pairs = PairSet(tuple(polygons), pairs.first, pairs.second, pairs.budget)
    factor = eps_prv_factor(
        data.draw(st.sampled_from([Fraction(0), Fraction(1, 5), Fraction(1)])), 64
    )
    assert factor.upper is not None
    bounds = FactorBounds(below(factor.lower), above(factor.upper))

    def on(each: PairSet) -> float:
        first, second = (
            models.on(box, fixed)
            for box, fixed in zip(boxes(each), (each.first, each.second), strict=True)
        )
        found = bound(each, first, second, bounds, _undecided(models.outputs))
        parts.append(found.parts)
        return found.upper

    parts: list[tuple[tuple[Polygon, ...], ...]] = []
    if pairs.is_empty:
        return
    upper = on(pairs)
    whole = parts[0]
    faces = max(
        on(PairSet((a, b), pairs.first, pairs.second, pairs.budget))
        for a in whole[0]
        for b in whole[1]
    )
    for _ in range(4):
        corners = [_point(data, polygon) for polygon in pairs.polygons]
        if pairs.budget is not None and sum(abs(x - y) for x, y in corners) > pairs.budget:
            continue
        delta = _delta(source, pairs.pair(corners), factor)
        assert delta <= Fraction(upper)
        # The maximum lies on the faces: what bounds delta there bounds it everywhere.
        assert delta <= Fraction(faces)


def test_slopes_that_cancel_are_known_to_rounding_only() -> None:
    """Moving u and u' together, delta falls by less than the rounding of e times a slope."""
    e, slope = 1 + 2.0**-30, (1 + 2.0**-30) / 8
    rounded = e * slope
    assert Fraction(rounded) < Fraction(e) * Fraction(slope)

    def models(value: float, slope: float) -> Models:
        own = np.array([[slope], [-slope]])
        none, flat = np.zeros(2), np.zeros((2, 1, 1))
        return Models(np.array([value, 1 - value]), own, none, own, own, flat, none, none)

    band = ((F0, F0), (_HALF, F0), (F1, _HALF), (F1, F1), (_HALF, F1), (F0, _HALF))
    pairs = PairSet((band,), (None,), (None,), None)
    found = bound(
        pairs, models(0.9, rounded), models(0.1, slope), FactorBounds(e, e), _undecided(2)
    )
    (parts,) = found.parts
    assert ((_HALF, F0), (F1, _HALF)) in parts  # not its upper end alone


def test_slopes_are_bounded_where_a_box_has_no_width() -> None:
    """At q = (0, 1/2): against differences of probabilities on either side."""
    models, _ = _opened(_SVT)
    step = Fraction(1, 1000)
    own = models.on(((F0, F0), (_HALF, _HALF)), (None, None))
    for axis in range(2):
        ahead, back = [F0, _HALF], [F0, _HALF]
        ahead[axis] += step
        back[axis] -= step
        near = [
            models.on(tuple((q, q) for q in each), (None, None)).values for each in (ahead, back)
        ]
        slopes = (near[0] - near[1]) / float(2 * step)
        assert np.abs(slopes).max() > 0.01
        assert (own.lowest[:, axis] <= slopes + 1e-6).all()
        assert (slopes - 1e-6 <= own.highest[:, axis]).all()


_NUMBERS = st.fractions(-2, 2, max_denominator=8)


@st.composite
def _polygons(draw: st.DrawFn) -> Polygon:
    low, high = sorted((draw(_NUMBERS), draw(_NUMBERS)))
    polygon = rectangle(low, high)
    for a, b in ((1, -1), (-1, 1), (1, 0), (0, 1), (-1, 0), (0, -1)):
        part = clipped(polygon, a, b, draw(st.fractions(0, 3, max_denominator=4)))
        polygon = part or polygon
    return polygon


@given(_polygons(), st.integers(-3, 3), st.integers(-3, 3))
def test_maxima_of_linear_forms_lie_on_faces(polygon: Polygon, a: int, b: int) -> None:
    directions: list[Direction] = []
    for slope, direction in ((a, (1, 0)), (b, (0, 1)), (a + b, (1, 1))):
        if slope:
            sign = 1 if slope > 0 else -1
            directions.append((sign * direction[0], sign * direction[1]))
    parts = faces(polygon, directions)
    whole = {corner for part in parts for corner in part}
    assert whole <= set(polygon)
    best = max(a * x + b * y for x, y in polygon)
    assert any(a * x + b * y == best for x, y in whole)
    if a and b and a + b and len(polygon) > 2:
        assert len(parts) <= len(polygon)


PARTS = st.fractions(Fraction(1, 4), 3, max_denominator=4)


def program(weights: list[Fraction], widths: list[Fraction], radius: Fraction) -> str:
    names = [f"q{k}" for k in range(len(widths))]
    inputs = "\n".join(
        f"input {name} in real 0..{width}" for name, width in zip(names, widths, strict=True)
    )
    mean = " + ".join(f"{w} * {name}" for w, name in zip(weights, names, strict=True))
    return f"{inputs}\noutput y in real\nadjacent l1 {radius}\ny <- Gauss({mean}, 2 / eps)\n"


def largest(weights: list[Fraction], widths: list[Fraction], radius: Fraction) -> Fraction:
    """The radius is spent where it counts most (a fractional knapsack)."""
    found = Fraction(0)
    for weight, width in sorted(zip(weights, widths, strict=True), reverse=True):
        step = min(width, radius)
        found, radius = found + weight * step, radius - step
    return found


@given(st.lists(st.tuples(PARTS, PARTS), min_size=1, max_size=4), PARTS)
@example([(Fraction(1), Fraction(1)), (Fraction(1), Fraction(2))], Fraction(3))
def test_the_largest_change_is_among_vertices(
    parts: list[tuple[Fraction, Fraction]], radius: Fraction
) -> None:
    weights, widths = [list(each) for each in zip(*parts, strict=True)]
    states = execute(
        dipapprox.parse(program(weights, widths, radius)), True, Options().limits, real_outputs=True
    )
    changes = []
    for u, v in vertex_pairs(states):
        own = [Fraction(x) - Fraction(y) for x, y in zip(u, v, strict=True)]
        assert sum(map(abs, own)) <= radius
        assert all(abs(x) <= width for x, width in zip(own, widths, strict=True))
        changes.append(abs(sum(w * x for w, x in zip(weights, own, strict=True))))
    assert max(changes) == largest(weights, widths, radius)
