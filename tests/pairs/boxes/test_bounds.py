"""Bounds of delta on sets of pairs, what guards leave out, and pairs that need most."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, expm1, log, log1p

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import log_ndtr

import dipapprox
from dipapprox import Options
from dipapprox.arithmetic.rounding import above, below
from dipapprox.language.core import Input, Norm, Within
from dipapprox.language.domains import AllReals
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.pairs.boxes.bounds import FactorBounds, SetChoice, bound
from dipapprox.pairs.boxes.cells import (
    Direction,
    PairSet,
    Polygon,
    X,
    Y,
    all_pairs,
    boxes,
    clipped,
    extent,
    faces,
    rectangle,
)
from dipapprox.pairs.boxes.models import Models, OutputModels
from dipapprox.pairs.boxes.movement import with_ends
from dipapprox.pairs.boxes.search import BoxSearchResult
from dipapprox.pairs.boxes.together import (
    LEMMAS,
    OUTPUTS,
    SYMMETRY,
    TRANSLATIONS,
    RealPairs,
    lowest,
)
from dipapprox.pairs.boxes.vertices import dearest_pairs, vertex_pairs
from dipapprox.pairs.divergence import Factor, divergence, eps_prv_factor
from dipapprox.pairs.selections import Pair
from dipapprox.privacy.subjects import open_probabilities
from dipapprox.semantics.execution import execute
from dipapprox.semantics.real_inputs import execute_for_declared
from tests.cases import cases, check_answers, evaluated, examples, part, template_of, text_of

F0, _HALF, F1 = Fraction(0), Fraction(1, 2), Fraction(1)

_SVT = text_of("boxes/bounds-1")
_BETWEEN = text_of("boxes/bounds-2")


_KEPT = _BETWEEN.replace("b - q[2] >= a", "b - q[2] >= 0").replace("c <= a", "b <= q[1]")
"""A sample between a number and inputs: no mean takes them all."""

_AMONG = template_of("bounds-among")
"""Laplace noise alone among others: all are compared with each other."""

_TEXTS = [
    _AMONG,
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
    states = execute(dipapprox.parse(text), True)
    source = open_probabilities(states, Fraction(1), Options())
    return OutputModels(states, Fraction(1), source), source


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


def test_laplace_noise_that_others_are_compared_with_does_not_move() -> None:
    assert _opened(_AMONG)[0].forms == "polynomials"
    for far in ("t + 1", "1"):  # what is compared with a number has a kink there
        models, _ = _opened(_AMONG.replace("x > t", f"x > {far}").replace("y > t + 1", "x > t"))
        assert ("chords" in models.forms) == (far == "1")


@pytest.mark.parametrize("text", part(_TEXTS, 4))
@examples(2)
@given(data=st.data())
def test_bounds_hold_for_pairs(text, data) -> None:
    models, source = _opened(text)
    program = dipapprox.parse(text)
    adjacency = data.draw(
        st.sampled_from([Within(Norm.LINF, Fraction(1)), Within(Norm.L1, Fraction(1))])
    )
    (pairs,) = all_pairs(program.inputs, adjacency)
    for _ in range(data.draw(st.integers(0, 8))):
        axis = data.draw(st.integers(0, 1))
        pairs = data.draw(st.sampled_from(list(pairs.halves(axis))))
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
        most = np.array([value, 1 - value]) + abs(own).sum(axis=1)
        return Models(np.array([value, 1 - value]), own, none, own, own, flat, none, none, most)

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
def test_maxima_of_linear_forms_lie_on_faces(polygon, a, b) -> None:
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
def test_the_largest_change_is_among_vertices(parts, radius) -> None:
    weights, widths = [list(each) for each in zip(*parts, strict=True)]
    states = execute(dipapprox.parse(program(weights, widths, radius)), True, real_outputs=True)
    changes = []
    for u, v in vertex_pairs(states):
        own = [Fraction(x) - Fraction(y) for x, y in zip(u, v, strict=True)]
        assert sum(map(abs, own)) <= radius
        assert all(abs(x) <= width for x, width in zip(own, widths, strict=True))
        changes.append(abs(sum(w * x for w, x in zip(weights, own, strict=True))))
    assert max(changes) == largest(weights, widths, radius)


# --- What is left out for what guards say ---------------------------------------------------------

_TENTH = Fraction(1, 10)


_MAX = template_of("bounds-max")


_MIXED = text_of("boxes/bounds-mixed")
"""The sign in q[2] is known for some sets of outputs only."""


def _found(text: str, eps_prv: Fraction, lemmas: frozenset[str]) -> tuple[BoxSearchResult, str]:
    states = execute(elaborate(parse(text), {}, "x"), True)
    bulk = open_probabilities(states, Fraction(1), Options())
    real = RealPairs(states, Fraction(1), bulk, lemmas=lemmas)
    real.at(eps_prv_factor(eps_prv, 64), 40)
    assert real.known is not None
    return real.known, real.name


@pytest.mark.parametrize(
    ("text", "eps_prv", "lemmas"),
    part(
        [
            (_MAX.format(n=3, width=1, noise="Gauss", rule="linf 1"), _TENTH, {OUTPUTS, SYMMETRY}),
            (_MIXED, Fraction(1, 2), {OUTPUTS}),
            (_MAX.format(n=2, width=4, noise="Gauss", rule="linf 1"), _TENTH, {TRANSLATIONS}),
            (text_of("boxes/lemmas-1").replace("Gauss", "Lap"), _TENTH, {OUTPUTS}),
        ],
        2,
    ),
)
def test_lemmas_are_shortcuts_only(text, eps_prv, lemmas) -> None:
    plain, words = _found(text, eps_prv, frozenset())
    own, own_words = _found(text, eps_prv, frozenset(lemmas))
    every, _ = _found(text, eps_prv, LEMMAS)
    assert all(lemma in own_words and lemma not in words for lemma in lemmas)
    assert own.sets < 0.8 * plain.sets
    assert every.sets < plain.sets
    for each in (own, every):
        assert each.delta.meets(plain.delta)
        assert each.delta.width < Fraction(1, 10**9)


@given(st.lists(st.fractions(0, 3, max_denominator=5), min_size=6, max_size=6))
def test_every_pair_has_one_that_stands_for_it(values) -> None:
    """Move it down: some set that is kept holds the result."""
    program = elaborate(parse(_MAX.format(n=3, width=3, noise="Lap", rule="linf 3")), {}, "x")
    roots = all_pairs(program.inputs, Within(Norm.LINF, Fraction(3)))
    kept = lowest(roots)
    least = min(values)
    moved = [value - least for value in values]
    pairs = list(zip(moved[:3], moved[3:], strict=True))

    def inside(polygon: Polygon, point: tuple[Fraction, Fraction]) -> bool:
        ends = (extent(polygon, X), extent(polygon, Y))
        return all(low <= x <= high for (low, high), x in zip(ends, point, strict=True))

    # Rectangles and segments along axes: extents tell.
    assert any(
        all(inside(polygon, point) for polygon, point in zip(each.polygons, pairs, strict=True))
        for each in kept
    )


@pytest.mark.parametrize("count", [1, 20])
def test_every_sample_may_be_far_out(count) -> None:
    """Far up all samples are positive for sure; at the end the first negative one stops."""
    text = text_of("boxes/lemmas-4")
    program = elaborate(parse(text), {"N": count}, "x")
    states, moved = with_ends(execute(program, True), Fraction(1))
    (cell,) = states.program.inputs
    assert isinstance(cell.domain, AllReals)
    truth = -expm1(count * log1p(-exp(-float(cell.domain.bounds[1]))))
    assert truth * (1 - 1e-9) <= moved <= count * Fraction(1, 2**48)


@pytest.mark.parametrize("scale", ["1/1000000000", "1", "1000000000"])
def test_ends_are_as_far_as_noise_is_wide(scale) -> None:
    text = f"""
