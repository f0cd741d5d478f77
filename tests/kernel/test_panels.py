"""Functions of a real variable and on the integers, and probabilities of inequalities."""

import random
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from math import exp, pi
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_poly
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.kernel import grid, panels
from dipapprox.kernel.balls import precision, to_ball
from dipapprox.kernel.errors import NotProved, Refused, budget
from dipapprox.kernel.evaluate import evaluate
from dipapprox.kernel.exact import exact_values
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.forms import Form
from dipapprox.kernel.grid import Lattice, Leaves, Sampled, Tail, _product, accuracy, rise
from dipapprox.kernel.laws import IntegerFamily, Law, RealFamily
from dipapprox.kernel.measures import Component, Measure, assume, forget
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.panels import Panels
from dipapprox.kernel.replay import replay
from dipapprox.kernel.signs import Signs
from tests.cases import check_answers, evaluated, refuses
from tests.kernel.ends import lower, upper
from tests.kernel.graphs import COARSE, FINE, ONE, cuts, enclosed, holds, law, meet, totals
from tests.kernel.simpson import interpreted, simpson
from tests.kernel.streams import Json, stream

FAMILIES = ["Gauss", "Lap", "LapPlus", "LapMinus"]
THIN = 2.0**-50


def normal(z: arb) -> arb:
    """Pr[Z <= z] of the standard Gaussian."""
    return (-z / arb(2).sqrt()).erfc() / 2


def test_products_and_differences_are_bounded_on_their_sides_beyond_the_grid() -> None:
    with precision(64):
        one, other, endless = (Tail(arb(v), arb(w)) for v, w in ((3, 10), (10, 2), (7, "inf")))
        found = rise(Sampled([arb(3)], one, other), Sampled([arb(1)], other, one))
        assert found.cells == [arb(2)]
        for tail, values, most in (
            *((_product(*both), 30, 6) for both in ((one, other), (other, one))),
            *((_product(*both), 21, 70) for both in ((one, endless), (endless, one))),
            (found.left, 3, 10),
            (found.right, 10, 2),
        ):
            assert tail.values == values
            assert lower(tail.whole) <= 0 < most <= upper(tail.whole) <= most + Fraction(1, 1000)
        assert not _product(endless, endless).whole.is_finite()
        cells = (Sampled([arb(3)], one, other), Sampled([arb(1)], other, endless))
        both = grid.mixed(zip((arb(1), arb(2)), cells, strict=True))
        assert (both.cells, both.left, both.right.values) == ([5], (23, 14), 24)
        assert not both.right.whole.is_finite()


def test_what_lies_beyond_the_integers_of_a_grid_counts_on_its_side() -> None:
    little = Fraction(1, 1000)
    with precision(64):
        made, nothing = Lattice(Leaves({law("DLap")}, set(), set()), ONE, FINE), arb(0)
        f = Sampled([arb(1)] * made.size, Tail(arb(1), arb(2)), Tail(arb(1), arb(8)))
        for from_left, own in ((True, 2), (False, 8)):
            found = made.running(f, from_left)
            near, far = (found.left, found.right) if from_left else (found.right, found.left)
            cell = found.cells[0 if from_left else -1]
            for ball, most in ((cell, 1 + own), (near.values, own), (far.values, made.size + 10)):
                assert most <= upper(ball) <= most + little
            assert 1 + own - little <= lower(cell) <= 1 + own
            assert not near.whole.is_finite() and not far.whole.is_finite()
        below, above = made.restrict(f, None, ONE), made.restrict(f, ONE, None)
        far = [made.restrict(f, -FAR * ONE, None), made.restrict(f, None, FAR * ONE)]
        beyond = [(tail, most) for each in far for tail, most in ((each.left, 2), (each.right, 8))]
        beyond += [(below.left, 2), (above.right, 8), (below.right, 0), (above.left, 0)]
        for tail, most in beyond:
            assert lower(tail.whole) <= 0 <= most <= upper(tail.whole) <= most + little
        # What is added to 10 that lie on one side may be anywhere, with masses of at most 10 / 2.
        none, ten = Tail(nothing, nothing), Tail(arb(8), arb(10))
        for ends in ((ten, none), (none, ten)):
            found = made.convolved(Sampled([nothing] * made.size, *ends), law("DLap"))
            assert all(lower(cell) <= 0 < upper(cell) for cell in found.cells)
            assert upper(found.cells[0 if ends[0] is ten else -1]) > 1
            assert 4 < upper(found.left.values) < 5
            near, far = (found.left, found.right)[:: 1 if ends[0] is ten else -1]
            assert upper(near.whole) >= 10
            assert 0 < upper(far.whole) < little
        # From the last integer one in four goes beyond.
        for place in (0, -1):
            f = Sampled([nothing] * made.size, none, none)
            f.cells[place] = arb(1)
            found = made.convolved(f, law("DLap"))
            near, far = (found.left, found.right)[:: 1 if place == 0 else -1]
            assert Fraction(26, 100) < upper(near.whole) < Fraction(28, 100)
            assert 0 < upper(far.whole) < little


