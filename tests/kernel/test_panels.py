"""Functions of a real variable: closed forms, Simpson's rule, and coarse grids around fine ones."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import factorial

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.kernel.balls import precision, to_ball
from dipapprox.kernel.errors import NotProved, Refused, Refuted
from dipapprox.kernel.evaluate import evaluate, most_factors
from dipapprox.kernel.grid import Leaves, accuracy
from dipapprox.kernel.laws import Law
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.panels import Panels
from kernel.graphs import COARSE, FINE, ONE, enclosed, holds, law, meet, totals
from kernel.simpson import simpson

FAMILIES = ["Gauss", "Lap", "LapPlus", "LapMinus"]
THIN = 2.0**-50


def normal(z: arb) -> arb:
    """Pr[Z <= z] of the standard Gaussian."""
    return (-z / arb(2).sqrt()).erfc() / 2


def less(graph: Graph, one: Law, other: Law) -> Node:
    """Pr[X < Y] for independent samples."""
    return graph.total(graph.times(graph.running(graph.density(one), True), graph.density(other)))


# --- closed forms ------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [2, 9])
def test_orders_of_equal_laws(family: str, n: int) -> None:
    graph = Graph()
    density = graph.density(law(family, Fraction(1, 3), 2))
    up, down = density, density
    for _ in range(n - 1):
        up = graph.times(density, graph.running(up, True))
        down = graph.times(density, graph.running(down, False))
    for ends in enclosed(graph, [graph.total(up), graph.total(down)]):
        assert holds(ends, Fraction(1, factorial(n)), THIN)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [100])
def test_powers(family: str, n: int) -> None:
    """The largest of n is any of them; so is the smallest."""
    graph = Graph()
    density = graph.density(law(family, -7, Fraction(1, 9)))
    for from_left in (True, False):
        product = density
        running = graph.running(density, from_left)
        for _ in range(n - 1):
            product = graph.times(product, running)
        total = graph.total(product)
        assert most_factors(graph, [total]) == n
        (ends,) = enclosed(graph, [total], ONE, accuracy(60, n))
        assert holds(ends, Fraction(1, n), THIN)


@pytest.mark.parametrize("eps", [Fraction(1, 10**6), Fraction(50)])
@pytest.mark.parametrize("mean", [0, 30])
def test_differences_of_two(eps: Fraction, mean: int) -> None:
    graph = Graph()
    gauss = less(graph, law("Gauss", 0, 2, -1), law("Gauss", mean, 3, -1))
    laplace = less(graph, law("Lap", 0, 2, -1), law("Lap", mean, 2, -1))
    mixed = less(graph, law("Lap", 0, 2, -1), law("LapPlus", mean, 2, -1))
    equal = less(graph, law("Lap", mean, 1, -1), law("Lap", mean, 1, -1))
    found = enclosed(graph, [gauss, laplace, mixed, equal], eps)
    with precision(200):
        z = to_ball(mean * eps)
        oracles = (
            normal(z / arb(13).sqrt()),
            1 - (2 + z / 2) * (-z / 2).exp() / 4,
            # Pr[X < mean + Y] = 1 - E exp(-(mean + Y) / 2) / 2 = 1 - exp(-mean / b) / 4.
            1 - (-z / 2).exp() / 4,
            arb(1) / 2,
        )
    for ends, oracle in zip(found, oracles, strict=True):
        assert holds(ends, oracle, THIN)


def test_a_mean_far_away() -> None:
    graph = Graph()
    asked = [
        less(graph, law("Gauss"), law("Gauss", mean, scale))
        for mean, scale in [(10**9, 1), (-(10**9), 1), (10**9, 10**9)]
    ]
    with precision(200):
        values = [arb(1), arb(0), normal(1 / (1 + arb(10) ** -18).sqrt())]
    for ends, value in zip(enclosed(graph, asked), values, strict=True):
        assert holds(ends, value, THIN)


@pytest.mark.parametrize("families", [("Lap", "Gauss", "Lap")])
def test_scales_that_differ_by_18_digits(families: tuple[str, str, str]) -> None:
    """x < y < z is nearly whether y and z are on the sides of 0 that are needed."""
    graph = Graph()
    x, y, z = (
        graph.density(law(family, 0, scale))
        for family, scale in zip(families, (Fraction(1, 10**9), 1, 10**9), strict=True)
    )
    inner = graph.times(y, graph.running(x, True))
    ordered = graph.total(graph.times(z, graph.running(inner, True)))
    same = graph.total(graph.times(graph.running(inner, True), x))
    (ends, product) = enclosed(graph, [ordered, same])
    assert abs(ends[0] - Fraction(1, 4)) < 1e-8
    assert ends[1] - ends[0] <= THIN
    assert product[1] - product[0] <= THIN


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("eps", [Fraction(1, 3), Fraction(4)])
def test_restrictions(family: str, eps: Fraction) -> None:
    graph = Graph()
    laws = law(family, 1, 2, -1)
    density = graph.density(laws)
    places = [-(10**12), Fraction(-1, 3), 5]
    for low in [None, *places]:
        for high in [*places, None]:
            cut = graph.restrict(
                density, *(None if b is None else Fraction(b) for b in (low, high))
            )
            if cut == density:
                continue
            (ends,) = enclosed(graph, [graph.total(cut)], eps)
            with precision(200):
                known, scale = laws.on_reals, laws.scale(eps)
                value = arb(1)
                if high is not None:
                    value = known.below(to_ball((high - 1) / scale))
                if low is not None:
                    value = value - known.below(to_ball((low - 1) / scale))
                if low is not None and high is not None and low >= high:
                    value = arb(0)
            assert holds(ends, value, THIN), (low, high)


@pytest.mark.parametrize("family", FAMILIES)
def test_restrictions_around_the_ends_of_a_short_grid(family: str) -> None:
    """Where much is beyond the grid: it counts where it belongs to the restriction."""
    laws, asked = law(family), replace(COARSE[-2], bits=2)
    with precision(100):
        made = Panels(Leaves({laws}, set(), set()), ONE, asked)
        density = made.density(laws, ONE)
        first, last = made.ends[0], made.ends[-1]
        places = [first - 1, first - ONE / 9, first, last, last + ONE / 9, last + 1]
        for low in [None, *places]:
            for high in [*places, None]:
                ball = made.total(made.restrict(density, low, high))
                below = [
                    arb(0) if b is None else laws.on_reals.below(to_ball(b)) for b in (low, high)
                ]
                value = (arb(1) if high is None else below[1]) - below[0]
                assert ball.overlaps(value.nonnegative_part()), (low, high)
                if {low, high} <= {first, last, None} and low != last and high != first:
                    around = made.total(made.restrict(density, first, last))
                    assert ball.rad() < 2 * around.rad() + arb("1e-20")


@pytest.mark.parametrize("family", FAMILIES)
def test_rises(family: str) -> None:
    """Pr[X - 1 <= Y <= X] is that up to X less that up to X - 1."""
    graph = Graph()
    y = graph.density(law(family, 1, 3))
    up = graph.running(y, True)
    x = graph.density(law("Gauss", 2))
    rise = graph.add("rise", [up, graph.moved(up, ONE, Fraction(-1))])
    fall = graph.add(
        "rise", [graph.moved(graph.running(y, False), ONE, Fraction(-1)), graph.running(y, False)]
    )
    whole, again, one, other = enclosed(
        graph,
        [graph.total(graph.times(x, rise)), graph.total(graph.times(x, fall))]
        + [less(graph, law(family, 1 + k, 3), law("Gauss", 2)) for k in (0, 1)],
    )
    value = one[0] - other[0]
    assert meet(whole, (value - Fraction(THIN), value + Fraction(THIN)))
    assert meet(whole, again)
    assert whole[1] - whole[0] + again[1] - again[0] < THIN


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [3, 100])
def test_powers_of_rises(family: str, n: int) -> None:
    """All of n samples within 1/2 below another: with 100 of them, next to never."""
    graph = Graph()
    up = graph.running(graph.density(law(family)), True)
    rise = graph.add("rise", [up, graph.moved(up, ONE, -ONE / 2)])
    product = graph.density(law("Gauss"))
    for _ in range(n):
        product = graph.times(product, rise)
    total = graph.total(product)
    (ends,) = enclosed(graph, [total], ONE, accuracy(60, n))
    assert ends[1] - ends[0] <= THIN
    if n == 3:
        assert abs(ends[0] - Fraction(float(simpson(graph, 1.0)[total]))) < 1e-8


def test_mixtures_and_scalars() -> None:
    graph = Graph()
    third, fifth = graph.rational(Fraction(1, 3)), graph.rational(Fraction(1, 5))
    one, other = law("Gauss"), law("Lap", 2)
    mixed = graph.mix([(third, graph.density(one)), (fifth, graph.density(other))])
    scaled = graph.scaled(mixed, Fraction(3))
    half = less(graph, one, one)
    product = graph.times(graph.times(half, half), graph.times(third, half))
    total = graph.plus(graph.plus(half, product), half)
    found = enclosed(graph, [graph.total(mixed), graph.total(scaled), product, total, fifth])
    values = [Fraction(8, 15), Fraction(8, 5), Fraction(1, 24), Fraction(25, 24), Fraction(1, 5)]
    for ends, value in zip(found, values, strict=True):
        assert holds(ends, value, THIN)


# --- oracles -----------------------------------------------------------------------------------


@given(made=totals(FAMILIES), eps=st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(5, 2)]))
def test_graphs_against_simpson_and_coarser_grids(
    made: tuple[Graph, list[Node]], eps: Fraction
) -> None:
    graph, scalars = made
    fine, floats = enclosed(graph, scalars, eps), simpson(graph, float(eps))
    for (low, high), scalar in zip(fine, scalars, strict=True):
        slack = Fraction(1e-7) * (1 + abs(high))
        assert low - slack <= Fraction(float(floats[scalar])) <= high + slack
        assert high - low <= 2.0**-40 * max(1, high)
    for asked in COARSE:
        for one, other in zip(enclosed(graph, scalars, eps, asked), fine, strict=True):
            assert meet(one, other)
            assert one[0] * 10**6 >= -one[1]


# --- limits ------------------------------------------------------------------------------------


def test_deep_graphs() -> None:
    graph = Graph()
    density = graph.density(law("Lap"))
    function = density
    for _ in range(1500):
        function = graph.restrict(graph.running(function, True), -ONE, 2 * ONE)
    cheap = replace(FINE, bits=10, terms=4)
    (ends,) = enclosed(graph, [graph.total(graph.times(density, function))], ONE, cheap)
    assert 0 <= ends[0] <= ends[1]


def test_an_integral_without_a_bound_is_not_proved() -> None:
    graph = Graph()
    running = graph.running(graph.density(law("Gauss")), True)
    for scalar in (graph.total(running), graph.total(graph.running(running, False))):
        with pytest.raises(NotProved):
            evaluate(graph, [scalar], ONE, FINE)
    cut = graph.restrict(running, Fraction(-1), Fraction(1))
    (ends,) = enclosed(graph, [graph.total(cut)])
    assert holds(ends, Fraction(1), THIN)


def test_what_is_beyond_limits_is_refused() -> None:
    graph = Graph()
    scalars = [
        graph.total(graph.times(graph.density(law("Lap", k)), graph.density(law("Lap", 0))))
        for k in range(100)
    ]
    with pytest.raises(Refused):
        evaluate(graph, scalars, ONE, replace(FINE, panels=50))
    with pytest.raises(Refuted):
        evaluate(graph, [graph.density(law("Lap"))], ONE, FINE)
    for eps in (0, -1):
        with pytest.raises(Refuted):
            evaluate(graph, scalars, Fraction(eps), FINE)


def test_functions_kept_at_a_time_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
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
    with pytest.raises(Refused):
        evaluate(graph, scalars, ONE, FINE)


def test_no_density_is_expanded_across_its_kink() -> None:
    """The grid ends at every mean of its laws; here is a law that it knows nothing of."""
    made = Panels(Leaves({law("Lap")}, set(), set()), ONE, FINE)
    low, high = made.ends[3:5]
    for family, mean in (("Lap", (low + high) / 2), ("LapPlus", low + (high - low) / 1000)):
        with pytest.raises(NotProved, match="across its kink"):
            made.density(law(family, mean), ONE)
    made.density(law("Lap", low), ONE)
    made.density(law("Gauss", (low + high) / 2), ONE)
    with pytest.raises(NotProved, match="restricted within a panel"):
        made.place((low + high) / 2, True)
    assert made.place(low, True) == (3, 0)


def test_accuracies_have_limits() -> None:
    for bits in (0, 501):
        with pytest.raises(Refused):
            accuracy(bits)
    assert accuracy(1).precision < accuracy(500).precision
    assert accuracy(500).terms < 250


def test_sums_on_many_panels_are_refused() -> None:
    graph = Graph()
    found = graph.combined(graph.density(law("Gauss")), 1, graph.density(law("Gauss")), 1)
    assert found is not None
    cut = graph.restrict(found, -ONE, ONE)
    (ends,) = enclosed(graph, [graph.total(cut)], ONE, accuracy(20))
    with precision(100):
        assert holds(ends, 1 - 2 * normal(-1 / arb(2).sqrt()), 2.0**-18)
    with pytest.raises(Refused, match="400 panels"):
        narrow = replace(accuracy(20), smooth=ONE / 50, growth=Fraction(0))
        evaluate(graph, [graph.total(cut)], ONE, narrow)