input q in real
output out in {{0, 1}}
adjacent linf {scale}
out <- 0
x <- Lap(0, {scale})
if q + x >= 0 then out <- 1 end
"""
    states, _ = with_ends(execute(elaborate(parse(text), {}, "x"), True), Fraction(1))
    (cell,) = states.program.inputs
    assert isinstance(cell.domain, AllReals)
    # Beyond it lies a mass of e^-x / 2 <= 2^-48.
    assert 47 * log(2) <= cell.domain.bounds[1] / Fraction(scale) <= 40


@cases(
    "guard, least, most",
    ("k - q + x >= 0", 2, 9),
    ("q - k + x >= 0", 2, 9),
    ("x >= q + k", -9, -2),
    ("x >= k - q", 2, 9),
)
def test_ends_are_as_far_beyond_all_that_an_input_is_compared_with(guard, least, most) -> None:
    """At q = least the first comparison is even without noise, at q = most the last one."""
    text = f"""
input q in real
input k in {{2, 9}}
output out in {{0, 1}}
adjacent linf 1
x <- Lap(0, 1)
if {guard} then out <- 1 else out <- 0 end
"""
    states, _ = with_ends(execute(elaborate(parse(text), {}, "x"), True), Fraction(1))
    low, high = states.program.inputs[0].domain.bounds
    assert least - low == high - most == 33


@cases(
    "guards, events",
    ("q + x >= 0 and q - x >= 0", 2),  # x is far out on one side, or on the other one
    ("q + x >= 0 and q + y >= 0", 2),
    ("q + x >= 0 and 0 - q - x <= 0", 1),
)
def test_noise_far_out_is_counted_once_for_each_side(guards, events) -> None:
    text = f"""