# --- closed forms ------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [*FAMILIES, "Logistic", "Gumbel", "GumbelMinus"])
@pytest.mark.parametrize("eps", [Fraction(1, 3), Fraction(4)])
def test_restrictions(family, eps) -> None:
    graph, own = Graph(), law(family, 1, 2, -1)
    asked = cuts(graph, graph.density(own), [-(10**12), Fraction(-1, 3), 5])
    with precision(200):
        known, scale = own.on(RealFamily), own.scale(eps)
        for (low, high), ends in zip(asked, enclosed(graph, asked.values(), eps), strict=True):
            value = arb(1) if high is None else known.below(to_ball((high - 1) / scale))
            if low is not None:
                value = value - known.below(to_ball((low - 1) / scale))
            if low is not None and high is not None and low >= high:
                value = arb(0)
            assert holds(ends, value, THIN), (low, high)


# --- oracles -----------------------------------------------------------------------------------


@given(
    made=totals(FAMILIES),
    eps=st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(5, 2)]),
    coarse=st.lists(st.sampled_from(COARSE), min_size=2, max_size=2),
)
def test_graphs_against_simpson_and_coarser_grids(made, eps, coarse) -> None:
    graph, scalars = made
    fine, floats = enclosed(graph, scalars, eps), simpson(graph, float(eps))
    for (low, high), scalar in zip(fine, scalars, strict=True):
        slack = Fraction(1e-7) * (1 + abs(high))
        assert low - slack <= Fraction(float(floats[scalar])) <= high + slack
        assert high - low <= 2.0**-40 * max(1, high)
    for asked in coarse:
        for one, other in zip(enclosed(graph, scalars, eps, asked), fine, strict=True):
            assert meet(one, other)
            assert one[0] * 10**6 >= -one[1]


# --- limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [*FAMILIES, "Logistic", "Gumbel", "GumbelMinus"])
def test_a_narrow_law_on_the_grid_of_a_wide_one(family) -> None:
    """Far from a mean panels are as wide as those of the others allow."""
    graph = Graph()
    one, other = law(family, 0, 1, 0), law("Lap", 0, 40, 0)
    both = graph.mix([(graph.one, graph.density(each)) for each in (one, other)])
    (ends,) = enclosed(graph, [graph.total(graph.restrict(both, None, Fraction(1)))], ONE)
    with precision(200):
        value = one.on(RealFamily).below(arb(1)) + other.on(RealFamily).below(arb(1) / 40)
    assert holds(ends, value, THIN)


def test_an_integral_without_a_bound_is_not_proved() -> None:
    graph = Graph()
    running = graph.running(graph.density(law("Gauss")), True)
    cut = graph.restrict(running, Fraction(-1), Fraction(1))
    (ends,) = enclosed(graph, [graph.total(cut)])
    assert holds(ends, Fraction(1), THIN)


