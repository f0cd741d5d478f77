"""Probabilities of inequalities between samples, and functions after a change of variables."""

import random
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.kernel.balls import precision
from dipapprox.kernel.errors import NotProved, Refused
from dipapprox.kernel.exact import exact_values
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.forms import Form
from dipapprox.kernel.laws import Law
from dipapprox.kernel.measures import Component, Measure, assume, forget
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.replay import replay
from dipapprox.kernel.signs import Signs
from kernel.ends import lower
from tests.cases import refuses
from tests.kernel.graphs import ONE, law, totals
from tests.kernel.streams import Json, stream

REACH, COUNT = 11, 200_000

Conditions = list[tuple[tuple[int, ...], int, bool]]
"""(a, b, strict): a x + b > 0, or >= 0."""


def conditions(source: random.Random, samples: int, integers: bool) -> Conditions:
    """A few, most of them of two samples; some are parallel, or opposite."""
    found: Conditions = []
    for _ in range(source.randint(1, 4)):
        terms = [0] * samples
        count = source.choice([1, 2, 2, 2, 2, 3])
        for place in source.sample(range(samples), min(count, samples)):
            terms[place] = source.choice([-1, -1, 1, 1, 2] if integers else [-2, -1, 1, 3])
        if found and source.random() < 0.3:
            sign = source.choice([-1, 1])
            terms = [sign * a for a in source.choice(found)[0]]
        found.append((tuple(terms), source.randint(-2, 2), source.random() < 0.5))
    return found


def chance(graph: Graph, laws: list[Law], forms: Iterable[tuple[Form, bool]]) -> Node:
    """The probability that forms of independent samples are >= 0, or > 0 (True)."""
    measure = Measure(graph.one)
    for atom, own in enumerate(laws):
        one = Component(((atom, graph.density(own)),))
        measure = Measure(measure.scalar, (*measure.components, one))
    for form, strict in forms:
        found = assume(graph, measure, form, ">" if strict else ">=")
        if not found:
            return graph.zero
        (measure,) = found
    return forget(graph, measure, ()).scalar


def told(laws: list[Law], asked: Conditions) -> float | None:
    """What the kernel says, in closed form; None if it refuses."""
    graph = Graph()
    forms = [
        (Form(Fraction(b), tuple((k, Fraction(c)) for k, c in enumerate(a) if c)), strict)
        for a, b, strict in asked
    ]
    try:
        scalar = chance(graph, laws, forms)
        found = exact_values(graph, [scalar], Signs.at(ONE))[scalar]
    except Refused:
        return None
    # A quotient has the sign of its numerator.
    assert found.numerator.sign(ONE) >= 0
    with precision(200):
        return float(lower(found.ball(ONE)))


def share(points: list[Any], weights: Any, asked: Conditions) -> float:
    """How much of the weights is where all conditions hold."""
    for a, b, strict in asked:
        form = sum(c * x for c, x in zip(a, points, strict=True)) + b
        weights = weights * (form > 0 if strict else form >= 0)
    return float(weights.sum())


@pytest.mark.parametrize("samples", [2, 3, 4])
def test_integers_are_counted(samples) -> None:
    source, counts = random.Random(samples), Counter[bool]()
    axis = np.arange(-REACH, REACH + 1)
    shapes = [[-1 if k == j else 1 for k in range(samples)] for j in range(samples)]
    for _ in range(40):
        means = [source.randint(-1, 1) for _ in range(samples)]
        laws = [law("DLap", mean, Fraction(1, 2)) for mean in means]
        asked = conditions(source, samples, integers=True)
        weights: Any = 1.0
        for shape, mean in zip(shapes, means, strict=True):
            own = np.exp(-2.0 * np.abs(axis - mean))
            weights = weights * (own / own.sum()).reshape(shape)
        found = told(laws, asked)
        counts[found is None] += 1
        if found is not None:
            expected = share([axis.reshape(shape) for shape in shapes], weights, asked)
            assert abs(found - expected) < 1e-7, (means, asked)
    assert counts[False] > 15


@pytest.mark.parametrize("samples", [2, 3, 4])
def test_real_numbers_are_integrated(samples) -> None:
    source, counts = random.Random(10 + samples), Counter[bool]()
    drawn = np.random.default_rng(samples).exponential(size=(3, samples, COUNT))
    signs = np.random.default_rng(samples + 9).choice([-1, 1], size=(samples, COUNT))
    for _ in range(40):
        families = source.choices(["Lap", "LapPlus", "LapMinus"], [3, 1, 1], k=samples)
        means = [source.randint(-1, 1) for _ in range(samples)]
        sizes = [source.choice([1, 2]) for _ in range(samples)]
        laws = [law(*each) for each in zip(families, means, sizes, strict=True)]
        asked = conditions(source, samples, integers=False)
        found = told(laws, asked)
        counts[found is None] += 1
        if found is None:
            continue
        points = []
        for k, family in enumerate(families):
            sign = {"Lap": signs[k], "LapPlus": 1, "LapMinus": -1}[family]
            points.append(means[k] + sizes[k] * sign * drawn[0, k])
        expected = share(points, np.full(COUNT, 1 / COUNT), asked)
        assert abs(found - expected) < 0.006, (families, means, sizes, asked)
    assert counts[False] > 20


def test_what_is_never_so_has_no_chance() -> None:
    graph = Graph()
    assert chance(graph, [law("Lap")], [(Form(Fraction(-1)), False)]) == graph.zero