input q in real
output out in {{0, 1}}
adjacent linf 1
out <- 0
x <- Lap(0, 1)
y <- Lap(0, 1)
if {guards} then out <- 1 end
"""
    program = elaborate(parse(text), {}, "x")
    _, moved = with_ends(execute(program, True), Fraction(1))
    assert moved == events * Fraction(1, 2**48)


# --- Pairs of real inputs that need most for δ = 0 ------------------------------------------------


def dearest(adjacency: str, inputs: int, body: str) -> list[Pair]:
    text = f"input q[{inputs}] in real 0..2\noutput o[2] in real\noutput z in 0..2\n"
    program = dipapprox.parse(f"{text}adjacent {adjacency}\n{body}\n")
    return dearest_pairs(execute_for_declared(program, True))


CLAMPED = template_of("bounds-clamped")


@cases(
    "inputs, one, two", (1, "q[1]", "-2*q[1]"), (2, "q[1]", "2*q[2] - 1"), (2, "q[1] - q[2]", "0")
)
def test_no_pair_needs_more(inputs, one, two) -> None:
    def needed(pair: Pair) -> float:
        total = 0.0
        for mean, low, high in ((one, 0.5, 1.0), (two, 0.0, 3.0)):
            m, other = (eval(mean, {"q": [None, *map(float, u)]}) for u in pair)
            up = log_ndtr(m - high) - log_ndtr(other - high)
            down = log_ndtr(low - m) - log_ndtr(low - other)
            total += max(up, down)
        return total

    found = dearest("linf 1", inputs, CLAMPED.format(one=one, two=two))
    steps = [k / 4 for k in range(9)]
    grid = product(product(steps, repeat=inputs), repeat=2)
    near = [p for p in grid if all(abs(x - y) <= 1 for x, y in zip(*p, strict=True))]
    assert max(map(needed, found)) == pytest.approx(max(map(needed, near)), rel=1e-12)


def test_what_is_not_covered() -> None:
    """Where both inputs may have a part, among others."""
    check_answers("boxes_bounds", evaluated(globals()))