def test_functions_kept_at_a_time_are_bounded(monkeypatch) -> None:
    graph = Graph()
    density = graph.density(law("Gauss"))
    running, product = graph.running(density, True), density
    scalars = []
    for _ in range(20):
        product = graph.times(product, running)
        scalars.append(graph.total(product))
    one = Panels(Leaves({law("Gauss")}, set(), set()), ONE, FINE).size
    # The running integral and two products, the first of which is the density.
    monkeypatch.setattr("dipapprox.kernel.evaluate.MOST_VALUES", 3 * one)
    assert len(evaluate(graph, scalars, ONE, FINE)) == 20
    monkeypatch.setattr("dipapprox.kernel.evaluate.MOST_VALUES", 2 * one)
    refuses(Refused, None, evaluate, graph, scalars, ONE, FINE)


def test_no_density_is_expanded_across_its_kink() -> None:
    """The grid ends at every mean of its laws; here is a law that it knows nothing of."""
    made = Panels(Leaves({law("Lap")}, set(), set()), ONE, FINE)
    low, high = made.ends[3:5]
    for family, mean in (("Lap", (low + high) / 2), ("LapPlus", low + (high - low) / 1000)):
        refuses(NotProved, "across its kink", made.density, law(family, mean), ONE)
    made.density(law("Lap", low), ONE)
    made.density(law("Gauss", (low + high) / 2), ONE)
    refuses(NotProved, "restricted within a panel", made.place, (low + high) / 2, True)
    assert made.place(low, True) == (3, 0)


PEAKS = {"Gauss": (2 * pi) ** -0.5, "Lap": 0.5, "LapPlus": 1, "LapMinus": 1, "Logistic": 0.25}
PEAKS |= dict.fromkeys(("Gumbel", "GumbelMinus"), exp(-1))


@pytest.mark.parametrize("family", PEAKS)
def test_sums_are_nowhere_denser_than_what_is_added(family) -> None:
    """Far from a grid, too, and however narrow that is."""
    rough = accuracy(20)
    made = Panels(Leaves({law("Gauss")}, set(), set()), ONE, rough)
    for size in (Fraction(1, 4), Fraction(4)):
        with precision(rough.precision):
            _, most, _ = made.summed(made.density(law("Gauss"), ONE), law(family, 0, size))
        assert float(most) * float(size) == pytest.approx(PEAKS[family])


@pytest.mark.parametrize("family", PEAKS)
def test_densities_are_known_beyond_the_panels(family) -> None:
    own = law(family, 1, 2)
    with precision(FINE.precision):
        made = Panels(Leaves({own}, set(), set()), ONE, FINE)
        f, known = made.density(own, ONE), own.on(RealFamily)
        z = [to_ball((end - 1) / 2) for end in (made.ends[0], made.ends[-1])]
        for tail, place, side in ((f.left, z[0], -1), (f.right, z[1], 1)):
            assert upper(tail.values) >= lower(panels.value(family, place, side) / 2)
        assert f.left.whole.overlaps(known.below(z[0])) and f.right.whole.overlaps(
            known.above(z[1])
        )


def test_sums_hold_densities_on_panels_of_different_widths() -> None:
    """Gaussian noise of scales 10 and 1; the expansions between narrow panels go no further."""
    wide, rough = law("Gauss", 0, 10), accuracy(20)._replace(terms=8)
    with precision(100):
        made = Panels(Leaves({wide}, {ONE / 100, 0 * ONE}, {law("Gauss")}), ONE, rough)
        found = made.convolved(made.density(wide, ONE), law("Gauss"))
        for (low, high), cell in zip(pairwise(made.ends), found.cells, strict=True):
            for place, end in ((low, -1), ((low + high) / 2, 0), (high, 1)):
                z = to_ball(place) / arb(101).sqrt()
                assert cell(arb(end)).overlaps(panels.value("Gauss", z, 0) / arb(101).sqrt())


