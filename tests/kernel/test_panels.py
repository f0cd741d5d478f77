"""Functions of a real variable and on the integers: closed forms, sums, coarse around fine."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.kernel.balls import precision, to_ball
from dipapprox.kernel.errors import NotProved, Refused, Refuted, budget
from dipapprox.kernel.evaluate import evaluate
from dipapprox.kernel.grid import Leaves, accuracy
from dipapprox.kernel.laws import IntegerFamily, Law, RealFamily
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.panels import Panels
from kernel.graphs import COARSE, FINE, ONE, cuts, enclosed, holds, law, meet, totals
from kernel.simpson import interpreted, simpson
from tests.cases import refuses

FAMILIES = ["Gauss", "Lap", "LapPlus", "LapMinus"]
THIN = 2.0**-50


def normal(z: arb) -> arb:
    """Pr[Z <= z] of the standard Gaussian."""
    return (-z / arb(2).sqrt()).erfc() / 2


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
    for scalar in (graph.total(running), graph.total(graph.running(running, False))):
        refuses(NotProved, None, evaluate, graph, [scalar], ONE, FINE)
    cut = graph.restrict(running, Fraction(-1), Fraction(1))
    (ends,) = enclosed(graph, [graph.total(cut)])
    assert holds(ends, Fraction(1), THIN)


def test_what_is_beyond_limits_is_refused() -> None:
    graph = Graph()
    scalars = [
        graph.total(graph.times(graph.density(law("Lap", k)), graph.density(law("Lap", 0))))
        for k in range(100)
    ]
    refuses(Refused, None, evaluate, graph, scalars, ONE, replace(FINE, panels=50))
    refuses(Refuted, None, evaluate, graph, [graph.density(law("Lap"))], ONE, FINE)
    for eps in (0, -1):
        refuses(Refuted, None, evaluate, graph, scalars, Fraction(eps), FINE)


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


def test_accuracies_have_limits() -> None:
    for bits in (0, 501):
        refuses(Refused, None, accuracy, bits)
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
    narrow = replace(accuracy(20), smooth=ONE / 50, growth=Fraction(0))
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


def test_limits() -> None:
    graph = Graph()
    x = graph.density(law("DLap", 0, 1, -1))
    pair = graph.total(graph.times(x, graph.running(x, True)))
    refuses(Refused, None, evaluate, graph, [pair], Fraction(1, 10**6), FINE)
    refuses(Refused, None, evaluate, graph, [pair], Fraction(1), replace(FINE, integers=50))
    refuses(NotProved, None, evaluate, graph, [graph.total(graph.running(x, False))], ONE, FINE)
    y = graph.density(law("Lap"))
    refuses(ValueError, "real and of integer", graph.times, x, y)