def test_what_is_published_holds_something() -> None:
    """A cell that nothing is left in is no event: the elaborator gives every output a value."""
    body = [
        ["set", ["cell", "out"], 0],
        ["draw", ["cell", "r"], "Lap", ["cell", "q"], [1, -1]],
        ["if", [">", ["cell", "r"], 1], [["forget", ["out"]]], []],
    ]
    machine = stream(body, None, inputs=[["q", {"low": 0, "high": 1}]])
    machine["published"] |= {"whenever": [], "first": ["out"]}
    step: Json = {"rule": "trace", "from": [], "events": [[[1], [0], [None]]]}
    step |= {"budget": 1, "eps": None}
    refuses(NotProved, "no value", replay, machine, {"verdict": "Not_DP", "budget": "1/2"}, [step])


# --- functions after a change of variables, in closed form, at points; and sums of two samples ----

REALS, INTEGERS = ["Lap", "LapPlus", "LapMinus"], ["DLap"]


def value(pieces: Any, t: Fraction) -> float:
    """A function in closed form, at eps = 1 and a point that is none of its ends."""
    place = sum(point < t for point in pieces.points)
    terms = pieces.pieces[place].items()
    return sum(_number(c) * float(t) ** k * exp(float(b * t)) for (k, b), c in terms)


def _number(ratio: Ratio) -> float:
    below = 1.0
    for factor, exponent in ratio.denominator:
        below *= _at_one(factor) ** exponent
    return _at_one(ratio.numerator) / below


def _at_one(terms: Any) -> float:
    return sum(float(c) * exp(float(q)) for (q, _), c in terms.terms)


@pytest.mark.parametrize("families", [REALS, INTEGERS], ids=["reals", "integers"])
@given(data=st.data())
def test_a_moved_function_is_the_function_elsewhere(families, data) -> None:
    graph, _ = data.draw(totals(families))
    whole = families == INTEGERS
    f = data.draw(st.sampled_from([k for k, d in enumerate(graph.discrete) if d is not None]))
    noise = law(families[0], 0, data.draw(st.sampled_from([1, 2])))
    if graph.nodes[f].kind in ("density", "restrict", "product"):
        f = data.draw(st.sampled_from([f, graph.add("convolved", [f], noise)]))
    slopes = [Fraction(-1), ONE] if whole else [Fraction(k, 2) for k in (-4, -2, -1, 1, 2, 3)]
    slope, offset = data.draw(st.sampled_from(slopes)), Fraction(data.draw(st.integers(-3, 3)))
    offset = offset if whole else offset / 3
    moved = graph.moved(f, slope, offset)
    found = exact_values(graph, [f, moved], Signs.at(ONE))
    for k in range(-6, 7):
        t = Fraction(k) if whole else Fraction(k) + Fraction(1, 97)
        expected = value(found[f], slope * t + offset)
        assert abs(value(found[moved], t) - expected) <= 1e-9 * (1 + abs(expected))


def test_functions_are_changed_by_what_has_an_inverse_alone() -> None:
    graph = Graph()
    real, whole = graph.density(law("Lap")), graph.density(law("DLap"))
    for function, slope, offset in (
        (real, Fraction(0), ONE),
        (real, Fraction(0), Fraction(0)),
        (whole, Fraction(2), Fraction(0)),
        (whole, Fraction(1, 2), Fraction(0)),
        (whole, ONE, Fraction(1, 2)),
        (whole, Fraction(-1), Fraction(1, 2)),
    ):
        refuses(ValueError, "no change of variables", graph.moved, function, slope, offset)
    half = graph.rational(Fraction(1, 2))
    assert graph.moved(half, Fraction(2), ONE) == half


def test_numbers_stay_where_functions_move() -> None:
    """A weight that is an integral is not that of the moved function."""
    graph = Graph()
    f, g = graph.density(law("Lap")), graph.density(law("LapPlus", 1))
    square, third = graph.total(graph.times(f, f)), graph.rational(Fraction(1, 3))
    assert graph.moved(square, Fraction(2), ONE) == square
    mixed = graph.mix([(square, f), (third, g), (graph.one, graph.times(f, g))])
    moved = graph.moved(mixed, Fraction(-2), ONE)
    found = exact_values(graph, [mixed, moved, f, g], Signs.at(ONE))
    for k in range(-6, 7):
        t = Fraction(k, 3) + Fraction(1, 97)
        one, other = (value(found[each], 1 - 2 * t) for each in (f, g))
        # The integral of f^2 is 1/4.
        expected = one / 4 + other / 3 + one * other
        assert abs(value(found[moved], t) - expected) < 1e-12
    assert graph.mix([(graph.one, f)]) == f
    both = graph.mix([(graph.one, f), (third, g)])
    (pieces,) = exact_values(graph, [both], Signs.at(ONE)).values()
    assert abs(value(pieces, Fraction(2)) - (exp(-2) / 2 + exp(-1) / 3)) < 1e-12
    # A product with 1, from either side, is the other factor; one with 0 is 0; likewise sums.
    for number, times, plus in ((graph.one, square, None), (graph.zero, graph.zero, square)):
        for one, other in ((number, square), (square, number)):
            assert graph.times(one, other) == times
            assert plus is None or graph.plus(one, other) == plus
    twice = exact_values(graph, [graph.mix([(third, f), (square, f)])], Signs.at(ONE))
    (pieces,) = twice.values()
    assert abs(value(pieces, ONE) - 7 / 24 * exp(-1)) < 1e-12


def test_multiples_of_integers_are_not_added() -> None:
    """They leave gaps; of real numbers any multiples may be."""
    graph = Graph()
    real, whole = (
        [graph.density(law(family, mean)) for mean in (0, 1)] for family in ("Lap", "DLap")
    )
    for p, q in ((1, 1), (1, -1), (-1, -1), (2, 1), (1, -3), (2, 2), (-2, 2)):
        assert graph.combined(real[0], p, real[1], q) is not None
        assert (graph.combined(whole[0], p, whole[1], q) is None) == ({abs(p), abs(q)} != {1})