@pytest.mark.parametrize("place", [1, -2])
def test_what_goes_beyond_the_panels_and_comes_from_there(place) -> None:
    """From a uniform density on the panel next to an end, and from 10 beyond the grid."""
    own = law("Gauss", 0, 2)
    with precision(100):
        made = Panels(Leaves({law("Gauss")}, set(), set()), ONE, accuracy(20))
        none, ten = Tail(arb(0), arb(0)), Tail(arb(8), arb(10))
        nowhere, half = [made.nothing] * len(made.halves), made.halves[place]
        way = 2 * made.halves[0 if place == 1 else -1]
        f = Sampled([*nowhere], none, none)
        f.cells[place] = arb_poly([1])
        found = made.convolved(f, own)
        near = found.left if place == 1 else found.right
        # The tail is convex.
        assert upper(near.whole) >= lower(2 * half * normal(-(way + half) / 2))
        f = Sampled(
            [made.nothing] * len(made.halves), *((ten, none) if place == 1 else (none, ten))
        )
        most = 10 * panels.value("Gauss", way / 2, 1) / 2
        assert upper(made.convolved(f, own).cells[place](arb(0))) >= lower(most)


@pytest.mark.parametrize("sign", [1, -1])
def test_series_are_looked_at_on_all_of_a_panel(sign) -> None:
    with precision(64):
        held = panels.jet(lambda z: (sign * z).exp(), arb(0), arb(1), 1)
        assert all(held(arb(t)).overlaps(arb(sign * t).exp()) for t in (-1, 0, 1))


def test_what_few_terms_leave_out_is_held() -> None:
    with precision(64):
        held = panels.jet(lambda z: z.exp(), arb(0), arb(1), 2)
        assert all(held(arb(t)).contains(arb(t).exp()) for t in (-1, 0, 1))


def test_sums_on_many_panels_are_refused() -> None:
    graph = Graph()
    found = graph.combined(graph.density(law("Gauss")), 1, graph.density(law("Gauss")), 1)
    assert found is not None
    cut = graph.restrict(found, -ONE, ONE)
    (ends,) = enclosed(graph, [graph.total(cut)], ONE, accuracy(20))
    with precision(100):
        assert holds(ends, 1 - 2 * normal(-1 / arb(2).sqrt()), 2.0**-18)
    narrow = accuracy(320)._replace(smooth=(ONE / 12, Fraction(0)))
    with pytest.raises(Refused, match="more work"), budget():
        evaluate(graph, [graph.total(cut)], ONE, narrow)


# --- Functions on the integers --------------------------------------------------------------------

INTEGER_FAMILIES = ["DLap", "DGauss"]
FAR = 400


@pytest.mark.parametrize("family", INTEGER_FAMILIES)
def test_restrictions_to_integers(family) -> None:
    graph, own = Graph(), law(family, 3, 2)
    places = [-(10**9), Fraction(-7, 2), 0, Fraction(5, 2), 3, 4, 10**9]
    asked = cuts(graph, graph.density(own), places)
    with precision(200):
        rate = own.on(IntegerFamily).rate(Fraction(2))
        mass = dict(enumerate(own.on(IntegerFamily).masses(-503, 496, rate), -500))
        for (low, high), ends in zip(asked, enclosed(graph, asked.values()), strict=True):
            inside = [k for k in mass if low is None or k >= low]
            inside = [k for k in inside if high is None or k <= high]
            value = sum((mass[k] for k in inside), arb(0, arb(2) ** -80))
            assert holds(ends, value, (2.0**-60)), (low, high)


