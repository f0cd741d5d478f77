"""Functions on the integers: closed forms, sums in floats, and few integers around many."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.kernel.balls import precision
from dipapprox.kernel.errors import NotProved, Refused
from dipapprox.kernel.evaluate import evaluate
from dipapprox.kernel.laws import IntegerFamily, Law
from dipapprox.kernel.nodes import Graph, Node
from kernel.graphs import FINE, ONE, cuts, enclosed, holds, law, totals
from kernel.simpson import interpreted

INTEGER_FAMILIES = ["DLap", "DGauss"]
THIN_INTEGERS = 2.0**-60
FAR = 400


@pytest.mark.parametrize("family", INTEGER_FAMILIES)
def test_restrictions_to_integers(family: str) -> None:
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
            assert holds(ends, value, THIN_INTEGERS), (low, high)


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
    """Masses as floats."""
    scale = float(law.coefficient) * eps**law.power
    z = (k - float(law.mean)) / scale
    weights = np.exp(-np.abs(z)) if law.family == "DLap" else np.exp(-z * z / 2)
    found: np.ndarray = weights / weights.sum()
    return found


@given(made=totals(INTEGER_FAMILIES), eps=st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(5, 2)]))
def test_graphs_against_sums(made: tuple[Graph, list[Node]], eps: Fraction) -> None:
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
    with pytest.raises(Refused):
        evaluate(graph, [pair], Fraction(1, 10**6), FINE)
    with pytest.raises(Refused):
        evaluate(graph, [pair], Fraction(1), replace(FINE, integers=50))
    with pytest.raises(NotProved):
        evaluate(graph, [graph.total(graph.running(x, False))], ONE, FINE)
    y = graph.density(law("Lap"))
    with pytest.raises(ValueError, match="real and of integer"):
        graph.times(x, y)