def summed(graph: Graph, eps: float) -> dict[Node, Any]:
    """All nodes by sums of floats over the integers up to FAR away."""
    k = np.arange(-FAR, FAR + 1)

    def inside(low: Fraction | None, high: Fraction | None) -> np.ndarray:
        above = k >= (-FAR if low is None else float(low))
        return above & (k <= (FAR if high is None else float(high)))

    def running(values: np.ndarray, from_left: bool) -> np.ndarray:
        return np.cumsum(values) if from_left else np.cumsum(values[::-1])[::-1]

    return interpreted(graph, lambda law: masses(law, eps, k), inside, running)


def masses(law: Law, eps: float, k: np.ndarray) -> np.ndarray:
    scale = float(law.coefficient) * eps**law.power
    z = (k - float(law.mean)) / scale
    weights = np.exp(-np.abs(z)) if law.family == "DLap" else np.exp(-z * z / 2)
    found: np.ndarray = weights / weights.sum()
    return found


@given(
    made=totals(INTEGER_FAMILIES),
    eps=st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(5, 2)]),
)
def test_graphs_against_sums(made, eps) -> None:
    graph, scalars = made
    found, floats = enclosed(graph, scalars, eps), summed(graph, float(eps))
    for (low, high), scalar in zip(found, scalars, strict=True):
        slack = Fraction(1e-12) * (1 + abs(high))
        assert low - slack <= Fraction(float(floats[scalar])) <= high + slack
        assert high - low <= 2.0**-50 * max(1, high)


# --- Probabilities of inequalities between samples, and functions after a change of variables -----

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


def test_numbers_stay_where_functions_move() -> None:
    """A weight that is an integral is not that of the moved function."""
    graph = Graph()
    f, g = graph.density(law("Lap")), graph.density(law("LapPlus", 1))
    square, third = graph.total(graph.times(f, f)), graph.rational(Fraction(1, 3))
    assert graph.moved(square, Fraction(2), ONE) == square
    assert graph.moved(third, Fraction(2), ONE) == third
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


# --- What has limits, and what has no value: expressions, and what is said of each ----------------


def added(family: str, p: int, q: int) -> bool:
    """Whether multiples of two samples have a sum here."""
    graph = Graph()
    one, other = (graph.density(law(family, mean)) for mean in (0, 1))
    return graph.combined(one, p, other, q) is not None


def moved(family: str, slope: Any, offset: Any) -> Node:
    graph = Graph()
    return graph.moved(graph.density(law(family)), Fraction(slope), Fraction(offset))


def products(family: str, count: int, eps: Any = 1, power: int = 0, **limits: int) -> Any:
    """The integrals of products of a density with those around other means."""
    graph = Graph()
    one, *others = (graph.density(law(family, k, 1, power)) for k in range(count + 1))
    scalars = [graph.total(graph.times(one, each)) for each in others]
    return evaluate(graph, scalars, Fraction(eps), FINE._replace(**limits))


def running(family: str, *sides: bool) -> Any:
    """The integral of what is integrated from the left, or from the right, in turn."""
    graph = Graph()
    found = graph.density(law(family))
    for side in sides:
        found = graph.running(found, side)
    return evaluate(graph, [graph.total(found) if sides else found], ONE, FINE)


def mixed() -> Node:
    graph = Graph()
    return graph.times(graph.density(law("DLap")), graph.density(law("Lap")))


def likely(family: str, relation: str) -> float:
    """How likely two samples around 0 are in a relation."""
    graph, both = Graph(), Form(0, ((0, 1), (1, -1)))
    pair = tuple([Component(((atom, graph.density(law(family))),)) for atom in (0, 1)])
    parts = assume(graph, Measure(graph.one, pair), both, relation)
    scalars = [forget(graph, each, ()).scalar for each in parts]
    found = exact_values(graph, scalars, Signs.at(ONE))
    return round(sum(_number(found[each]) for each in scalars), 9)


def test_limits_and_what_has_no_value() -> None:
    check_answers("kernel_panels", evaluated(globals(), NotProved, ValueError))
